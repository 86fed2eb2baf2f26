"""How much memory one evaluation may ask for by making large values. The API server has no such limit: only cost.

What is made is counted over an evaluation; the exact form of a program sets the count back. Where the fast form
passes the limit the exact one starts over, so nothing else needs to set it back. Threads share the count, which only
makes the limit tighter.
"""

from __future__ import annotations

from typing import Final

from webhook.cel.errors import CelError

ONE: Final = 1 << 25
"""Characters, bytes or elements of one value."""
ALL: Final = 1 << 28
"""Of all large values together."""
LARGE: Final = 4096
_made = [0]


def reset() -> None:
    """Begin an evaluation."""
    _made[0] = 0


def sized(count: int) -> None:
    """Refuse to make a value of this size where it, or all together, would be too large."""
    if count <= LARGE:
        return
    _made[0] += count
    if count > ONE or _made[0] > ALL:
        raise CelError(f"value too large: size {count}, limit {ONE} for one and {ALL} for all of an evaluation")


def weigh(value: object) -> int:
    """About how many characters a value is as text; stops counting when it is too many."""
    total = 0
    stack = [value]
    while stack and total <= ONE:
        at = stack.pop()
        total += len(at) if isinstance(at, (str, bytes)) else 8
        if isinstance(at, list):
            stack += at
        elif isinstance(at, dict):
            stack += [*at.keys(), *at.values()]
    return total

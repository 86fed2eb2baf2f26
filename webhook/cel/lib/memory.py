"""A limit on the memory that one evaluation allocates for large values. The API server has none: it limits cost only.

Allocations are counted per evaluation; the exact form of a program resets the count. If the fast form exceeds the
limit, the exact form starts over, so nothing else has to reset it. Threads share the count, which makes the limit only
stricter.
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

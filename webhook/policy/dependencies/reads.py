"""Which parts of `object` an expression can read, seen in its checked tree: never too few, sometimes too many.

An expression whose parts are the very same values as before gives the same value again. Besides `object` and the
variables all that an expression of a policy sees stays the same for as long as a request is reviewed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, Ident, Literal, Node, Select

Path = tuple[str, ...]
_OBJECT: Final = "object"
_VARIABLES: Final = "variables"
_STEPS: Final = frozenset({nodes.INDEX, nodes.OPT_INDEX, nodes.OPT_SELECT})
EVERYTHING: Final[tuple[Path, ...]] = ((),)


def read_paths(root: Node, variables: Mapping[str, tuple[Path, ...]]) -> tuple[Path, ...]:
    """Return the paths in `object` that an expression reads, itself or through `variables`, whose paths are known.

    A path that ends inside a list ends at the list. A name that a macro binds anew counts as the object's.
    """
    found: set[Path] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        name, path = _chain(node)
        if name == _OBJECT:
            found.add(path)
        elif name == _VARIABLES:
            found.update(variables.get(path[0], EVERYTHING) if path else EVERYTHING)
        elif name is None:
            waiting.extend(nodes.children(node))
    return shortest(found)


def _chain(node: Node) -> tuple[str | None, Path]:
    """Return the name at the root of `a.b["c"].?d`, and the steps; None where it is another form."""
    steps: list[str] = []
    while not isinstance(node, Ident):
        if isinstance(node, Select):
            step: object = node.field
            node = node.operand
        elif isinstance(node, Call) and node.function in _STEPS and len(node.args) == 2:
            key = node.args[1]
            step = key.value if isinstance(key, Literal) else None
            node = node.args[0]
        else:
            return None, ()
        if not isinstance(step, str):
            return None, ()
        steps.append(step)
    return node.name.removeprefix("."), tuple(reversed(steps))


def shortest(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Leave out paths that lie behind another one."""
    kept: list[Path] = []
    for path in sorted(paths, key=lambda steps: (len(steps), steps)):
        if not any(path[: len(other)] == other for other in kept):
            kept.append(path)
    return tuple(kept)

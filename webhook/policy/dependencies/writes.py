"""Which parts of the object a mutation can write, seen in its checked tree: never too few, sometimes too many.

An `Object{}` or a `JSONPatch{}` comes from no other place than the text of the mutation itself: variables have neither.
"""

from __future__ import annotations

from typing import Final

from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, CreateMap, CreateStruct, Field, Literal, Node
from webhook.kube.json_patch import split
from webhook.policy.dependencies.reads import EVERYTHING, Path, shortest

_PATCH: Final = "JSONPatch"
_POINTERS: Final = frozenset({"path", "from"})
_BY_KEY: Final = frozenset({("metadata", "labels"), ("metadata", "annotations")})
"""Maps of which a literal writes the keys that it names; others may be atomic, and are replaced as a whole."""


def written_paths(root: Node) -> tuple[Path, ...]:
    """Return the paths in `object` that a mutation writes; what a patch tests or copies from counts too."""
    found: set[Path] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting.extend(nodes.children(node))
        if isinstance(node, CreateStruct):
            found.update(_of_patch(node) if node.type_name.removeprefix(".") == _PATCH else _of_object(node))
    return shortest(found)


def _of_object(node: CreateStruct) -> list[Path]:
    """`Object.spec{replicas: 1}` writes spec.replicas; an object literal in a field speaks for itself."""
    _, *above = node.type_name.removeprefix(".").split(".")
    fields = [f for f in node.fields if not (isinstance(f.value, CreateStruct) and f.value.fields)]
    return [path for field in fields for path in _of_field((*above, field.name), field)]


def _of_field(path: Path, field: Field) -> list[Path]:
    """`labels: {"a": "b"}` writes the label a."""
    value = field.value
    if path not in _BY_KEY or not isinstance(value, CreateMap) or not value.entries:
        return [path]
    keys = [entry.key.value if isinstance(entry.key, Literal) else None for entry in value.entries]
    names = [key for key in keys if isinstance(key, str)]
    return [(*path, name) for name in names] if len(names) == len(keys) else [path]


def _of_patch(node: CreateStruct) -> tuple[Path, ...]:
    return tuple(_pointed(field.value) for field in node.fields if field.name in _POINTERS)


def _pointed(node: Node) -> Path:
    """Return the path of a pointer; of one that is put together only as far as its first text leads."""
    whole = True
    while isinstance(node, Call) and node.function == nodes.ADD:
        node, whole = node.args[0], False
    if not isinstance(node, Literal) or not isinstance(node.value, str) or not node.value.startswith("/"):
        return EVERYTHING[0]
    steps = split(node.value)
    return tuple(steps if whole else steps[:-1])

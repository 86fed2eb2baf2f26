"""The fields that a mutation reads and may write, by its expressions: mutations of different fields do not conflict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, CreateMap, CreateStruct, Literal, Node, walk
from webhook.policy.dependencies.reads import EVERYTHING, Path
from webhook.policy.model import Policy

_READING: Final = frozenset({"test", "copy", "move"})
_LABELS: Final = ("metadata", "labels")


@dataclass(frozen=True, slots=True)
class Touch:
    """Paths that a policy reads and can write; one that leads into a list ends at the list."""

    reads: tuple[Path, ...]
    writes: tuple[Path, ...]

    def apart(self, other: Touch) -> bool:
        """Return whether neither can write what the other reads or writes: then their order never shows."""
        mine, theirs = (*self.reads, *self.writes), (*other.reads, *other.writes)
        return not _meet(self.writes, theirs) and not _meet(other.writes, mine)


def touched(policy: Policy) -> Touch:
    """Return what a policy reads and can write; everything where it is expanded over templates."""
    if policy.expand:
        return Touch(EVERYTHING, EVERYTHING)
    reads = {path for expression in policy.expressions() for path in expression.reads}
    writes: set[Path] = set()
    for mutation in policy.mutations:
        root = mutation.expression.program.checked.root
        if mutation.apply:
            writes.update(_applied(root, ()))
            continue
        for patch in _patches(root):
            path, reads_itself = _patched(patch)
            writes.add(path)
            reads.add(() if reads_itself else path[:-1])
    if policy.match.object_selector is not None:
        reads.add(_LABELS)
    return Touch(tuple(reads), tuple(writes))


def _applied(node: Node, path: Path) -> Iterator[Path]:
    """Yield the fields that an apply configuration can set."""
    if isinstance(node, Call) and node.function == nodes.CONDITIONAL:
        for branch in node.args[1:]:
            yield from _applied(branch, path)
    elif isinstance(node, CreateStruct) and (node.fields or not path):
        for field in node.fields:
            yield from _applied(field.value, (*path, field.name))
    elif isinstance(node, CreateMap) and node.entries:
        for entry in node.entries:
            named = isinstance(entry.key, Literal) and isinstance(entry.key.value, str)
            yield (*path, str(entry.key.value)) if named and isinstance(entry.key, Literal) else path
    else:
        yield path


def _patches(root: Node) -> Iterator[CreateStruct]:
    return (node for node in walk(root) if isinstance(node, CreateStruct) and node.type_name == "JSONPatch")


def _patched(patch: CreateStruct) -> tuple[Path, bool]:
    """Return where a JSONPatch writes, as far as its path is written out, and whether it looks at the object itself."""
    fields = {field.name: field.value for field in patch.fields}
    op, where = fields.get("op"), fields.get("path")
    looks = not isinstance(op, Literal) or op.value in _READING
    known = True
    while isinstance(where, Call) and where.function == nodes.ADD:
        where, known = where.args[0], False
    if not isinstance(where, Literal) or not isinstance(where.value, str):
        return (), True
    steps = where.value.split("/")[1:] if known else where.value.split("/")[1:-1]
    return _to_list(step.replace("~1", "/").replace("~0", "~") for step in steps), looks


def _to_list(steps: Iterable[str]) -> Path:
    """Return the steps down to the first that may be one into a list."""
    found: list[str] = []
    for step in steps:
        if step == "-" or step.isdigit():
            break
        found.append(step)
    return tuple(found)


def _meet(some: Iterable[Path], others: tuple[Path, ...]) -> bool:
    """Return whether a path of the one lies on the way to, or behind, a path of the other."""
    return any(a[: len(b)] == b[: len(a)] for a in some for b in others)

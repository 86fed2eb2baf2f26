"""The sizes of values during a cost estimate: of literals, results, variables of the host, and bound names.

Sizes are kept by node, those of variables also by path. `estimate.py` computes costs from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from webhook.cel.check.checker import Checked
from webhook.cel.cost.paths import NOWHERE, Path
from webhook.cel.ranges import ONE, UNKNOWN, Estimate, Sizer, fixed
from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import CreateList, CreateMap, Ident, Literal, Node, Select
from webhook.cel.types import BOOL, DOUBLE, DURATION, DYN, INT, TIMESTAMP, UINT, Type, TypeKind
from webhook.cel.values import ABSENT

_SCALARS: Final = frozenset(t.name for t in (BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT))
HIDDEN: Final = ("__result__", nodes.ACCUMULATOR)
"""The names of accumulators."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The sizes of keys (or indices) and values of what a literal or an operation makes."""

    kind: TypeKind
    key: Estimate
    value: Estimate

    def __or__(self, other: Entries) -> Entries:
        return Entries(self.kind, self.key | other.key, self.value | other.value)


@dataclass(frozen=True, slots=True)
class Local:
    """What is known of an iteration variable, an accumulator or a bound name."""

    path: Path
    size: Estimate | None
    entries: Entries | None = None


@dataclass(frozen=True, slots=True)
class SizedOperand:
    """An operand as the formulas see it."""

    type: Type
    size: Estimate | None
    path: Path = NOWHERE
    sizes: Sizer | None = None
    constant: object = ABSENT
    unknown: Estimate = UNKNOWN

    @property
    def known(self) -> Estimate:
        """How big it is, from nothing to anything where nothing is known."""
        return self.unknown if self.size is None else self.size

    def element(self) -> SizedOperand | None:
        """What its elements are, None for a text."""
        if not self.type.params:
            return None
        size = self.sizes([*self.path.steps, "@items"]) if self.sizes and self.path.length else None
        return SizedOperand(self.type.params[0], size, unknown=self.unknown)


@dataclass(slots=True)
class Sizes:
    """The sizes, paths and names of one tree, as far as it has been walked."""

    checked: Checked
    sizer: Sizer | None
    unknown: Estimate = UNKNOWN
    paths: dict[int, Path] = field(default_factory=dict)
    computed: dict[int, Estimate] = field(default_factory=dict)
    entries: dict[int, Entries] = field(default_factory=dict)
    names: dict[str, list[Local]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.sizer is not None:
            self.unknown = self.sizer(()) or UNKNOWN

    def name(self, node: Node) -> str | None:
        """The variable that a node is, a dotted one too."""
        if isinstance(node, (Ident, Select)) and (known := self.checked.idents.get(node.id)) is not None:
            return known
        return node.name if isinstance(node, Ident) else None

    def local(self, name: str) -> Local | None:
        """What the innermost name of this spelling stands for, None for a variable of the host."""
        stack = self.names.get(name)
        return stack[-1] if stack else None

    def push(self, name: str, local: Local) -> None:
        """A name comes into scope."""
        self.names.setdefault(name, []).append(local)

    def pop(self, name: str) -> None:
        """The innermost name of this spelling is out of scope."""
        self.names[name].pop()

    def type(self, node: Node) -> Type:
        """The type that the checker found."""
        return self.checked.types.get(node.id, DYN)

    def path(self, node: Node) -> Path:
        """Where the value stands in a variable of the host, `NOWHERE` for all that is computed."""
        name = self.name(node)
        local = None if name is None else self.local(name)
        return local.path if local is not None else self.paths.get(node.id, NOWHERE)

    def bound(self, node: Node) -> Local:
        """What a name stands for that is bound to an expression."""
        path, entries = self.path(node), self.entries_of(node)
        return Local(path, self.size(node), entries)

    def container(self, over: Node) -> TypeKind:
        """Whether a range is a list, a map, or neither for sure."""
        entries = self.entries_of(over)
        return self.type(over).kind if entries is None else entries.kind

    def iterated(self, over: Node, *, key: bool) -> Local:
        """What an iteration variable stands for: the keys or indices, or the values or elements."""
        entries = self.entries_of(over)
        size = None if entries is None else entries.key if key else entries.value
        listed = self.container(over) is TypeKind.LIST
        step = ("@indices" if listed else "@keys") if key else "@items" if listed else "@values"
        return Local(self.path(over).plus(step), size)

    def part(self, node: Node) -> SizedOperand:
        """A node as an operand of a call."""
        path = self.path(node)
        if path.length and path.steps[0] in HIDDEN:
            path = NOWHERE
        constant = node.value if isinstance(node, Literal) else ABSENT
        return SizedOperand(self.type(node), self.size(node), path, self.sizer, constant, self.unknown)

    def known(self, node: Node) -> Estimate:
        """How big a value is, from nothing to anything where nothing is known."""
        size = self.size(node)
        return self.unknown if size is None else size

    def size(self, node: Node) -> Estimate | None:
        """How big a value is: as computed, as written, as the host says, by its type, as bound."""
        if (found := self.computed.get(node.id)) is not None:
            return found
        if (written := _written(node)) is not None:
            return fixed(written)
        path = self.path(node)
        if self.sizer is not None and path.length and (found := self.sizer(path.steps)) is not None:
            self.computed[node.id] = found
            return found
        if _is_scalar(self.type(node)):
            return ONE
        name = self.name(node)
        local = None if name is None else self.local(name)
        return None if local is None else local.size

    def set_size(self, node: Node, size: Estimate | None) -> None:
        """Keep the size of a node, if there is one."""
        if size is not None:
            self.computed[node.id] = size

    def entries_of(self, node: Node) -> Entries | None:
        """The sizes of keys and values, None where they are not known."""
        if (found := self.entries.get(node.id)) is not None:
            return found
        name = self.name(node)
        local = None if name is None else self.local(name)
        return None if local is None else local.entries

    def set_entries(self, node: Node, entries: Entries | None) -> None:
        """Keep the sizes of keys and values, if there are any."""
        if entries is not None:
            self.entries[node.id] = entries

    def both(self, a: Node, b: Node) -> Entries | None:
        """The sizes of keys and values of one or the other."""
        left, right = self.entries_of(a), self.entries_of(b)
        return None if left is None or right is None else left | right

    def take_sizes(self, node: Node, source: Node) -> None:
        """A node is as big as another."""
        self.set_size(node, self.size(source))
        self.set_entries(node, self.entries_of(source))


def _written(node: Node) -> int | None:
    """The size of a literal."""
    match node:
        case Literal(value=value):
            return len(value) if isinstance(value, (str, bytes)) else 1
        case CreateList(elements=elements):
            return len(elements)
        case CreateMap(entries=entries):
            return len(entries)
    return None


def _is_scalar(found: Type) -> bool:
    if found.is_optional:
        return _is_scalar(found.params[0])
    return found.name in _SCALARS and found.kind in (TypeKind.PRIMITIVE, TypeKind.WELL_KNOWN, TypeKind.WRAPPER)

"""What a checked expression may cost, before it is run: the range that cel-go's checker gives for the same tree.

Walks the tree once, with the sizes and paths of what it has seen. Formulas of functions are in their rows; sizes of
variables come from the host (`Env.sizes`). Source: checker/cost.go of cel-go 0.26.1, options of the API server 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from webhook.cel import syntax
from webhook.cel.bounds import MOST, NOTHING, ONE, UNKNOWN, Charge, Estimate, Sizer, fixed
from webhook.cel.checker import Checked
from webhook.cel.env import Env
from webhook.cel.overloads import Overload
from webhook.cel.paths import NOWHERE, Path
from webhook.cel.syntax import Call, CreateList, CreateMap, CreateStruct, Fold, Ident, Literal, Node, Select
from webhook.cel.types import BOOL, DOUBLE, DURATION, DYN, INT, TIMESTAMP, UINT, Kind, Type
from webhook.cel.values import ABSENT

_LIST, _MAP, _OBJECT = fixed(10), fixed(30), fixed(40)
_SCALARS: Final = frozenset(t.name for t in (BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT))
_SELECTED: Final = (Kind.MAP, Kind.OBJECT, Kind.PARAM)
_HIDDEN: Final = ("__result__", syntax.ACCUMULATOR)
_ADDED: Final = frozenset({"add_string", "add_bytes", "add_list"})
_INDEXED: Final = {"index_list": "@items", "index_map": "@values"}
_EMPTY: Final = Estimate(MOST, 0)


@dataclass(frozen=True, slots=True)
class _Entries:
    """The sizes of keys (or indices) and values of what a literal or an operation makes."""

    kind: Kind
    key: Estimate
    value: Estimate

    def __or__(self, other: _Entries) -> _Entries:
        return _Entries(self.kind, self.key | other.key, self.value | other.value)


@dataclass(frozen=True, slots=True)
class _Local:
    """What is known of an iteration variable, an accumulator or a bound name."""

    path: Path
    size: Estimate | None
    entries: _Entries | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """An operand as the formulas see it."""

    type: Type
    size: Estimate | None
    path: Path = NOWHERE
    sizes: Sizer | None = None
    constant: object = ABSENT

    @property
    def known(self) -> Estimate:
        return UNKNOWN if self.size is None else self.size

    def element(self) -> _Part | None:
        if not self.type.params:
            return None
        size = self.sizes([*self.path.steps, "@items"]) if self.sizes and self.path.length else None
        return _Part(self.type.params[0], size)


@dataclass(slots=True)
class _Walk:
    """One walk over one tree."""

    checked: Checked
    env: Env
    paths: dict[int, Path] = field(default_factory=dict)
    sizes: dict[int, Estimate] = field(default_factory=dict)
    entries: dict[int, _Entries] = field(default_factory=dict)
    locals: dict[str, list[_Local]] = field(default_factory=dict)

    # Costs

    def cost(self, node: Node) -> Estimate:
        """What evaluating a node may cost."""
        if (name := self.name(node)) is not None:
            local = self.local(name)
            self.paths[node.id] = NOWHERE.plus(name) if local is None else local.path
            return ONE
        match node:
            case Select():
                return self.select(node)
            case Call(function="dyn", args=(arg,)):
                return self.unwrapped(node, arg)
            case Call():
                return self.call(node)
            case CreateList():
                return self.made_list(node)
            case CreateMap():
                return self.made_map(node)
            case CreateStruct():
                return sum((self.cost(f.value) for f in node.fields), NOTHING) + _OBJECT
            case Fold():
                return self.bind(node) if _is_bind(node) else self.fold(node)
        return NOTHING

    def select(self, node: Select) -> Estimate:
        cost = self.cost(node.operand)
        if node.test:
            return cost
        self.paths[node.id] = self.path(node.operand).plus(node.field)
        return cost + ONE if self.type(node.operand).kind in _SELECTED else cost

    def unwrapped(self, node: Call, arg: Node) -> Estimate:
        cost = self.cost(arg) + ONE
        self.take_sizes(node, arg)
        return cost

    def made_list(self, node: CreateList) -> Estimate:
        cost, value = NOTHING, _EMPTY if node.elements else NOTHING
        for element in node.elements:
            cost += self.cost(element)
            value |= self.known(element)
        self.entries[node.id] = _Entries(Kind.LIST, ONE, value)
        return cost + _LIST

    def made_map(self, node: CreateMap) -> Estimate:
        cost = NOTHING
        key = value = _EMPTY if node.entries else NOTHING
        for entry in node.entries:
            cost = cost + self.cost(entry.key) + self.cost(entry.value)
            key |= self.known(entry.key)
            value |= self.known(entry.value)
        self.entries[node.id] = _Entries(Kind.MAP, key, value)
        return cost + _MAP

    def bind(self, node: Fold) -> Estimate:
        cost = self.cost(node.range) + self.cost(node.init)
        self.push(node.accu, self.bound(node.init))
        cost += self.cost(node.result)
        self.locals[node.accu].pop()
        self.take_sizes(node, node.result)
        return cost

    def fold(self, node: Fold) -> Estimate:
        cost = self.cost(node.range) + self.cost(node.init)
        self.push(node.accu, self.bound(node.init))
        if node.var2:
            self.push(node.var, self.iterated(node.range, key=True))
            self.push(node.var2, self.iterated(node.range, key=False))
        else:
            self.push(node.var, self.iterated(node.range, key=self.container(node.range) is not Kind.LIST))
        each = self.cost(node.condition) + self.cost(node.step)
        self.locals[node.var].pop()
        if node.var2:
            self.locals[node.var2].pop()
        cost += self.cost(node.result)
        self.locals[node.accu].pop()
        count = self.known(node.range)
        if isinstance(node.init, Literal):
            self.set_size(node, self.size(node.init))
        elif isinstance(node.init, (CreateList, CreateMap)):
            self.sizes[node.id] = count
            self.set_entries(node, self.entries_of(node.step))
        return cost + count * each

    def call(self, node: Call) -> Estimate:
        costs = [self.cost(arg) for arg in node.args]
        parts = [self.part(arg) for arg in node.args]
        target = self.checked.calls.get(node.id)
        if target is None:
            return NOTHING
        before = NOTHING
        if node.target is not None and not target.namespaced:
            before = self.cost(node.target)
            parts.insert(0, self.part(node.target))
        cost, size = _EMPTY, None
        for row in self.rows(target.function, target.overloads):
            charge = self.charge(node, row, parts, costs)
            cost |= charge.cost
            if charge.size is not None:
                size = charge.size if size is None else size | charge.size
            if row.id in _INDEXED:
                entries = self.entries_of(node.args[0])
                size = None if entries is None else entries.value
                self.paths[node.id] = self.path(node.args[0]).plus(_INDEXED[row.id])
            if size is None:
                size = self.size(node)
        self.set_size(node, size)
        return before + cost

    def rows(self, function: str, ids: Sequence[str]) -> list[Overload]:
        """The overloads that the checker found, in its order."""
        known = {row.id: row for row in self.env.functions[function].overloads}
        return [known[i] for i in ids]

    def charge(self, node: Call, row: Overload, parts: list[_Part], costs: list[Estimate]) -> Charge:
        """What one overload may cost, its operands included."""
        if row.id in ("logical_and", "logical_or"):
            left, right = costs
            return Charge(Estimate(left.min, (left + right).max))
        if row.id == "conditional":
            _, yes, no = node.args
            self.set_entries(node, self.both(yes, no))
            return Charge(costs[0] + (costs[1] | costs[2]), parts[1].known | parts[2].known)
        charge = Charge(ONE) if row.estimate is None else row.estimate(parts)
        if row.id in _ADDED:
            self.set_entries(node, self.both(*node.args))
        return replace(charge, cost=charge.cost + sum(costs, NOTHING))

    # Names, types and paths

    def name(self, node: Node) -> str | None:
        """The variable that a node is, a dotted one too."""
        if isinstance(node, (Ident, Select)) and (known := self.checked.idents.get(node.id)) is not None:
            return known
        return node.name if isinstance(node, Ident) else None

    def local(self, name: str) -> _Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def type(self, node: Node) -> Type:
        return self.checked.types.get(node.id, DYN)

    def path(self, node: Node) -> Path:
        name = self.name(node)
        local = None if name is None else self.local(name)
        return local.path if local is not None else self.paths.get(node.id, NOWHERE)

    def bound(self, node: Node) -> _Local:
        """What a name stands for that is bound to an expression."""
        path, entries = self.path(node), self.entries_of(node)
        return _Local(path, self.size(node), entries)

    def container(self, over: Node) -> Kind:
        entries = self.entries_of(over)
        return self.type(over).kind if entries is None else entries.kind

    def iterated(self, over: Node, *, key: bool) -> _Local:
        """What an iteration variable stands for: the keys or indices, or the values or elements."""
        entries = self.entries_of(over)
        size = None if entries is None else entries.key if key else entries.value
        listed = self.container(over) is Kind.LIST
        step = ("@indices" if listed else "@keys") if key else "@items" if listed else "@values"
        return _Local(self.path(over).plus(step), size)

    # Sizes

    def part(self, node: Node) -> _Part:
        path = self.path(node)
        if path.length and path.steps[0] in _HIDDEN:
            path = NOWHERE
        constant = node.value if isinstance(node, Literal) else ABSENT
        return _Part(self.type(node), self.size(node), path, self.env.sizes, constant)

    def known(self, node: Node) -> Estimate:
        size = self.size(node)
        return UNKNOWN if size is None else size

    def size(self, node: Node) -> Estimate | None:
        """How big a value is: as computed, as written, as the host says, by its type, as bound."""
        if (found := self.sizes.get(node.id)) is not None:
            return found
        if (written := _written(node)) is not None:
            return fixed(written)
        path = self.path(node)
        if self.env.sizes is not None and path.length and (found := self.env.sizes(path.steps)) is not None:
            self.sizes[node.id] = found
            return found
        if _is_scalar(self.type(node)):
            return ONE
        name = self.name(node)
        local = None if name is None else self.local(name)
        return None if local is None else local.size

    def set_size(self, node: Node, size: Estimate | None) -> None:
        if size is not None:
            self.sizes[node.id] = size

    def entries_of(self, node: Node) -> _Entries | None:
        if (found := self.entries.get(node.id)) is not None:
            return found
        name = self.name(node)
        local = None if name is None else self.local(name)
        return None if local is None else local.entries

    def set_entries(self, node: Node, entries: _Entries | None) -> None:
        if entries is not None:
            self.entries[node.id] = entries

    def both(self, a: Node, b: Node) -> _Entries | None:
        left, right = self.entries_of(a), self.entries_of(b)
        return None if left is None or right is None else left | right

    def take_sizes(self, node: Node, source: Node) -> None:
        self.set_size(node, self.size(source))
        self.set_entries(node, self.entries_of(source))


def _is_bind(node: Fold) -> bool:
    never = isinstance(node.condition, Literal) and node.condition.value is False
    return never and isinstance(node.range, CreateList) and not node.range.elements and node.accu != _HIDDEN[0]


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
    if found.name == "optional_type":
        return _is_scalar(found.params[0])
    return found.name in _SCALARS and found.kind in (Kind.PRIMITIVE, Kind.WELL_KNOWN, Kind.WRAPPER)


def estimate(checked: Checked, env: Env) -> Estimate:
    """Give what an expression may cost at least and at most, in the units of the run-time cost."""
    return _Walk(checked, env).cost(checked.root) if env.checked else UNKNOWN

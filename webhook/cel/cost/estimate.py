"""The static cost estimate of a checked expression: the same range as that of cel-go's checker.

Walks the tree once, and keeps the sizes and paths of values. Formulas of functions are in their rows; sizes of
variables come from the host (`Env.sizes`). Source: checker/cost.go of cel-go 0.26.1, options of the API server 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from webhook.cel.check.checker import Checked
from webhook.cel.cost.paths import NOWHERE
from webhook.cel.cost.sizes import HIDDEN, Entries, SizedOperand, Sizes
from webhook.cel.env import Env
from webhook.cel.function_types import Overload
from webhook.cel.lib import estimates
from webhook.cel.ranges import NOTHING, ONE, UNBOUNDED, UNKNOWN, Charge, Estimate, Sizer, fixed
from webhook.cel.syntax.nodes import Call, CreateList, CreateMap, CreateStruct, Fold, Literal, Node, Select
from webhook.cel.types import TypeKind

_LIST, _MAP, _OBJECT = fixed(estimates.LIST_BASE), fixed(estimates.MAP_BASE), fixed(estimates.STRUCT_BASE)
_SELECTED: Final = (TypeKind.MAP, TypeKind.OBJECT, TypeKind.PARAM)
_ADDED: Final = frozenset({"add_string", "add_bytes", "add_list"})
_INDEXED: Final = {"index_list": "@items", "index_map": "@values"}
_EMPTY: Final = Estimate(UNBOUNDED, 0)


@dataclass(slots=True)
class _CostWalk:
    """One walk over one tree."""

    checked: Checked
    env: Env
    seen: Sizes

    def cost(self, node: Node) -> Estimate:
        """What evaluating a node may cost."""
        if (name := self.seen.name(node)) is not None:
            local = self.seen.local(name)
            self.seen.paths[node.id] = NOWHERE.plus(name) if local is None else local.path
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
        self.seen.paths[node.id] = self.seen.path(node.operand).plus(node.field)
        return cost + ONE if self.seen.type(node.operand).kind in _SELECTED else cost

    def unwrapped(self, node: Call, arg: Node) -> Estimate:
        cost = self.cost(arg) + ONE
        self.seen.take_sizes(node, arg)
        return cost

    def made_list(self, node: CreateList) -> Estimate:
        cost, value = NOTHING, _EMPTY if node.elements else NOTHING
        for element in node.elements:
            cost += self.cost(element)
            value |= self.seen.known(element)
        self.seen.entries[node.id] = Entries(TypeKind.LIST, ONE, value)
        return cost + _LIST

    def made_map(self, node: CreateMap) -> Estimate:
        cost = NOTHING
        key = value = _EMPTY if node.entries else NOTHING
        for entry in node.entries:
            cost = cost + self.cost(entry.key) + self.cost(entry.value)
            key |= self.seen.known(entry.key)
            value |= self.seen.known(entry.value)
        self.seen.entries[node.id] = Entries(TypeKind.MAP, key, value)
        return cost + _MAP

    def bind(self, node: Fold) -> Estimate:
        cost = self.cost(node.range) + self.cost(node.init)
        self.seen.push(node.accu, self.seen.bound(node.init))
        cost += self.cost(node.result)
        self.seen.pop(node.accu)
        self.seen.take_sizes(node, node.result)
        return cost

    def fold(self, node: Fold) -> Estimate:
        cost = self.cost(node.range) + self.cost(node.init)
        self.seen.push(node.accu, self.seen.bound(node.init))
        if node.var2:
            self.seen.push(node.var, self.seen.iterated(node.range, key=True))
            self.seen.push(node.var2, self.seen.iterated(node.range, key=False))
        else:
            self.seen.push(
                node.var, self.seen.iterated(node.range, key=self.seen.container(node.range) is not TypeKind.LIST)
            )
        each = self.cost(node.condition) + self.cost(node.step)
        self.seen.pop(node.var)
        if node.var2:
            self.seen.pop(node.var2)
        cost += self.cost(node.result)
        self.seen.pop(node.accu)
        count = self.seen.known(node.range)
        if isinstance(node.init, Literal):
            self.seen.set_size(node, self.seen.size(node.init))
        elif isinstance(node.init, (CreateList, CreateMap)):
            self.seen.computed[node.id] = count
            self.seen.set_entries(node, self.seen.entries_of(node.step))
        return cost + count * each

    def call(self, node: Call) -> Estimate:
        costs = [self.cost(arg) for arg in node.args]
        parts = [self.seen.part(arg) for arg in node.args]
        target = self.checked.calls.get(node.id)
        if target is None:
            return NOTHING
        before = NOTHING
        if node.target is not None and not target.namespaced:
            before = self.cost(node.target)
            parts.insert(0, self.seen.part(node.target))
        cost, size = _EMPTY, None
        for row in self.rows(target.function, target.overloads):
            charge = self.charge(node, row, parts, costs)
            cost |= charge.cost
            if charge.size is not None:
                size = charge.size if size is None else size | charge.size
            if row.id in _INDEXED:
                entries = self.seen.entries_of(node.args[0])
                size = None if entries is None else entries.value
                self.seen.paths[node.id] = self.seen.path(node.args[0]).plus(_INDEXED[row.id])
            if size is None:
                size = self.seen.size(node)
        self.seen.set_size(node, size)
        return before + cost

    def rows(self, function: str, ids: Sequence[str]) -> list[Overload]:
        """The overloads that the checker found, in its order."""
        known = {row.id: row for row in self.env.functions[function].overloads}
        return [known[i] for i in ids]

    def charge(self, node: Call, row: Overload, parts: list[SizedOperand], costs: list[Estimate]) -> Charge:
        """What one overload may cost, its operands included."""
        if row.id in ("logical_and", "logical_or"):
            left, right = costs
            return Charge(Estimate(left.min, (left + right).max))
        if row.id == "conditional":
            _, yes, no = node.args
            self.seen.set_entries(node, self.seen.both(yes, no))
            return Charge(costs[0] + (costs[1] | costs[2]), parts[1].known | parts[2].known)
        charge = Charge(ONE) if row.estimate is None else row.estimate(parts)
        if row.id in _ADDED:
            self.seen.set_entries(node, self.seen.both(*node.args))
        return replace(charge, cost=charge.cost + sum(costs, NOTHING))


def _is_bind(node: Fold) -> bool:
    never = isinstance(node.condition, Literal) and node.condition.value is False
    return never and isinstance(node.range, CreateList) and not node.range.elements and node.accu != HIDDEN[0]


def estimate(checked: Checked, env: Env, sizes: Sizer | None = None) -> Estimate:
    """Return what an expression may cost at least and at most, in the units of the run-time cost.

    `sizes` says how big values are, where not as the environment says.
    """
    return _CostWalk(checked, env, Sizes(checked, sizes or env.sizes)).cost(checked.root) if env.checked else UNKNOWN

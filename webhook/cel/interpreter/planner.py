"""Plans a checked tree as closures that evaluate it exactly as cel-go does, including the cost: the exact form.

Constants are folded as the API server folds them: literals and conversions of constants, whose errors are therefore
compile errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webhook.cel import host, operators
from webhook.cel.check.checker import Checked
from webhook.cel.env import Env
from webhook.cel.errors import CelError
from webhook.cel.function_types import Function
from webhook.cel.interpreter import dispatch, evaluators, loops
from webhook.cel.interpreter.attributes import COST, Attribute, Eval, Failure, Frame, Qualifier
from webhook.cel.lib import costs, regex
from webhook.cel.limits import CALL_LIMIT
from webhook.cel.messages import MESSAGES
from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, CreateList, CreateMap, CreateStruct, Fold, Ident, Literal, Node, Select
from webhook.cel.types import DYN, TypeKind
from webhook.cel.values import ABSENT, TypeValue, Uint

FIRST_SLOT = 2
Observer = Callable[[Node, Frame, object], None]


class PlanError(CelError):
    """A program cannot be made of a checked tree."""


@dataclass(frozen=True, slots=True)
class NodePlan:
    """How a node is evaluated: a constant, a chain that may still grow, or a function."""

    eval: Eval | None = None
    const: object = ABSENT
    attribute: Attribute | None = None

    def function(self) -> Eval:
        """The evaluator."""
        if self.const is not ABSENT:
            value = self.const
            return lambda frame: value
        if self.attribute is not None:
            return self.attribute.evaluator()
        assert self.eval is not None
        return self.eval


def _unwrapped(evaluate: Eval) -> Eval:
    """An argument of a call with a constant pattern: cel-go looks at its Go value there, so optionals do not show."""

    def native(frame: Frame) -> object:
        return regex.native(evaluate(frame))

    return native


class Planner:
    """Plans one tree."""

    def __init__(self, checked: Checked, env: Env, observe: Observer | None = None) -> None:
        self.checked = checked
        self.env = env
        self.observe = observe
        self.slots: dict[str, int] = {name: i for i, name in enumerate(env.variables, FIRST_SLOT)}
        self.scopes: list[dict[str, int]] = []
        self.size = FIRST_SLOT + len(self.slots)

    def run(self) -> Eval:
        """The evaluator of the whole tree. Raises PlanError where cel-go cannot make a program."""
        return self.function(self.checked.root)

    def function(self, node: Node) -> Eval:
        """The evaluator of a node, watched when asked."""
        return self.watched(node, self.plan(node).function())

    def watched(self, node: Node, evaluate: Eval) -> Eval:
        """The evaluator with the observer told of every result."""
        observe = self.observe
        if observe is None:
            return evaluate

        def watch(frame: Frame) -> object:
            try:
                value = evaluate(frame)
            except CelError as error:
                observe(node, frame, Failure(error.message))
                raise
            observe(node, frame, value)
            return value

        return watch

    def plan(self, node: Node) -> NodePlan:
        """How to evaluate a node."""
        match node:
            case Literal(value=value):
                return NodePlan(const=value)
            case Ident():
                return self.ident(node, node.name)
            case Select():
                return self.select(node)
            case Call():
                return self.call(node)
            case CreateList():
                return self.list(node)
            case CreateMap():
                return self.map(node)
            case CreateStruct():
                return self.struct(node)
            case Fold():
                return self.fold(node)
        raise PlanError(f"unsupported expr: {node}")

    # Names and chains

    def slot(self, name: str) -> int | None:
        """Where the variable `name` lives."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return self.slots.get(name)

    def new_slot(self) -> int:
        """A slot for a local variable."""
        self.size += 1
        return self.size - 1

    def ident(self, node: Node, name: str) -> NodePlan:
        """A variable or the name of a type."""
        full = self.checked.idents.get(node.id)
        if full is None:
            return self.open_ident(name)
        slot = self.slot(full)
        # cel-go takes any name whose type is a type for the name of a type, a local variable too.
        if slot is not None and self.checked.types.get(node.id, DYN).kind is not TypeKind.TYPE:
            return NodePlan(attribute=Attribute(evaluators.reader(slot, full)))
        named = self.env.type_value(full)
        if named is None:
            raise PlanError(f"reference to undefined type: {full}")
        return NodePlan(const=TypeValue(named.name))

    def open_ident(self, name: str) -> NodePlan:
        """A name nobody checked: the first candidate that is there when it is read."""
        for candidate in self.env.candidates(name):
            if (slot := self.slot(candidate)) is not None:
                return NodePlan(attribute=Attribute(evaluators.reader(slot, candidate)))
            if (named := self.env.type_value(candidate)) is not None:
                return NodePlan(attribute=Attribute(evaluators.constant(TypeValue(named.name))))
        return NodePlan(attribute=Attribute(evaluators.unknown(name)))

    def chain(self, node: Node) -> Attribute:
        """A node as the base of a chain."""
        planned = self.plan(node)
        if planned.attribute is not None:
            return planned.attribute
        return Attribute(self.watched(node, planned.function()))

    def select(self, node: Select) -> NodePlan:
        """`a.b`, `has(a.b)`, or a dotted name."""
        if node.id in self.checked.idents:
            return self.ident(node, "")
        if not self.env.checked and not node.test and (dotted := self.dotted(node)) is not None:
            return dotted
        step = self.step(node.operand, node.field, test=node.test)
        attribute = self.chain(node.operand).then(step)
        return NodePlan(eval=attribute.tester()) if node.test else NodePlan(attribute=attribute)

    def dotted(self, node: Select) -> NodePlan | None:
        """An unchecked `a.b` that is the name of a variable or type."""
        name = nodes.qualified_name(node)
        if name is None:
            return None
        for candidate in self.env.candidates(name):
            if (slot := self.slot(candidate)) is not None:
                return NodePlan(attribute=Attribute(evaluators.reader(slot, candidate)))
            if (named := self.env.type_value(candidate)) is not None:
                return NodePlan(const=TypeValue(named.name))
        return None

    def step(self, operand: Node, key: object, *, optional: bool = False, test: bool = False) -> Qualifier:
        """A constant step from `operand`."""
        over = self.checked.types.get(operand.id)
        name = over.name if over is not None and over.kind is TypeKind.OBJECT else ""
        field = self.env.mutation and (name == "Object" or name.startswith("Object.")) and isinstance(key, str)
        return Qualifier(key, None, optional, test, field, host.known(name))

    def index(self, node: Call, *, optional: bool) -> NodePlan:
        """`a[i]`, `a[?i]`, `a.?b`."""
        operand, index = node.args
        attribute = self.chain(operand)
        planned = self.plan(index)
        if planned.const is not ABSENT:
            if type(planned.const) not in (str, int, bool, float, Uint):
                raise PlanError(f"invalid qualifier type: {operators.shown(planned.const)}")
            return NodePlan(attribute=attribute.then(self.step(operand, planned.const, optional=optional)))
        if planned.attribute is not None:
            key_of = planned.attribute.resolver()
        else:
            key_of = Attribute(planned.function()).resolver()
        return NodePlan(attribute=attribute.then(Qualifier(None, self.watched(index, key_of), optional)))

    # Calls

    def call(self, node: Call) -> NodePlan:
        """An operator, function or method."""
        name, overloads, args = self.meaning(node)
        match name:
            case nodes.AND | nodes.OR:
                return NodePlan(eval=evaluators.logical(name, tuple(self.function(a) for a in args)))
            case nodes.CONDITIONAL:
                return self.conditional(*args)
            case nodes.INDEX:
                return self.index(node, optional=False)
            case nodes.OPT_INDEX | nodes.OPT_SELECT:
                return self.index(node, optional=True)
            case nodes.NOT_STRICTLY_FALSE:
                return NodePlan(eval=evaluators.not_strictly_false(self.function(args[0])))
        function = self.env.functions.get(name)
        if function is None:
            return NodePlan(eval=dispatch.undefined(name, tuple(self.function(a) for a in args)))
        if function.fallback and len(args) == 2:
            first, other = self.function(args[0]), self.function(args[1])
            return NodePlan(eval=evaluators.optional_or(first, other, unwrap=function.unwraps))
        return self.function_call(node, function, overloads, args)

    def meaning(self, node: Call) -> tuple[str, tuple[str, ...], tuple[Node, ...]]:
        """The full name of what is called, the overloads the checker left, and the arguments, receiver first."""
        found = self.checked.calls.get(node.id)
        if found is not None:
            target = None if found.namespaced else node.target
            return found.function, found.overloads, node.args if target is None else (target, *node.args)
        if node.target is None:
            known = self.env.function(node.function)
            return (known.name if known else node.function.lstrip(".")), (), node.args
        prefix = nodes.qualified_name(node.target)
        if prefix is not None and (known := self.env.function(f"{prefix}.{node.function}")):
            return known.name, (), node.args
        return node.function, (), (node.target, *node.args)

    def function_call(
        self, node: Call, function: Function, overloads: tuple[str, ...], args: tuple[Node, ...]
    ) -> NodePlan:
        """A call of a function."""
        name = function.name
        overload = next((o for o in function.overloads if o.id == overloads[0]), None) if len(overloads) == 1 else None
        if not overloads and len(function.overloads) == 1 and len(function.overloads[0].args) != len(args):
            shape = {1: "arg", 2: "lhs, rhs"}.get(len(args), "...")
            raise PlanError(f"no such overload: {name}({shape if args else ''})")
        plans = [self.plan(a) for a in args]
        consts = [p.const for p in plans]
        if name == nodes.IN and overload is not None and overload.id == "in_list" and isinstance(consts[1], list):
            return self.membership(args[0], plans[0], consts[1])
        if overload is not None and overload.check is not None:
            message = overload.check(*consts)
            if message is not None:
                raise PlanError(message)
        evals = [self.watched(a, p.function()) for a, p in zip(args, plans, strict=True)]
        constant = function.pattern and len(consts) > 1 and isinstance(consts[1], str)
        if constant:
            self.pattern(str(consts[1]))
            evals = [_unwrapped(e) for e in evals]
        evaluate = dispatch.call(function, overload, tuple(evals), eager=not constant)
        if function.unwraps:
            evaluate = evaluators.held(evaluate)
        if function.conversion and len(consts) == 1 and consts[0] is not ABSENT:
            return NodePlan(const=evaluate([0, CALL_LIMIT]))
        return NodePlan(eval=evaluate)

    def pattern(self, text: str) -> None:
        """Refuse a constant that is no regular expression."""
        try:
            regex.compiled(text)
        except regex.PatternError as error:
            raise PlanError(str(error)) from None

    def membership(self, element: Node, planned: NodePlan, items: list[object]) -> NodePlan:
        """`x in [constants]`: free of charge where all are primitive."""
        if not items:
            return NodePlan(const=False)
        left = self.watched(element, planned.function())
        free = all(isinstance(i, (bool, int, float, str)) for i in items)

        def evaluate(frame: Frame) -> object:
            try:
                return operators.contains(left(frame), items)
            finally:
                frame[COST] += 0 if free else len(items)

        return NodePlan(eval=evaluate)

    def conditional(self, condition: Node, yes: Node, no: Node) -> NodePlan:
        """`c ? a : b`."""
        return NodePlan(attribute=Attribute(self.function(condition), branches=(self.chain(yes), self.chain(no))))

    # Literals

    def list(self, node: CreateList) -> NodePlan:
        """A list."""
        plans = [self.plan(e) for e in node.elements]
        parts = tuple(
            (self.watched(e, p.function()), i in node.optional)
            for i, (e, p) in enumerate(zip(node.elements, plans, strict=True))
        )
        build = evaluators.list_builder(parts)
        if all(p.const is not ABSENT for p in plans):
            return NodePlan(const=build([0, 0]))
        return NodePlan(eval=evaluators.charged(build, costs.LIST_BASE))

    def map(self, node: CreateMap) -> NodePlan:
        """A map."""
        plans = [(self.plan(e.key), self.plan(e.value)) for e in node.entries]
        parts = tuple(
            (self.watched(e.key, k.function()), self.watched(e.value, v.function()), e.optional)
            for e, (k, v) in zip(node.entries, plans, strict=True)
        )
        build = evaluators.map_builder(parts)
        if all(k.const is not ABSENT and v.const is not ABSENT for k, v in plans):
            return NodePlan(const=build([0, 0]))
        return NodePlan(eval=evaluators.charged(build, costs.MAP_BASE))

    def struct(self, node: CreateStruct) -> NodePlan:
        """An object."""
        name = self.checked.structs.get(node.id, node.type_name)
        if self.env.type_named(name) is None and name not in MESSAGES:
            raise PlanError(f"unknown type: {name}")
        parts = tuple((f.name, self.function(f.value), f.optional) for f in node.fields)
        return NodePlan(eval=evaluators.charged(evaluators.struct_builder(name, parts), costs.STRUCT_BASE))

    # Comprehensions

    def fold(self, node: Fold) -> NodePlan:
        """A comprehension."""
        over = self.function(node.range)
        init = self.function(node.init)
        accu = self.new_slot()
        self.scopes.append({node.accu: accu})
        first, second = self.new_slot(), self.new_slot()
        self.scopes.append({node.var: first, **({node.var2: second} if node.var2 else {})})
        condition = self.function(node.condition)
        test, step = self.quantified(node) or (None, self.function(node.step))
        self.scopes.pop()
        result = self.function(node.result)
        self.scopes.pop()
        if node.macro == "bind":
            return NodePlan(eval=evaluators.bind(accu, init, result))
        loop = loops.Loop(over, init, condition, step, result, accu, first, second if node.var2 else 0)
        if test is not None:
            return NodePlan(eval=loops.quantifier(loop, test, every=node.macro == "all"))
        return NodePlan(eval=loops.fold(loop))

    def quantified(self, node: Fold) -> tuple[Eval, Eval] | None:
        """The test and the step of `all` and `exists`, None for others and where each step is watched."""
        if self.observe is not None or node.macro not in ("all", "exists") or not isinstance(node.step, Call):
            return None
        held, test = (self.function(part) for part in node.step.args)
        return test, evaluators.logical(node.step.function, (held, test))

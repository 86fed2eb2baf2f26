"""The type checker: gives every node a type and resolves every name and call, or reports issues. Rules: cel-go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from webhook.cel.check.overload_resolution import resolve
from webhook.cel.check.unify import Substitution, most_general
from webhook.cel.env import Env
from webhook.cel.errors import CompileError, Issue
from webhook.cel.function_types import Function
from webhook.cel.messages import MESSAGES
from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, CreateList, CreateMap, CreateStruct, Fold, Ident, Literal, Node, Select
from webhook.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    Type,
    TypeKind,
    list_of,
    map_of,
    optional_of,
    param,
    type_of,
)
from webhook.cel.values import Uint

_LITERALS = {bool: BOOL, int: INT, Uint: UINT, float: DOUBLE, str: STRING, bytes: BYTES, type(None): NULL}
_FOLDABLE = (TypeKind.DYN, TypeKind.ERROR, TypeKind.PARAM)
_FIELDLESS = (TypeKind.DYN, TypeKind.ERROR)


@dataclass(frozen=True, slots=True)
class ResolvedCall:
    """What a call means: the full name, the overloads that may answer, whether the receiver was a namespace."""

    function: str
    overloads: tuple[str, ...]
    namespaced: bool = False


@dataclass(slots=True)
class Checked:
    """A tree and what the checker found out about its nodes, by id."""

    root: Node
    types: dict[int, Type] = field(default_factory=dict)
    idents: dict[int, str] = field(default_factory=dict)
    calls: dict[int, ResolvedCall] = field(default_factory=dict)
    structs: dict[int, str] = field(default_factory=dict)

    @property
    def type(self) -> Type:
        """The type of the whole."""
        return self.types.get(self.root.id, DYN)


class Checker:
    """One check of one tree."""

    def __init__(self, env: Env) -> None:
        self.env = env
        self.known = Substitution()
        self.issues: list[Issue] = []
        self.out = Checked(Node(0, 0))
        self.scopes: list[dict[str, Type]] = []
        self.free = 0

    def run(self, text: str, root: Node) -> Checked:
        """Check `root`. Raises CompileError with every issue."""
        self.out.root = root
        self.check(root)
        if self.issues:
            raise CompileError(text, tuple(sorted(self.issues, key=lambda i: i.offset)))
        for key, found in self.out.types.items():
            self.out.types[key] = self.known.apply(found, free_is_dyn=True)
        return self.out

    # Helpers

    def report(self, node: Node | nodes.Field, message: str, known: Iterable[str] = ()) -> None:
        """Note an issue at a node; `known` are the names that would do."""
        self.issues.append(Issue(node.pos, message, known=tuple(known)))

    def mismatch(self, node: Node, wanted: Type, found: Type) -> None:
        """Note that a node has another type than wanted."""
        self.report(node, f"expected type '{wanted}' but found '{found}'")

    def fresh(self) -> Type:
        """A type parameter nobody else has."""
        self.free += 1
        return param(f"_var{self.free - 1}")

    def type(self, node: Node) -> Type:
        """The type found for a node."""
        return self.out.types[node.id]

    def set(self, node: Node, found: Type) -> None:
        """Set the type of a node."""
        self.out.types[node.id] = found

    def lookup(self, name: str) -> tuple[str, Type] | None:
        """The full name and type of what `name` means, local names first."""
        for candidate in self.env.candidates(name):
            for scope in reversed(self.scopes):
                if candidate in scope:
                    return candidate, scope[candidate]
            if candidate in self.env.variables:
                return candidate, self.env.variables[candidate]
            if (named := self.env.type_named(candidate)) is not None:
                return candidate, type_of(named)
        return None

    def undeclared(self, node: Node, name: str) -> None:
        """Note a name nobody declared."""
        self.set(node, ERROR)
        self.report(node, f"undeclared reference to '{name}' (in container '{self.env.container}')")

    def unwrap(self, t: Type) -> tuple[Type, bool]:
        """The value type of an optional, and whether it was one."""
        if t.is_optional:
            return t.params[0], True
        return t, False

    # Nodes

    def check(self, node: Node) -> None:
        """Check a node and all below it."""
        match node:
            case Literal(value=value):
                self.set(node, _LITERALS[type(value)])
            case Ident():
                self.ident(node)
            case Select():
                self.select(node)
            case Call(function=nodes.OPT_SELECT):
                self.optional_select(node)
            case Call():
                self.call(node)
            case CreateList():
                self.list(node)
            case CreateMap():
                self.map(node)
            case CreateStruct():
                self.struct(node)
            case Fold():
                self.fold(node)

    def ident(self, node: Ident) -> None:
        """A name."""
        if (found := self.lookup(node.name)) is None:
            self.undeclared(node, node.name)
        else:
            self.out.idents[node.id] = found[0]
            self.set(node, found[1])

    def select(self, node: Select) -> None:
        """A selection, or a dotted name."""
        if not node.test and (name := nodes.qualified_name(node)) is not None and (found := self.lookup(name)):
            self.out.idents[node.id] = found[0]
            self.set(node, found[1])
            return
        result = self.field(node, node.operand, node.field, optional=False)
        self.set(node, BOOL if node.test else self.known.apply(result))

    def optional_select(self, node: Call) -> None:
        """`operand.?field`."""
        operand, name = node.args
        assert isinstance(name, Literal)
        result = self.field(node, operand, str(name.value), optional=True)
        self.set(name, STRING)
        self.set(node, self.known.apply(result))
        self.out.calls[node.id] = ResolvedCall(nodes.OPT_SELECT, ("select_optional_field",))

    def field(self, node: Node, operand: Node, name: str, *, optional: bool) -> Type:
        """The type of a field of `operand`."""
        self.check(operand)
        target, wrapped = self.unwrap(self.known.apply(self.type(operand)))
        result = ERROR
        if target.kind is TypeKind.MAP:
            result = target.params[1]
        elif target.kind is TypeKind.OBJECT:
            found = self.env.field_type(target.name, name)
            if found is None:
                self.report(node, f"undefined field '{name}'", self.env.field_names(target.name))
            else:
                result = found
        elif target.kind is TypeKind.PARAM:
            self.known.assignable(DYN, target)
            result = DYN
        else:
            if target.kind not in _FIELDLESS:
                self.report(node, f"type '{target}' does not support field selection")
            result = DYN
        return optional_of(result) if wrapped or optional else result

    def call(self, node: Call) -> None:
        """A call of a function, a namespaced function or a method."""
        for arg in node.args:
            self.check(arg)
        target = node.target
        if target is not None and (prefix := nodes.qualified_name(target)) is not None:
            function = self.env.function(f"{prefix}.{node.function}")
            if function is not None:
                self.resolve(node, function, None, namespaced=True)
                return
        if target is not None:
            self.check(target)
        function = self.env.function(node.function)
        if function is None:
            self.undeclared(node, node.function)
        else:
            self.resolve(node, function, target)

    def resolve(self, node: Call, function: Function, target: Node | None, *, namespaced: bool = False) -> None:
        """Find the overloads that fit; the first decides the type unless another disagrees."""
        given = tuple(self.type(n) for n in ((target, *node.args) if target is not None else node.args))
        if function.name in (nodes.AND, nodes.OR):
            self.logical(node, function, given)
            return
        found = resolve(function, given, self.known, self.fresh, member=target is not None)
        if found is None:
            self.no_overload(node, function.name, given, member=target is not None)
            return
        self.out.calls[node.id] = ResolvedCall(function.name, found.overloads, namespaced)
        self.set(node, found.result)

    def logical(self, node: Call, function: Function, given: tuple[Type, ...]) -> None:
        """`&&` and `||` ask each operand to be bool."""
        fine = True
        for arg, found in zip(node.args, given, strict=True):
            if not self.known.assignable(found, BOOL):
                self.mismatch(arg, BOOL, found)
                fine = False
        if fine:
            self.out.calls[node.id] = ResolvedCall(function.name, (function.overloads[0].id,))
        self.set(node, BOOL if fine else ERROR)

    def no_overload(self, node: Call, name: str, given: tuple[Type, ...], *, member: bool) -> None:
        """Note that no overload takes these types."""
        shown = [str(self.known.apply(t, free_is_dyn=True)) for t in given]
        signature = f"{shown[0]}.({', '.join(shown[1:])})" if member else f"({', '.join(shown)})"
        self.set(node, ERROR)
        self.report(node, f"found no matching overload for '{name}' applied to '{signature}'")

    def join(self, before: Type | None, found: Type) -> Type:
        """The type that covers both; dyn where there is none, which `validators.py` then refuses in most places."""
        if before is None or not before.name:
            return found
        return most_general(before, found) if self.known.assignable(before, found) else DYN

    def optional_value(self, node: Node, optional: bool) -> Type:
        """The type of an element, entry or field; that of its value where it is marked `?`."""
        found = self.type(node)
        if not optional:
            return found
        found, wrapped = self.unwrap(found)
        if not wrapped and found.kind is not TypeKind.DYN:
            self.mismatch(node, optional_of(found), found)
        return found

    def list(self, node: CreateList) -> None:
        """A list literal."""
        element: Type | None = None
        for index, item in enumerate(node.elements):
            self.check(item)
            element = self.join(element, self.optional_value(item, index in node.optional))
        # A field that a JSONPatch does not have is of no type: a list of it alone says as little as an empty one.
        self.set(node, list_of(element if element is not None and element.name else self.fresh()))

    def map(self, node: CreateMap) -> None:
        """A map literal."""
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            self.check(entry.key)
            key = self.join(key, self.type(entry.key))
            self.check(entry.value)
            value = self.join(value, self.optional_value(entry.value, entry.optional))
        if key is None or value is None or not key.name:
            key, value = self.fresh(), self.fresh()
        self.set(node, map_of(key, value))

    def struct(self, node: CreateStruct) -> None:
        """An object literal."""
        message = next((name for name in self.env.candidates(node.type_name) if name in MESSAGES), None)
        if message is not None:
            self.out.structs[node.id] = message
            self.set(node, MESSAGES[message].type)
            self.fields(node, MESSAGES[message].fields.get)
            return
        found = self.lookup(node.type_name)
        if found is None:
            self.undeclared(node, node.type_name)
            return
        name, declared = found
        self.out.structs[node.id] = name
        result = ERROR
        if declared.kind is not TypeKind.TYPE:
            if declared.kind is not TypeKind.ERROR:
                self.report(node, f"'{declared.name}' is not a type")
        elif declared.params and declared.params[0].kind is TypeKind.OBJECT:
            result = declared.params[0]
        else:
            self.report(node, f"'{name}' is not a message type")
        self.set(node, result)
        self.fields(node, lambda name: self.env.field_type(result.name, name) if result is not ERROR else ERROR)

    def fields(self, node: CreateStruct, type_of_field: Callable[[str], Type | None]) -> None:
        """The fields of an object literal, held against their types."""
        for item in node.fields:
            self.check(item.value)
            wanted = type_of_field(item.name)
            if wanted is None:
                self.report(item, f"undefined field '{item.name}'")
                wanted = ERROR
            value = self.optional_value(item.value, item.optional)
            if not self.known.assignable(wanted, value):
                shown = f"'{item.name}' is '{wanted}' but provided type is '{value}'"
                self.report(item, f"expected type of field {shown}")

    def fold(self, node: Fold) -> None:
        """A comprehension."""
        self.check(node.range)
        self.check(node.init)
        over = self.known.apply(self.type(node.range))
        accu = self.type(node.init)
        first, second = self.element_types(node, over)
        self.scopes.append({node.accu: accu})
        self.scopes.append({node.var: first, **({node.var2: second} if node.var2 else {})})
        self.check(node.condition)
        self.expect(node.condition, BOOL)
        self.check(node.step)
        self.expect(node.step, accu)
        self.scopes.pop()
        self.check(node.result)
        self.scopes.pop()
        self.set(node, self.known.apply(self.type(node.result)))

    def element_types(self, node: Fold, over: Type) -> tuple[Type, Type]:
        """The types of the iteration variables over a range of type `over`."""
        if over.kind is TypeKind.LIST:
            return (INT, over.params[0]) if node.var2 else (over.params[0], DYN)
        if over.kind is TypeKind.MAP:
            return over.params[0], over.params[1]
        if over.kind in _FOLDABLE:
            self.known.assignable(DYN, over)
            return DYN, DYN
        self.report(
            node.range,
            f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)",
        )
        return ERROR, ERROR

    def expect(self, node: Node, wanted: Type) -> None:
        """Note where a node's type does not fit."""
        if not self.known.assignable(wanted, self.type(node)):
            self.mismatch(node, wanted, self.type(node))


def check(text: str, root: Node, env: Env) -> Checked:
    """Check `root` against `env`. Raises CompileError with every issue, each with its offset in `text`."""
    return Checker(env).run(text, root)

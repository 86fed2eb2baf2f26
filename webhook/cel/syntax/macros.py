"""Macros: calls that expand to comprehensions and conditionals before anything is checked, as cel-go expands them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import ACCUMULATOR, Call, CreateList, CreateMap, Fold, Ident, Literal, Node, Select


class MacroError(ValueError):
    """The arguments do not fit the macro."""

    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.pos = pos
        self.message = message


@dataclass(frozen=True, slots=True)
class Factory:
    """Makes nodes that stand at the place of the macro call."""

    new_id: Callable[[], int]
    pos: int
    macro: str

    def literal(self, value: object) -> Node:
        """A literal."""
        return Literal(self.new_id(), self.pos, value)

    def ident(self, name: str) -> Node:
        """A name."""
        return Ident(self.new_id(), self.pos, name)

    def accu(self) -> Node:
        """The accumulator."""
        return self.ident(ACCUMULATOR)

    def call(self, function: str, *args: Node) -> Node:
        """A global call."""
        return Call(self.new_id(), self.pos, function, None, args)

    def method(self, function: str, target: Node) -> Node:
        """A call on a receiver, without arguments."""
        return Call(self.new_id(), self.pos, function, target, ())

    def list(self, *elements: Node) -> Node:
        """A list literal."""
        return CreateList(self.new_id(), self.pos, elements)

    def fold(self, target: Node, names: tuple[str, str], init: Node, condition: Node, step: Node, result: Node) -> Node:
        """A comprehension over `target` with the usual accumulator."""
        return Fold(
            self.new_id(), self.pos, target, names[0], names[1], ACCUMULATOR, init, condition, step, result, self.macro
        )

    def copy(self, node: Node) -> Node:
        """The same tree with fresh ids."""
        match node:
            case Select():
                return replace(node, id=self.new_id(), operand=self.copy(node.operand))
            case Call():
                target = None if node.target is None else self.copy(node.target)
                return replace(node, id=self.new_id(), target=target, args=tuple(map(self.copy, node.args)))
            case CreateList():
                return replace(node, id=self.new_id(), elements=tuple(map(self.copy, node.elements)))
            case CreateMap():
                entries = tuple(
                    replace(e, id=self.new_id(), key=self.copy(e.key), value=self.copy(e.value)) for e in node.entries
                )
                return replace(node, id=self.new_id(), entries=entries)
            case nodes.CreateStruct():
                fields = tuple(replace(f, id=self.new_id(), value=self.copy(f.value)) for f in node.fields)
                return replace(node, id=self.new_id(), fields=fields)
            case Fold():
                parts = {
                    name: self.copy(getattr(node, name)) for name in ("range", "init", "condition", "step", "result")
                }
                return replace(node, id=self.new_id(), **parts)  # type: ignore[arg-type]
            case _:
                return replace(node, id=self.new_id())


Expander = Callable[[Factory, Node | None, tuple[Node, ...]], Node | None]


def _has(make: Factory, _: Node | None, args: tuple[Node, ...]) -> Node:
    if not isinstance(args[0], Select):
        raise MacroError(args[0].pos, "invalid argument to has() macro")
    return Select(make.new_id(), make.pos, args[0].operand, args[0].field, True)


def _name(arg: Node, message: str) -> str:
    if not isinstance(arg, Ident):
        raise MacroError(arg.pos, message)
    if arg.name in (ACCUMULATOR, "__result__"):
        raise MacroError(arg.pos, "iteration variable overwrites accumulator variable")
    return arg.name


def _one_name(args: tuple[Node, ...], message: str) -> tuple[tuple[str, str], tuple[Node, ...]]:
    return (_name(args[0], message), ""), args[1:]


def _two_names(args: tuple[Node, ...]) -> tuple[tuple[str, str], tuple[Node, ...]]:
    message = "argument must be a simple name"
    for arg in args[:2]:
        if not isinstance(arg, Ident):
            raise MacroError(arg.pos, message)
    first, second = args[0], args[1]
    assert isinstance(first, Ident)
    assert isinstance(second, Ident)
    if first.name == second.name:
        raise MacroError(second.pos, f"duplicate variable name: {first.name}")
    return (_name(first, message), _name(second, message)), args[2:]


def _quantifier(make: Factory, target: Node | None, names: tuple[str, str], test: Node) -> Node:
    assert target is not None
    if make.macro == "all":
        step = (nodes.AND, True)
        condition = make.call(nodes.NOT_STRICTLY_FALSE, make.accu())
    elif make.macro == "exists":
        step = (nodes.OR, False)
        condition = make.call(nodes.NOT_STRICTLY_FALSE, make.call(nodes.NOT, make.accu()))
    else:
        count = make.call(nodes.CONDITIONAL, test, make.call(nodes.ADD, make.accu(), make.literal(1)), make.accu())
        result = make.call(nodes.EQUALS, make.accu(), make.literal(1))
        return make.fold(target, names, make.literal(0), make.literal(True), count, result)
    return make.fold(
        target, names, make.literal(step[1]), condition, make.call(step[0], make.accu(), test), make.accu()
    )


def _quantify_one(make: Factory, target: Node | None, args: tuple[Node, ...]) -> Node:
    names, rest = _one_name(args, "argument must be a simple name")
    return _quantifier(make, target, names, rest[0])


def _quantify_two(make: Factory, target: Node | None, args: tuple[Node, ...]) -> Node:
    names, rest = _two_names(args)
    return _quantifier(make, target, names, rest[0])


def _collect(
    make: Factory, target: Node | None, names: tuple[str, str], init: Node, step: Node, keep: Node | None
) -> Node:
    assert target is not None
    if keep is not None:
        step = make.call(nodes.CONDITIONAL, keep, step, make.accu())
    return make.fold(target, names, init, make.literal(True), step, make.accu())


def _map(make: Factory, target: Node | None, args: tuple[Node, ...]) -> Node:
    names, rest = _one_name(args, "argument is not an identifier")
    step = make.call(nodes.ADD, make.accu(), make.list(rest[-1]))
    return _collect(make, target, names, make.list(), step, rest[0] if len(rest) == 2 else None)


def _filter(make: Factory, target: Node | None, args: tuple[Node, ...]) -> Node:
    names, rest = _one_name(args, "argument is not an identifier")
    step = make.call(nodes.ADD, make.accu(), make.list(args[0]))
    return _collect(make, target, names, make.list(), step, rest[0])


def _transform_list(make: Factory, target: Node | None, args: tuple[Node, ...]) -> Node:
    names, rest = _two_names(args)
    step = make.call(nodes.ADD, make.accu(), make.list(rest[-1]))
    return _collect(make, target, names, make.list(), step, rest[0] if len(rest) == 2 else None)


def _transform_map(make: Factory, target: Node | None, args: tuple[Node, ...]) -> Node:
    names, rest = _two_names(args)
    parts = (rest[-1],) if make.macro == "transformMapEntry" else (make.ident(names[0]), rest[-1])
    step = make.call(nodes.MAP_INSERT, make.accu(), *parts)
    init = CreateMap(make.new_id(), make.pos, ())
    return _collect(make, target, names, init, step, rest[0] if len(rest) == 2 else None)


def _optional(make: Factory, target: Node | None, args: tuple[Node, ...]) -> Node:
    assert target is not None
    if not isinstance(args[0], Ident):
        raise MacroError(args[0].pos, f"{make.macro}() variable name must be a simple identifier")
    name = args[0].name
    value = make.method("value", make.copy(target))
    bound = _bound(make, name, value, args[1])
    if make.macro == "optMap":
        bound = make.call("optional.of", bound)
    return make.call(nodes.CONDITIONAL, make.method("hasValue", target), bound, make.call("optional.none"))


def _sort_by(make: Factory, target: Node | None, args: tuple[Node, ...]) -> Node:
    assert target is not None
    if not isinstance(target, (CreateList, Select, Ident, Fold, Call)):
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.pos, message)
    name = "@__sortBy_input__"
    keys = _map(replace(make, macro="map"), make.ident(name), args)
    sorted_call = Call(make.new_id(), make.pos, "@sortByAssociatedKeys", make.ident(name), (keys,))
    return _bound(make, name, target, sorted_call)


def _bound(make: Factory, name: str, value: Node, result: Node) -> Node:
    """`result` with `name` standing for `value`, evaluated when first read."""
    empty, never = make.list(), make.literal(False)
    return Fold(make.new_id(), make.pos, empty, nodes.UNUSED, "", name, value, never, make.ident(name), result, "bind")


_TABLE: dict[tuple[str, int, bool], Expander] = {
    ("has", 1, False): _has,
    **{(name, 2, True): _quantify_one for name in ("all", "exists", "exists_one")},
    **{(name, 3, True): _quantify_two for name in ("all", "exists", "exists_one", "existsOne")},
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    ("sortBy", 2, True): _sort_by,
    ("transformList", 3, True): _transform_list,
    ("transformList", 4, True): _transform_list,
    **{(name, count, True): _transform_map for name in ("transformMap", "transformMapEntry") for count in (3, 4)},
    ("optMap", 2, True): _optional,
    ("optFlatMap", 2, True): _optional,
}


def find(function: str, args: int, member: bool) -> Expander | None:
    """The macro of this name and shape, if there is one."""
    return _TABLE.get((function, args, member))

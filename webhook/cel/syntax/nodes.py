"""The nodes of the syntax tree, read by every pass: immutable, with an id and the character offset for messages.

Facts about nodes (types, overloads, folded values) are in tables by id, never on the node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

AND, OR, NOT = "_&&_", "_||_", "!_"
CONDITIONAL = "_?_:_"
EQUALS, NOT_EQUALS = "_==_", "_!=_"
LESS, LESS_EQUALS, GREATER, GREATER_EQUALS = "_<_", "_<=_", "_>_", "_>=_"
ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO, NEGATE = "_+_", "_-_", "_*_", "_/_", "_%_", "-_"
INDEX, OPT_INDEX, OPT_SELECT = "_[_]", "_[?_]", "_?._"
IN = "@in"
NOT_STRICTLY_FALSE = "@not_strictly_false"
MAP_INSERT = "cel.@mapInsert"
ACCUMULATOR = "@result"
UNUSED = "#unused"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A piece of an expression. `pos` is the offset of the token cel-go reports errors at."""

    id: int
    pos: int


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Node):
    """A literal: int, Uint, float, bool, str, bytes or None."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Ident(Node):
    """A name; a leading dot makes it absolute."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Select(Node):
    """`operand.field`, or with `test` what `has(operand.field)` means."""

    operand: Node
    field: str
    test: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """A call of a function or operator; `target` is the receiver."""

    function: str
    target: Node | None
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CreateList(Node):
    """`[a, ?b]`; `optional` holds the indices of elements marked `?`."""

    elements: tuple[Node, ...]
    optional: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class MapEntry:
    """`key: value` of a map literal."""

    id: int
    pos: int
    key: Node
    value: Node
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class CreateMap(Node):
    """`{k: v, ?k: v}`."""

    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """`name: value` of an object literal."""

    id: int
    pos: int
    name: str
    value: Node
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class CreateStruct(Node):
    """`Type{field: value}`."""

    type_name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Fold(Node):
    """A comprehension: what the macros expand to. `macro` names the macro it came from."""

    range: Node
    var: str
    var2: str
    accu: str
    init: Node
    condition: Node
    step: Node
    result: Node
    macro: str = ""


def children(node: Node) -> tuple[Node, ...]:
    """The direct sub-expressions of a node, in the order they are written."""
    match node:
        case Select(operand=operand):
            return (operand,)
        case Call(target=target, args=args):
            return (target, *args) if target is not None else args
        case CreateList(elements=elements):
            return elements
        case CreateMap(entries=entries):
            return tuple(n for e in entries for n in (e.key, e.value))
        case CreateStruct(fields=fields):
            return tuple(f.value for f in fields)
        case Fold():
            return (node.range, node.init, node.condition, node.step, node.result)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield every node of a tree, parents before children."""
    waiting = [node]
    while waiting:
        at = waiting.pop()
        yield at
        waiting.extend(reversed(children(at)))


def qualified_name(node: Node) -> str | None:
    """`a.b.c` where the node is made of names and selections only, else None."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])

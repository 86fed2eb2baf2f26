"""Finds fields that objects of a known kind do not have, and compared values that a field never has.

The first is the part of the API server's type check that finds typos; the second it does not check. Selections are
followed through macros, optionals and variables; if the operand is not certain, nothing is reported. Operand types are
not compared. The results are advice: they do not keep a policy from being loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from webhook.cel.errors import CompileError
from webhook.cel.syntax import nodes, parser
from webhook.cel.syntax.nodes import Call, CreateList, CreateStruct, Fold, Ident, Literal, Node, Select
from webhook.kube.schema import ListShape, MapShape, Ref, Schema, Shape


@dataclass(frozen=True, slots=True)
class FieldShape:
    """What a value is: a place in the schema of a kind."""

    schema: Schema
    ref: Ref

    @property
    def shape(self) -> Shape:
        """What may stand there."""
        return self.schema.resolve(self.ref)

    def at(self, ref: Ref) -> FieldShape:
        """Another place of the same schema."""
        return FieldShape(self.schema, ref)


@dataclass(frozen=True, slots=True)
class Listed:
    """A list that an expression makes, of elements of one sort."""

    element: FieldShape


class Missing:
    """What stands below a field that does not exist."""

    __slots__ = ()


MISSING: Final = Missing()
Found = FieldShape | Listed | Missing | None
"""None: anything may be there."""
Scope = Mapping[str, Found]


@dataclass(frozen=True, slots=True)
class ForeignWord:
    """A text that a field is compared with or set to and can never be: its offset, and what the field can be."""

    offset: int
    word: str
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Misspelt:
    """A field that does not exist: its offset in the text, and the fields that do.

    `asked` says that it is only asked for, by `has` or `?`, which does not fail.
    """

    offset: int
    name: str
    known: tuple[str, ...]
    asked: bool = False


@dataclass(frozen=True, slots=True)
class TypesFound:
    """The fields that no kind has, the words that none of their fields can be, and what the expression is for each."""

    missing: tuple[Misspelt, ...]
    words: tuple[ForeignWord, ...]
    made: tuple[Found, ...]


def check_types(text: str, kinds: Sequence[Scope]) -> TypesFound:
    """Look at an expression.

    Each of `kinds` says what the variables are for one kind that the policy is for; `variables.x` is looked up under
    that dotted name. A field counts only where, for every kind, it is missing or stands below a missing one, a word
    only where it is wrong for every kind. A text that does not parse gives nothing.
    """
    try:
        root = parser.parse(text)
    except CompileError:
        return TypesFound((), (), (None,) * len(kinds))
    walks = [_FieldWalk(text, scope) for scope in kinds]
    found = [walk.infer(root, walk.scope) for walk in walks]
    told: dict[tuple[int, str], Misspelt] = {}
    for walk in walks:
        for key, known in walk.missing.items():
            if all(key in other.missing or key in other.below for other in walks):
                told.setdefault(key, Misspelt(*key, known, key in walk.asked))
    wrong = {key for walk in walks for key in walk.foreign if all(key in other.foreign for other in walks)}
    words = [ForeignWord(*key, next(walk.foreign[key] for walk in walks)) for key in sorted(wrong)]
    return TypesFound(tuple(sorted(told.values(), key=lambda m: m.offset)), tuple(words), tuple(found))


_SAME_LIST: Final = frozenset({"sort", "distinct", "slice", "reverse", "orValue", "or", "value", "sortBy"})
_THROUGH: Final = frozenset({"optional.of", "optional.ofNonZeroValue"})
_ONE_OF: Final = frozenset({"first", "last"})


@dataclass(slots=True)
class _FieldWalk:
    """One walk of one tree for one kind."""

    text: str
    scope: Scope
    missing: dict[tuple[int, str], tuple[str, ...]] = field(default_factory=dict)
    below: set[tuple[int, str]] = field(default_factory=set)
    asked: set[tuple[int, str]] = field(default_factory=set)
    foreign: dict[tuple[int, str], tuple[str, ...]] = field(default_factory=dict)

    def infer(self, node: Node, scope: Scope) -> Found:
        match node:
            case Ident(name=name):
                return scope.get(name)
            case Select():
                return self.select(node, node.operand, node.field, scope)
            case Call():
                return self.call(node, scope)
            case Fold():
                return self.fold(node, scope)
            case CreateList(elements=elements):
                return _listed([self.infer(item, scope) for item in elements])
            case CreateStruct():
                self.fragment(node, scope)
        for inner in nodes.children(node):
            self.infer(inner, scope)
        return None

    def select(self, node: Node, operand: Node, name: str, scope: Scope) -> Found:
        if (whole := nodes.qualified_name(node)) is not None and whole in scope:
            return scope[whole]
        key = (self.offset(node, operand, name), name)
        if not isinstance(node, Select) or node.test:
            self.asked.add(key)
        return self.field(self.infer(operand, scope), key)

    def field(self, found: Found, key: tuple[int, str]) -> Found:
        if isinstance(found, Missing):
            self.below.add(key)
            return MISSING
        if not isinstance(found, FieldShape) or not isinstance(shape := found.shape.map, MapShape):
            return None
        if (ref := shape.fields.get(key[1], shape.others)) is not None:
            return found.at(ref)
        if found.shape.list is not None or found.shape.scalar:
            return None
        self.missing[key] = tuple(shape.fields)
        return MISSING

    def offset(self, node: Node, operand: Node, name: str) -> int:
        """Where the name of a selected field stands."""
        start = node.pos if self.text[node.pos : node.pos + 1] in (".", "?") else operand.pos + 1
        match = re.compile(rf"\.\s*\??\s*({re.escape(name)})\b").search(self.text, max(start - 1, 0))
        return match.start(1) if match else node.pos

    def fragment(self, node: CreateStruct, scope: Scope) -> None:
        """Look at the fields that a mutation sets: the name of the type is the path from the object to them."""
        first, *path = node.type_name.removeprefix(".").split(".")
        if first != "Object":
            return
        at = max(self.text.rfind(node.type_name, 0, node.pos + 1), 0) + node.type_name.find(first) + len(first)
        found = scope.get("object")
        for step in path:
            found = self.field(_inside(found), (at + 1, step))
            at += 1 + len(step)
        for item in node.fields:
            if "__" not in item.name:
                held = self.field(_inside(found), (self.text.rfind(item.name, 0, item.pos), item.name))
                self.compare(held, item.value)

    def compare(self, found: Found, other: Node) -> None:
        """Look at a text, or texts of a list, that a value is compared with. The empty text stands for none."""
        words = found.shape.words if isinstance(found, FieldShape) else ()
        for part in other.elements if isinstance(other, CreateList) else (other,):
            if words and isinstance(part, Literal) and isinstance(part.value, str) and part.value not in ("", *words):
                self.foreign[(part.pos, part.value)] = words

    def call(self, node: Call, scope: Scope) -> Found:
        if node.function == nodes.OPT_SELECT:
            operand, name = node.args
            return self.select(node, operand, str(name.value), scope) if isinstance(name, Literal) else None
        target = None if node.target is None else self.infer(node.target, scope)
        args = [self.infer(arg, scope) for arg in node.args]
        if node.function in (nodes.EQUALS, nodes.NOT_EQUALS, nodes.IN):
            self.compare(args[0], node.args[1])
        if node.function in (nodes.EQUALS, nodes.NOT_EQUALS):
            self.compare(args[1], node.args[0])
        if node.function == nodes.IN:
            self.compare(_element(args[1]), node.args[0])
        if node.function in (nodes.INDEX, nodes.OPT_INDEX):
            return _item(args[0], node.args[1])
        if node.function == nodes.CONDITIONAL:
            return _either(args[1], args[2])
        if node.function == nodes.ADD:
            return _both(args, node.args)
        if node.target is None:
            return None
        if f"{nodes.qualified_name(node.target)}.{node.function}" in _THROUGH:
            return args[0]
        if node.function in _ONE_OF:
            return _element(target)
        return target if node.function in _SAME_LIST else None

    def fold(self, node: Fold, scope: Scope) -> Found:
        over = self.infer(node.range, scope)
        inner = {**scope, node.accu: self.infer(node.init, scope)}
        if node.var != nodes.UNUSED:
            inner |= {node.var: iterated(over, second=False)}
            if node.var2:
                inner |= {node.var: None, node.var2: iterated(over, second=True)}
        self.infer(node.condition, inner)
        made = self.step(node.step, inner)
        result = self.infer(node.result, inner)
        if node.macro == "filter":
            return over if isinstance(over, Listed) or _is_list(over) else None
        if node.macro in ("map", "transformList"):
            return made
        return result if node.macro == "bind" else None

    def step(self, step: Node, scope: Scope) -> Found:
        """Look at the step of a macro, once; give what a `map` makes: its step adds a list of one element."""
        if isinstance(step, Call) and step.function == nodes.CONDITIONAL:
            self.infer(step.args[0], scope)
            step = step.args[1]
        if isinstance(step, Call) and step.function == nodes.ADD and isinstance(step.args[1], CreateList):
            return self.infer(step.args[1], scope)
        self.infer(step, scope)
        return None


def _listed(found: list[Found]) -> Found:
    first = found[0] if found else None
    return Listed(first) if isinstance(first, FieldShape) and all(other == first for other in found) else None


def _is_list(found: Found) -> bool:
    return isinstance(found, FieldShape) and found.shape.list is not None


def _element(found: Found) -> Found:
    if isinstance(found, Listed):
        return found.element
    if isinstance(found, FieldShape):
        shape = found.shape
        return found.at(shape.list.element) if isinstance(shape.list, ListShape) and shape.map is None else None
    return found


def _inside(found: Found) -> Found:
    """What a fragment describes at a place: one element of a list."""
    listed = isinstance(found, FieldShape) and found.shape.map is None and found.shape.list is not None
    return _element(found) if listed else found


def iterated(found: Found, *, second: bool) -> Found:
    """What a macro's variable stands for: elements, the keys of a map, or its values."""
    if isinstance(found, FieldShape) and found.shape.map is not None:
        others = found.shape.map.others
        return found.at(others) if second and others is not None and not found.shape.map.fields else None
    return _element(found)


def _item(found: Found, index: Node) -> Found:
    if isinstance(found, FieldShape) and found.shape.map is not None:
        shape = found.shape.map
        name = index.value if isinstance(index, Literal) else None
        ref = shape.fields.get(name, shape.others) if isinstance(name, str) else None
        return None if ref is None else found.at(ref)
    return _element(found)


def _either(a: Found, b: Found) -> Found:
    """What one or the other is: certain only where both are the same, or one cannot be there."""
    if isinstance(a, Missing):
        return b
    return a if a == b or isinstance(b, Missing) else None


def _both(found: list[Found], parts: Sequence[Node]) -> Found:
    """What two lists together are."""
    sides = []
    for one, node in zip(found, parts, strict=True):
        if not (isinstance(node, CreateList) and not node.elements):
            element = _element(one) if isinstance(one, Listed) or _is_list(one) else None
            sides.append(element)
    return _listed(sides)

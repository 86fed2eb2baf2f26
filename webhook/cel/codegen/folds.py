"""Comprehensions as `for` loops with an early exit. Part of `emitter.py`; see its docstring for the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from webhook.cel.codegen import charges, selects
from webhook.cel.codegen.source_writer import MAX_BLOCKS, Code, SourceWriter, Unsupported
from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, CreateList, Fold, Ident, Node
from webhook.cel.types import BOOL, STRING, Type, TypeKind


@dataclass(frozen=True, slots=True)
class Rounds:
    """How a loop begins: its line, its first variable, and what all of those are known to be; a `key` has to be a text.

    `either` is what it goes over where that may be a list or a map.
    """

    header: str
    first: str
    kind: str = ""
    either: str = ""

    def write(self, to: SourceWriter, body: Callable[[], None]) -> None:
        """The loop with the body."""
        at = len(to.lines)
        to.line(self.header)

        def whole() -> None:
            if self.kind == "key":
                selects.must_be(to, self.first, "str")
            elif self.kind:
                selects.learn_element(to, self.first, self.kind)
            body()

        to.block(whole)
        if self.either and to.lines[at + 1].lstrip().startswith(f"if type({self.first}) is not str"):
            # A key of a map that is no text leaves by itself.
            pad = "    " * to.depth
            test = f"if type({self.either}) is not list and type({self.either}) is not dict: bail()"
            to.lines[at : at + 1] = [pad + test, f"{pad}for {self.first} in {self.either}:"]


def fold(to: SourceWriter, node: Fold) -> Code:
    """A comprehension."""
    if node.macro == "bind":
        return _bind(to, node)
    over = to.held(to.value(node.range))
    kind = _kind(to, node, over)
    before, to.spent = to.spent, 0
    lines, at = to.lines, len(to.lines)
    code = _loop(to, node, over, kind)
    body = to.spent + charges.plumbing((node.condition, node.step), to.written)
    to.spent = before + charges.plumbing((node.init, node.result), to.written)
    if over.size is not None:
        to.spend(over.size * body)
        return code
    # What is charged stands before the loop, though only the loop tells what its body costs.
    body_lines = lines[at:]
    del lines[at:]
    to.charge(f"len({over.text}) * {body}")
    lines += body_lines
    return code


def _kind(to: SourceWriter, node: Fold, over: Code) -> str | None:
    """Whether the range is certainly a `list` or a `dict`; where the checker says so, another value leaves."""
    if isinstance(over.const, (list, dict)):
        return type(over.const).__name__
    if isinstance(node.range, CreateList):
        to.known.learn(("is", over.text), "list")
    known = to.known.find(("is", over.text))
    if known is None and (known := selects.declared(to.checked.types.get(node.range.id))) in ("list", "dict"):
        selects.must_be(to, over.text, known)
    return known


def _loop(to: SourceWriter, node: Fold, over: Code, kind: str | None) -> Code:
    """The loop and what it gives."""
    if _copies(to, node):
        return _copy(to, node, over, kind)
    result, first, second = to.fresh(), to.fresh(), to.fresh()
    to.lines.append(to.known.begin("    " * to.depth))
    to.scopes.append(_variables(to, node, over, first, second))
    to.blocks += 1
    if to.blocks > MAX_BLOCKS:
        raise Unsupported("too many loops")
    shape = _shape(node)
    code = _WRITERS[shape](to, node, result, _rounds(to, node, over, kind, first, second))
    to.blocks -= 1
    to.scopes.pop()
    to.known.end()
    return replace(code, size=over.size) if shape in ("map", "transformMap") else code


def _variables(to: SourceWriter, node: Fold, over: Code, first: str, second: str) -> dict[str, Code]:
    """The iteration variables; what they certainly are is known only where the range certainly is."""
    if over.type is None or over.type.kind not in (TypeKind.LIST, TypeKind.MAP):
        return {node.var: Code(first, None, True), **({node.var2: Code(second, None, True)} if node.var2 else {})}
    element = _certain(over.type.params[-1])
    if not node.var2:
        return {node.var: Code(first, element if over.type.kind is TypeKind.LIST else None, True)}
    return {node.var: Code(first, None, True), node.var2: Code(second, element, True)}


def _certain(t: Type) -> Type | None:
    """Element types are only declared, not seen; none is certain but those of host objects."""
    return t if t.kind is TypeKind.OBJECT else None


def _rounds(to: SourceWriter, node: Fold, over: Code, kind: str | None, first: str, second: str) -> Rounds:
    """What a comprehension goes over; keys of a map are texts, or leave the fast form."""
    if kind == "dict":
        header = f"for {first}, {second} in {over.text}.items():" if node.var2 else f"for {first} in {over.text}:"
        return Rounds(header, first, "key")
    if node.var2:
        return Rounds(f"for {first}, {second} in two({over.text}):", first)
    if kind == "list":
        return Rounds(f"for {first} in {over.text}:", first, to.known.find(("of", over.text)) or _text(to, node))
    header = f"for {first} in {over.text} if type({over.text}) is list else one({over.text}):"
    return Rounds(header, first, either=over.text)


def _text(to: SourceWriter, node: Fold) -> str:
    """Where the checker says that elements are texts, others leave."""
    found = to.checked.types.get(node.range.id)
    return "key" if found is not None and found.kind is TypeKind.LIST and found.params[0] == STRING else ""


def _shape(node: Fold) -> str:
    return {"exists_one": "one", "existsOne": "one", "transformList": "map", "filter": "map"}.get(
        node.macro, node.macro
    )


def _quantifier(to: SourceWriter, node: Fold, result: str, rounds: Rounds) -> Code:
    """`all` and `exists`: leave at the first element that decides."""
    assert isinstance(node.step, Call)
    every = node.macro == "all"
    to.line(f"{result} = {every}")

    def body() -> None:
        assert isinstance(node.step, Call)
        test = to.condition(node.step.args[1])
        to.line(f"if not {test}:" if every else f"if {test}:")
        to.line(f"    {result} = {not every}")
        to.line("    break")

    rounds.write(to, body)
    return Code(result, BOOL, True)


def _one(to: SourceWriter, node: Fold, result: str, rounds: Rounds) -> Code:
    """`exists_one`: every element is looked at."""
    to.line(f"{result} = 0")

    def body() -> None:
        assert isinstance(node.step, Call)
        to.line(f"if {to.condition(node.step.args[0])}: {result} += 1")

    rounds.write(to, body)
    return Code(f"({result} == 1)", BOOL)


def _keeping(to: SourceWriter, step: Node, write: Callable[[Call], None]) -> None:
    """Write the step, under its condition where it has one."""
    assert isinstance(step, Call)
    if step.function == nodes.CONDITIONAL:
        to.line(f"if {to.condition(step.args[0])}:")
        to.block(lambda: _keeping(to, step.args[1], write))
    else:
        write(step)


def _map(to: SourceWriter, node: Fold, result: str, rounds: Rounds) -> Code:
    """`map`, `filter` and `transformList`: a list that grows."""
    to.line(f"{result} = []")
    kinds: list[str] = []

    def append(step: Call) -> None:
        made = step.args[1]
        assert isinstance(made, CreateList)
        element = to.value(made.elements[0])
        kinds.append(selects.element_kind(to, element))
        to.line(f"{result}.append({element.text})")

    rounds.write(to, lambda: _keeping(to, node.step, append))
    to.known.learn(("is", result), "list")
    if kinds[0]:
        to.known.learn(("of", result), kinds[0])
    return Code(result, to.checked.types.get(node.id), True)


def _copy(to: SourceWriter, node: Fold, over: Code, kind: str | None) -> Code:
    """A `map` that takes each element, or key, as it is. A list is that itself: no value is ever changed."""
    found = to.checked.types.get(node.id)
    if kind == "list":
        return replace(over, type=found)
    result = to.fresh()
    if kind == "dict":
        key = to.fresh()
        to.line(f"{result} = list({over.text})")
        to.line(f"for {key} in {result}:")
        to.line(f"    if type({key}) is not str: bail()")
        to.known.learn(("of", result), "str")
    else:
        to.line(f"{result} = list({over.text} if type({over.text}) is list else one({over.text}))")
    to.known.learn(("is", result), "list")
    return Code(result, found, True, size=over.size)


def _copies(to: SourceWriter, node: Fold) -> bool:
    """Whether a `map` takes each element, or key, as it is. Reading an optional changes it."""
    if node.macro != "map" or not isinstance(node.step, Call) or node.step.function == nodes.CONDITIONAL:
        return False
    made = node.step.args[1]
    if not isinstance(made, CreateList) or made.optional or not isinstance(made.elements[0], Ident):
        return False
    found = to.checked.types[made.elements[0].id]
    return made.elements[0].name == node.var and not found.is_optional


def _transform_map(to: SourceWriter, node: Fold, result: str, rounds: Rounds) -> Code:
    """`transformMap`: a map that grows; its keys are unique since those of the range are."""
    to.line(f"{result} = {{}}")

    def put(step: Call) -> None:
        key = to.scopes[-1][node.var]
        to.line(f"{result}[{key.text}] = {to.value(step.args[2]).text}")

    rounds.write(to, lambda: _keeping(to, node.step, put))
    to.known.learn(("is", result), "dict")
    return Code(result, to.checked.types.get(node.id), True)


def _transform_entry(to: SourceWriter, node: Fold, result: str, rounds: Rounds) -> Code:
    """`transformMapEntry`: a map that grows by whole entries; a key that is there already is an error."""
    to.line(f"{result} = {{}}")

    def put(step: Call) -> None:
        to.line(f"{result} = insert({result}, {to.value(step.args[1]).text})")

    rounds.write(to, lambda: _keeping(to, node.step, put))
    return Code(result, to.checked.types.get(node.id), True)


def _bind(to: SourceWriter, node: Fold) -> Code:
    """A local name for a value."""
    value = to.held(to.value(node.init))
    to.scopes.append({node.accu: value})
    code = to.code(node.result)
    to.scopes.pop()
    return code


_WRITERS = {
    "all": _quantifier,
    "exists": _quantifier,
    "one": _one,
    "map": _map,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entry,
}

"""Comprehensions as `for` loops with an early exit. Part of `emit.py`, whose docstring says the rules."""

from __future__ import annotations

from collections.abc import Callable

from webhook.cel import emit_costs, syntax
from webhook.cel.source import MAX_BLOCKS, Code, Unsupported, Writer
from webhook.cel.syntax import Call, CreateList, Fold, Ident, Node
from webhook.cel.types import BOOL, Kind, Type


def fold(to: Writer, node: Fold) -> Code:
    """A comprehension."""
    if node.macro == "bind":
        return _bind(to, node)
    over = to.held(to.value(node.range))
    before, to.spent = to.spent, 0
    lines, at = to.lines, len(to.lines)
    code = _loop(to, node, over)
    body = to.spent + emit_costs.plumbing((node.condition, node.step), to.written)
    to.spent = before + emit_costs.plumbing((node.init, node.result), to.written)
    # What is charged stands before the loop, though only the loop tells what its body costs.
    body_lines = lines[at:]
    del lines[at:]
    to.charge(f"len({over.text}) * {body}")
    lines += body_lines
    return code


def _loop(to: Writer, node: Fold, over: Code) -> Code:
    """The loop and what it gives."""
    result = to.fresh()
    if _copies(to, node):
        to.line(f"{result} = list({_rounds(over)})")
        return Code(result, to.checked.types.get(node.id), True)
    first, second = to.fresh(), to.fresh()
    to.lines.append(to.known.begin("    " * to.depth))
    to.scopes.append(_variables(to, node, over, first, second))
    to.blocks += 1
    if to.blocks > MAX_BLOCKS:
        raise Unsupported("too many loops")
    code = _WRITERS[_shape(node)](to, node, result, _header(over, node, first, second))
    to.blocks -= 1
    to.scopes.pop()
    to.known.end()
    return code


def _variables(to: Writer, node: Fold, over: Code, first: str, second: str) -> dict[str, Code]:
    """The iteration variables; what they certainly are is known only where the range certainly is."""
    if over.type is None or over.type.kind not in (Kind.LIST, Kind.MAP):
        return {node.var: Code(first, None, True), **({node.var2: Code(second, None, True)} if node.var2 else {})}
    element = _certain(over.type.params[-1])
    if not node.var2:
        return {node.var: Code(first, element if over.type.kind is Kind.LIST else None, True)}
    return {node.var: Code(first, None, True), node.var2: Code(second, element, True)}


def _certain(t: Type) -> Type | None:
    """Element types are only declared, not seen; none is certain but those of host objects."""
    return t if t.kind is Kind.OBJECT else None


def _header(over: Code, node: Fold, first: str, second: str) -> str:
    if node.var2:
        return f"for {first}, {second} in two({over.text}):"
    return f"for {first} in {_rounds(over)}:"


def _rounds(over: Code) -> str:
    """What a comprehension of one variable goes over."""
    return f"{over.text} if type({over.text}) is list else one({over.text})"


def _shape(node: Fold) -> str:
    return {"exists_one": "one", "existsOne": "one", "transformList": "map", "filter": "map"}.get(
        node.macro, node.macro
    )


def _quantifier(to: Writer, node: Fold, result: str, header: str) -> Code:
    """`all` and `exists`: leave at the first element that decides."""
    assert isinstance(node.step, Call)
    every = node.macro == "all"
    to.line(f"{result} = {every}")
    to.line(header)

    def body() -> None:
        assert isinstance(node.step, Call)
        test = to.condition(node.step.args[1])
        to.line(f"if not {test}:" if every else f"if {test}:")
        to.line(f"    {result} = {not every}")
        to.line("    break")

    to.block(body)
    return Code(result, BOOL, True)


def _one(to: Writer, node: Fold, result: str, header: str) -> Code:
    """`exists_one`: every element is looked at."""
    to.line(f"{result} = 0")
    to.line(header)

    def body() -> None:
        assert isinstance(node.step, Call)
        to.line(f"if {to.condition(node.step.args[0])}: {result} += 1")

    to.block(body)
    return Code(f"({result} == 1)", BOOL)


def _keeping(to: Writer, step: Node, write: Callable[[Call], None]) -> None:
    """Write the step, under its condition where it has one."""
    assert isinstance(step, Call)
    if step.function == syntax.CONDITIONAL:
        to.line(f"if {to.condition(step.args[0])}:")
        to.block(lambda: _keeping(to, step.args[1], write))
    else:
        write(step)


def _map(to: Writer, node: Fold, result: str, header: str) -> Code:
    """`map`, `filter` and `transformList`: a list that grows."""
    to.line(f"{result} = []")
    to.line(header)

    def append(step: Call) -> None:
        made = step.args[1]
        assert isinstance(made, CreateList)
        to.line(f"{result}.append({to.value(made.elements[0]).text})")

    to.block(lambda: _keeping(to, node.step, append))
    return Code(result, to.checked.types.get(node.id), True)


def _copies(to: Writer, node: Fold) -> bool:
    """Whether a `map` takes each element, or key, as it is. Reading an optional changes it."""
    if node.macro != "map" or not isinstance(node.step, Call) or node.step.function == syntax.CONDITIONAL:
        return False
    made = node.step.args[1]
    if not isinstance(made, CreateList) or made.optional or not isinstance(made.elements[0], Ident):
        return False
    found = to.checked.types[made.elements[0].id]
    return made.elements[0].name == node.var and not (found.kind is Kind.OPAQUE and found.name == "optional_type")


def _transform_map(to: Writer, node: Fold, result: str, header: str) -> Code:
    """`transformMap`: a map that grows; its keys are unique since those of the range are."""
    to.line(f"{result} = {{}}")
    to.line(header)

    def put(step: Call) -> None:
        key = to.scopes[-1][node.var]
        to.line(f"{result}[{key.text}] = {to.value(step.args[2]).text}")

    to.block(lambda: _keeping(to, node.step, put))
    return Code(result, to.checked.types.get(node.id), True)


def _transform_entry(to: Writer, node: Fold, result: str, header: str) -> Code:
    """`transformMapEntry`: a map that grows by whole entries; a key that is there already is an error."""
    to.line(f"{result} = {{}}")
    to.line(header)

    def put(step: Call) -> None:
        to.line(f"{result} = insert({result}, {to.value(step.args[1]).text})")

    to.block(lambda: _keeping(to, node.step, put))
    return Code(result, to.checked.types.get(node.id), True)


def _bind(to: Writer, node: Fold) -> Code:
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

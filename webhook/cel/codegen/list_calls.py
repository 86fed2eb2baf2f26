"""List functions that policies use often, inlined. Part of `emitter.py`; see its docstring for the rules."""

from __future__ import annotations

from webhook.cel.codegen import selects
from webhook.cel.codegen.source_writer import Code, SourceWriter
from webhook.cel.lib import costs
from webhook.cel.types import Type

_DEEPEST = 8


def written(to: SourceWriter, row: str, codes: list[Code], result: Type) -> Code | None:
    """A call of a row whose arguments are as declared, None where it is no such function."""
    if row == "list_distinct":
        return _distinct(to, to.held(codes[0]).text, result)
    depth = codes[1].const if row == "list_flatten_int" else 1
    if row not in ("list_flatten", "list_flatten_int") or type(depth) is not int or not 0 < depth <= _DEEPEST:
        return None
    return _flatten(to, to.held(codes[0]).text, depth, result)


def _distinct(to: SourceWriter, name: str, result: Type) -> Code:
    """`distinct`: a list of one element has none twice."""
    made = to.fresh()
    to.spend(costs.allocated(3, 1))
    to.line(f"{made} = {name}")
    to.line(f"if len({name}) > 1:")

    def several() -> None:
        to.charge(f"len({name}) ** 2 * 3")
        to.line(f"{made} = distinct({name})")

    to.block(several)
    to.known.learn(("is", made), "list")
    return Code(made, result, True)


def _flatten(to: SourceWriter, name: str, depth: int, result: Type) -> Code:
    """`flatten`: charged for the outer list, once for each level."""
    to.spend(costs.allocated(0, 0))
    to.charge(f"len({name}) * {depth}" if depth > 1 else f"len({name})")
    made = to.fresh()
    to.line(f"{made} = flattened({name}, {depth})")
    to.known.learn(("is", made), "list")
    return Code(made, result, True)


def joined(to: SourceWriter, a: Code, b: Code) -> Code | None:
    """`a + b` where one is certainly a list, None where none is; mostly one of them is empty."""
    if "list" not in (to.known.find(("is", a.text)), to.known.find(("is", b.text))):
        return None
    a, b = to.held(a), to.held(b)
    selects.must_be(to, a.text, "list")
    selects.must_be(to, b.text, "list")
    made = to.fresh()
    to.line(f"{made} = {a.text} if not {b.text} else {b.text} if not {a.text} else add({a.text}, {b.text})")
    to.known.learn(("is", made), "list")
    kinds = {to.known.find(("of", name)) or "" for name in (a.text, b.text)}
    if len(kinds) == 1 and (kind := kinds.pop()):
        to.known.learn(("of", made), kind)
    return Code(made, None, True)

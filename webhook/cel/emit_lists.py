"""Functions of lists that policies are full of, written out. Part of `emit.py`, whose docstring says the rules."""

from __future__ import annotations

from webhook.cel.lib import costs
from webhook.cel.source import Code, Writer
from webhook.cel.types import Type

_DEEPEST = 8


def written(to: Writer, row: str, codes: list[Code], result: Type) -> Code | None:
    """A call of a row whose arguments are as declared, None where it is no such function."""
    if row == "list_distinct":
        return _distinct(to, to.held(codes[0]).text, result)
    depth = codes[1].const if row == "list_flatten_int" else 1
    if row not in ("list_flatten", "list_flatten_int") or type(depth) is not int or not 0 < depth <= _DEEPEST:
        return None
    return _flatten(to, to.held(codes[0]).text, depth, result)


def _distinct(to: Writer, name: str, result: Type) -> Code:
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


def _flatten(to: Writer, name: str, depth: int, result: Type) -> Code:
    """`flatten`: lists that hold nothing but lists are joined here."""
    to.spend(costs.allocated(0, 0))
    to.charge(f"len({name}) * {depth}" if depth > 1 else f"len({name})")
    made = to.fresh()
    if depth == 1 and to.known.find(("of", name)) == "list":
        element = to.fresh()
        to.line(f"{made} = []")
        to.line(f"for {element} in {name}: {made} += {element}")
    else:
        to.line(f"{made} = flattened({name}, {depth})")
    to.known.learn(("is", made), "list")
    return Code(made, result, True)


def joined(to: Writer, a: Code, b: Code) -> Code | None:
    """`a + b` of two lists, None where one is not certainly a list. Often one of them is empty."""
    if to.known.find(("is", b.text)) != "list":
        return None
    sure = to.known.find(("is", a.text)) == "list"
    a = to.held(a)
    alone = f"{a.text} if not {b.text}" if sure else f"{a.text} if type({a.text}) is list and not {b.text}"
    made = to.fresh()
    to.line(f"{made} = {alone} else add({a.text}, {b.text})")
    if not sure:
        return Code(made, None, True)
    to.known.learn(("is", made), "list")
    kinds = {to.known.find(("of", name)) or "" for name in (a.text, b.text)}
    if len(kinds) == 1 and (kind := kinds.pop()):
        to.known.learn(("of", made), kind)
    return Code(made, None, True)

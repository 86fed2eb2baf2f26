"""Steps into values that may not be there, each written once. Part of `emit.py`, whose docstring says the rules.

An optional step has no effect and is the same each time, so its value is kept in a local name for all lines behind it,
and taken out of a loop where it is known not to give up. A variable of a policy is computed when it is first asked for
and counts for the cost, so it is never asked for earlier than the language would; but only once.
"""

from __future__ import annotations

from webhook.cel.emit_known import Fact
from webhook.cel.source import Code, Writer
from webhook.cel.syntax import Ident, Select
from webhook.cel.types import BOOL, STRING


def maybe(to: Writer, operand: Code, key: str) -> Code:
    """`operand.?key`, where the operand is a value, or what an optional holds."""
    held = to.held(operand)
    word = "optional" if operand.optional else "value"
    is_map = ("map", word, held.text)
    get = f"{held.text}.get({key}, ABSENT)"
    if to.known.find(is_map) is None:
        get = f"({get} if type({held.text}) is dict else bail())"
    text = f"ABSENT if {held.text} is ABSENT else {get}" if operand.optional else get
    name = once(to, ("step", word, held.text, key), text, (is_map,))
    to.known.learn(is_map)
    return Code(name, None, True, True)


def otherwise(to: Writer, held: str, other: str) -> Code:
    """What an optional holds, or a constant."""
    text = f"{held} if {held} is not ABSENT else {other}"
    return Code(once(to, ("or", held, other), text, (("here", held),)), None, True)


def once(to: Writer, fact: Fact, text: str, needed: tuple[Fact, ...]) -> str:
    """The local name of a value, written where it is asked for, or before the loops that do not change it.

    `needed` must be known there for the text to give a value without giving up.
    """
    name = to.known.find(fact)
    if name is not None:
        return name
    name = to.fresh()
    loop = to.known.outside(needed)
    if loop is None:
        to.line(f"{name} = {text}")
        block = to.known.blocks[-1]
    else:
        loop.lines.append(f"{loop.indent}{name} = {text}")
        block = to.known.blocks[loop.block]
    block[fact] = name
    block["here", name] = ""
    return name


def variable(to: Writer, node: Select) -> Code:
    """A variable of a policy: computed when it is first asked for."""
    asked = f"{to.value(node.operand).text}.cel_find({to.constant(node.field)})"
    if node.test:
        return Code(f"({asked} is not MISSING)", BOOL)
    if node.field not in to.often or not isinstance(node.operand, Ident):
        name = to.fresh()
        return Code(f"({name} if ({name} := {asked}) is not MISSING else bail())")
    name = to.kept.setdefault(asked, f"x{len(to.kept)}")
    if to.known.find(("had", name)) is not None:
        return Code(name, None, True)
    return Code(_asking(name, asked))


def _asking(name: str, asked: str) -> str:
    return f"({name} if {name} is not MISSING else {name} if ({name} := {asked}) is not MISSING else bail())"


def held_variable(to: Writer, text: str) -> str | None:
    """Ask for a variable now that the text of `variable` asks for; gives its local name, None for other texts."""
    for asked, name in to.kept.items():
        if text == _asking(name, asked):
            to.line(f"if {name} is MISSING and ({name} := {asked}) is MISSING: bail()")
            to.known.learn(("had", name))
            return name
    return None


def certain(to: Writer, code: Code) -> Code:
    """The code, with what a line before this one made certain: that it is a short text."""
    if code.type is not None or not code.name:
        return code
    short = to.known.find(("short", "str", code.text))
    return code if short is None else Code(code.text, STRING, True, size=int(short))

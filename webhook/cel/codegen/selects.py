"""Field and index selection of values that may be absent. Part of `emitter.py`; see its docstring for the rules.

A selection has no side effects, so its value is kept in a local name for all later lines, and hoisted out of a loop if
it cannot leave the fast form. Only maps have a method `get`, so a selection on any other value raises and leaves the
fast form. A variable of a policy is computed at its first use, which counts for the cost; so it is read once, and never
earlier than the language does.
"""

from __future__ import annotations

from webhook.cel.codegen import charges
from webhook.cel.codegen.known import Fact, path
from webhook.cel.codegen.runtime import LONG
from webhook.cel.codegen.source_writer import Code, SourceWriter, Unsupported
from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, Ident, Node, Select
from webhook.cel.types import BOOL, DOUBLE, DYN, INT, STRING, Type, TypeKind, list_of, map_of

KINDS = {
    "str": STRING,
    "bool": BOOL,
    "int": INT,
    "float": DOUBLE,
    "list": list_of(DYN),
    "dict": map_of(DYN, DYN),
}
"""The types that lines make certain, by Python's names."""
_SCALARS = ("str", "bool", "int", "float")
_STEPS = (nodes.OPT_INDEX, nodes.OPT_SELECT)
_HERE_ONLY: tuple[Fact, ...] = (("never",),)
"""Needed by what must not be taken out of a loop."""


def certain(to: SourceWriter, code: Code) -> Code:
    """The code, with what a line before this one made certain: that it is a short text, a text, a list or a map."""
    if code.type is not None or not code.name:
        return code
    short = to.known.find(("short", "str", code.text))
    if short is not None:
        return Code(code.text, STRING, True, size=int(short))
    kind = to.known.find(("is", code.text))
    return code if kind is None else Code(code.text, KINDS[kind], True, size=code.size)


def must_be(to: SourceWriter, name: str, kind: str, *, early: bool = False) -> None:
    """Leave the fast form where a name does not hold a `str`, `list` or `dict`; asked once, `early` before a loop."""
    if to.known.find(("is", name)) == kind:
        return
    test = f"if type({name}) is not {kind}: bail()"
    loop = to.known.homes.get(name) if early else None
    if loop is None or loop not in to.known.loops:
        to.line(test)
        to.known.learn(("is", name), kind)
    else:
        loop.lines.append(loop.indent + test)
        to.known.blocks[loop.block]["is", name] = kind


def same_kind(to: SourceWriter, text: str, name: str) -> None:
    """Note that a name holds what a text gives."""
    kind = to.known.find(("is", text))
    if kind is not None:
        to.known.learn(("is", name), kind)


def declared(found: Type | None) -> str | None:
    """What Python calls a type that the checker found, None where it tells nothing of the value."""
    if found is None or found.kind in (TypeKind.LIST, TypeKind.MAP):
        return None if found is None else {TypeKind.LIST: "list", TypeKind.MAP: "dict"}[found.kind]
    return next((name for name, known in KINDS.items() if known == found), None)


def element_kind(to: SourceWriter, code: Code) -> str:
    """What `learn_element` may take for granted of this value, nothing where it is not known."""
    code = certain(to, code)
    if code.type is STRING:
        return "short" if code.size is not None and code.size <= LONG else "str"
    return "list" if to.known.find(("is", code.text)) == "list" else ""


def learn_element(to: SourceWriter, name: str, kind: str) -> None:
    """Take for certain what all elements of a list are known to be."""
    to.known.learn(("is", name), "str" if kind == "short" else kind)
    if kind == "short":
        to.known.learn(("short", "str", name), str(LONG))


def field(to: SourceWriter, node: Select, operand: Code, key: str) -> Code:
    """`operand.key`, in a local name where it stands more than once."""
    text = f"{operand.text}[{key}]"
    if path(node) not in to.shared:
        return Code(text)
    return Code(_once(to, ("field", text), text, _HERE_ONLY), None, True)


def index(to: SourceWriter, name: str, container: Node, key: Node, other: str = "ABSENT") -> Code:
    """`a[k]`, `a[?k]`, `a.?k`; where an optional step finds nothing, it gives `other`."""
    over = to.checked.types.get(container.id)
    if over is not None and over.kind is TypeKind.OBJECT:
        raise Unsupported("index of an object")
    to.spend(charges.step(container))
    optional = name != nodes.INDEX
    a = _base(to, container) if optional else to.code(container)
    constant = to.folded(key)
    if type(constant) is str:
        if a.optional or optional:
            return maybe(to, a, to.constant(constant), other)
        return Code(f"{a.text}[{to.constant(constant)}]")
    k = certain(to, to.value(key))
    if a.optional or optional:
        return _maybe_any(to, a, k)
    if k.type is STRING:
        return Code(f"{a.text}[{k.text}]")
    return Code(f"index({a.text}, {k.text})")


def _base(to: SourceWriter, node: Node) -> Code:
    """What an optional step is taken from: where that is such a step itself, an empty map stands for none."""
    if isinstance(node, Call) and node.function in _STEPS:
        return _stepped(to, node, to.constant({}))
    return to.code(node)


def _stepped(to: SourceWriter, node: Call, other: str) -> Code:
    """An optional step that gives `other` where there is nothing."""
    to.written.add(id(node))
    container, key = node.args
    return index(to, node.function, container, key, other)


def maybe(to: SourceWriter, operand: Code, key: str, other: str = "ABSENT") -> Code:
    """`operand.?key`, where the operand is a value, or what an optional holds; `other` where there is nothing.

    ABSENT may stand for none all the same: the result says whether it does.
    """
    held = to.held(operand)
    word = "optional" if operand.optional else "value"
    step = ("step", word, held.text, key)
    if other != "ABSENT" and to.known.find((*step, "ABSENT")) is not None:
        other = "ABSENT"
    is_map = ("map", word, held.text)
    get = f"{held.text}.get({key}, {other})"
    text = f"{other} if {held.text} is ABSENT else {get}" if operand.optional else get
    name = _once(to, (*step, other), text, (is_map,))
    to.known.learn(is_map)
    return Code(name, None, True, other == "ABSENT")


def _maybe_any(to: SourceWriter, a: Code, key: Code) -> Code:
    """`a[?k]` of a key that is not constant."""
    held, k = to.held(a), to.held(key)
    step = f"maybe_index({held.text}, {k.text})"
    if k.type is STRING:
        step = f"{held.text}.get({k.text}, ABSENT)"
    elif k.type is None:
        step = f"{held.text}.get({k.text}, ABSENT) if type({k.text}) is str else {step}"
    text = f"ABSENT if {held.text} is ABSENT else {step}" if a.optional else step
    return Code(_once(to, ("any", held.text, k.text), text, _HERE_ONLY), None, True, True)


def or_constant(to: SourceWriter, node: Node, other: object) -> Code:
    """`node.orValue(other)` of a constant. What stands in for a map or a list is hardly meant for anything else."""
    default = to.constant(other)
    if isinstance(node, Call) and node.function in _STEPS:
        found = _stepped(to, node, default)
    else:
        found = to.optional(node)
    name = to.held(found).text
    if found.optional:
        name = _once(to, ("or", name, default), f"{name} if {name} is not ABSENT else {default}", (("here", name),))
    if type(other) is dict or type(other) is list:
        must_be(to, name, type(other).__name__, early=True)
    return certain(to, Code(name, None, True))


def shared(to: SourceWriter, word: str, text: str, held: str) -> str:
    """The local name of what a helper makes of a held value, asked for once."""
    return _once(to, (word, held), text, _HERE_ONLY)


def _once(to: SourceWriter, fact: Fact, text: str, needed: tuple[Fact, ...]) -> str:
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
        to.known.homes[name] = loop
        block = to.known.blocks[loop.block]
    block[fact] = name
    block["here", name] = ""
    return name


def variable(to: SourceWriter, node: Select) -> Code:
    """A variable of a policy: computed when it is first asked for. One of another type than was found leaves."""
    asked = f"{to.value(node.operand).text}.cel_find({to.constant(node.field)})"
    if node.test:
        return Code(f"({asked} is not MISSING)", BOOL)
    kind = declared(to.checked.types.get(node.id))
    found = KINDS[kind] if kind in _SCALARS else None
    often = node.field in to.often and isinstance(node.operand, Ident)
    name = to.kept.setdefault(asked, f"x{len(to.kept)}") if often else to.fresh()
    if often and to.known.find(("had", name)) is not None:
        return Code(name, found, True)
    test = f"({name} := {asked}) is not MISSING" if kind is None else f"type({name} := {asked}) is {kind}"
    text = (
        f"({name} if {name} is not MISSING else {name} if {test} else bail())"
        if often
        else f"({name} if {test} else bail())"
    )
    if kind is not None:
        to.known.learn(("is", text), kind)
    if often:
        to.asking[text] = name, f"if {name} is MISSING and not {test}: bail()"
    return Code(text, found)


def held_variable(to: SourceWriter, text: str) -> str | None:
    """Ask for a variable now that the text of `variable` asks for; gives its local name, None for other texts."""
    if text not in to.asking:
        return None
    name, line = to.asking[text]
    to.line(line)
    to.known.learn(("had", name))
    same_kind(to, text, name)
    return name

"""Calls and operators as Python expressions. Part of `emitter.py`; see its docstring for the rules."""

from __future__ import annotations

from collections.abc import Callable

from webhook.cel.codegen import charges, list_calls, logic, runtime, selects
from webhook.cel.codegen.source_writer import Code, SourceWriter, Unsupported
from webhook.cel.function_types import Cost, Function, Overload
from webhook.cel.interpreter import dispatch
from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, Literal, Node
from webhook.cel.type_guards import guard
from webhook.cel.types import BOOL, BYTES, DOUBLE, INT, STRING, Type, TypeKind, list_of
from webhook.cel.values import ABSENT

_ARITHMETIC = {
    nodes.SUBTRACT: ("-", "subtract"),
    nodes.MULTIPLY: ("*", "multiply"),
}
_WHOLE = {nodes.DIVIDE: "divide", nodes.MODULO: "modulo"}
_ORDER = {
    nodes.LESS: ("<", "less"),
    nodes.LESS_EQUALS: ("<=", "less_equal"),
    nodes.GREATER: (">", "greater"),
    nodes.GREATER_EQUALS: (">=", "greater_equal"),
}
_PYTHON = {STRING: "str", INT: "int", BOOL: "bool", DOUBLE: "float", BYTES: "bytes"}
_TEXTS = list_of(STRING)
_CONTAINERS = {TypeKind.LIST: "list", TypeKind.MAP: "dict"}
_CERTAIN = (TypeKind.PRIMITIVE, TypeKind.OPAQUE, TypeKind.OBJECT, TypeKind.WELL_KNOWN)


def call(to: SourceWriter, node: Call) -> Code:
    """A call."""
    found = to.checked.calls[node.id]
    target = None if found.namespaced else node.target
    args = node.args if target is None else (target, *node.args)
    name = found.function
    function = to.env.functions[name]
    if function.host:
        raise Unsupported(name)
    match name:
        case nodes.AND | nodes.OR:
            return logic.logical(to, "and" if name == nodes.AND else "or", args)
        case nodes.CONDITIONAL:
            return _conditional(to, node, *args)
        case nodes.EQUALS | nodes.NOT_EQUALS:
            return _equality(to, name == nodes.EQUALS, *args)
        case nodes.IN:
            return _in(to, charges.settled(function, found.overloads), *args)
        case nodes.INDEX | nodes.OPT_INDEX | nodes.OPT_SELECT:
            return selects.index(to, name, args[0], args[1])
    if name in _ORDER:
        return _order(to, *_ORDER[name], charges.settled(function, found.overloads), *args)
    if name == nodes.ADD:
        return _add(to, charges.settled(function, found.overloads), *args)
    if function.unit_cost:
        to.spend(1)
        return _plain(to, name, args)
    return _function(to, node, function, found.overloads, args)


def _plain(to: SourceWriter, name: str, args: tuple[Node, ...]) -> Code:
    """What always costs 1, whatever the values."""
    if name in _WHOLE:
        return Code(f"{_WHOLE[name]}({to.value(args[0]).text}, {to.value(args[1]).text})")
    if name in _ARITHMETIC:
        return _arithmetic(to, *_ARITHMETIC[name], to.value(args[0]), to.value(args[1]))
    match name:
        case nodes.NOT:
            return Code(f"(not {to.condition(args[0])})", BOOL)
        case nodes.NEGATE:
            return Code(f"negate({to.value(args[0]).text})")
        case "type":
            return Code(f"type_value({to.value(args[0]).text})")
        case "size":
            return _size(to, args[0])
        case "dyn":
            return Code(to.value(args[0]).text)
    return _optional(to, name, args)


def _conditional(to: SourceWriter, node: Call, condition: Node, yes: Node, no: Node) -> Code:
    """`c ? a : b`; optionals pass only where Go's native form leaves what they hold as it is."""
    found = to.checked.types[node.id]
    optional = found.is_optional
    test = to.condition(condition)
    certain: list[Type | None] = []

    def branch(part: Node) -> str:
        if optional:
            text = to.optional(part).text
            return text if text == "ABSENT" or to.known.find(("is", text)) == "list" else f"plain({text})"
        code = to.value(part)
        certain.append(code.type)
        if code.type is not None or found.kind is not TypeKind.DYN:
            return code.text
        name = code.text if code.name else to.fresh()
        bound = name if code.name else f"({name} := {code.text})"
        return f"({name} if type({bound}) is not Optional else bail())"

    yes_lines, yes_text = to.later(lambda: branch(yes))
    no_lines, no_text = to.later(lambda: branch(no))
    same = certain[0] if len(certain) == 2 and certain[0] == certain[1] else None
    if not yes_lines and not no_lines:
        return Code(f"({yes_text} if {test} else {no_text})", same, False, optional)
    name = to.fresh()
    pad = "    " * (to.depth + 1)
    to.line(f"if {test}:")
    to.lines += [*yes_lines, f"{pad}{name} = {yes_text}"]
    to.line("else:")
    to.lines += [*no_lines, f"{pad}{name} = {no_text}"]
    return Code(name, same, True, optional)


def _equality(to: SourceWriter, positive: bool, left: Node, right: Node) -> Code:
    """`==` and `!=`: Python's own where the types are sure to agree."""
    a, b = selects.certain(to, to.value(left)), selects.certain(to, to.value(right))
    op, helper = ("==", "equal") if positive else ("!=", "not_equal")
    ending = charges.compared(to, a, b)
    helper += ending
    if b.const is None:
        return _null(to, positive, a, b)
    if a.type in _PYTHON and a.type == b.type and not ending:
        return Code(f"({a.text} {op} {b.text})", BOOL)
    if a.type is None and b.type in (STRING, INT, BOOL) and b.name and not ending:
        name = a.text if a.name else to.fresh()
        bound = name if a.name else f"({name} := {a.text})"
        fast = f"{name} {op} {b.text}"
        return Code(f"({fast} if type({bound}) is {_PYTHON[b.type]} else {helper}({name}, {b.text}))", BOOL)
    if not ending or not {a.type, b.type} <= {None, STRING}:
        return Code(f"{helper}({a.text}, {b.text})", BOOL)
    a, b = to.held(a), to.held(b)
    tests = [f"type({c.text}) is str" for c in (a, b) if c.type is None]
    short = " and ".join((*tests, f"len({a.text}) <= LONG"))
    return Code(f"({a.text} {op} {b.text} if {short} else {helper}({a.text}, {b.text}))", BOOL)


def _null(to: SourceWriter, positive: bool, a: Code, b: Code) -> Code:
    """`a == null`: a map is not, and what else there is may refuse to be asked."""
    name = a.text if a.name else to.fresh()
    bound = name if a.name else f"({name} := {a.text})"
    if positive:
        return Code(f"({bound} is None or type({name}) is not dict and equal({name}, {b.text}))", BOOL)
    return Code(f"({bound} is not None and (type({name}) is dict or not_equal({name}, {b.text})))", BOOL)


def _in(to: SourceWriter, cost: Cost | None, element: Node, container: Node) -> Code:
    """`x in y`; in a list whose overload is settled each element counts."""
    a, b = selects.certain(to, to.value(element)), selects.certain(to, to.value(container))
    if cost is None:
        to.spend(1)
    elif b.size is not None:
        to.spend(b.size)
    else:
        b = to.held(b)
        selects.must_be(to, b.text, "list")
        to.charge(f"len({b.text})")
        b = selects.certain(to, b)
    constant = b.const
    if isinstance(constant, list) and constant and all(type(c) is str for c in constant):
        held = a.text if a.name else to.fresh()
        bound = held if a.name else f"({held} := {a.text})"
        members = to.constant(frozenset(constant))
        if a.type is STRING:
            return Code(f"({a.text} in {members})", BOOL)
        return Code(f"({held} in {members} if type({bound}) is str else contains({held}, {b.text}))", BOOL)
    return _inside(to, a, b)


def _inside(to: SourceWriter, a: Code, b: Code) -> Code:
    """`x in y` of a text in a list or map, tested inline where both may be written twice."""
    if a.name and a.type is STRING and not b.name:
        name = to.fresh()
        return Code(f"({a.text} in {name} if type(({name} := {b.text})) is dict else contains({a.text}, {name}))", BOOL)
    if not a.name or not b.name or a.type not in (None, STRING):
        return Code(f"contains({a.text}, {b.text})", BOOL)
    tests = [] if a.type is STRING else [f"type({a.text}) is str"]
    if b.type is None or b.type.kind not in (TypeKind.LIST, TypeKind.MAP):
        tests.append(f"(type({b.text}) is dict or type({b.text}) is list)")
    plain = f"{a.text} in {b.text}"
    return Code(
        f"({plain} if {' and '.join(tests)} else contains({a.text}, {b.text}))" if tests else f"({plain})", BOOL
    )


def _optional(to: SourceWriter, name: str, args: tuple[Node, ...]) -> Code:
    """The functions of optionals, on what they hold."""
    match name:
        case "optional.none":
            return Code("ABSENT", None, False, True)
        case "optional.of":
            return Code(to.value(args[0]).text, None, False, True)
        case "optional.ofNonZeroValue":
            value = to.held(to.value(args[0]))
            return Code(f"(ABSENT if is_zero({value.text}) else {value.text})", None, False, True)
    if name == "orValue" and (constant := to.folded(args[1])) is not ABSENT:
        return selects.or_constant(to, args[0], constant)
    held = to.held(to.optional(args[0]))
    match name:
        case "hasValue":
            return Code(f"({held.text} is not ABSENT)", BOOL)
        case "value":
            return Code(f"({held.text} if {held.text} is not ABSENT else bail())")
    written, other = to.later(lambda: (to.optional if name == "or" else to.value)(args[1]).text)
    if written:
        result = to.fresh()
        to.line(f"{result} = {held.text}")
        to.line(f"if {result} is ABSENT:")
        to.lines += [*written, "    " * (to.depth + 1) + f"{result} = {other}"]
        return Code(result, None, True, name == "or")
    return Code(f"({held.text} if {held.text} is not ABSENT else {other})", None, False, name == "or")


def _size(to: SourceWriter, arg: Node) -> Code:
    """`size(x)`."""
    a = selects.certain(to, to.value(arg))
    if a.type is not None and (a.type in (STRING, BYTES) or a.type.kind in (TypeKind.LIST, TypeKind.MAP)):
        return Code(f"len({a.text})", INT)
    name = a.text if a.name else to.fresh()
    bound = name if a.name else f"({name} := {a.text})"
    return Code(f"(len({name}) if type({bound}) is list else size({name}))", INT)


def _order(to: SourceWriter, op: str, helper: str, cost: Cost | None, left: Node, right: Node) -> Code:
    """`<` and its kin: Python's own for two ints or two doubles that are sure to be ones."""
    a, b = to.value(left), to.value(right)
    if cost is not None:
        return Code(f"{helper}{charges.compared(to, a, b)}({a.text}, {b.text})", BOOL)
    to.spend(1)
    if a.type is INT and b.type is INT:
        return Code(f"({a.text} {op} {b.text})", BOOL)
    if a.type is None and b.type is INT and b.name:
        name = a.text if a.name else to.fresh()
        bound = name if a.name else f"({name} := {a.text})"
        return Code(f"({name} {op} {b.text} if type({bound}) is int else {helper}({name}, {b.text}))", BOOL)
    return Code(f"{helper}({a.text}, {b.text})", BOOL)


def _add(to: SourceWriter, cost: Cost | None, left: Node, right: Node) -> Code:
    """`+`: texts and bytes are charged by their size where the checker knows that they are."""
    a, b = to.value(left), to.value(right)
    if cost is None:
        to.spend(1)
        return list_calls.joined(to, a, b) or _arithmetic(to, "+", "add", a, b)
    ending, size = charges.joined(to, a, b)
    result = a.type if a.type == b.type and a.type in (STRING, BYTES) else None
    return Code(f"add{ending}({a.text}, {b.text})", result, size=size)


def _arithmetic(to: SourceWriter, op: str, helper: str, a: Code, b: Code) -> Code:
    """`+`, `-`, `*`: ints are checked against the range of 64 bits."""
    if a.type is INT and b.type is INT:
        name = to.fresh()
        least, most = to.constant(-(2**63)), to.constant(2**63 - 1)
        return Code(f"({name} if {least} <= ({name} := {a.text} {op} {b.text}) <= {most} else bail())", INT)
    if a.type is DOUBLE and b.type is DOUBLE:
        return Code(f"({a.text} {op} {b.text})", DOUBLE)
    return Code(f"{helper}({a.text}, {b.text})")


def _function(
    to: SourceWriter, node: Call, function: Function, overloads: tuple[str, ...], args: tuple[Node, ...]
) -> Code:
    """A function of the library."""
    row = next((o for o in function.overloads if o.id == overloads[0]), None) if len(overloads) == 1 else None
    cost = charges.price(function, row)
    if function.matcher is not None and isinstance(args[1], Literal):
        return _matches(to, function.matcher, args, cost)
    codes = [to.value(a) for a in args]
    if row is None and function.name == STRING.name and len(args) == 1 and cost is None:
        return _string(to, function, codes[0])
    if row is None:
        return _priced(to, to.constant(runtime.open_call(function, len(args))), cost, codes, None)
    codes = [_guarded(to, code, wanted) for code, wanted in zip(codes, row.args, strict=True)]
    certain = row.result if row.result.kind in (*_CERTAIN, TypeKind.LIST, TypeKind.MAP) else None
    most = 1 if cost is None else charges.most(cost, codes)
    if most is None:
        listed = list_calls.written(to, row.id, codes, row.result)
        return listed or _priced(to, to.constant(row.call), cost, codes, certain)
    to.spend(most)
    if len(codes) == 1 and row.args[0] is row.result and function.name == row.result.name:
        return codes[0]
    texts = [c.text for c in codes]
    return Code(f"({row.template.format(*texts)})" if row.template else _called(to, row, texts), certain)


def _string(to: SourceWriter, function: Function, code: Code) -> Code:
    """`string(x)` of what is likely a text already. What costs 1."""
    to.spend(1)
    code = selects.certain(to, to.held(code))
    if code.type is STRING:
        return code
    made = f"{to.constant(runtime.open_call(function, 1))}({code.text})"
    text = f"{code.text} if type({code.text}) is str else {made}"
    return Code(selects.shared(to, "string", text, code.text), STRING, True)


def _called(to: SourceWriter, row: Overload, texts: list[str]) -> str:
    """A call; one of what other calls remember, such as `quantity(text).isInteger()`, is remembered with them."""
    inner = [to.remembered[text] for text in texts if text in to.remembered]
    if len(inner) == len(texts) and row.result.kind is TypeKind.PRIMITIVE:
        callee = runtime.together(row, *(function for function, _ in inner))
        texts = [text for _, text in inner]
    else:
        callee = runtime.callee(row)
    call = f"{to.constant(callee)}({', '.join(texts)})"
    if callee is not row.call and len(texts) == 1:
        to.remembered[call] = (callee, texts[0])
    return call


def _guarded(to: SourceWriter, code: Code, wanted: Type) -> Code:
    """An argument that certainly is what the overload wants; texts and bytes are short besides."""
    if wanted.kind in (TypeKind.DYN, TypeKind.PARAM):
        return code
    shallow = all(p.kind in (TypeKind.DYN, TypeKind.PARAM) for p in wanted.params)
    sized = wanted is STRING or wanted is BYTES
    if code.type is not None and code.type.name == wanted.name and shallow and (not sized or code.const is not ABSENT):
        return code
    code = selects.certain(to, to.held(code))
    if sized:
        short = ("short", _PYTHON[wanted], code.text)
        if to.known.find(short) is None:
            test = "" if code.type is wanted else f"type({code.text}) is not {_PYTHON[wanted]} or "
            to.line(f"if {test}len({code.text}) > LONG: bail()")
            to.known.learn(short, str(runtime.LONG))
    elif wanted.kind in _CONTAINERS and shallow:
        selects.must_be(to, code.text, _CONTAINERS[wanted.kind])
    elif wanted.kind is TypeKind.LIST and runtime.is_matrix(wanted):
        if to.known.find(("of", code.text)) != "list":
            to.line(f"if type({code.text}) is not list or {code.text} and type({code.text}[0]) is not list: bail()")
    elif wanted == _TEXTS and to.known.find(("of", code.text)) in ("str", "short"):
        pass
    elif wanted in _PYTHON:
        to.line(f"if type({code.text}) is not {_PYTHON[wanted]}: bail()")
    else:
        to.line(f"if not {to.constant(guard(wanted))}({code.text}): bail()")
    return Code(code.text, wanted, True, size=runtime.LONG if sized else None)


def _priced(to: SourceWriter, function: str, cost: Cost | None, codes: list[Code], certain: Type | None) -> Code:
    """A call that is charged by its arguments, before it is made; after it where what it gives counts."""
    if cost is None:
        to.spend(1)
        return Code(f"{function}({', '.join(c.text for c in codes)})", certain)
    names = [to.held(c).text for c in codes]
    result = to.fresh()
    units = f"{to.constant(cost)}(({''.join(f'{n}, ' for n in names)}), "
    after = dispatch.by_result(cost, len(codes))
    if not after:
        to.charge(f"{units}ABSENT)")
    to.line(f"{result} = {function}({', '.join(names)})")
    if after:
        to.charge(f"{units}{result})")
    return Code(result, certain, True)


def _matches(
    to: SourceWriter, matcher: Callable[[str], Callable[[str], object]], args: tuple[Node, ...], cost: Cost | None
) -> Code:
    """`text.matches('constant')`: by the matcher the library chose for the pattern."""
    pattern = args[1]
    assert isinstance(pattern, Literal)
    a = _guarded(to, to.value(args[0]), STRING)
    most = 1 if cost is None else charges.most(cost, (a, to.code(pattern)))
    assert most is not None
    to.spend(most)
    if len(str(pattern.value)) > 1_000:
        raise Unsupported("long pattern")
    return Code(f"{to.constant(matcher(str(pattern.value)))}({a.text})", BOOL)

"""Every row of every function, and every operator, as an expression over variables of any size. No test is here."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from webhook import cel
from webhook.cel import types
from webhook.cel.env import Env
from webhook.cel.function_types import Overload
from webhook.cel.functions import rows
from webhook.cel.lib import memory
from webhook.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type, TypeKind
from webhook.cel.values import Uint

JSON = dict[str, Any]
WIDE = "\U0001f600"
BINARY = {
    "_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "_+_": "+", "_-_": "-",
    "_*_": "*", "_/_": "/", "_%_": "%", "@in": "in",
}  # fmt: skip
MADE = {
    "kubernetes.Quantity": "quantity('1500m')",
    "kubernetes.URL": "url('https://example.com:80/a?b=c')",
    "kubernetes.Semver": "semver('1.2.3-rc.1')",
    "kubernetes.NamedFormat": "format.uri()",
    "net.IP": "ip('2001:db8::1')",
    "net.CIDR": "cidr('2001:db8::/32')",
    "google.protobuf.Timestamp": "timestamp('2024-02-29T12:30:45Z')",
    "google.protobuf.Duration": "duration('1h30m')",
    "uint": "2u",
    "double": "1.5",
    "type": "int",
}
"""How to make a value of a type that no variable of a row can have."""
SKIPPED = frozenset(
    ("_&&_", "_||_", "!_", "-_", "_?:_", "@not_strictly_false", "_[_]", "_[?_]", "_?._", "cel.@mapInsert")
)


@dataclass(frozen=True)
class Case:
    """An expression, and the types of its variables."""

    name: str
    text: str
    variables: dict[str, Type] = field(default_factory=dict)

    def values(self, size: int, character: str = "a") -> JSON:
        """Values of the variables; texts, bytes, lists and maps have this size."""
        return {name: value(t, size, character) for name, t in self.variables.items()}

    def untyped(self) -> "Case":
        """The same with variables of which nothing is known."""
        return Case(f"{self.name} dyn", self.text, dict.fromkeys(self.variables, DYN))


def value(t: Type, size: int, character: str = "a") -> Any:
    """A value of a type that counts `size`."""
    if t.kind is TypeKind.LIST:
        element = t.params[0] if t.params[0].kind not in (TypeKind.DYN, TypeKind.PARAM) else STRING
        return [value(element, 33, character)] * size
    if t.kind is TypeKind.MAP:
        return {f"{character}{i}": i for i in range(size)}
    return {INT: 1, BOOL: True, STRING: character * size, BYTES: b"x" * size, UINT: Uint(2), DOUBLE: 1.5}.get(t)


def argument(t: Type, at: int, variables: dict[str, Type]) -> str | None:
    """An expression of the type, of variables where they can have it."""
    if t.name in MADE:
        return MADE[t.name]
    if t.kind in (TypeKind.DYN, TypeKind.PARAM):
        t = STRING
    if t.kind in (TypeKind.LIST, TypeKind.MAP) and any(
        p.kind not in (TypeKind.PRIMITIVE, TypeKind.DYN, TypeKind.PARAM) for p in t.params
    ):
        inner = argument(t.params[0], at, {})
        return None if inner is None or t.kind is TypeKind.MAP else f"[{inner}, {inner}]"
    if t.kind not in (TypeKind.PRIMITIVE, TypeKind.LIST, TypeKind.MAP):
        return None
    name = f"v{at}"
    variables[name] = _concrete(t)
    return name


def _concrete(t: Type) -> Type:
    if t.kind is TypeKind.LIST:
        element = t.params[0]
        return types.list_of(element if element.kind is TypeKind.PRIMITIVE else STRING)
    return types.map_of(STRING, INT) if t.kind is TypeKind.MAP else t


def written(name: str, row: Overload, args: list[str]) -> str:
    """A call of a row."""
    if name in BINARY:
        return f"({args[0]} {BINARY[name]} {args[1]})"
    if row.member:
        return f"{args[0]}.{name}({', '.join(args[1:])})"
    return f"{name}({', '.join(args)})"


def cases() -> Iterator[Case]:
    """One case for each row that can be called with values at hand."""
    for function in rows():
        if function.name in SKIPPED or function.name.startswith("@sort") or function.library == "kubernetes.authz":
            continue
        for row in function.overloads:
            variables: dict[str, Type] = {}
            args = [argument(t, i, variables) for i, t in enumerate(row.args)]
            if None not in args and row.args:
                text = written(function.name, row, [a for a in args if a is not None])
                yield Case(f"{function.library} {row.id}", text, variables)
    yield from _operators()


TEXT, TEXTS, NUMBERS, TABLE = STRING, types.list_of(STRING), types.list_of(INT), types.map_of(STRING, INT)


def _operators() -> Iterator[Case]:
    pairs = {"v0": TEXTS, "v1": TEXTS}
    for name, text, variables in (
        ("lists equal", "v0 == v1", pairs),
        ("maps equal", "v0 == v1", {"v0": TABLE, "v1": TABLE}),
        ("optionals equal", "optional.of(v0) == optional.of(v1)", pairs),
        ("lists nested", "[v0] == [v1]", pairs),
        ("joined thrice", "v0 + v1 + v0 + v1", {"v0": TEXT, "v1": TEXT}),
        ("list joined", "(v0 + v1).size()", pairs),
        ("in list", "v0 in v1", {"v0": TEXT, "v1": TEXTS}),
        ("in joined", "v0 in (v1 + v1)", {"v0": TEXT, "v1": TEXTS}),
        ("in literal", "v0 in [v0, v0 + 'a', 'b']", {"v0": TEXT}),
        ("in map", "v0 in v1", {"v0": TEXT, "v1": TABLE}),
        ("all", "v0.all(x, x > 0)", {"v0": NUMBERS}),
        ("exists", "v0.exists(x, x < 0)", {"v0": NUMBERS}),
        ("exists_one", "v0.exists_one(x, x == 2)", {"v0": NUMBERS}),
        ("map", "v0.map(x, x + 'a').size()", {"v0": TEXTS}),
        ("copied", "v0.map(x, x)", {"v0": TEXTS}),
        ("filter", "v0.filter(x, x != '')", {"v0": TEXTS}),
        ("map of three", "v0.map(x, x != '', {'a': [x]})", {"v0": TEXTS}),
        ("two variables", "v0.all(i, x, i >= 0 && x != '')", {"v0": TEXTS}),
        ("transformList", "v0.transformList(i, x, i % 2 == 0, x.size())", {"v0": TEXTS}),
        ("transformMap", "v0.transformMap(k, v, v + 1)", {"v0": TABLE}),
        ("transformMapEntry", "v0.transformMapEntry(k, v, {k + 'a': v})", {"v0": TABLE}),
        ("keys", "v0.all(k, k != '' && v0[k] >= 0)", {"v0": TABLE}),
        ("sortBy", "v0.sortBy(x, x)", {"v0": TEXTS}),
        ("optMap", "v0[?0].optMap(x, x + 'a').orValue('')", {"v0": TEXTS}),
        ("matches", "v0.matches('^[a-z]+(-[0-9]*)?$')", {"v0": TEXT}),
        ("find", "v0.find('b+')", {"v0": TEXT}),
        ("format", "'%s %d'.format([v0, v1])", {"v0": TEXT, "v1": INT}),
        ("starts with", "v0.startsWith('a') || v0.endsWith(v1)", {"v0": TEXT, "v1": TEXT}),
        ("ternary", "v0 == v1 ? v0 + v1 : v1", {"v0": TEXT, "v1": TEXT}),
        ("split and compared", "v0.split('a') == v0.split('')", {"v0": TEXT}),
        ("bytes", "bytes(v0) == bytes(v1)", {"v0": TEXT, "v1": TEXT}),
        ("address on the right", "dyn(v0) == ip('2001:db8::1') || dyn(v0) != cidr('0.0.0.0/0')", {"v0": TEXTS}),
        ("addresses unequal", "ip('2001:db8::1') != ip('2001:db8::2') && v0", {"v0": BOOL}),
        ("closed", "quantity('1Gi').add(quantity('1')).isGreaterThan(quantity('2')) && v0", {"v0": BOOL}),
        ("chain", "v0.a1 + v0['a2'] == 3 && dyn(v0).a1 == 1 && {'b': v0}.b.a1 == 1", {"v0": TABLE}),
        ("has", "has(v0.a1) && v0.?a2.orValue(0) == 2", {"v0": TABLE}),
        ("within a loop", "v0.all(x, v1 == v2 && v1 + v2 != x)", {"v0": TEXTS, "v1": TEXT, "v2": TEXT}),
        ("in within a loop", "v0.all(x, x in v0)", {"v0": TEXTS}),
        ("loop in a loop", "v0.all(x, v1.all(y, y.contains(x)))", {"v0": TEXTS, "v1": TEXTS}),
    ):
        yield Case(name, text, dict(variables))


def program(case: Case) -> cel.Program | None:
    """The program of a case, None where it does not compile: a row of mutations, or one that dyn hides."""
    return _compiled(case.text, tuple(case.variables.items()))


@cache
def _compiled(text: str, variables: tuple[tuple[str, Type], ...]) -> cel.Program | None:
    try:
        return cel.compile(text, Env(dict(variables)))
    except cel.CompileError:
        return None


__all__ = ["DURATION", "TIMESTAMP", "WIDE", "Case", "cases", "program", "value"]


def fast(made: cel.Program, values: tuple[object, ...]) -> tuple[object, int] | None:
    """What the fast form gives, and what it cost at most; None where there is none, or it leaves to the exact form."""
    budget = cel.Budget(remaining=10**15)
    memory.reset()
    try:
        value = made.metered(values, budget)
    except cel.EvalError:
        return None
    return (value, budget.uncounted) if budget.noted else None

"""Makes expressions at random from the rows of the functions: mostly well typed, sometimes of a wrong type or dyn.

The same seed gives the same expressions. Nothing is evaluated here.
"""

import random
import re
from collections.abc import Sequence
from typing import Any

from tests.cel_diff import pools
from tests.cel_diff.templates import TEMPLATES
from webhook.cel.function_types import Overload
from webhook.cel.functions import rows
from webhook.cel.types import Type, TypeKind

_SPECIAL = {
    ("quantity", 0): pools.QUANTITY_TEXTS,
    ("isQuantity", 0): pools.QUANTITY_TEXTS,
    ("ip", 0): pools.IP_TEXTS,
    ("isIP", 0): pools.IP_TEXTS,
    ("ip.isCanonical", 0): pools.IP_TEXTS,
    ("containsIP", 1): pools.IP_TEXTS,
    ("containsCIDR", 1): pools.CIDR_TEXTS,
    ("cidr", 0): pools.CIDR_TEXTS,
    ("isCIDR", 0): pools.CIDR_TEXTS,
    ("url", 0): pools.URL_TEXTS,
    ("isURL", 0): pools.URL_TEXTS,
    ("semver", 0): pools.SEMVER_TEXTS,
    ("isSemver", 0): pools.SEMVER_TEXTS,
    ("validate", 1): pools.NAMES + pools.FORMAT_TEXTS + pools.URL_TEXTS,
    ("format.named", 0): ("dns1123Label", "labelValue", "uuid", "uri", "nope", "", "DNS1123Label", "datetime"),
    ("format", 0): pools.FORMAT_STRINGS,
    ("timestamp", 0): (*pools.FORMAT_TEXTS, "2024-01-01T00:00:00.1234567891Z", "2024-01-01T00:00:00,5Z",
    "10000-01-01T00:00:00Z", "2024-12-31T23:59:59+23:59", "0001-01-01T00:00:00+01:00", "2024-01-01T00:00:00-00:00",
    "x", ""),
    ("duration", 0): ("1h", "1d", "", "1", "0", "-0", ".5s", "1.s", ".s", "1h1h", "1µs", "1μs", "9223372037s", "1S",
    " 1s", "1e3s", "+1s", "--1s", "0.0000000001s", "1.9999999999s", "99999999999999999999h", "1h-1m"),
    ("int", 0): ("12", "-12", "+12", "1e3", "0x10", "", " 1", "1_000", "9223372036854775808", "-9223372036854775808",
    "007", "１"),
    ("uint", 0): ("12", "-1", "+1", "18446744073709551615", "18446744073709551616", "", "1u"),
    ("double", 0): ("1.5", "1e3", ".5", "5.", "1_0.5", "1__0", "_1", "1_", "0x1p-2", "0x1.8p1", "0x1", "inf", "-Inf",
    "+infinity", "nan", "+nan", "NaN", "1e400", "1e-400", "", ".", "e5", "1e", "1e+", "infi", "0x_1p0", "1e1_0",
    "0X1P+2", "١"),
    ("bool", 0): ("true", "false", "TRUE", "True", "tRUE", "t", "F", "0", "1", "yes", ""),
}  # fmt: skip
_OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in")
_SCALARS = ("int", "uint", "double", "bool", "string", "bytes", "google.protobuf.Timestamp", "google.protobuf.Duration")


def literal(text: str) -> str:
    """A text as a CEL literal; backslashes are taken as written."""
    return "'" + text.replace("'", "\\'") + "'"


_HOLE = re.compile(r"<([a-zA-Z_.]+)>")
_TYPES = {
    "list": Type("list", (Type("int"),), TypeKind.LIST),
    "map": Type("map", (Type("string"), Type("int")), TypeKind.MAP),
    "optional_type": Type("optional_type", (Type("int"),), TypeKind.OPAQUE),
}


class Generator:
    """Expressions from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        table = [f for f in rows() if f.library != "operators" and not f.name.startswith("@")]
        self.functions = [
            f for f in table if f.library not in ("kubernetes.authz",) and not f.mutation_only and f.overloads
        ]
        self.by_result: dict[str, list[tuple[str, Overload]]] = {}
        for function in self.functions:
            for overload in function.overloads:
                self.by_result.setdefault(overload.result.name, []).append((function.name, overload))

    def expression(self) -> str:
        """One whole expression: a call of some function, often with something around it."""
        function = self.random.choice(self.functions)
        call = self.call(function.name, self.random.choice(function.overloads), 2)
        roll = self.random.random()
        if roll < 0.25:
            return self.template(self.random.choice(tuple(TEMPLATES)), 3)
        if roll < 0.6:
            return call
        if roll < 0.8:
            return self.around(call)
        return self.any(3)

    def around(self, inner: str) -> str:
        """The expression inside another one."""
        other = self.any(1)
        return self.random.choice(
            (
                f"[{inner}]",
                f"type({inner})",
                f"dyn({inner})",
                f"{inner} == {other}",
                f"{other} == {inner}",
                f"'%s'.format([{inner}])",
                f"optional.of({inner})",
                f"({inner}) in [{other}]",
                f"[{inner}].map(x, x)",
                f"[1].exists(i, {inner} == {other})",
                f"true ? {inner} : {other}",
                f"string({inner})",
                f"size({inner})",
                f"{{'k': {inner}}}.k",
                f"[{inner}, {other}].distinct()",
                f"[{inner}, {inner}].sort()",
                f"{inner} == {inner} || false",
            )
        )

    def call(self, name: str, overload: Overload, depth: int) -> str:
        """A call of one overload."""
        arguments = [self.argument(name, index, wanted, depth) for index, wanted in enumerate(overload.args)]
        roll = self.random.random()
        if roll < 0.01 and arguments:
            arguments.pop()
        elif roll < 0.02:
            arguments.append(self.any(0))
        if overload.member and arguments:
            receiver = arguments[0] if not arguments[0].startswith("-") else f"({arguments[0]})"
            return f"{receiver}.{name}({', '.join(arguments[1:])})"
        return f"{name}({', '.join(arguments)})"

    def argument(self, name: str, index: int, wanted: Type, depth: int) -> str:
        """An argument of a function, nearly always of its type."""
        if name == "lists.range":
            # The API server folds a constant range without a limit: a large one takes all its memory.
            return self.random.choice(
                ("0", "1", "2", "3", "-1", "20", "dyn(3)", "object.zero", "'a'", "dyn(1.5)", "1u")
            )
        roll = self.random.random()
        if roll < 0.02:
            return self.random.choice(pools.PATHS["bad"])
        if roll < 0.06:
            return self.any(0)
        text = self.fitting(name, index, wanted, depth)
        if roll < 0.16:
            return f"dyn({text})"
        if roll < 0.18:
            return f"dyn({self.any(0)})"
        return text

    def fitting(self, name: str, index: int, wanted: Type, depth: int) -> str:
        """An argument of the right type, with an eye on what the function does with it."""
        special = _SPECIAL.get((name, index))
        if special is not None and wanted.name == "string" and self.random.random() < 0.9:
            return literal(self.random.choice(special))
        if name in ("matches", "find", "findAll") and index == 1 and self.random.random() < 0.8:
            return self.random.choice(pools.PATTERNS).replace("\\\\\\\\", "\\\\")
        if name.startswith("get") and index == 1 and wanted.name == "string":
            return self.random.choice(pools.ZONES)
        if name == "flatten" and index == 1:
            return self.random.choice(("0", "1", "2", "3", "-1", "20"))
        if index >= 1 and wanted.name == "int" and self.random.random() < 0.8:
            return self.random.choice(("0", "1", "2", "3", "-1", "4", "5", "100", "-5"))
        return self.of(wanted, depth)

    def of(self, wanted: Type, depth: int) -> str:
        """An expression of a type."""
        if wanted.kind in (TypeKind.DYN, TypeKind.PARAM):
            return self.any(depth)
        if depth > 0 and wanted.name in TEMPLATES and self.random.random() < 0.3:
            return self.template(wanted.name, depth - 1)
        if depth > 0 and self.random.random() < 0.25:
            made = self.made(wanted, depth - 1)
            if made is not None:
                return made
        if self.random.random() < 0.2 and wanted.name in pools.PATHS:
            return self.random.choice(pools.PATHS[wanted.name])
        return self.plain(wanted, depth)

    def template(self, name: str, depth: int) -> str:
        """An operator, macro or selection that gives a type, its holes filled."""
        chosen = self.random.choice(TEMPLATES[name])

        def fill(hole: re.Match[str]) -> str:
            if hole.group(1) == "small":
                return self.random.choice(("0", "1", "-1", "2", "dyn(1)", "1u", "3"))
            return self.of(_TYPES.get(hole.group(1), Type(hole.group(1))), depth)

        return _HOLE.sub(fill, chosen)

    def made(self, wanted: Type, depth: int) -> str | None:
        """A call that gives a type."""
        choices = self.by_result.get(wanted.name)
        if not choices:
            return None
        name, overload = self.random.choice(choices)
        return self.call(name, overload, depth)

    def plain(self, wanted: Type, depth: int) -> str:
        """A literal of a type, or the shortest call that gives one."""
        pick = self.random.choice
        simple: dict[str, Sequence[str]] = {
            "int": pools.INTS, "uint": pools.UINTS, "double": pools.DOUBLES, "bool": pools.BOOLS,
            "string": pools.STRINGS,
            "bytes": pools.BYTES, "google.protobuf.Timestamp": pools.TIMESTAMPS,
            "google.protobuf.Duration": pools.DURATIONS,
            "null_type": ("null",), "type": ("int", "string", "type(1)", "bool", "list", "map", "timestamp"),
        }  # fmt: skip
        if wanted.name in simple:
            return pick(simple[wanted.name])
        if wanted.name == "list":
            return self.list_of(wanted.params[0], depth)
        if wanted.name == "map":
            return pick(("{'a': 1}", "{}", "{1: 'x', 2: 'y'}", "{'a': [1], 'b': [2]}", "{true: 1u}", "{'x': null}"))
        if wanted.name == "optional_type":
            inner = wanted.params[0]
            return pick(
                (
                    f"optional.of({self.of(inner, 0)})",
                    "optional.none()",
                    "object.?i",
                    "object.?missing",
                    "object.m[?'a']",
                )
            )
        texts: dict[str, tuple[str, Sequence[str]]] = {
            "kubernetes.Quantity": ("quantity", pools.QUANTITY_TEXTS[:48]),
            "net.IP": ("ip", pools.IP_TEXTS[:13]),
            "net.CIDR": ("cidr", pools.CIDR_TEXTS[:9]),
            "kubernetes.URL": ("url", pools.URL_TEXTS),
            "kubernetes.Semver": ("semver", pools.SEMVER_TEXTS),
        }
        if wanted.name in texts:
            name, choices = texts[wanted.name]
            return f"{name}({literal(pick(choices))})"
        if wanted.name == "kubernetes.NamedFormat":
            names = (
                "dns1123Label",
                "dns1123Subdomain",
                "dns1035Label",
                "qualifiedName",
                "dns1123LabelPrefix",
                "dns1123SubdomainPrefix",
                "dns1035LabelPrefix",
                "labelValue",
                "uri",
                "uuid",
                "byte",
                "date",
                "datetime",
            )
            return f"format.{pick(names)}()"
        return "null"

    def list_of(self, element: Type, depth: int) -> str:
        """A list literal, of one type of elements mostly."""
        if element.kind in (TypeKind.DYN, TypeKind.PARAM):
            element = Type(self.random.choice(_SCALARS))
            if element.name.startswith("google"):
                element = Type(element.name, (), TypeKind.WELL_KNOWN)
        elements = [self.of(element, max(depth - 1, 0)) for _ in range(self.random.choice((0, 1, 2, 2, 3, 4, 5)))]
        if self.random.random() < 0.08:
            elements = [f"dyn({text})" for text in (*elements, self.any(0))]
        return f"[{', '.join(elements)}]"

    def any(self, depth: int) -> str:
        """An expression of any type."""
        roll = self.random.random()
        if depth > 0 and roll < 0.5:
            function = self.random.choice(self.functions)
            return self.call(function.name, self.random.choice(function.overloads), depth - 1)
        if depth > 0 and roll < 0.65:
            return f"{self.any(depth - 1)} {self.random.choice(_OPERATORS)} {self.any(depth - 1)}"
        if roll < 0.72:
            paths = self.random.choice(list(pools.PATHS.values()))
            return self.random.choice(paths)
        kind = self.random.choice((*_SCALARS, "list", "map", "null_type", "optional_type"))
        if kind in ("list", "optional_type"):
            return self.plain(Type(kind, (Type("int"),)), 0)
        return self.plain(Type(kind), 0)


def batch(seed: int, count: int) -> list[dict[str, Any]]:
    """`count` rows in the form of the oracle and of `sluice eval --batch`."""
    generator = Generator(seed)
    return [
        {
            "id": f"{seed}-{number}",
            "expr": generator.expression(),
            "env": "validation",
            "vars": {"object": pools.OBJECT},
        }
        for number in range(count)
    ]

"""Makes schemas of custom kinds and validation rules for them at random; the same seed gives the same ones.

Rules are well typed and walk the schema: loops inside loops, fields of elements, calls whose cost depends on sizes.
"""

import random
from typing import Any

from webhook.cel.check import custom_kinds
from webhook.cel.check.custom_kinds import Declared

NAMES = ("a", "b", "c-d", "e.f", "namespace", "x__y", "i/j", "kind", "items", "spec")
LOOPS = "xyzuvw"
TEXTS = (
    "{0} == {1}", "{0}.contains({1})", "{0}.startsWith({1})", "{0}.matches('a+b')", "{0} + {1} == 'abc'",
    "{0}.replace('a', 'bb') == {1}", "{0}.replace({1}, '').contains('c')", "{0}.split(',').all(s, s == {1})",
    "quantity({0}) == quantity({1})", "[{0}, {1}].join(',').size() > 3", "{0}.find('a').contains({1})",
    "[{0}, 'x'].indexOf({1}) == 1", "{0} in [{1}]", "strings.quote({0}) == 'a'", "{0}.upperAscii() < {1}",
    "bytes({0}) == b'a'", "url({0}) == url({1})", "[{0}].all(q, q == {1})", "ip({0}) == ip({1})",
)  # fmt: skip
LISTS = (
    "{0}.all({2}, {3})", "{0}.exists({2}, {3})", "{0}.filter({2}, {3}).size() > 1", "{0}.map({2}, {2}) == {1}",
    "{0} + {1} == {0}", "sets.contains({0}, {1})", "{0}.distinct().size() > 1", "{0}.all(i, {2}, {3})",
    "{0}.indexOf({0}[0]) > 0", "{0}[0] in {0}", "{0}.slice(0, 2) == {0}", "{0}.exists_one({2}, {3})",
    "{0}.transformList(i, {2}, {2}).all({2}, {3})", "({0} + {1}).all({2}, {3})",
)  # fmt: skip
MAPS = (
    "{0}.all(k, k.startsWith('abc'))", "{0}.all(k, {2}, {3})", "{0}.exists(k, {0}[k] == {0}['a'])", "'a' in {0}",
    "{0}.size() > 1", "{0} == {1}", "{0}.transformMap(k, {2}, {2}).all(k, {2}, {3})", "{0}.map(k, k).join(',') == 'a'",
    "{0}.all(k, k.matches('[a-z]'))", "{0}.all(k, k == k + 'a')",
)  # fmt: skip
FORMS = {
    "string": TEXTS,
    "bytes": ("{0} == {1}", "string({0}) == 'a'", "{0} + {1} > b'a'"),
    "list": LISTS,
    "map": MAPS,
    "dyn": ("{0} == {1}", "type({0}) == int", "string({0}).contains('a')", "{0} == 'abc'"),
}
ORDERED = ("int", "double", "bool", "google.protobuf.Timestamp", "google.protobuf.Duration")
LEAVES = ("string", "integer", "boolean", "either")


class Maker:
    """Schemas and rules from one source of chance."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def often(self, chance: float) -> bool:
        """True in this share of the calls."""
        return self.random.random() < chance

    def text(self) -> dict[str, Any]:
        """The schema of a text."""
        made: dict[str, Any] = {"type": "string"}
        if self.often(0.3):
            made["maxLength"] = self.random.choice((0, 1, 10, 64, 1000))
        elif self.often(0.2):
            made["enum"] = ["a", "bbb", "ée"]
        elif self.often(0.5):
            made["format"] = self.random.choice(("byte", "duration", "date", "date-time", "uuid"))
        if self.often(0.2):
            made["default"] = "a"
        return made

    def whole(self, depth: int) -> dict[str, Any]:
        """The schema of an object."""
        names = self.random.sample(NAMES, self.random.randint(1, 4))
        made: dict[str, Any] = {"type": "object", "properties": {name: self.schema(depth - 1) for name in names}}
        if self.often(0.5):
            made["required"] = self.random.sample(names, self.random.randint(0, len(names)))
        if self.often(0.1):
            made["x-kubernetes-embedded-resource"] = True
        return made

    def schema(self, depth: int) -> dict[str, Any]:
        """A schema that is at most `depth` deep."""
        kinds = (*LEAVES, "number", "string", "object", "array", "map") if depth else LEAVES
        match self.random.choice(kinds):
            case "string":
                return self.text()
            case "either":
                length = {"maxLength": self.random.choice((0, 3, 20))} if self.often(0.4) else {}
                return {"x-kubernetes-int-or-string": True, **length}
            case "object":
                return self.whole(depth)
            case "array":
                most = {"maxItems": self.random.choice((0, 1, 5, 100))} if self.often(0.5) else {}
                return {"type": "array", "items": self.schema(depth - 1), **most}
            case "map":
                most = {"maxProperties": self.random.choice((0, 2, 10))} if self.often(0.5) else {}
                return {"type": "object", "additionalProperties": self.schema(depth - 1), **most}
            case kind:
                return {"type": kind}

    def rule(self, scope: list[tuple[str, Declared]], depth: int = 3) -> str:
        """A rule over what is in scope: texts of expressions and what they are."""
        if depth and self.often(0.3):
            sign = self.random.choice(("&&", "||"))
            return f"({self.rule(scope, depth - 1)}) {sign} ({self.rule(scope, depth - 1)})"
        if depth and self.often(0.1):
            return " ? ".join(["({0})", "({1}) : ({2})"]).format(*(self.rule(scope, depth - 1) for _ in range(3)))
        reached = [place for text, declared in scope for place in places(text, declared, 3)]
        text, declared = self.random.choice(reached)
        other = self.random.choice([t for t, d in reached if d.type == declared.type])
        kind = declared.type.name
        if kind in ORDERED:
            return f"{text} {self.random.choice(('==', '!=', '>'))} {other}"
        form = self.random.choice(FORMS.get(kind, ("{0} == {1}", "{0} != {1}")))
        inner = "true"
        if depth and declared.element is not None and "{3}" in form:
            inner = self.rule([*scope, *[(LOOPS[depth], declared.element)] * 2], depth - 1)
        return form.format(text, other, LOOPS[depth], inner)


def places(text: str, declared: Declared, depth: int) -> list[tuple[str, Declared]]:
    """Every place at and below one, as it is written."""
    found = [(text, declared)]
    if depth:
        for name, inner in declared.fields.items():
            found += places(f"{text}.{name}", inner, depth - 1)
        if declared.element is not None:
            found += places(f"{text}['k']" if declared.key else f"{text}[0]", declared.element, depth - 1)
    return found


def rows(seed: int, count: int) -> list[dict[str, Any]]:
    """`count` rows for the oracle's question `estimate`, five rules for each schema."""
    make = Maker(seed)
    made: list[dict[str, Any]] = []
    while len(made) < count:
        schema = make.schema(4)
        root = "properties" in schema and make.often(0.3)
        declared = custom_kinds.declare(schema, root=root)
        if declared is not None:
            rules = (make.rule([("self", declared)]) for _ in range(5))
            made += [{"id": rule, "expr": rule, "schema": schema, "root": root} for rule in rules]
    return made[:count]

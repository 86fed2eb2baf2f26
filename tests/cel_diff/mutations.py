"""Makes expressions of mutating policies at random: objects to merge in, and JSON patches, over objects of real kinds.

The same seed gives the same rows. Each asks for the patched object too.
"""

import copy
import random
from typing import Any, Final

from tests.cel_diff.objects import BAG, OBJECTS, TREES

JSON = dict[str, Any]

_SCALARS: Final[dict[str, tuple[str, ...]]] = {
    "str": ("'a'", "''", "'x-y'", "'héllo'", "object.metadata.name", "string(object.metadata.generation)", "'a' + 'b'",
            "object.metadata.?labels[?'app'].orValue('none')", "'1Gi'", "string(1.5)"),
    "int": ("0", "1", "-1", "3", "2147483648", "9223372036854775807", "object.metadata.generation + 1", "size([1, 2])",
            "object.spec.?parallelism.orValue(2)", "int('7')", "has(object.spec.suspend) ? 1 : 2"),
    "bool": ("true", "false", "has(object.spec)", "object.spec.?suspend.orValue(true)", "1 < 2"),
    "odd": ("null", "1.5", "2.0", "1u", "duration('90s')", "timestamp('2024-01-01T00:00:00Z')", "b'ab'",
            "quantity('1Gi')",
            "ip('10.0.0.1')", "optional.of(1)", "optional.none()", "optional.of('a')", "int", "double('NaN')", "1e300",
            "object.spec", "object.metadata.labels", "[]", "{}", "[[1]]", "[null]", "{'a': null}", "{'a': [1]}",
            "{1: 'a'}",
            "[1, 2]", "['a']", "{'a': 'b'}", "9007199254740993", "-0.0", "dyn('a')", "{'a': {'b': 1}}",
            "[{'name': 'a'}]", "url('http://a')", "object.metadata.finalizers"),
}  # fmt: skip
_KEYS: Final = ("app", "team", "new", "a/b", "x~y", "", "example.com/a", "é", "0")


class Mutations:
    """Rows of the mutation environment, from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def row(self) -> JSON:
        """One row: an object, and an expression that changes it."""
        kind = self.random.choice(tuple(OBJECTS))
        obj = copy.deepcopy(OBJECTS[kind])
        for _ in range(self.random.choice((0, 0, 1, 2))):
            self.without(obj)
        roll = self.random.random()
        text = self.fragment(TREES[kind]) if roll < 0.55 else self.patch(obj)
        if roll > 0.97:
            text = f"has(object.spec) ? {text} : {self.fragment(TREES[kind]) if roll > 0.985 else self.patch(obj)}"
        return {"expr": text, "env": "mutation", "vars": {"object": obj}, "apply": True}

    def without(self, obj: JSON) -> None:
        """Leave a field of the object out, whichever it is below metadata, spec and template."""
        here: Any = self.random.choice([obj["metadata"], obj["spec"]])
        while isinstance(here, dict) and here:
            key = self.random.choice(tuple(here))
            if key in ("name", "selector") or self.random.random() < 0.6:
                if key != "name":
                    del here[key]
                return
            here = here[key]

    def fragment(self, tree: JSON) -> str:
        """An object as ApplyConfiguration takes it."""
        return self.struct("Object", tree)

    def struct(self, name: str, tree: JSON) -> str:
        """An object literal of a place in a kind's tree, with one to four of its fields."""
        if self.random.random() < 0.015:
            name += self.random.choice((".x", ".spec"))
        if not tree:
            return f"{name}{{}}"
        names = [self.random.choice(tuple(tree)) for _ in range(self.random.choice((0, 1, 1, 1, 2, 3, 4)))]
        if name == "Object":
            names = [n for n in names if n != "apiVersion"] or ["spec"]
        fields = []
        for field in dict.fromkeys(names) if self.random.random() < 0.95 else names:
            if self.random.random() < 0.02:
                field = "noSuchField"
            value = self.value(f"{name}.{field}", tree.get(field, "str"))
            roll = self.random.random()
            if roll < 0.06:
                fields.append(f"?{field}: optional.of({value})")
            elif roll < 0.08:
                fields.append(f"?{field}: optional.none()")
            elif roll < 0.1:
                fields.append(f"?{field}: object.spec.?{field}")
            else:
                fields.append(f"{field}: {value}")
        return f"{name}{{{', '.join(fields)}}}"

    def value(self, name: str, shape: Any) -> str:
        """A value for a field of this shape: a name of scalars, a dict of fields, a list of one element's shape."""
        roll = self.random.random()
        if roll < 0.05:
            return self.random.choice(_SCALARS["odd"])
        if isinstance(shape, str) and shape in _SCALARS:
            return self.random.choice(_SCALARS[shape])
        if shape == BAG:
            return self.bag(name)
        if isinstance(shape, dict):
            return self.struct(name, shape)
        (element,) = shape
        place = "object" + name.removeprefix("Object")
        if roll < 0.1:
            return self.random.choice((place, f"{place} + []", f"object{name.removeprefix('Object')}.filter(x, true)"))
        if roll < 0.16 and isinstance(element, dict) and ".spec.template.spec" in name:
            return f"{place}.map(c, {name}{{name: c.name}})"
        return f"[{', '.join(self.element(name, element) for _ in range(self.random.choice((0, 1, 1, 1, 2, 3))))}]"

    def element(self, name: str, element: Any) -> str:
        """One element of a list; of an object, mostly with a name that is there already."""
        if isinstance(element, dict) and "name" in element and self.random.random() < 0.8:
            known = self.random.choice(("'main'", "'main'", "'side'", "'new'", "'A'", "'NEW'", "'data'"))
            rest = self.struct(name, {k: v for k, v in element.items() if k != "name"})
            head, _, tail = rest.partition("{")
            return f"{head}{{name: {known}{', ' if tail != '}' else ''}{tail}"
        return self.value(name, element)

    def bag(self, name: str) -> str:
        """A map of texts, written as a map or as an object."""
        roll = self.random.random()
        if roll < 0.15:
            return self.random.choice(("object.metadata.labels", "{}", "object.metadata.?annotations.orValue({})",
                                       "object.metadata.labels.transformMap(k, v, v + 'x')", "{'a': 1}", "{'a': null}",
                                       f"{name}{{}}"))  # fmt: skip
        keys = [self.random.choice(_KEYS) for _ in range(self.random.choice((1, 1, 2, 3)))]
        if roll < 0.3:
            return f"{name}{{{', '.join(f'{k}: {self.text()}' for k in dict.fromkeys(keys) if k.isidentifier())}}}"
        return f"{{{', '.join(f'{k!r}: {self.text()}' for k in keys)}}}"

    def text(self) -> str:
        """A text."""
        return self.random.choice(_SCALARS["str"])

    def patch(self, obj: JSON) -> str:
        """A list of operations."""
        steps = [self.step(obj) for _ in range(self.random.choice((1, 1, 1, 2, 2, 3)))]
        text = f"[{', '.join(steps)}]"
        roll = self.random.random()
        if roll < 0.04:
            return f"{text} + [{self.step(obj)}]"
        if roll < 0.07:
            made = f"op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey(k), value: {self.json()}"
            return f"object.metadata.labels.filter(k, k == 'app').map(k, JSONPatch{{{made}}})"
        return text

    def step(self, obj: JSON) -> str:
        """One operation."""
        pick = self.random.choice
        op = pick(("add", "add", "replace", "replace", "remove", "test", "copy", "move"))
        if self.random.random() < 0.02:
            op = pick(("", "Add", "merge", "add "))
        fields = [f"op: '{op}'", f"path: {self.path(obj)}"]
        if op in ("copy", "move") or self.random.random() < 0.03:
            fields.append(f"from: {self.path(obj)}")
        if (op in ("add", "replace", "test")) ^ (self.random.random() < 0.04):
            fields.append(f"{pick(('value', 'value', 'value', 'value', '?value'))}: {self.json()}")
            if fields[-1].startswith("?"):
                fields[-1] = f"?value: {pick(('optional.none()', 'optional.of(1)', 'object.?spec', 'object.?zz'))}"
        if self.random.random() < 0.03:
            self.random.shuffle(fields)
            fields.pop()
        return f"JSONPatch{{{', '.join(fields)}}}"

    def path(self, obj: JSON) -> str:
        """A pointer to some place, mostly one that is there."""
        steps: list[str] = []
        here: Any = obj
        while isinstance(here, (dict, list)) and here and (not steps or self.random.random() < 0.75):
            key = self.random.choice(tuple(here) if isinstance(here, dict) else range(len(here)))
            here = here[key]
            steps.append(str(key).replace("~", "~0").replace("/", "~1"))
        roll = self.random.random()
        if roll < 0.25:
            steps.append(
                self.random.choice(("-", "0", "1", "-1", "-2", "99", "+1", "01", "new", "", "a~1b", "~", "~2", "é"))
            )
        elif roll < 0.29:
            return self.random.choice(("''", "'/'", "'spec'", "'x/spec'", "'//'", "'/spec/'", "'metadata/labels/app'"))
        elif roll < 0.33:
            return f"'/metadata/labels/' + jsonpatch.escapeKey('{self.random.choice(_KEYS)}')"
        return f"'/{'/'.join(steps)}'"

    def json(self) -> str:
        """A value of an operation."""
        roll = self.random.random()
        if roll < 0.45:
            return self.random.choice(_SCALARS["odd"])
        if roll < 0.8:
            return self.random.choice(_SCALARS[self.random.choice(("str", "int", "bool"))])
        if roll < 0.86:
            name = self.random.choice(("Object.x", "Object", "Object.spec", "Object.metadata.labels"))
            return f"{name}{{a: {self.random.choice(_SCALARS['odd'])}, b: {name}.b{{}}}}"
        if roll < 0.93:
            return f"{{'a': {self.json()}, 'b': {self.random.choice(_SCALARS['odd'])}}}".replace("'a': {}", "'a': 1")
        return f"[{self.json()}, {self.json()}]"


def batch(seed: int, count: int) -> list[JSON]:
    """`count` rows in the form of the oracle and of `sluice eval --batch`."""
    made = Mutations(seed)
    return [{"id": f"m{seed}-{number}", **made.row()} for number in range(count)]

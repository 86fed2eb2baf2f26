"""The `variables` of a policy: expressions that may read earlier ones, compiled once, evaluated at their first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from webhook.cel.env import VARIABLES, Env
from webhook.cel.errors import CelError, CompileError, EvalError
from webhook.cel.keys import MISSING
from webhook.cel.program import Program, compile
from webhook.cel.types import DYN, Type, TypeKind, object_type

TYPE_NAME = VARIABLES


class LazyVariables:
    """The map `variables` stands for: a name is evaluated when it is first read, and an error is kept as one."""

    __slots__ = ("_known", "_values", "_variables", "cost")
    cel_type = object_type(TYPE_NAME)

    def __init__(self, variables: Variables, values: Mapping[str, object]) -> None:
        self._variables = variables
        self._values = values
        self._known: dict[str, object] = {}
        self.cost = 0

    def cel_tagged(self) -> dict[str, object]:
        """The names, where all of it is asked for; the values are not computed for that."""
        return {"t": TYPE_NAME, "v": sorted(self._variables.names)}

    def cel_equal(self, other: object) -> bool:
        """The map is equal to itself. Raises CelError for anything else, as the API server's has no equality."""
        if other is self:
            return True
        raise CelError("no such overload")

    def cel_find(self, name: object) -> object:
        """The value of a variable, MISSING for one that is not there. Raises CelError where it failed."""
        if not isinstance(name, str) or name not in self._variables.names:
            return MISSING
        if name not in self._known:
            self._known[name] = self._evaluate(name)
        value = self._known[name]
        if isinstance(value, CelError):
            raise value
        return value

    def __getitem__(self, name: str) -> object:
        """The value of a variable, for generated code. Raises KeyError for one that is not there."""
        value = self.cel_find(name)
        if value is MISSING:
            raise KeyError(name)
        return value

    def _evaluate(self, name: str) -> object:
        failed = self._variables.failed.get(name)
        if failed is not None:
            return CelError(f'composited variable "{name}" fails to compile: {failed}')
        program = self._variables.programs[name]
        try:
            return program.evaluate({**self._values, "variables": self})
        except EvalError as error:
            return CelError(f'composited variable "{name}" fails to evaluate: {error.message}')
        finally:
            self.cost += program.cost


@dataclass(slots=True)
class Variables:
    """The compiled variables of a policy."""

    programs: dict[str, Program] = field(default_factory=dict)
    failed: dict[str, CompileError] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """Every declared name, those that do not compile included."""
        return {*self.programs, *self.failed}

    def bind(self, values: Mapping[str, object]) -> LazyVariables:
        """The map for one evaluation."""
        return LazyVariables(self, values)


def compose(env: Env, declared: Sequence[Mapping[str, str]]) -> tuple[Env, Variables]:
    """Compile variables in order; the environment given back knows them as fields of `variables`.

    A variable knows no `Object` and `JSONPatch`, not even in a mutating policy (mutating.compilePolicy).
    """
    out = Variables()
    known: dict[str, Type] = {}
    for name, text in _pairs(declared):
        try:
            program = compile(text, _with(replace(env, mutation=False), known))
        except CompileError as error:
            out.failed[name] = error
            known[name] = DYN
        else:
            out.programs[name] = program
            known[name] = field_type(program.type)
    return _with(env, known), out


_KEPT = (TypeKind.PRIMITIVE, TypeKind.NULL, TypeKind.WELL_KNOWN)


def field_type(t: Type) -> Type:
    """The type a field of `variables` has: the API server keeps plain types, lists and maps, the rest is dyn."""
    if t.kind in (TypeKind.LIST, TypeKind.MAP):
        return Type(t.name, tuple(map(field_type, t.params)), t.kind)
    return t if t.kind in _KEPT else DYN


def _pairs(declared: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    for item in declared:
        yield item["name"], item["expression"]


def _with(env: Env, known: Mapping[str, Type]) -> Env:
    names = {**env.variables, "variables": object_type(TYPE_NAME)}
    return replace(env, variables=names, objects={**env.objects, TYPE_NAME: dict(known)})

"""Attributes as in cel-go: `a.b`, `a[i]`, `a.?b` and `has(a.b)` as a base and a chain of qualifiers.

Chains are evaluated exactly, with the cost of each step. The fast form of selections is in `codegen/selects.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from webhook.cel import host, operators
from webhook.cel.errors import CelError
from webhook.cel.keys import MISSING, find
from webhook.cel.types import Type
from webhook.cel.values import (
    ABSENT,
    INT_MAX,
    NONE,
    JSONPatchValue,
    MutableList,
    MutableMap,
    ObjectValue,
    Optional,
    TypeValue,
    Uint,
    type_name,
)

Frame = list[Any]
"""Run-time state: the cost so far, its limit, then the variables."""
Eval = Callable[[Frame], Any]

COST, LIMIT = 0, 1
_INDEX_LIMIT = 2.0**63
_KEYS = (str, int, Uint, bool, float)
_GO_TYPES = {
    "kubernetes.Quantity": "*resource.Quantity",
    "kubernetes.Semver": "semver.Version",
    "kubernetes.URL": "*url.URL",
    "net.IP": "netip.Addr",
    "net.CIDR": "netip.Prefix",
}
_PATCH_FIELDS = {"op": "op", "path": "path", "from": "from_", "value": "value"}


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that stands where a value should, e.g. in an accumulator or in an optional."""

    message: str

    def cel_equal(self, _: object) -> bool:
        """An error is not compared with anything: it is what comes of it."""
        raise CelError(self.message)


def native(value: object) -> object:
    """A value that went through Go's native form and back: types turn to names, optionals flatten, opaque break."""
    if isinstance(value, Optional):
        return native(value.value) if value.present else None
    if isinstance(value, TypeValue):
        return value.name
    if isinstance(value, ObjectValue):
        return {k: native(v) for k, v in value.fields.items()}
    if isinstance(getattr(value, "cel_type", None), Type) and not getattr(value, "cel_native", False):
        return Failure(
            f"unsupported conversion to ref.Val: ({_GO_TYPES.get(type_name(value), type_name(value))}){value}"
        )
    return value


def _keyed_otherwise(value: object) -> bool:
    """Whether a value is a map that has a key which is no text."""
    return isinstance(value, dict) and not all(isinstance(key, str) for key in value)


def index_of(key: object) -> int:
    """The list index a key means. Raises CelError for one that is no whole number."""
    if isinstance(key, int) and not isinstance(key, bool):
        if key <= INT_MAX:
            return int(key)
        raise CelError(f"unsupported index value {int(key)} in list")
    if isinstance(key, float):
        if key.is_integer() and abs(key) < _INDEX_LIMIT:
            return int(key)
        raise CelError(f"unsupported index value {operators.shown(key)} in list")
    raise CelError(f"unsupported index type '{type_name(key)}' in list")


def probe(value: object, key: object) -> object:
    """What stands at `key` in `value`, MISSING where nothing does; text, numbers and null hold nothing."""
    kind = type(value)
    if kind is dict or kind is MutableMap:
        return find(value, key)  # type: ignore[arg-type]
    if kind is list or kind is MutableList:
        at = index_of(key)
        return value[at] if 0 <= at < len(value) else MISSING  # type: ignore[index,arg-type]
    if isinstance(value, Failure):
        raise CelError(value.message)
    if isinstance(value, JSONPatchValue):
        return _patch_field(value, key)
    finder = getattr(value, "cel_find", None)
    return MISSING if finder is None else finder(key)


def _patch_field(value: JSONPatchValue, key: object) -> object:
    if not isinstance(key, str) or key not in _PATCH_FIELDS:
        raise CelError(f"unsupported indexer: {operators.shown(key)}")
    held: object = getattr(value, _PATCH_FIELDS[key])
    return MISSING if held is ABSENT or held == "" else held


def missing(value: object, key: object) -> CelError:
    """The error for a key or index that is not there."""
    what = "index out of bounds" if isinstance(value, list) else "no such key"
    return CelError(f"{what}: {operators.shown(key)}")


def get(value: object, key: object) -> object:
    """What stands at `key`. Raises CelError `no such key` or `index out of bounds`."""
    found = probe(value, key)
    if found is MISSING:
        if isinstance(value, JSONPatchValue):
            return getattr(value, _PATCH_FIELDS[str(key)]) if key != "value" else None
        raise missing(value, key)
    return found


@dataclass(frozen=True, slots=True)
class Qualifier:
    """One step of a chain: a constant `key` or one that `key_of` computes.

    `field` steps read object types of mutations, where a field that is not set is null; `host` steps read attributes.
    """

    key: object = None
    key_of: Eval | None = None
    optional: bool = False
    test: bool = False
    field: bool = False
    host: bool = False

    @property
    def plain(self) -> bool:
        """Whether it is a constant name to look up, and nothing else."""
        return type(self.key) is str and not (self.key_of or self.optional or self.test or self.field or self.host)

    def key_in(self, frame: Frame) -> object:
        """The key, computed where it is not constant."""
        if self.key_of is None:
            return self.key
        key = self.key_of(frame)
        if type(key) not in _KEYS:
            raise CelError(f"invalid qualifier type: {type_name(key)}")
        return key

    def find(self, value: object, key: object, *, asked: bool = False) -> object:
        """What the step finds at its key, or MISSING; nothing is charged. `asked`: only whether it is there counts."""
        if self.host:
            return host.read(value, str(key))
        if self.field:
            return self.find_field(value)
        if asked and isinstance(value, JSONPatchValue) and key not in _PATCH_FIELDS:
            raise CelError(f"unsupported field: {operators.shown(key)}")
        return probe(value, key)

    def find_field(self, value: object) -> object:
        """A field of an object of a mutation, by way of its form as JSON, which not every object has."""
        if isinstance(value, ObjectValue) and any(map(_keyed_otherwise, value.fields.values())):
            if self.test:
                return MISSING
            raise CelError(f'cannot get field "{self.key}"')
        held = native(value)
        return held.get(self.key, MISSING) if isinstance(held, dict) else MISSING

    def take(self, frame: Frame, value: object) -> object:
        """The value at the step; what is missing is an error."""
        key = None
        try:
            key = self.key_in(frame)
            found = self.find(value, key, asked=self.test)
            if self.test:
                return found is not MISSING
        finally:
            frame[COST] += 1
        if found is not MISSING:
            return found
        if self.field:
            return None
        if isinstance(value, JSONPatchValue):
            return get(value, key)
        raise missing(value, key)

    def try_take(self, frame: Frame, value: object) -> object:
        """The value at the step, MISSING where there is none, as on every object of a mutation."""
        if self.field:
            return MISSING
        found = self.find(value, self.key_in(frame), asked=True)
        if found is not MISSING:
            frame[COST] += 1
        return None if self.test and found is not MISSING else found


def qualify(frame: Frame, value: object, steps: tuple[Qualifier, ...]) -> object:
    """Follow `steps` from `value`; behind an optional, every further step is optional."""
    optional = False
    if type(value) is Optional:
        if not value.present:
            return value
        value, optional = native(value.value), True
    for step in steps:
        if optional or step.optional:
            optional = True
            value = step.try_take(frame, value)
            if value is MISSING:
                return NONE
        else:
            value = step.take(frame, value)
    return Optional(native_again(value)) if optional else value


def native_again(value: object) -> object:
    """What an optional of a native value holds."""
    return value


@dataclass(frozen=True, slots=True)
class Attribute:
    """A base and the steps from it. `branches` makes it conditional: the steps then belong to both branches."""

    base: Eval
    steps: tuple[Qualifier, ...] = ()
    branches: tuple[Attribute, Attribute] | None = None
    names: tuple[tuple[str, tuple[Eval | None, ...]], ...] = ()

    def then(self, step: Qualifier) -> Attribute:
        """This chain with one more step."""
        if self.branches is not None:
            return replace(self, branches=(self.branches[0].then(step), self.branches[1].then(step)))
        return replace(self, steps=(*self.steps, step))

    def resolver(self) -> Eval:
        """The function that follows the chain, without the cost of the attribute itself."""
        base, steps = self.base, self.steps
        if self.branches is not None:
            return _conditional(base, self.branches[0].resolver(), self.branches[1].resolver())
        return lambda frame: qualify(frame, base(frame), steps)

    def evaluator(self) -> Eval:
        """The function that evaluates the chain as an expression: one unit for it, none where it is a ternary."""
        resolve = self.resolver()
        if self.branches is not None:
            return resolve
        if all(step.plain for step in self.steps):
            return _path(self.base, self.steps)

        def evaluate(frame: Frame) -> object:
            try:
                return resolve(frame)
            finally:
                frame[COST] += 1

        return evaluate

    def tester(self) -> Eval:
        """The function that evaluates a presence test."""
        resolve = self.resolver()
        refund = 1 if self.branches is not None else 0

        def evaluate(frame: Frame) -> object:
            frame[COST] -= refund
            found = resolve(frame)
            return found.present if type(found) is Optional else found

        return evaluate


def _path(base: Eval, steps: tuple[Qualifier, ...]) -> Eval:
    """The evaluator of a variable, or of names looked up from it: what most chains are, so it is short."""
    names = tuple(str(step.key) for step in steps)

    def evaluate(frame: Frame) -> object:
        try:
            value = base(frame)
            if type(value) is Optional:
                return qualify(frame, value, steps)
            for name in names:
                found = MISSING
                try:
                    found = value.get(name, MISSING) if type(value) is dict else probe(value, name)
                finally:
                    frame[COST] += 1
                value = found if found is not MISSING else get(value, name)
            return value
        finally:
            frame[COST] += 1

    return evaluate


def _conditional(condition: Eval, yes: Eval, no: Eval) -> Eval:
    def resolve(frame: Frame) -> object:
        test = condition(frame)
        if test is True:
            return yes(frame)
        if test is False:
            return no(frame)
        raise CelError("no such overload")

    return resolve

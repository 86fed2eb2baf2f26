"""The evaluators that `planner.py` combines: closures over a frame, one per kind of node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webhook.cel import operators
from webhook.cel.errors import BudgetError, CelError
from webhook.cel.interpreter.attributes import COST, Eval, Failure, Frame
from webhook.cel.keys import as_key, bare
from webhook.cel.messages import MESSAGES
from webhook.cel.syntax import nodes
from webhook.cel.values import JSONPatchValue, ObjectValue, Optional

UNBOUND = object()


def reader(slot: int, name: str) -> Eval:
    """Reads a variable; an accumulator may hold an error, a bound name is computed on its first read."""

    def read(frame: Frame) -> object:
        value = frame[slot]
        if type(value) is Failure:
            raise CelError(value.message)
        if value is UNBOUND:
            raise CelError(f"no such attribute(s): {name}")
        if type(value) is Lazy:
            try:
                value = frame[slot] = value.init(frame)
            except BudgetError:
                raise
            except CelError as error:
                frame[slot] = Failure(error.message)  # it is computed once, an error too
                raise
        return value

    return read


def held(evaluate: Eval) -> Eval:
    """What `value()` gives; an optional may hold an error."""

    def held(frame: Frame) -> object:
        value = evaluate(frame)
        if type(value) is Failure:
            raise CelError(value.message)
        return value

    return held


def constant(value: object) -> Eval:
    """Gives a constant."""
    return lambda frame: value


def unknown(name: str) -> Eval:
    """Reads a name that is not there."""

    def read(frame: Frame) -> object:
        raise CelError(f"no such attribute(s): {name.lstrip('.')}")

    return read


def logical(name: str, terms: tuple[Eval, ...]) -> Eval:
    """`&&` and `||`: a deciding operand absorbs the errors of the others, else the first error counts."""
    decisive = name == nodes.OR

    def evaluate(frame: Frame) -> object:
        error: CelError | None = None
        for term in terms:
            try:
                value = term(frame)
            except BudgetError:
                raise
            except CelError as failed:
                error = error or failed
                continue
            if value is decisive:
                return decisive
            if type(value) is not bool:
                error = error or CelError("no such overload")
        if error is None:
            return not decisive
        try:
            raise error
        finally:
            del error  # it holds this frame, which must not hold it: nobody looks for garbage in time

    return evaluate


def not_strictly_false(arg: Eval) -> Eval:
    """The condition of `all` and `exists`: an error does not end the loop."""

    def evaluate(frame: Frame) -> object:
        try:
            value = arg(frame)
        except BudgetError:
            raise
        except CelError:
            return True
        finally:
            frame[COST] += 1
        return value if type(value) is bool else True

    return evaluate


def optional_or(left: Eval, right: Eval, *, unwrap: bool) -> Eval:
    """`or` and `orValue`: the right side is evaluated only for an empty optional."""

    def evaluate(frame: Frame) -> object:
        value = left(frame)
        if type(value) is not Optional:
            return value
        if value.present:
            if not unwrap:
                return value
            if type(value.value) is Failure:
                raise CelError(value.value.message)
            return value.value
        return right(frame)

    return evaluate


def charged(build: Eval, cost: int) -> Eval:
    """Charges for making a list, map or object."""

    def evaluate(frame: Frame) -> object:
        try:
            return build(frame)
        finally:
            frame[COST] += cost

    return evaluate


def list_builder(parts: tuple[tuple[Eval, bool], ...]) -> Eval:
    """Makes a list; optional elements that are empty are left out."""

    def build(frame: Frame) -> list[object]:
        out = []
        for part, optional in parts:
            value = part(frame)
            if optional:
                if not isinstance(value, Optional):
                    raise CelError(
                        f"cannot initialize optional list element from non-optional value {operators.shown(value)}"
                    )
                if not value.present:
                    continue
                value = value.value
            out.append(value)
        return out

    return build


def map_builder(parts: tuple[tuple[Eval, Eval, bool], ...]) -> Eval:
    """Makes a map; the last entry of a key wins."""

    def build(frame: Frame) -> dict[object, object]:
        out: dict[object, object] = {}
        for key_of, value_of, optional in parts:
            key = key_of(frame)
            value = value_of(frame)
            put(out, key, value, optional)
        return out

    return build


def put(out: dict[object, object], key: object, value: object, optional: bool) -> None:
    """Put one entry into a map or object."""
    key = as_key(out, key)
    if optional:
        if not isinstance(value, Optional):
            shown, found = operators.shown(bare(key)), operators.shown(value)
            raise CelError(f"cannot initialize optional entry '{shown}' from non-optional value {found}")
        if not value.present:
            out.pop(key, None)
            return
        value = value.value
    out.pop(key, None)
    out[key] = value


def struct_builder(name: str, parts: tuple[tuple[str, Eval, bool], ...]) -> Eval:
    """Makes an object of a mutation."""

    def build(frame: Frame) -> object:
        fields: dict[object, object] = {}
        for field, value_of, optional in parts:
            put(fields, field, value_of(frame), optional)
        return new_object(name, fields)

    return build


def new_object(name: str, fields: Mapping[object, object]) -> object:
    """An object of a mutation's type, or what one of protobuf's own messages stands for."""
    message = MESSAGES.get(name)
    if message is not None:
        return message.make({str(k): v for k, v in fields.items()})
    if name != "JSONPatch":
        return ObjectValue(name, {str(k): v for k, v in fields.items()})
    given: dict[str, object] = {}
    for field, value in fields.items():
        if field not in ("op", "path", "from", "value"):
            raise CelError(f"unexpected JSONPatchType field: {field}")
        if field != "value" and not isinstance(value, str):
            raise CelError(f"unexpected type {type(value).__name__} for JSONPatchType '{field}' field")
        given["from_" if field == "from" else str(field)] = value
    return JSONPatchValue(**given)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Lazy:
    """A variable whose value is computed when it is first read."""

    init: Eval


def bind(slot: int, init: Eval, result: Eval) -> Eval:
    """Gives a name a value that is computed when it is first read."""
    lazy = Lazy(init)

    def evaluate(frame: Frame) -> object:
        frame[slot] = lazy
        return result(frame)

    return evaluate

"""The format of `sluice eval --batch`: values with a type tag, one JSON object a line.

A row has an expression, an environment and its variables; an answer has the value, type and cost, or the error and its
stage (`compile` or `run`). The caller applies a mutation to an object.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webhook.cel import types
from webhook.cel.compose import LazyVariables, Variables, compose
from webhook.cel.env import Env, mutation_env, validation_env
from webhook.cel.errors import CelError, CompileError
from webhook.cel.interpreter.attributes import Failure
from webhook.cel.keys import bare
from webhook.cel.lib import times
from webhook.cel.lib.go.strconv import shortest, to_bytes
from webhook.cel.program import Program, compile
from webhook.cel.types import DYN, Type
from webhook.cel.values import ABSENT, Duration, JSONPatchValue, ObjectValue, Optional, Timestamp, TypeValue, Uint

Row = Mapping[str, Any]
_NAMED: dict[str, Type] = {
    "int": types.INT,
    "uint": types.UINT,
    "double": types.DOUBLE,
    "bool": types.BOOL,
    "string": types.STRING,
    "bytes": types.BYTES,
    "null": types.NULL,
    "duration": types.DURATION,
    "timestamp": types.TIMESTAMP,
    "type": types.TYPE,
    "dyn": types.DYN,
}


def encode(value: object) -> dict[str, Any]:
    """Return a value with its type tag."""
    match value:
        case None:
            return {"t": "null"}
        case bool():
            return {"t": "bool", "v": value}
        case Uint():
            return {"t": "uint", "v": str(int(value))}
        case int():
            return {"t": "int", "v": str(value)}
        case float():
            return {"t": "double", "v": _double(value)}
        case str():
            return _string(value)
        case bytes():
            return {"t": "bytes", "v": base64.b64encode(value).decode()}
        case list():
            return {"t": "list", "v": [encode(v) for v in value]}
        case dict():
            pairs = [[encode(bare(k)), encode(v)] for k, v in value.items()]
            return {"t": "map", "v": sorted(pairs, key=_order)}
        case _:
            return _special(value)


def _order(pair: list[Any]) -> bytes:
    """What the pairs of a map are sorted by: the JSON of the key as Go writes it."""
    text = json.dumps(pair[0], sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    return text.replace(b"&", b"\\u0026").replace(b"<", b"\\u003c").replace(b">", b"\\u003e")


def _special(value: object) -> dict[str, Any]:
    match value:
        case Timestamp():
            return {"t": "timestamp", "v": times.timestamp_text(Timestamp(value.seconds, value.nanos))}
        case Duration():
            return {"t": "duration", "v": str(value.nanos)}
        case TypeValue():
            return {"t": "type", "v": value.name}
        case Optional():
            return {"t": "optional", "v": encode(value.value) if value.present else None}
        case ObjectValue():
            fields = [[name, encode(v)] for name, v in sorted(value.fields.items())]
            return {"t": "object", "n": value.type_name, "v": fields}
        case JSONPatchValue():
            return {"t": "JSONPatch", "v": _patch(value)}
        case Failure():
            return {"t": "error", "v": value.message}
        case _:
            tagged = getattr(value, "cel_tagged", None)
            if tagged is not None:
                return dict(tagged())
            declared: Type = getattr(value, "cel_type", DYN)
            return {"t": declared.name, "v": str(value)}


def _patch(value: JSONPatchValue) -> dict[str, Any]:
    held: dict[str, Any] = {"op": value.op, "path": value.path, "from": value.from_}
    held["value"] = encode(value.value) if value.value is not ABSENT else {"t": "nil"}
    return held


def _double(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return shortest(value)


def _string(value: str) -> dict[str, Any]:
    try:
        value.encode()
    except UnicodeEncodeError:
        return {"t": "string", "b64": base64.b64encode(to_bytes(value)).decode()}
    return {"t": "string", "v": value}


def decode(tagged: Mapping[str, Any]) -> object:
    """The value of a tagged one, of the kinds a row's variables may have."""
    value = tagged.get("v")
    match tagged["t"]:
        case "int":
            return int(value)  # type: ignore[arg-type]
        case "uint":
            return Uint(value)  # type: ignore[arg-type]
        case "double":
            return float(str(value))
        case "bytes":
            return base64.b64decode(str(value))
        case "list":
            return [decode(v) for v in value or ()]
        case "map":
            return {decode(k): decode(v) for k, v in value or ()}
        case "duration":
            return Duration(int(str(value)))
        case "timestamp":
            return times.parse_timestamp(str(value))
        case "type":
            return TypeValue(str(value))
        case _:
            return value


def type_from(written: object) -> Type:
    """A type as a row writes it: a name, `{"list": T}`, `{"map": [K, V]}` or `{"optional": T}`."""
    if isinstance(written, str):
        return _NAMED.get(written, types.object_type(written))
    assert isinstance(written, dict)
    ((kind, inner),) = written.items()
    if kind == "list":
        return types.list_of(type_from(inner))
    if kind == "map":
        return types.map_of(type_from(inner[0]), type_from(inner[1]))
    return types.optional_of(type_from(inner)) if kind == "optional" else types.nullable(type_from(inner))


@dataclass(frozen=True, slots=True)
class RowAnswer:
    """What a row gave: the answer to write, the value where there is one, and what was evaluated with what."""

    answer: dict[str, Any]
    value: object = None
    type: Type | None = None
    program: Program | None = None
    values: Mapping[str, object] = field(default_factory=dict)


def environment(row: Row) -> Env:
    """The environment a row asks for."""
    mutation = row.get("env") == "mutation"
    if "type_env" in row or "typed_vars" in row or "file" in row:
        declared = row.get("type_env") or row.get("typed_vars") or ()
        names = {v["name"]: type_from(v["type"]) for v in declared}
        unchecked = bool(row.get("disable_check"))
        if unchecked:
            names |= {name: DYN for name in row.get("vars", {}) if name not in names}
        return Env(
            names,
            mutation=mutation,
            container=row.get("container", ""),
            checked=not unchecked,
            macros=not row.get("disable_macros"),
        )
    make = mutation_env if mutation else validation_env
    return make(typed=row.get("decl") == "vap", authorizer=row.get("decl") == "vap")


def variables(row: Row, env: Env) -> dict[str, object]:
    """The values of a row's variables; what the API server always gives is null where the row has none.

    An authorizer is no JSON: a row has none, and an expression that asks for it fails.
    """
    given = dict(row.get("vars") or {})
    if "type_env" in row or "typed_vars" in row or "file" in row:
        return {name: decode(value) for name, value in given.items()}
    return {name: given.get(name) for name in env.variables if not name.startswith("authorizer")}


def spelled(declared: Type) -> str:
    """A type as the reference rows spell it: `null_type` and the full names of timestamp and duration.

    A field that a JSONPatch does not have is of no type, which is nothing inside a map or optional.
    """
    if declared.kind in (types.TypeKind.NULL, types.TypeKind.WELL_KNOWN):
        return declared.name
    if declared.params:
        return f"{declared.name}({', '.join(map(spelled, declared.params))})"
    return str(declared)


def answer(row: Row) -> RowAnswer:
    """Compile and evaluate a row."""
    out: dict[str, Any] = {"id": row.get("id")}
    try:
        env = environment(row)
        composed: Variables | None = None
        if row.get("decl") == "vap":
            env, composed = compose(env, row.get("variables") or ())
        program = compile(str(row["expr"]), env)
    except CompileError as error:
        return RowAnswer({**out, "ok": False, "error": str(error), "stage": "compile"})
    if program.type.name:
        out["type"] = spelled(program.type)
    values = variables(row, env)
    if composed is not None:
        values["variables"] = composed.bind(values)
    return _run(program, values, out)


def _run(program: Program, values: Mapping[str, object], out: dict[str, Any]) -> RowAnswer:
    try:
        value = program.evaluate(values)
        tagged = encode(value)
    except CelError as error:
        failed = {**out, "ok": False, "error": error.message, "stage": "run", "cost": _cost(program, values)}
        return RowAnswer(failed, program=program, values=values)
    given = {**out, "ok": True, "value": tagged, "stage": "run", "cost": _cost(program, values)}
    return RowAnswer(given, value, program.type, program, values)


def _cost(program: Program, values: Mapping[str, object]) -> int:
    """What the program cost, with the variables it was the first to read."""
    composed = values.get("variables")
    return program.cost + (composed.cost if isinstance(composed, LazyVariables) else 0)

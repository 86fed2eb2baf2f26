"""The rows of the operators, of `type` and `dyn`, and of optional values. The other functions are in the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from webhook.cel import operators
from webhook.cel.errors import CelError
from webhook.cel.function_types import Cost, Function, Overload
from webhook.cel.lib import costs, estimates
from webhook.cel.lib.rows import member, plain
from webhook.cel.ranges import Bound
from webhook.cel.syntax import nodes
from webhook.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
    param,
    type_of,
)
from webhook.cel.values import (
    NONE,
    SECONDS_MIN,
    Duration,
    JSONPatchValue,
    ObjectValue,
    Optional,
    Timestamp,
    TypeValue,
    type_name,
)

_A, _B, _K, _V = param("A"), param("B"), param("K"), param("V")
_LIST, _MAP = list_of(_A), map_of(_A, _B)
_SHORT = {
    INT: "int64",
    UINT: "uint64",
    DOUBLE: "double",
    BOOL: "bool",
    STRING: "string",
    BYTES: "bytes",
    TIMESTAMP: "timestamp",
    DURATION: "duration",
}
_ORDER = (
    (BOOL, BOOL),
    (INT, INT),
    (INT, DOUBLE),
    (INT, UINT),
    (UINT, UINT),
    (UINT, DOUBLE),
    (UINT, INT),
    (DOUBLE, DOUBLE),
    (DOUBLE, INT),
    (DOUBLE, UINT),
    (STRING, STRING),
    (BYTES, BYTES),
    (TIMESTAMP, TIMESTAMP),
    (DURATION, DURATION),
)


_COMPARED: Final = (costs.compared, estimates.compared)
_JOINED: Final = (costs.joined, estimates.written)
_PRICES: Final[dict[str, tuple[Cost | None, Bound]]] = {
    "equals": (costs.equal, estimates.equal),
    "not_equals": _COMPARED,
    "in_list": (costs.listed, estimates.listed),
    "add_list": (None, estimates.appended),
    **dict.fromkeys(("add_string", "add_bytes"), _JOINED),
    **{
        f"{word}_{name}": _COMPARED
        for word in ("less", "less_equals", "greater", "greater_equals")
        for name in ("string", "bytes")
    },
}
"""What operators cost by their operands, and may cost, where that is not 1."""


def _never(*_: object) -> object:
    raise CelError("no such overload")


def _same(value: object) -> object:
    return value


def type_value(value: object) -> TypeValue:
    """The type of a value, as a value."""
    return TypeValue("type" if isinstance(value, (ObjectValue, JSONPatchValue)) else type_name(value))


def value_of(value: object) -> object:
    """What an optional holds."""
    assert isinstance(value, Optional)
    if not value.present:
        raise CelError("optional.none() dereference")
    return value.value


def has_value(value: object) -> bool:
    """Whether an optional holds anything."""
    assert isinstance(value, Optional)
    return value.present


def non_zero(value: object) -> Optional:
    """An optional of a value, none for the zero value of its type."""
    return NONE if is_zero(value) else Optional(value)


def is_zero(value: object) -> bool:
    """Whether a value is the zero of its type: null, false, 0, an empty text or container, the first instant."""
    if isinstance(value, Timestamp):
        return value == Timestamp(SECONDS_MIN, 0)
    if isinstance(value, Duration):
        return value.nanos == 0
    if isinstance(value, ObjectValue):
        return not value.fields
    return value is None or (isinstance(value, (bool, int, float, str, bytes, list, dict)) and not value)


def unwrapped(values: object) -> list[object]:
    """What the optionals of a list hold, the empty ones left out."""
    assert isinstance(values, list)
    out = []
    for value in values:
        if not isinstance(value, Optional):
            raise CelError(f"value {operators.shown(value)} is not optional")
        if value.present:
            out.append(value.value)
    return out


def first(values: object) -> Optional:
    """The first element of a list, if there is one."""
    assert isinstance(values, list)
    return Optional(values[0]) if values else NONE


def last(values: object) -> Optional:
    """The last element of a list, if there is one."""
    assert isinstance(values, list)
    return Optional(values[-1]) if values else NONE


def _operator(
    name: str, call: Callable[..., object], *rows: tuple[str, tuple[Type, ...], Type], unit_cost: bool = False
) -> Function:
    made = []
    for overload_id, args, result in rows:
        cost, estimate = _PRICES.get(overload_id, (None, None))
        made.append(Overload(overload_id, args, result, call, cost=cost, estimate=estimate))
    return Function(name, tuple(made), library="operators", unit_cost=unit_cost)


def _order(name: str, word: str, call: Callable[..., object]) -> Function:
    rows = []
    for a, b in _ORDER:
        short = _SHORT[a] if a == b else f"{_SHORT[a]}_{_SHORT[b]}"
        rows.append((f"{word}_{short}", (a, b), BOOL))
    return _operator(name, call, *rows)


def _about(
    name: str, doc: str, row: Overload, *, unit_cost: bool = True, fallback: bool = False, unwraps: bool = False
) -> Function:
    return Function(name, (row,), doc, library="optionals", unit_cost=unit_cost, fallback=fallback, unwraps=unwraps)


_OPT_V, _LIST_V = optional_of(_V), list_of(_V)
_OPT_LIST = list_of(_OPT_V)
FUNCTIONS: Final = (
    _operator(nodes.CONDITIONAL, _never, ("conditional", (BOOL, _A, _A), _A)),
    _operator(nodes.AND, _never, ("logical_and", (BOOL, BOOL), BOOL)),
    _operator(nodes.OR, _never, ("logical_or", (BOOL, BOOL), BOOL)),
    _operator(nodes.NOT, operators.invert, ("logical_not", (BOOL,), BOOL), unit_cost=True),
    _operator(nodes.NOT_STRICTLY_FALSE, _never, ("not_strictly_false", (BOOL,), BOOL)),
    _operator(nodes.EQUALS, operators.equal, ("equals", (_A, _A), BOOL)),
    _operator(nodes.NOT_EQUALS, operators.not_equal, ("not_equals", (_A, _A), BOOL)),
    _operator(
        nodes.ADD,
        operators.add,
        ("add_bytes", (BYTES, BYTES), BYTES),
        ("add_double", (DOUBLE, DOUBLE), DOUBLE),
        ("add_duration_duration", (DURATION, DURATION), DURATION),
        ("add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP),
        ("add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP),
        ("add_int64", (INT, INT), INT),
        ("add_list", (_LIST, _LIST), _LIST),
        ("add_string", (STRING, STRING), STRING),
        ("add_uint64", (UINT, UINT), UINT),
    ),
    _operator(
        nodes.DIVIDE,
        operators.divide,
        ("divide_double", (DOUBLE, DOUBLE), DOUBLE),
        ("divide_int64", (INT, INT), INT),
        ("divide_uint64", (UINT, UINT), UINT),
        unit_cost=True,
    ),
    _operator(
        nodes.MODULO,
        operators.modulo,
        ("modulo_int64", (INT, INT), INT),
        ("modulo_uint64", (UINT, UINT), UINT),
        unit_cost=True,
    ),
    _operator(
        nodes.MULTIPLY,
        operators.multiply,
        ("multiply_double", (DOUBLE, DOUBLE), DOUBLE),
        ("multiply_int64", (INT, INT), INT),
        ("multiply_uint64", (UINT, UINT), UINT),
        unit_cost=True,
    ),
    _operator(
        nodes.NEGATE,
        operators.negate,
        ("negate_double", (DOUBLE,), DOUBLE),
        ("negate_int64", (INT,), INT),
        unit_cost=True,
    ),
    _operator(
        nodes.SUBTRACT,
        operators.subtract,
        ("subtract_double", (DOUBLE, DOUBLE), DOUBLE),
        ("subtract_duration_duration", (DURATION, DURATION), DURATION),
        ("subtract_int64", (INT, INT), INT),
        ("subtract_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP),
        ("subtract_timestamp_timestamp", (TIMESTAMP, TIMESTAMP), DURATION),
        ("subtract_uint64", (UINT, UINT), UINT),
        unit_cost=True,
    ),
    _order(nodes.LESS, "less", operators.less),
    _order(nodes.LESS_EQUALS, "less_equals", operators.less_equal),
    _order(nodes.GREATER, "greater", operators.greater),
    _order(nodes.GREATER_EQUALS, "greater_equals", operators.greater_equal),
    _operator(
        nodes.INDEX,
        _never,
        ("index_list", (_LIST, INT), _A),
        ("index_map", (_MAP, _A), _B),
        ("optional_list_index_int", (optional_of(list_of(_V)), INT), _OPT_V),
        ("optional_map_index_value", (optional_of(map_of(_K, _V)), _K), _OPT_V),
    ),
    _operator(nodes.IN, operators.contains, ("in_list", (_A, _LIST), BOOL), ("in_map", (_A, _MAP), BOOL)),
    _operator(
        nodes.OPT_INDEX,
        _never,
        ("list_optindex_optional_int", (list_of(_V), INT), _OPT_V),
        ("optional_list_optindex_optional_int", (optional_of(list_of(_V)), INT), _OPT_V),
        ("map_optindex_optional_value", (map_of(_K, _V), _K), _OPT_V),
        ("optional_map_optindex_optional_value", (optional_of(map_of(_K, _V)), _K), _OPT_V),
    ),
    _operator(nodes.OPT_SELECT, _never, ("select_optional_field", (DYN, STRING), _OPT_V)),
    _operator(
        nodes.MAP_INSERT,
        operators.insert,
        ("@mapInsert_map_key_value", (map_of(_K, _V), _K, _V), map_of(_K, _V)),
        ("@mapInsert_map_map", (map_of(_K, _V), map_of(_K, _V)), map_of(_K, _V)),
    ),
    replace(_about("type", "The type of a value.", plain("type", (_A,), type_of(_A), type_value)), conversion=True),
    replace(
        _about("dyn", "The value, its type unknown to the checker.", plain("to_dyn", (_A,), DYN, _same)),
        conversion=True,
    ),
    _about("optional.of", "An optional that holds a value.", plain("optional_of", (_V,), _OPT_V, Optional)),
    _about(
        "optional.ofNonZeroValue",
        "An optional of the value; none for a zero value.",
        plain("optional_ofNonZeroValue", (_V,), _OPT_V, non_zero),
    ),
    _about("optional.none", "The optional that holds nothing.", plain("optional_none", (), _OPT_V, lambda: NONE)),
    _about(
        "value",
        "The value of an optional; an error if it has none.",
        member("optional_value", _OPT_V, (), _V, value_of),
        unwraps=True,
    ),
    _about("hasValue", "Whether it holds a value.", member("optional_hasValue", _OPT_V, (), BOOL, has_value)),
    _about(
        "optional.unwrap",
        "The values of the optionals of a list.",
        plain("optional_unwrap", (_OPT_LIST,), _LIST_V, unwrapped),
        unit_cost=False,
    ),
    _about(
        "unwrapOpt",
        "What they hold.",
        member("optional_unwrapOpt", _OPT_LIST, (), _LIST_V, unwrapped),
        unit_cost=False,
    ),
    _about(
        "first",
        "The first element of a list, if any.",
        member("list_first", _LIST_V, (), _OPT_V, first),
        unit_cost=False,
    ),
    _about(
        "last",
        "The last element of a list, if any.",
        member("list_last", _LIST_V, (), _OPT_V, last),
        unit_cost=False,
    ),
    _about(
        "or",
        "The first of two optionals that holds a value.",
        member("optional_or_optional", _OPT_V, (_OPT_V,), _OPT_V, _never),
        fallback=True,
    ),
    _about(
        "orValue",
        "The value of an optional, or else the given value.",
        member("optional_orValue_value", _OPT_V, (_V,), _V, _never),
        fallback=True,
        unwraps=True,
    ),
)

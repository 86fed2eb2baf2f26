"""Kubernetes' lists library (isSorted, sum, min, max, indexOf, lastIndexOf) and cel-go's lists at version 3.

`first`, `last` belong to the optionals, macros such as sortBy to the parser.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Final

from webhook.cel.errors import EXCEEDED, BudgetError, CelError
from webhook.cel.function_types import Function, Overload, Price
from webhook.cel.lib import costs
from webhook.cel.lib.memory import sized
from webhook.cel.lib.ordering import NO_OVERLOAD, comparable, compare, known_equal
from webhook.cel.lib.rows import library, member, plain, priced
from webhook.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type, list_of, param
from webhook.cel.values import (
    INT_MAX,
    INT_MIN,
    SECONDS_MAX,
    SECONDS_MIN,
    UINT_MAX,
    Duration,
    Timestamp,
    Uint,
    type_name,
)

LARGEST_RANGE: Final = 2_000_000
_INSERTION: Final = 12
_COMPARABLE: Final[dict[str, Type]] = {
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "bool": BOOL,
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    "string": STRING,
    "bytes": BYTES,
}
_NOUGHT: Final[dict[str, object]] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
_A: Final = param("A")
_T: Final = param("T")


def is_sorted(elements: list[object]) -> bool:
    """Whether no element is greater than the next; neighbours that cannot be compared do not matter."""
    for index, element in enumerate(elements):
        if not comparable(element):
            raise CelError(NO_OVERLOAD)
        if index and _known_compare(elements[index - 1], element) == 1:
            return False
    return True


def _known_compare(a: object, b: object) -> int:
    """The order of two values, 0 where they have none."""
    try:
        return compare(a, b)
    except CelError:
        return 0


def _extreme(elements: list[object], name: str, worse: int) -> object:
    if not elements:
        raise CelError(f"{name} called on empty list")
    best = elements[0]
    for element in elements:
        if not comparable(element):
            raise CelError(NO_OVERLOAD)
        if _known_compare(best, element) == worse:
            best = element
    return best


def minimum(elements: list[object]) -> object:
    """The least element; what cannot be compared with the least so far is passed over. CelError for an empty list."""
    return _extreme(elements, "min", 1)


def maximum(elements: list[object]) -> object:
    """The greatest element; what cannot be compared with the greatest so far is passed over."""
    return _extreme(elements, "max", -1)


def total(elements: list[object], nought: object) -> object:
    """The sum, starting from `nought`, whose type all elements must have."""
    for element in elements:
        nought = _add(nought, element)
    return nought


def _add(a: object, b: object) -> object:
    if isinstance(a, float) and isinstance(b, float):
        return a + b
    if isinstance(a, Duration) and isinstance(b, Duration):
        return Duration(_within(a.nanos + b.nanos, INT_MIN, INT_MAX, "integer overflow"))
    if isinstance(a, Timestamp) and isinstance(b, Duration):
        return _later(a, b)
    if isinstance(a, Duration) and isinstance(b, Timestamp):
        return _later(b, a)
    if isinstance(a, Uint) and isinstance(b, Uint):
        return Uint(_within(int(a) + int(b), 0, UINT_MAX, "unsigned integer overflow"))
    if type(a) is int and type(b) is int:
        return _within(a + b, INT_MIN, INT_MAX, "integer overflow")
    raise CelError(NO_OVERLOAD)


def _within(number: int, least: int, most: int, trouble: str) -> int:
    if not least <= number <= most:
        raise CelError(trouble)
    return number


def _later(time: Timestamp, duration: Duration) -> Timestamp:
    seconds, nanos = divmod(time.nanos + duration.nanos, 10**9)
    seconds = _within(time.seconds + seconds, SECONDS_MIN, SECONDS_MAX, "timestamp overflow")
    return Timestamp(seconds, nanos, time.zone)


def index_of(elements: list[object], wanted: object) -> int:
    """The first index of a value, -1 if it is not there."""
    return next((index for index, element in enumerate(elements) if known_equal(element, wanted)), -1)


def last_index_of(elements: list[object], wanted: object) -> int:
    """The last index of a value, -1 if it is not there."""
    return next((index for index in range(len(elements) - 1, -1, -1) if known_equal(elements[index], wanted)), -1)


def cut(elements: list[object], start: int, end: int) -> list[object]:
    """The elements from `start` up to `end`; CelError where the range is not within the list."""
    trouble = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise CelError(trouble + "negative indexes not supported")
    if start > end:
        raise CelError(trouble + "start index must be less than or equal to end index")
    if len(elements) < end:
        raise CelError(trouble + f"list is length {len(elements)}")
    return elements[start:end]


def flatten(elements: list[object], depth: int = 1) -> list[object]:
    """The list with the lists in it taken apart, `depth` levels deep."""
    if depth < 0:
        raise CelError("level must be non-negative")
    flat = list(elements)
    while depth > 0 and any(isinstance(element, list) for element in flat):
        sized(8 * sum(len(element) if isinstance(element, list) else 1 for element in flat))
        flat = [inner for element in flat for inner in (element if isinstance(element, list) else [element])]
        depth -= 1
    return flat


def flat(elements: object, depth: object = 1) -> list[object]:
    """`flatten` of whatever comes: CelError `no such overload` where it is no list or the depth no int."""
    if not isinstance(elements, list) or type(depth) is not int:
        arguments = "" if depth == 1 else type_name(depth)
        raise CelError(f"no such overload: {type_name(elements)}.flatten({arguments})")
    return flatten(elements, depth)


def sort(elements: object) -> list[object]:
    """The elements in ascending order; CelError where they are not of one type that has an order."""
    if not isinstance(elements, list):
        raise CelError("no such overload: sort")
    return sort_by_keys(elements, elements)


def sort_by_keys(elements: object, keys: object) -> list[object]:
    """The elements in the ascending order of their keys: what the macro sortBy calls."""
    if not isinstance(elements, list) or not isinstance(keys, list):
        raise CelError("no such overload: @sortByAssociatedKeys")
    if len(elements) != len(keys):
        raise CelError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(elements)} and {len(keys)} elements respectively"
        )
    if not keys:
        return elements
    if not comparable(keys[0]):
        raise CelError("list elements must be comparable")
    if len(keys) > 1 and any(type_name(key) != type_name(keys[0]) for key in keys):
        raise CelError("list elements must have the same type")

    return [elements[index] for index in _ascending(keys)]


def _ascending(keys: list[object]) -> list[int]:
    """The indices of the keys in order; short lists by insertion as Go sorts them, which shows where a key is NaN."""

    def by_key(a: int, b: int) -> int:
        return _known_compare(keys[a], keys[b])

    if len(keys) > _INSERTION:
        return sorted(range(len(keys)), key=cmp_to_key(by_key))
    order = list(range(len(keys)))
    for start in range(1, len(order)):
        at = start
        while at > 0 and by_key(order[at], order[at - 1]) < 0:
            order[at], order[at - 1] = order[at - 1], order[at]
            at -= 1
    return order


def count_up(count: int) -> list[int]:
    """The integers from 0 up to `count`; CelError where that would take all memory."""
    if count > LARGEST_RANGE:
        raise BudgetError(EXCEEDED)
    return list(range(count))


def reverse(elements: list[object]) -> list[object]:
    """The elements from last to first."""
    return elements[::-1]


def distinct(elements: list[object]) -> list[object]:
    """The elements without those that equal one before."""
    seen: set[tuple[type, object]] = set()
    kept: list[object] = []
    others = False
    for element in elements:
        quick = type(element) in (str, bool, int)
        if quick and not others:
            if (type(element), element) in seen:
                continue
            seen.add((type(element), element))
        elif any(known_equal(element, earlier) for earlier in kept):
            continue
        else:
            others = True
        kept.append(element)
    return kept


def _each(template: str, result: Type | None, call: object) -> tuple[Overload, ...]:
    assert callable(call)
    return tuple(
        member(template.format(name), list_of(of), (), of if result is None else result, call, costs.WALKED)
        for name, of in _COMPARABLE.items()
    )


def _sum(name: str) -> Overload:
    of, nought = _COMPARABLE[name], _NOUGHT[name]
    return member(
        f"list_{name}_sum_{name}", list_of(of), (), of, lambda elements: total(elements, nought), costs.WALKED
    )


def _open(
    overload_id: str, args: tuple[Type, ...], result: Type, call: Callable[..., object], price: Price
) -> Overload:
    """A member whose arguments are looked at by the call itself."""
    return priced(Overload(overload_id, args, result, call, member=True, guarded=False), price)


def _is_text(of: Type) -> bool:
    return of in (STRING, BYTES)


FUNCTIONS: Final = library(
    "kubernetes.lists",
    Function(
        "isSorted",
        _each("list_{0}_is_sorted_bool", BOOL, is_sorted),
        "Whether the elements are in ascending order.",
        (("[1, 3, 7].isSorted()", "true"), ("['b', 'a'].isSorted()", "false"), ("[2.0].isSorted()", "true")),
    ),
    Function(
        "sum",
        tuple(_sum(name) for name in _NOUGHT),
        "The sum of the elements: 0 of an empty list.",
        (("[1, 3].sum()", "4"), ("[duration('1m'), duration('1s')].sum()", "duration('61s')")),
    ),
    Function(
        "min",
        _each("list_{0}_min_{0}", None, minimum),
        "The least element of a list that is not empty.",
        (("[1, 3].min()", "1"), ("['a', 'B'].min()", "'B'")),
    ),
    Function(
        "max",
        _each("list_{0}_max_{0}", None, maximum),
        "The greatest element of a list that is not empty.",
        (("[1, 3].max()", "3"),),
    ),
    Function(
        "indexOf",
        (member("list_a_index_of_int", list_of(_A), (_A,), INT, index_of, costs.WALKED),),
        "The first index of an element, -1 if it is not there.",
        (("[1, 2, 2, 3].indexOf(2)", "1"),),
    ),
    Function(
        "lastIndexOf",
        (member("list_a_last_index_of_int", list_of(_A), (_A,), INT, last_index_of, costs.WALKED),),
        "The last index of an element, -1 if it is not there.",
        (("[1, 2, 2, 3].lastIndexOf(2)", "2"),),
    ),
) + library(
    "lists",
    Function(
        "slice",
        (member("list_slice", list_of(_T), (INT, INT), list_of(_T), cut, costs.SLICED),),
        "The elements from an index up to another.",
        (("[1, 2, 3, 4].slice(1, 3)", "[2, 3]"),),
    ),
    Function(
        "flatten",
        (
            _open("list_flatten", (list_of(list_of(_T)),), list_of(_T), flat, costs.FLATTENED),
            _open("list_flatten_int", (list_of(DYN), INT), list_of(DYN), flat, costs.FLATTENED),
        ),
        "The list with nested lists flattened, by one level or the given number.",
        (("[[1, 2], [3]].flatten()", "[1, 2, 3]"), ("[[[1]], [[2]]].flatten(2)", "[1, 2]")),
    ),
    Function(
        "sort",
        tuple(
            _open(f"list_{of.name}_sort", (list_of(of),), list_of(of), sort, costs.self_compared(0, texts=_is_text(of)))
            for of in _COMPARABLE.values()
        ),
        "The elements in ascending order.",
        (("[3, 2, 1].sort()", "[1, 2, 3]"), ("['b', 'c', 'a'].sort()", "['a', 'b', 'c']")),
    ),
    Function(
        "@sortByAssociatedKeys",
        tuple(
            _open(
                f"list_{of.name}_sortByAssociatedKeys",
                (list_of(_T), list_of(of)),
                list_of(_T),
                sort_by_keys,
                costs.self_compared(1, texts=_is_text(of)),
            )
            for of in _COMPARABLE.values()
        ),
        "What the macro sortBy calls.",
        (("[3, 1, 2].sortBy(x, -x)", "[3, 2, 1]"),),
        together=True,
    ),
    Function(
        "lists.range",
        (plain("lists_range", (INT,), list_of(INT), count_up, costs.RANGED),),
        "The integers from 0 up to a number.",
        (("lists.range(3)", "[0, 1, 2]"),),
    ),
    Function(
        "reverse",
        (member("list_reverse", list_of(_T), (), list_of(_T), reverse, costs.COPIED),),
        "The elements from last to first.",
        (("[5, 3, 1].reverse()", "[1, 3, 5]"),),
    ),
    Function(
        "distinct",
        (member("list_distinct", list_of(_T), (), list_of(_T), distinct, costs.self_compared()),),
        "The elements without those that equal an earlier one.",
        (("[1, 2, 2, 3].distinct()", "[1, 2, 3]"), ("[dyn(1), dyn(1.0)].distinct().size()", "1")),
    ),
)

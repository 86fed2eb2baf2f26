"""Functions called by generated code where inline code does not suffice. Each returns the exact value or raises.

Any exception, from here or from Python itself, leaves the fast form of a program; the exact form then decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any, NoReturn

from webhook.cel import host, operators
from webhook.cel.function_types import Function, Overload
from webhook.cel.interpreter.attributes import Failure
from webhook.cel.interpreter.evaluators import new_object
from webhook.cel.keys import MISSING, bare
from webhook.cel.lib import lists, memory
from webhook.cel.lib.costs import compared_size as size_of
from webhook.cel.limits import CALL_LIMIT
from webhook.cel.standard import is_zero, type_value
from webhook.cel.type_guards import guards_of
from webhook.cel.types import Type, TypeKind
from webhook.cel.values import ABSENT, NONE, JSONPatchValue, ObjectValue, Optional

LONG = 256
"""Characters of a text, or bytes, that a call may read at most; longer ones go to the exact form."""
COMPARED_ONCE, COMPARED_OFTEN = 4_096, 256
"""Size of the smaller one of two values that are compared outside of loops, and within one; else the exact form."""
JOINED_ONCE, JOINED_OFTEN = 4_096, 512
"""Size of two texts that are joined, likewise."""
JOINED_LISTS = 100_000
"""Elements of two lists that are joined without asking whether there is room."""
_PLAIN = frozenset((str, int, bool, float, bytes, type(None), list, dict))
_COMPARED = frozenset((str, int, bool, bytes))
_COUNTED = frozenset((str, bytes, list, dict))


@cache
def remembered(row: Overload) -> Callable[..., object]:
    """A function of one text that remembers its last answers, which are immutable; failures are not kept."""
    return lru_cache(maxsize=4096)(row.call)


def is_matrix(wanted: Type) -> bool:
    """Whether a type is a list of lists of anything."""
    inner = wanted.params[0]
    return inner.kind is TypeKind.LIST and inner.params[0].kind in (TypeKind.DYN, TypeKind.PARAM)


def flattened(elements: list[object], depth: int) -> list[object]:
    """`flatten`, `depth` levels deep; a list that holds something else is as it was."""
    for left in range(depth, 0, -1):
        flat: list[object] = []
        deep = 0
        for element in elements:
            if type(element) is list:
                deep += len(element) + 1
                if deep > memory.LARGE:
                    return lists.flatten(elements, left)
                flat += element
            else:
                flat.append(element)
        if not deep:
            return elements
        elements = flat
    return elements


def distinct(elements: list[object]) -> list[object]:
    """`distinct`; of texts without asking for each pair."""
    for element in elements:
        if type(element) is not str:
            return lists.distinct(elements)
    return list(dict.fromkeys(elements))


@cache
def together(row: Overload, *inner: Callable[..., object]) -> Callable[..., object]:
    """A function of what other functions make of one text each; it remembers its last answers, which are immutable."""
    call = row.call
    if len(inner) == 1:
        (only,) = inner
        return lru_cache(maxsize=4096)(lambda text: call(only(text)))
    return lru_cache(maxsize=4096)(lambda *texts: call(*(one(text) for one, text in zip(inner, texts, strict=True))))


def callee(row: Overload) -> Callable[..., object]:
    """What to call for a row whose arguments are as declared and whose texts are short."""
    return remembered(row) if row.memo else row.call


class Bail(Exception):
    """The fast form cannot answer; the exact form can."""


def bail() -> NoReturn:
    """Leave the fast form."""
    raise Bail


def equal(a: object, b: object) -> bool:
    """`a == b`."""
    kind = type(a)
    if kind is type(b) and kind in _COMPARED:
        return a == b
    return operators.equal(a, b)


def not_equal(a: object, b: object) -> bool:
    """`a != b`."""
    kind = type(a)
    if kind is type(b) and kind in _COMPARED:
        return a != b
    return operators.not_equal(a, b)


def _within(most: int, compare: Callable[[object, object], bool]) -> Callable[[object, object], bool]:
    """A comparison that leaves the fast form where both sides count more than `most`."""

    def compared(a: object, b: object) -> bool:
        if type(a) in _COUNTED and type(b) in _COUNTED:
            if len(a) > most and len(b) > most:  # type: ignore[arg-type]
                raise Bail
        elif (type(a) is Optional or type(b) is Optional) and min(size_of(a), size_of(b)) > most:
            raise Bail
        return compare(a, b)

    return compared


def _joining(most: int) -> Callable[[object, object], object]:
    """`a + b` of texts or bytes that leaves the fast form where both together count more than `most`."""

    def joined(a: object, b: object) -> object:
        if size_of(a) + size_of(b) > most:
            raise Bail
        return operators.add(a, b)

    return joined


def contains(element: object, container: object) -> bool:
    """`element in container`."""
    if type(element) is str and (type(container) is dict or type(container) is list):
        return element in container
    return operators.contains(element, container)


def add(a: object, b: object) -> object:
    """`a + b`."""
    if type(a) is list and type(b) is list and len(a) + len(b) < JOINED_LISTS:
        return a + b if a and b else a or b
    return operators.add(a, b)


def index(container: object, key: object) -> object:
    """`container[key]`."""
    if type(container) is dict and type(key) is str:
        return container[key]
    if type(container) is list and type(key) is int and key >= 0:
        return container[key]
    raise Bail


def maybe_index(container: object, key: object) -> object:
    """`container[?key]`, ABSENT where there is nothing."""
    if type(container) is dict and type(key) is str:
        return container.get(key, ABSENT)
    if type(container) is list and type(key) is int:
        return container[key] if 0 <= key < len(container) else ABSENT
    raise Bail


def size(value: object) -> int:
    """`size(value)`."""
    kind = type(value)
    if kind is list or kind is dict or kind is str or kind is bytes:
        return len(value)  # type: ignore[arg-type]
    raise Bail


def one(value: object) -> Iterable[Any]:
    """What a comprehension of one variable goes over."""
    if type(value) is list:
        return value
    if type(value) is dict:
        for key in value:
            if type(key) is not str:
                return [bare(k) for k in value]
        return value
    raise Bail


def two(value: object) -> Iterable[tuple[object, object]]:
    """What a comprehension of two variables goes over."""
    if type(value) is list:
        return enumerate(value)
    if type(value) is dict:
        for key in value:
            if type(key) is not str:
                return [(bare(k), v) for k, v in value.items()]
        return value.items()
    raise Bail


def held(value: object) -> object:
    """What an optional value holds, ABSENT for none."""
    if type(value) is Optional:
        if type(value.value) is Failure:
            raise Bail
        return value.value
    raise Bail


def read(value: object) -> object:
    """What an optional variable holds: reading one takes it through Go's native form."""
    if type(value) is Optional:
        inner = value.value
        if type(inner) in _PLAIN or inner is ABSENT:
            return inner
    raise Bail


_new, _hold = object.__new__, vars(Optional)["value"].__set__


def wrapped(value: object) -> Optional:
    """An optional of a value, none for ABSENT. One in another is left to the exact form: cel-go reads it as one."""
    if value is ABSENT:
        return NONE
    if type(value) is Optional:
        raise Bail
    made: Optional = _new(Optional)
    _hold(made, value)  # half the time of calling a frozen class
    return made


def boxed(value: object) -> Optional:
    """An optional that becomes a part of something, where a name behind dyn would read its native form."""
    if value is not ABSENT and type(value) not in _PLAIN:
        raise Bail
    return wrapped(value)


def boxes_plain(value: object) -> bool:
    """Whether all optionals in a constant are such as `boxed` makes."""
    if type(value) is Optional:
        return value.value is ABSENT or (type(value.value) in _PLAIN and boxes_plain(value.value))
    if type(value) is list:
        return all(map(boxes_plain, value))
    return type(value) is not dict or all(map(boxes_plain, value.values()))


def plain(value: object) -> object:
    """A value that Go's native form does not change; others go to the exact form."""
    if type(value) in _PLAIN or value is ABSENT:
        return value
    raise Bail


def put(target: dict[object, object], key: object, value: object) -> None:
    """One entry of a map literal; keys other than text go to the exact form."""
    if type(key) is not str:
        raise Bail
    target.pop(key, None)
    target[key] = value


def drop(target: dict[object, object], key: object) -> None:
    """An optional entry of a map literal that is not there: one of the same key before it goes."""
    if type(key) is not str:
        raise Bail
    target.pop(key, None)


def open_call(function: Function, count: int) -> Callable[..., object]:
    """A call whose overload the values decide."""
    rows = [(o, guards_of(o)) for o in function.overloads if len(o.args) == count]

    def call(*values: object) -> object:
        for row, tests in rows:
            if all(test(values[i]) for i, test in tests):
                return row.call(*values)
        raise Bail

    return call


_COMPARISONS = {
    "equal": equal,
    "not_equal": not_equal,
    "less": operators.less,
    "less_equal": operators.less_equal,
    "greater": operators.greater,
    "greater_equal": operators.greater_equal,
}
HELPERS: dict[str, object] = {
    **_COMPARISONS,
    **{f"{name}_once": _within(COMPARED_ONCE, compare) for name, compare in _COMPARISONS.items()},
    **{f"{name}_often": _within(COMPARED_OFTEN, compare) for name, compare in _COMPARISONS.items()},
    "add_once": _joining(JOINED_ONCE),
    "add_often": _joining(JOINED_OFTEN),
    "ABSENT": ABSENT,
    "Optional": Optional,
    "JSONPatchValue": JSONPatchValue,
    "LIMIT": CALL_LIMIT,
    "LONG": LONG,
    "MISSING": MISSING,
    "ObjectValue": ObjectValue,
    "add": add,
    "bail": bail,
    "boxed": boxed,
    "contains": contains,
    "distinct": distinct,
    "divide": operators.divide,
    "flattened": flattened,
    "held": held,
    "index": index,
    "insert": operators.insert,
    "is_zero": is_zero,
    "maybe_index": maybe_index,
    "modulo": operators.modulo,
    "multiply": operators.multiply,
    "negate": operators.negate,
    "new": object.__new__,
    "new_object": new_object,
    "one": one,
    "plain": plain,
    "loose_host": host.loose,
    "plain_host": host.plain,
    "drop": drop,
    "put": put,
    "read": read,
    "size": size,
    "subtract": operators.subtract,
    "two": two,
    "type_value": type_value,
    "wrapped": wrapped,
}

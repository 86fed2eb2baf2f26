"""Static cost estimates of calls: the counterparts of the run-time formulas in `costs.py`.

Each returns the cost and, if known, the size of the result, from the sizes of the operands, receiver first.
Source: checker/cost.go and ext/ of cel-go 0.26.1, pkg/cel/library/cost.go of k8s.io/apiserver 1.36.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from webhook.cel.ranges import NOTHING, ONE, UNBOUNDED, Bound, Charge, Estimate, Operand, fixed
from webhook.cel.types import BYTES, STRING, TypeKind

STRING_FACTOR: Final = 0.1
REGEX_FACTOR: Final = 0.25
LIST_BASE: Final = 10
MAP_BASE: Final = 30
STRUCT_BASE: Final = 40
"""Cost of making a list, a map, an object."""
_WORD: Final = 2**64
_SELF_COMPARED: Final = 2.0
_UTF8: Final = 4
_FORMAT_PATTERN: Final = 128
_FORMAT_NAME: Final = 64
_ADDRESS: Final = Estimate(4, 16)
Operands = Sequence[Operand]


def always(units: int) -> Bound:
    """A cost that depends on nothing."""
    return lambda _: Charge(fixed(units))


def read(argument: int = 0, times: int = 1) -> Bound:
    """Reading an operand `times` times; the result's size is not known."""
    return lambda operands: Charge(operands[argument].known.scaled(times * STRING_FACTOR))


def kept(operands: Operands) -> Charge:
    """Reading the first operand; the result is as long."""
    return Charge(operands[0].known.scaled(STRING_FACTOR), operands[0].known)


def encoded(operands: Operands) -> Charge:
    """A text to bytes, at most four for a character; the product wraps around as cel-go's does."""
    size = operands[0].known
    return Charge(size.scaled(STRING_FACTOR), Estimate(size.min, size.max * _UTF8 % _WORD))


def decoded(operands: Operands) -> Charge:
    """Bytes to a text."""
    size = operands[0].known
    return Charge(size.scaled(STRING_FACTOR), Estimate(size.min // _UTF8, size.max))


def quoted(operands: Operands) -> Charge:
    """A text with quotes, each character perhaps escaped; the product wraps around as cel-go's does."""
    size = operands[0].known
    return Charge(size.scaled(STRING_FACTOR), Estimate((size.min + 2) % _WORD, (size.max * 2 + 2) % _WORD))


def matched(operands: Operands) -> Charge:
    """A regular expression, the second operand, over a text."""
    pattern = operands[1].known.scaled(REGEX_FACTOR)
    return Charge((operands[0].known + ONE).scaled(STRING_FACTOR) * pattern)


def found(operands: Operands) -> Charge:
    """What a regular expression finds in a text: at most all of it."""
    return Charge(matched(operands).cost, Estimate(0, operands[0].known.max))


def contained(operands: Operands) -> Charge:
    """A text in a text."""
    return Charge(operands[0].known.scaled(STRING_FACTOR) * operands[1].known.scaled(STRING_FACTOR))


def walked(operands: Operands) -> Charge:
    """Comparing each element of a list, 1 and its characters; or reading a text."""
    whole = operands[0]
    element = whole.element()
    if element is None:
        return Charge(whole.known.scaled(STRING_FACTOR))
    each = ONE
    if element.type.kind in (TypeKind.PRIMITIVE, TypeKind.WRAPPER) and element.type.name in (STRING.name, BYTES.name):
        each += element.known.scaled(STRING_FACTOR)
    return Charge(whole.known * each)


def _replacements(size: int, old: int, new: int, *, most: bool) -> tuple[int, int]:
    """How often a replacement may stand in the result, and how many characters stay, at most or at least."""
    if old == 0:
        return min(size + 1, UNBOUNDED), size
    if (new <= old) if most else (old <= new):
        return 0, size
    return min(math.ceil(float(size) / float(old)), UNBOUNDED), 0


def replaced(operands: Operands) -> Charge:
    """Reading a text and writing it with parts replaced: the longest and the shortest that may come out."""
    size, old, new = operands[0].known, operands[1].known, operands[2].known
    most, left = _replacements(size.max, old.min, new.max, most=True)
    least, kept_at_least = _replacements(size.min, old.max, new.min, most=False)
    result = Estimate(least, most) * new + Estimate(kept_at_least, left)
    return Charge(size.scaled(2 * STRING_FACTOR), result)


def divided(operands: Operands) -> Charge:
    """Reading a text and writing its parts: as many as it has characters, or as the third operand says."""
    size = operands[0].known
    limit = operands[2].constant if len(operands) > 2 else None
    most = limit % _WORD if type(limit) is int else size.max
    return Charge(size.scaled(2 * STRING_FACTOR), Estimate(0, most))


def joined(operands: Operands) -> Charge:
    """Writing all elements of a list and the separators between them."""
    count, element = operands[0].known, operands[0].element()
    size = count * element.known if element is not None else NOTHING
    if len(operands) > 1:
        size += operands[1].known * Estimate(max(count.min - 1, 0), max(count.max - 1, 0))
    return Charge(size.scaled(STRING_FACTOR), size)


def allocated(factor: float, size: Estimate) -> Charge:
    """A call that makes a list: 11 and `factor` for each element."""
    return Charge(size.scaled(factor) + ONE + fixed(LIST_BASE), size)


def _whole(operand: Operand, otherwise: int) -> int:
    value = operand.constant
    return max(value, 0) if type(value) is int else otherwise


def sliced(operands: Operands) -> Charge:
    """The part of a list between two indices; the difference wraps around as cel-go's does."""
    start, end = _whole(operands[1], 0), _whole(operands[2], operands[0].known.max)
    return allocated(1, fixed((end - start) % _WORD))


def ranged(operands: Operands) -> Charge:
    """As many numbers as a literal says."""
    return allocated(1, fixed(_whole(operands[0], UNBOUNDED)))


def copied(operands: Operands) -> Charge:
    """A list of the same length."""
    return allocated(1, operands[0].known)


def flattened(operands: Operands) -> Charge:
    """A list, for each level that is taken apart."""
    return allocated(float(_whole(operands[1], UNBOUNDED) if len(operands) > 1 else 1), operands[0].known)


def self_compared(argument: int, texts: bool) -> Bound:
    """Comparing all elements of a list with each other."""
    factor = _SELF_COMPARED + (STRING_FACTOR if texts else 0)
    return lambda operands: allocated(factor, operands[argument].known * operands[argument].known)


def crossed(times: int) -> Bound:
    """Comparing each element of one list with each of another, `times` times."""
    return lambda operands: Charge((operands[0].known * operands[1].known).scaled(times) + ONE)


def within(text: bool, whole: bool) -> Bound:
    """Comparing an address, or with `whole` a range, with a range; a text is parsed first."""

    def bound(operands: Operands) -> Charge:
        cost = (_ADDRESS + _ADDRESS).scaled(STRING_FACTOR)
        if whole:
            cost += _ADDRESS.scaled(STRING_FACTOR) + ONE
        return Charge(cost + operands[1].known.scaled(STRING_FACTOR) if text else cost)

    return bound


def validated(operands: Operands) -> Charge:
    """A text against the longest pattern that a format may have."""
    return Charge(operands[1].known.scaled(STRING_FACTOR).scaled(_FORMAT_PATTERN * REGEX_FACTOR))


def selector(operands: Operands) -> Charge:
    """Parsing a selector: its characters, and 50 for each requirement, which takes two of them at least."""
    size = operands[1].known
    return Charge(fixed(LIST_BASE) + size.scaled(STRING_FACTOR) + size.scaled(0.5).scaled(50))


def listed(operands: Operands) -> Charge:
    """Looking for a value among all elements of a list."""
    return Charge(operands[1].known)


def compared(operands: Operands) -> Charge:
    """Comparing two values as far as the shorter one goes."""
    most = min(operands[0].known.max, operands[1].known.max)
    return Charge(Estimate(min(most, 1), most).scaled(STRING_FACTOR))


def written(operands: Operands) -> Charge:
    """Two texts made one."""
    size = operands[0].known + operands[1].known
    return Charge(size.scaled(STRING_FACTOR), size)


def appended(operands: Operands) -> Charge:
    """Two lists made one: no element is copied."""
    return Charge(ONE, operands[0].known + operands[1].known)


_AT_ONCE: Final = frozenset(
    {"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"}
    | {f"kubernetes.authorization.{name}" for name in ("Authorizer", "Decision")}
    | {f"kubernetes.authorization.{part}Check" for part in ("Path", "Group", "Resource")}
)


KUBERNETES: Final = _AT_ONCE | {"kubernetes.NamedFormat", "kubernetes.URL"}
"""Types whose values cost 1 to compare by `==` when it is run."""


def equal(operands: Operands) -> Charge:
    """`==`: Kubernetes' own types at once, URLs and formats by their texts, all else by the shorter one."""
    left, right = operands
    if left.type != right.type:
        return compared(operands)
    if left.type.name in _AT_ONCE:
        return Charge(ONE)
    if left.type.name == "kubernetes.NamedFormat":
        return Charge(Estimate(1, _FORMAT_NAME).scaled(STRING_FACTOR))
    if left.type.name == "kubernetes.URL":
        return Charge(Estimate(1, (right.size or ONE).max).scaled(STRING_FACTOR))
    return compared(operands)

"""Kubernetes resource quantities, exact: parsing, canonical text, arithmetic and comparison.

Follows k8s.io/apimachinery/pkg/api/resource, also in what it keeps: the text as written if it is canonical, and whether
the number left the int64 fast path (then it does not count as an integer).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

_DIGITS: Final = frozenset("0123456789")
_SUFFIX_LETTERS: Final = frozenset("eEinumkKMGTP")
_DECIMAL: Final = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_TEXT: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_TEXT: Final = {exponent: suffix for suffix, exponent in _BINARY.items()}
_INT64_DIGITS: Final = 18
_INT64_MAX: Final = 2**63 - 1
_INT64_MIN: Final = -(2**63)
_NANO: Final = -9
_SHORT: Final = 32
"""Longer texts are not cached."""
_WIDEST: Final = 20_000

WRONG_FORMAT: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_NUMBER: Final = "unable to parse numeric part of quantity"
WRONG_SUFFIX: Final = "unable to parse quantity's suffix"


class QuantityError(ValueError):
    """A text is not a quantity, or an operation would need too many digits."""


class Format(Enum):
    """The suffix format of a quantity."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """The number `unscaled * 10**scale`. `wide` says that it is not held in an int64; `text` is what was written."""

    unscaled: int
    scale: int = 0
    format: Format = Format.DECIMAL_SI
    wide: bool = False
    text: str = ""

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.unscaled > 0) - (self.unscaled < 0)

    @property
    def nanos(self) -> int:
        """The number in units of 10**-9, rounded away from zero; QuantityError where it has over 20,000 digits."""
        return self.scaled(_NANO)

    def scaled(self, scale: int) -> int:
        """The number in units of 10**scale, rounded away from zero; QuantityError where it is too long."""
        shift = self.scale - scale
        if shift >= 0:
            return int(self.unscaled * _power(shift, self.unscaled))
        return _divide_away(self.unscaled, -shift)

    def as_int64(self) -> int | None:
        """The number, if it is whole and held in an int64; the fast path decides, as in the API server."""
        if self.wide or self.scale < 0:
            return None
        if self.unscaled == 0:
            return 0
        if self.scale > _INT64_DIGITS + 1:
            return None
        value = int(self.unscaled * 10**self.scale)
        return value if _INT64_MIN <= value <= _INT64_MAX else None

    def approximate(self) -> float:
        """The number as a double, with the rounding of Go's AsApproximateFloat64; may be infinite or NaN."""
        try:
            base = float(self.unscaled)
        except OverflowError:
            base = math.inf * self.sign
        return base if self.scale == 0 else base * _pow10(self.scale)

    def compare(self, other: Quantity) -> int:
        """-1, 0 or 1 if the number is less than, equal to or greater than `other`; digits are not expanded."""
        if self.sign != other.sign or self.sign == 0:
            return (self.sign > other.sign) - (self.sign < other.sign)
        mine, theirs = self._magnitude(), other._magnitude()
        if mine != theirs:
            return self.sign if mine > theirs else -self.sign
        low = min(self.scale, other.scale)
        a = int(self.unscaled * 10 ** (self.scale - low))
        b = int(other.unscaled * 10 ** (other.scale - low))
        return (a > b) - (a < b)

    def _magnitude(self) -> int:
        return len(str(abs(self.unscaled))) + self.scale

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __hash__(self) -> int:
        unscaled, scale = _strip(self.unscaled, 10)
        return hash((unscaled, self.scale + scale if unscaled else 0))

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __le__(self, other: Quantity) -> bool:
        return self.compare(other) <= 0

    def __gt__(self, other: Quantity) -> bool:
        return self.compare(other) > 0

    def __ge__(self, other: Quantity) -> bool:
        return self.compare(other) >= 0

    def __add__(self, other: Quantity) -> Quantity:
        kept = other.format if self.sign == 0 else self.format
        return self._plus(other, kept)

    def __sub__(self, other: Quantity) -> Quantity:
        kept = other.format if self.sign == 0 else self.format
        negated = Quantity(-other.unscaled, other.scale, other.format, other.wide)
        if other.unscaled == _INT64_MIN and not other.wide and not self.wide:
            # The least int64 has no negation: in the API server's fast form it stays as it is.
            narrow = self._plus_int64(other)
            if narrow is not None:
                return Quantity(narrow[0], narrow[1], kept)
            return Quantity(self.unscaled, self.scale, self.format, wide=True)._plus(negated, kept)
        return self._plus(negated, kept)

    def _plus(self, other: Quantity, kept: Format) -> Quantity:
        if not self.wide and not other.wide:
            narrow = self._plus_int64(other)
            if narrow is not None:
                return Quantity(narrow[0], narrow[1], kept)
        low = min(self.scale, other.scale)
        total = self.unscaled * _power(self.scale - low, self.unscaled)
        total += other.unscaled * _power(other.scale - low, other.unscaled)
        return Quantity(total, low, kept, wide=True)

    def _plus_int64(self, other: Quantity) -> tuple[int, int] | None:
        if other.unscaled == 0:
            return self.unscaled, self.scale
        if self.unscaled == 0:
            return other.unscaled, other.scale
        low = min(self.scale, other.scale)
        a, b = _widen(self.unscaled, self.scale - low), _widen(other.unscaled, other.scale - low)
        if a is None or b is None or not _INT64_MIN <= a + b <= _INT64_MAX:
            return None
        return a + b, low

    def __str__(self) -> str:
        """The canonical text, or the text as written if the API server keeps it."""
        return self.text or self.canonical()

    def canonical(self) -> str:
        """The shortest text without loss, with the suffix that the format asks for."""
        if self.unscaled == 0:
            return "0"
        if self.format is Format.BINARY_SI and self._reads_well_in_binary():
            amount, times = _strip(self.scaled(0), 1024)
            return f"{amount}{_BINARY_TEXT.get(times * 10, '')}"
        amount, times = _strip(self.unscaled, 10)
        exponent = self.scale + times
        amount *= 10 ** (exponent % 3)
        exponent -= exponent % 3
        if self.format is Format.DECIMAL_EXPONENT:
            return f"{amount}e{exponent}" if exponent else str(amount)
        return f"{amount}{_DECIMAL_TEXT.get(exponent, '')}"

    def _reads_well_in_binary(self) -> bool:
        if self.compare(Quantity(-1024)) > 0 and self.compare(Quantity(1024)) < 0:
            return False
        return self.scale >= 0 or self.unscaled % 10 ** (-self.scale) == 0

    def exact(self) -> str:
        """All digits in plain decimal notation, without a suffix and without zeros at the end of a fraction."""
        if self.scale >= 0:
            return str(self.unscaled * _power(self.scale, self.unscaled))
        digits = str(abs(self.unscaled)).rjust(1 - self.scale, "0")
        places = digits[self.scale :].rstrip("0")
        whole = f"{'-' if self.unscaled < 0 else ''}{digits[: self.scale]}"
        return f"{whole}.{places}" if places else whole


def parse(text: str | int | float) -> Quantity:
    """Read a quantity; a number (as in `nvidia.com/gpu: 1`) counts as its text. QuantityError in Go's words.

    Rules of resource.ParseQuantity: more than nine places round up to the next nano, binary numbers stop at the
    greatest int64, and what is left of an exponent after 32 bits is what counts.
    """
    if not isinstance(text, str):
        return parse(repr(text))
    return _known(text) if len(text) <= _SHORT else _read(text)


@lru_cache(4096)
def _known(text: str) -> Quantity:
    """Cached: a cluster has the same few quantities again and again."""
    return _read(text)


def _read(text: str) -> Quantity:
    if not text:
        raise QuantityError(WRONG_FORMAT)
    if text == "0":
        return Quantity(0, text="0")
    value, whole, places, suffix = _split(text)
    base, exponent, kind = _interpret(suffix)
    fast = _fast(text, whole, places, base, exponent, kind)
    return fast if fast is not None else _slow(value, base, exponent, kind)


def _split(text: str) -> tuple[str, str, str, str]:
    """The number with its sign, its digits before and after the point, and the suffix."""
    start = 1 if text[0] in "+-" else 0
    position = start
    while position < len(text) and text[position] == "0":
        position += 1
    if position == len(text):
        return "0", "0", "", ""
    end = _past(text, position, _DIGITS)
    whole, places = text[position:end], ""
    if end == len(text):
        return text, whole, "", ""
    if text[end] == ".":
        stop = _past(text, end + 1, _DIGITS)
        places, end = text[end + 1 : stop], stop
    suffix_end = _past(text, end, _SUFFIX_LETTERS)
    if suffix_end < len(text) and text[suffix_end] in "+-":
        suffix_end += 1
    if _past(text, suffix_end, _DIGITS) < len(text):
        raise QuantityError(WRONG_FORMAT)
    return text[:end], whole or "0", places, text[end:]


def _past(text: str, position: int, letters: frozenset[str]) -> int:
    while position < len(text) and text[position] in letters:
        position += 1
    return position


def _interpret(suffix: str) -> tuple[int, int, Format]:
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], Format.DECIMAL_SI
    if suffix in _BINARY:
        return 2, _BINARY[suffix], Format.BINARY_SI
    digits = suffix[2:] if suffix[1:2] in ("+", "-") else suffix[1:]
    if len(suffix) > 1 and suffix[0] in "eE" and digits and _DIGITS.issuperset(digits) and len(digits) < _WIDEST:
        exponent = int(suffix[1:])
        if _INT64_MIN <= exponent <= _INT64_MAX:
            return 10, (exponent + 2**31) % 2**32 - 2**31, Format.DECIMAL_EXPONENT
    raise QuantityError(WRONG_SUFFIX)


def _fast(text: str, whole: str, places: str, base: int, exponent: int, kind: Format) -> Quantity | None:
    """The int64 form, where the number is short enough for the API server to choose it."""
    if base == 10:
        scale, factor, room = exponent, 1, _INT64_DIGITS - len(whole) - len(places)
    elif places:
        return None
    else:
        scale, factor, room = 0, 1 << exponent, 15 - len(whole) - exponent * 3 // 10 - 1
    scale -= len(places)
    if room < 0 or scale < _NANO:
        return None
    digits = whole + places
    value = int(digits)
    amount = value * factor
    if amount > _INT64_MAX:
        return None
    if kind is Format.BINARY_SI:
        keep = value & 7 != 0
    else:
        keep = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(-amount if text[0] == "-" else amount, scale, kind, text=text if keep else "")


def _slow(value: str, base: int, exponent: int, kind: Format) -> Quantity:
    negative = value.startswith("-")
    whole, _, places = value.lstrip("+-").partition(".")
    if not whole and not places:
        raise QuantityError(WRONG_NUMBER)
    if len(whole) + len(places) > _WIDEST:
        raise QuantityError("quantity has too many digits")
    unscaled, scale = int(whole + places), -len(places)
    if base == 10:
        scale += exponent
    else:
        unscaled <<= exponent
    if unscaled:
        unscaled, scale = _round_up(unscaled, scale)
    if kind is Format.BINARY_SI:
        amount = Quantity(unscaled, scale)
        if amount.compare(Quantity(_INT64_MAX)) > 0:
            unscaled, scale = _INT64_MAX, 0
        elif unscaled > 0 and amount.compare(Quantity(1)) < 0:
            kind = Format.DECIMAL_SI
    return Quantity(-unscaled if negative else unscaled, scale, kind, wide=True)


def _round_up(unscaled: int, scale: int) -> tuple[int, int]:
    """Exactly nine places, the last one rounded up, as inf.Dec.Round leaves it."""
    if scale < _NANO:
        return _divide_away(unscaled, _NANO - scale), _NANO
    return int(unscaled * _power(scale - _NANO, unscaled)), _NANO


def _power(exponent: int, unscaled: int) -> int:
    if unscaled == 0:
        return 1
    if exponent > _WIDEST:
        raise QuantityError("quantity has too many digits")
    return int(10**exponent)


def _divide_away(unscaled: int, exponent: int) -> int:
    if exponent > len(str(abs(unscaled))):
        return (unscaled > 0) - (unscaled < 0)
    quotient, rest = divmod(abs(unscaled), int(10**exponent))
    quotient += rest > 0
    return -quotient if unscaled < 0 else quotient


def _widen(value: int, shift: int) -> int | None:
    """`value * 10**shift` within an int64, else None."""
    if shift > _INT64_DIGITS + 1:
        return None
    wide = int(value * 10**shift)
    return wide if _INT64_MIN <= wide <= _INT64_MAX else None


def _strip(value: int, base: int) -> tuple[int, int]:
    """Take all factors of `base` out: the rest and how often it went."""
    times, rest = 0, abs(value)
    while rest >= base and rest % base == 0:
        rest //= base
        times += 1
    return (-rest if value < 0 else rest), times


def _pow10(exponent: int) -> float:
    """10**exponent with the rounding of Go's math.Pow10, which multiplies two table entries."""
    if 0 <= exponent <= 308:
        return float(f"1e{exponent - exponent % 32}") * float(f"1e{exponent % 32}")
    if -323 <= exponent < 0:
        return float(f"1e-{-exponent - -exponent % 32}") / float(f"1e{-exponent % 32}")
    return math.inf if exponent > 0 else 0.0

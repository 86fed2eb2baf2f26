"""Kubernetes' quantity library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from webhook.cel.errors import CelError
from webhook.cel.function_types import Function
from webhook.cel.lib import costs
from webhook.cel.lib.ordering import NO_OVERLOAD
from webhook.cel.lib.rows import library, member, of_text, plain
from webhook.cel.types import BOOL, DOUBLE, INT, Type, object_type
from webhook.kube.quantity import Format, Quantity, QuantityError, parse

QUANTITY_TYPE: Final = object_type("kubernetes.Quantity")


@dataclass(frozen=True, slots=True)
class QuantityValue:
    """A quantity as a value of the language. `derived` says that arithmetic made it.

    In the API server a derived quantity is a pointer, which the equality of others does not know: with it on the right
    side, `==` has no overload.
    """

    cel_type: ClassVar[Type] = QUANTITY_TYPE
    quantity: Quantity
    derived: bool = False

    def cel_equal(self, other: object) -> bool:
        """Equal by number; CelError where the other is no quantity, or a derived one."""
        if not isinstance(other, QuantityValue) or other.derived:
            raise CelError(NO_OVERLOAD)
        return self.quantity == other.quantity

    def cel_tagged(self) -> dict[str, object]:
        """The value as the rows of `sluice eval --batch` carry it; `dec` is left out where it would be endless."""
        tagged: dict[str, object] = {
            "t": QUANTITY_TYPE.name,
            "v": str(self.quantity),
            "format": self.quantity.format.value,
        }
        try:
            tagged["dec"] = self.quantity.exact()
        except QuantityError:
            return tagged
        return tagged

    def __str__(self) -> str:
        return str(self.quantity)


def quantity(text: str) -> QuantityValue:
    """The quantity that the text is."""
    try:
        return QuantityValue(parse(text))
    except QuantityError as error:
        raise CelError(str(error)) from None


def is_quantity(text: str) -> bool:
    """Whether the text is a quantity."""
    try:
        parse(text)
    except QuantityError:
        return False
    return True


def sign(value: QuantityValue) -> int:
    """-1, 0 or 1."""
    return value.quantity.sign


def is_integer(value: QuantityValue) -> bool:
    """Whether asInteger gives a number."""
    return value.quantity.as_int64() is not None


def as_integer(value: QuantityValue) -> int:
    """The number as an int; CelError where it is not whole, or too long for the API server's fast form."""
    number = value.quantity.as_int64()
    if number is None:
        raise CelError("cannot convert value to integer")
    return number


def as_float(value: QuantityValue) -> float:
    """The number as a double, perhaps rounded."""
    return value.quantity.approximate()


def compare_to(value: QuantityValue, other: QuantityValue) -> int:
    """-1, 0 or 1 as the number is less than, equal to or greater than the other."""
    return value.quantity.compare(other.quantity)


def is_greater_than(value: QuantityValue, other: QuantityValue) -> bool:
    """Whether the number is greater than the other."""
    return value.quantity.compare(other.quantity) > 0


def is_less_than(value: QuantityValue, other: QuantityValue) -> bool:
    """Whether the number is less than the other."""
    return value.quantity.compare(other.quantity) < 0


def add(value: QuantityValue, other: QuantityValue | int) -> QuantityValue:
    """The sum, in the format of the first that is not zero."""
    try:
        return QuantityValue(value.quantity + _operand(other), derived=True)
    except QuantityError as error:
        raise CelError(str(error)) from None


def subtract(value: QuantityValue, other: QuantityValue | int) -> QuantityValue:
    """The difference."""
    try:
        return QuantityValue(value.quantity - _operand(other), derived=True)
    except QuantityError as error:
        raise CelError(str(error)) from None


def _operand(value: QuantityValue | int) -> Quantity:
    return value.quantity if isinstance(value, QuantityValue) else Quantity(value, format=Format.DECIMAL_EXPONENT)


FUNCTIONS: Final = library(
    "kubernetes.quantity",
    Function(
        "quantity",
        (of_text("string_to_quantity", QUANTITY_TYPE, quantity, costs.read()),),
        "A quantity from a text.",
        (("quantity('1.5Gi').compareTo(quantity('1536Mi'))", "0"),),
    ),
    Function(
        "isQuantity",
        (of_text("is_quantity_string", BOOL, is_quantity, costs.read()),),
        "Whether a text is a quantity.",
        (("isQuantity('1.3G')", "true"), ("isQuantity('1,3G')", "false")),
    ),
    Function(
        "sign",
        (plain("quantity_sign", (QUANTITY_TYPE,), INT, sign, costs.nominal),),
        "-1, 0 or 1. A plain function, no member.",
        (("sign(quantity('-3'))", "-1"),),
    ),
    Function(
        "isGreaterThan",
        (member("quantity_is_greater_than", QUANTITY_TYPE, (QUANTITY_TYPE,), BOOL, is_greater_than, costs.nominal),),
        "Whether a quantity or a version is greater than another.",
        (("quantity('150Mi').isGreaterThan(quantity('100Mi'))", "true"),),
    ),
    Function(
        "isLessThan",
        (member("quantity_is_less_than", QUANTITY_TYPE, (QUANTITY_TYPE,), BOOL, is_less_than, costs.nominal),),
        "Whether a quantity or a version is less than another.",
        (("quantity('50M').isLessThan(quantity('50Mi'))", "true"),),
    ),
    Function(
        "compareTo",
        (member("quantity_compare_to", QUANTITY_TYPE, (QUANTITY_TYPE,), INT, compare_to, costs.nominal),),
        "-1, 0 or 1 as a quantity or a version is less than, equal to or greater than another.",
        (("quantity('200M').compareTo(quantity('0.2G'))", "0"),),
    ),
    Function(
        "asApproximateFloat",
        (member("quantity_get_float", QUANTITY_TYPE, (), DOUBLE, as_float, costs.nominal),),
        "The quantity as a double, perhaps rounded.",
        (("quantity('100m').asApproximateFloat()", "0.1"),),
    ),
    Function(
        "asInteger",
        (member("quantity_get_int", QUANTITY_TYPE, (), INT, as_integer, costs.nominal),),
        "The quantity as an int; an error where it is not whole.",
        (
            ("quantity('50k').asInteger()", "50000"),
            ("quantity('1.5').asInteger()", "error: cannot convert value to integer"),
        ),
    ),
    Function(
        "isInteger",
        (member("quantity_is_integer", QUANTITY_TYPE, (), BOOL, is_integer, costs.nominal),),
        "Whether asInteger gives a number.",
        (("quantity('50k').isInteger()", "true"), ("quantity('100m').isInteger()", "false")),
    ),
    Function(
        "add",
        (
            member("quantity_add", QUANTITY_TYPE, (QUANTITY_TYPE,), QUANTITY_TYPE, add, costs.nominal),
            member("quantity_add_int", QUANTITY_TYPE, (INT,), QUANTITY_TYPE, add, costs.nominal),
        ),
        "The sum with a quantity or an int.",
        (("quantity('50k').add(20) == quantity('50020')", "true"),),
    ),
    Function(
        "sub",
        (
            member("quantity_sub", QUANTITY_TYPE, (QUANTITY_TYPE,), QUANTITY_TYPE, subtract, costs.nominal),
            member("quantity_sub_int", QUANTITY_TYPE, (INT,), QUANTITY_TYPE, subtract, costs.nominal),
        ),
        "The difference to a quantity or an int.",
        (("quantity('50k').sub(quantity('20k')) == quantity('30k')", "true"),),
    ),
)

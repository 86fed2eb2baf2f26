"""Kubernetes' CIDR library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from webhook.cel.errors import CelError
from webhook.cel.function_types import Function, Price
from webhook.cel.lib import costs, estimates
from webhook.cel.lib.go.netip import AddressError, Prefix, parse_prefix
from webhook.cel.lib.go.strconv import quote
from webhook.cel.lib.ips import IP, IP_TYPE, is_ip, parse
from webhook.cel.lib.ordering import NO_OVERLOAD
from webhook.cel.lib.rows import library, member, of_text, plain
from webhook.cel.types import BOOL, INT, STRING, Type, opaque

CIDR_TYPE: Final = opaque("net.CIDR")
_CONTEXT: Final = "network address parse error during conversion from string: "


@dataclass(frozen=True, slots=True)
class CIDR:
    """An address range as a value of the language. Bits behind the prefix may be set."""

    cel_type: ClassVar[Type] = CIDR_TYPE
    prefix: Prefix

    @property
    def cel_size(self) -> int:
        """The bytes that the prefix needs."""
        return (self.prefix.bits + 7) // 8

    def cel_equal(self, other: object) -> bool:
        """Equal to the same address with the same prefix length; CelError for anything that is no CIDR."""
        if not isinstance(other, CIDR):
            raise CelError(NO_OVERLOAD)
        return self.prefix == other.prefix

    def __str__(self) -> str:
        return str(self.prefix)


def _parse(text: str) -> Prefix:
    try:
        prefix = parse_prefix(text)
    except AddressError as error:
        raise CelError(f"{_CONTEXT}{error}") from None
    if prefix.address.mapped:
        raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return prefix


def cidr(text: str) -> CIDR:
    """The range that the text is."""
    try:
        return CIDR(_parse(text))
    except CelError as error:
        raise CelError(f"{_CONTEXT}{error.message}") from None


def is_cidr(text: str) -> bool:
    """Whether the text is a range."""
    try:
        _parse(text)
    except CelError:
        return False
    return True


def contains_ip(value: CIDR, address: IP) -> bool:
    """Whether an address is in the range."""
    return value.prefix.contains(address.address)


def contains_ip_text(value: CIDR, text: str) -> bool:
    """Whether the address that a text is is in the range; CelError `no such overload` where the text is none."""
    if not is_ip(text):
        raise CelError(NO_OVERLOAD)
    return value.prefix.contains(parse(text))


def contains_cidr(value: CIDR, other: CIDR) -> bool:
    """Whether the whole of another range is in the range."""
    return value.prefix.overlaps(other.prefix) and value.prefix.bits <= other.prefix.bits


def contains_cidr_text(value: CIDR, text: str) -> bool:
    """Whether the range that a text is is in the range; CelError where the text is none."""
    return contains_cidr(value, cidr(text))


def _inside(text: bool, range_: bool) -> Price:
    def cost(arguments: Sequence[object], result: object) -> int:
        own = costs.size(arguments[0])
        units = costs.traversal(2 * own)
        if range_:
            units += costs.traversal(own) + 1
        return units + (costs.traversal(costs.size(arguments[1])) if text else 0)

    words = "1, and 3 for each 10 bytes of the address" if range_ else "2 for each 10 bytes of the address"
    parsed = ", and 1 for each 10 characters of the text" if text else ""
    return Price(cost, estimates.within(text, range_), words + parsed)


FUNCTIONS: Final = library(
    "kubernetes.net.cidr",
    Function(
        "cidr",
        (of_text("string_to_cidr", CIDR_TYPE, cidr, costs.read()),),
        "An address range from a text.",
        (("string(cidr('192.168.0.1/24'))", "'192.168.0.1/24'"),),
    ),
    Function(
        "isCIDR",
        (of_text("is_cidr", BOOL, is_cidr, costs.read()),),
        "Whether a text is an address range.",
        (("isCIDR('192.168.0.0/24')", "true"), ("isCIDR('192.168.0.0/33')", "false")),
    ),
    Function(
        "containsIP",
        (
            member("cidr_contains_ip_string", CIDR_TYPE, (STRING,), BOOL, contains_ip_text, _inside(True, False)),
            member("cidr_contains_ip_ip", CIDR_TYPE, (IP_TYPE,), BOOL, contains_ip, _inside(False, False)),
        ),
        "Whether an address is in a range.",
        (("cidr('192.168.0.0/24').containsIP('192.168.0.1')", "true"),),
    ),
    Function(
        "containsCIDR",
        (
            member("cidr_contains_cidr_string", CIDR_TYPE, (STRING,), BOOL, contains_cidr_text, _inside(True, True)),
            member("cidr_contains_cidr", CIDR_TYPE, (CIDR_TYPE,), BOOL, contains_cidr, _inside(False, True)),
        ),
        "Whether a range is within a range.",
        (("cidr('192.168.0.0/24').containsCIDR('192.168.0.0/25')", "true"),),
    ),
    Function(
        "ip",
        (member("cidr_ip", CIDR_TYPE, (), IP_TYPE, lambda value: IP(value.prefix.address), costs.nominal),),
        "",
        (("string(cidr('192.168.0.1/24').ip())", "'192.168.0.1'"),),
    ),
    Function(
        "prefixLength",
        (member("cidr_prefix_length", CIDR_TYPE, (), INT, lambda value: value.prefix.bits, costs.nominal),),
        "The number of network bits of the address.",
        (("cidr('192.168.0.0/24').prefixLength()", "24"),),
    ),
    Function(
        "masked",
        (member("cidr_masked", CIDR_TYPE, (), CIDR_TYPE, lambda value: CIDR(value.prefix.masked()), costs.nominal),),
        "The range with its host bits set to zero.",
        (("string(cidr('192.168.0.1/24').masked())", "'192.168.0.0/24'"),),
    ),
    Function("string", (plain("cidr_to_string", (CIDR_TYPE,), STRING, str, costs.nominal),)),
)

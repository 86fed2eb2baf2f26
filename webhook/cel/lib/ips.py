"""Kubernetes' IP library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from webhook.cel.errors import CelError
from webhook.cel.function_types import Function
from webhook.cel.lib import costs
from webhook.cel.lib.go.netip import Address, AddressError, parse_addr
from webhook.cel.lib.go.strconv import quote
from webhook.cel.lib.ordering import NO_OVERLOAD
from webhook.cel.lib.rows import library, member, of_text, plain
from webhook.cel.types import BOOL, INT, STRING, Type, opaque

IP_TYPE: Final = opaque("net.IP")


@dataclass(frozen=True, slots=True)
class IP:
    """An IP address as a value of the language."""

    cel_type: ClassVar[Type] = IP_TYPE
    address: Address

    @property
    def cel_size(self) -> int:
        """Its bytes."""
        return len(self.address.packed)

    def cel_equal(self, other: object) -> bool:
        """Equal to the same address only; CelError for anything that is no address."""
        if not isinstance(other, IP):
            raise CelError(NO_OVERLOAD)
        return self.address == other.address

    def __str__(self) -> str:
        return str(self.address)


def parse(text: str) -> Address:
    """Read an address without a zone that is not an IPv4 address inside an IPv6 one; CelError otherwise."""
    try:
        address = parse_addr(text)
    except AddressError as error:
        raise CelError(f"IP Address {quote(text)} parse error during conversion from string: {error}") from None
    if address.zone:
        raise CelError(f"IP address {quote(text)} with zone value is not allowed")
    if address.mapped:
        raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return address


def ip(text: str) -> IP:
    """The address that the text is."""
    return IP(parse(text))


def is_ip(text: str) -> bool:
    """Whether the text is an address."""
    try:
        parse(text)
    except CelError:
        return False
    return True


def is_canonical(text: str) -> bool:
    """Whether the text is an address in its one canonical form; CelError where it is none."""
    return str(parse(text)) == text


def family(value: IP) -> int:
    """4 or 6."""
    return 4 if value.address.is4 else 6


def is_unspecified(value: IP) -> bool:
    """Whether this is 0.0.0.0 or ::."""
    return not any(value.address.packed)


def is_loopback(value: IP) -> bool:
    """Whether this is in 127.0.0.0/8 or is ::1."""
    packed = value.address.packed
    return packed[0] == 127 if value.address.is4 else packed == b"\0" * 15 + b"\1"


def is_link_local_multicast(value: IP) -> bool:
    """Whether this is in 224.0.0.0/24 or ff02::/16 (any flags)."""
    packed = value.address.packed
    return packed[:3] == b"\xe0\0\0" if value.address.is4 else packed[0] == 0xFF and packed[1] & 0x0F == 2


def is_link_local_unicast(value: IP) -> bool:
    """Whether this is in 169.254.0.0/16 or fe80::/10."""
    packed = value.address.packed
    return packed[:2] == b"\xa9\xfe" if value.address.is4 else packed[0] == 0xFE and packed[1] & 0xC0 == 0x80


def is_global_unicast(value: IP) -> bool:
    """Whether this is none of unspecified, loopback, multicast, link-local or the IPv4 broadcast address."""
    packed = value.address.packed
    multicast = packed[0] & 0xF0 == 0xE0 if value.address.is4 else packed[0] == 0xFF
    special = is_unspecified(value) or is_loopback(value) or multicast or is_link_local_unicast(value)
    return not special and packed != b"\xff\xff\xff\xff"


FUNCTIONS: Final = library(
    "kubernetes.net.ip",
    Function(
        "ip",
        (of_text("string_to_ip", IP_TYPE, ip, costs.read()),),
        "An IP address from a text; of a CIDR its address.",
        (("ip('127.0.0.1').family()", "4"), ("string(ip('2001:DB8::0:1'))", "'2001:db8::1'")),
    ),
    Function(
        "isIP",
        (of_text("is_ip", BOOL, is_ip, costs.read()),),
        "Whether a text is an IP address.",
        (("isIP('127.0.0.1')", "true"), ("isIP('127.0.0.256')", "false"), ("isIP('::ffff:1.2.3.4')", "false")),
    ),
    Function(
        "ip.isCanonical",
        (plain("ip_is_canonical", (STRING,), BOOL, is_canonical, costs.read(0, 2)),),
        "Whether a text is an IP address in its canonical form.",
        (("ip.isCanonical('2001:db8::abcd')", "true"), ("ip.isCanonical('2001:DB8::ABCD')", "false")),
    ),
    Function(
        "family",
        (member("ip_family", IP_TYPE, (), INT, family, costs.nominal),),
        "4 or 6.",
        (("ip('::1').family()", "6"),),
    ),
    Function(
        "isUnspecified",
        (member("ip_is_unspecified", IP_TYPE, (), BOOL, is_unspecified, costs.nominal),),
        "Whether an address is 0.0.0.0 or ::.",
        (("ip('0.0.0.0').isUnspecified()", "true"),),
    ),
    Function(
        "isLoopback",
        (member("ip_is_loopback", IP_TYPE, (), BOOL, is_loopback, costs.nominal),),
        "Whether an address is in 127.0.0.0/8 or is ::1.",
        (("ip('127.0.0.1').isLoopback()", "true"),),
    ),
    Function(
        "isLinkLocalMulticast",
        (member("ip_is_link_local_multicast", IP_TYPE, (), BOOL, is_link_local_multicast, costs.nominal),),
        "Whether an address is in 224.0.0.0/24 or ff02::/16.",
        (("ip('224.0.0.1').isLinkLocalMulticast()", "true"),),
    ),
    Function(
        "isLinkLocalUnicast",
        (member("ip_is_link_local_unicast", IP_TYPE, (), BOOL, is_link_local_unicast, costs.nominal),),
        "Whether an address is in 169.254.0.0/16 or fe80::/10.",
        (("ip('169.254.169.254').isLinkLocalUnicast()", "true"),),
    ),
    Function(
        "isGlobalUnicast",
        (member("ip_is_global_unicast", IP_TYPE, (), BOOL, is_global_unicast, costs.nominal),),
        "Whether an address is global unicast: not loopback, multicast, link-local, unspecified or broadcast.",
        (("ip('192.168.0.1').isGlobalUnicast()", "true"), ("ip('255.255.255.255').isGlobalUnicast()", "false")),
    ),
    Function("string", (plain("ip_to_string", (IP_TYPE,), STRING, str, costs.nominal),)),
)

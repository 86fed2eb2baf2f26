"""Reading and writing IP addresses and prefixes exactly as Go's net/netip does; `ips.py`, `cidrs.py` use it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from webhook.cel.lib.go.strconv import from_bytes, quote, to_bytes

_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_DIGITS: Final = frozenset(b"0123456789")


class AddressError(ValueError):
    """A text is no address or prefix. The message is Go's."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address of 4 or 16 bytes, with a zone where one was written."""

    packed: bytes
    zone: str = ""

    @property
    def is4(self) -> bool:
        """Whether this is an IPv4 address."""
        return len(self.packed) == 4

    @property
    def mapped(self) -> bool:
        """Whether this is an IPv4 address inside an IPv6 one."""
        return self.packed[:12] == b"\0" * 10 + b"\xff\xff" and not self.is4

    def __str__(self) -> str:
        """The canonical text (RFC 5952)."""
        if self.is4:
            return ".".join(map(str, self.packed))
        zone = f"%{self.zone}" if self.zone else ""
        if self.mapped:
            return f"::ffff:{'.'.join(map(str, self.packed[12:]))}{zone}"
        return _groups_text(self.packed) + zone


def _groups_text(packed: bytes) -> str:
    groups = [int.from_bytes(packed[index : index + 2]) for index in range(0, 16, 2)]
    start, length = 0, 0
    index = 0
    while index < 8:
        run = index
        while run < 8 and groups[run] == 0:
            run += 1
        if run - index > max(length, 1):
            start, length = index, run - index
        index = max(run, index + 1)
    if not length:
        return ":".join(f"{group:x}" for group in groups)
    head = ":".join(f"{group:x}" for group in groups[:start])
    tail = ":".join(f"{group:x}" for group in groups[start + length :])
    return f"{head}::{tail}"


@dataclass(frozen=True, slots=True)
class Prefix:
    """An address and how many of its bits count."""

    address: Address
    bits: int

    def masked(self) -> Prefix:
        """The same prefix with the bits that do not count set to zero."""
        return Prefix(Address(_masked(self.address.packed, self.bits)), self.bits)

    def contains(self, address: Address) -> bool:
        """Whether an address of the same family has the bits that count."""
        if len(address.packed) != len(self.address.packed) or address.zone:
            return False
        return _masked(address.packed, self.bits) == _masked(self.address.packed, self.bits)

    def overlaps(self, other: Prefix) -> bool:
        """Whether two prefixes have an address in common."""
        if len(other.address.packed) != len(self.address.packed):
            return False
        bits = min(self.bits, other.bits)
        return _masked(self.address.packed, bits) == _masked(other.address.packed, bits)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


def _masked(packed: bytes, bits: int) -> bytes:
    width = len(packed) * 8
    mask = ((1 << bits) - 1) << (width - bits)
    return (int.from_bytes(packed) & mask).to_bytes(len(packed))


def _trouble(text: bytes, message: str, at: bytes | None = None) -> AddressError:
    place = f" (at {quote(from_bytes(at))})" if at else ""
    return AddressError(f"ParseAddr({quote(from_bytes(text))}): {message}{place}")


def parse_addr(text: str) -> Address:
    """Read an IPv4 or IPv6 address (netip.ParseAddr); AddressError in Go's words."""
    data = to_bytes(text)
    for byte in data:
        if byte == ord("."):
            return Address(_parse_fields(data, data))
        if byte == ord(":"):
            return _parse_v6(data)
        if byte == ord("%"):
            raise _trouble(data, "missing IPv6 address")
    raise _trouble(data, "unable to parse IP")


def _parse_fields(whole: bytes, text: bytes) -> bytes:
    """Four decimal fields."""
    fields: list[int] = []
    value, digits = 0, 0
    for index, byte in enumerate(text):
        if byte in _DIGITS:
            if digits == 1 and value == 0:
                raise _trouble(whole, "IPv4 field has octet with leading zero")
            value, digits = value * 10 + byte - 0x30, digits + 1
            if value > 255:
                raise _trouble(whole, "IPv4 field has value >255")
        elif byte == ord("."):
            if index in (0, len(text) - 1) or text[index - 1] == ord("."):
                raise _trouble(whole, "IPv4 field must have at least one digit", text[index:])
            if len(fields) == 3:
                raise _trouble(whole, "IPv4 address too long")
            fields.append(value)
            value, digits = 0, 0
        else:
            raise _trouble(whole, "unexpected character", text[index:])
    if len(fields) < 3:
        raise _trouble(whole, "IPv4 address too short")
    return bytes([*fields, value])


def _parse_v6(whole: bytes) -> Address:
    text, percent, zone = whole.partition(b"%")
    if percent and not zone:
        raise _trouble(whole, "zone must be a non-empty string")
    name = from_bytes(zone)
    packed, ellipsis, rest = bytearray(), -1, text
    if rest.startswith(b"::"):
        ellipsis, rest = 0, rest[2:]
        if not rest:
            return Address(bytes(16), name)
    while len(packed) < 16:
        group = _group(whole, rest)
        if rest[len(group) : len(group) + 1] == b".":
            packed += _embedded(whole, rest, len(packed), ellipsis)
            rest = b""
            break
        packed += int(group, 16).to_bytes(2)
        rest = rest[len(group) :]
        if not rest:
            break
        rest, ellipsis = _after_group(whole, rest, len(packed), ellipsis)
        if not rest:
            break
    if rest:
        raise _trouble(whole, "trailing garbage after address", rest)
    return Address(_expanded(whole, packed, ellipsis), name)


def _group(whole: bytes, rest: bytes) -> bytes:
    count = 0
    while count < len(rest) and rest[count] in _HEX:
        count += 1
        if count > 4:
            raise _trouble(whole, "each group must have 4 or less digits", rest)
    if count == 0:
        raise _trouble(whole, "each colon-separated field must have at least one digit", rest)
    return rest[:count]


def _embedded(whole: bytes, rest: bytes, used: int, ellipsis: int) -> bytes:
    if ellipsis < 0 and used != 12:
        raise _trouble(whole, "embedded IPv4 address must replace the final 2 fields of the address", rest)
    if used + 4 > 16:
        raise _trouble(whole, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    return _parse_fields(whole, rest)


def _after_group(whole: bytes, rest: bytes, used: int, ellipsis: int) -> tuple[bytes, int]:
    if rest[:1] != b":":
        raise _trouble(whole, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _trouble(whole, "colon must be followed by more characters", rest)
    rest = rest[1:]
    if rest[:1] == b":":
        if ellipsis >= 0:
            raise _trouble(whole, "multiple :: in address", rest)
        return rest[1:], used
    return rest, ellipsis


def _expanded(whole: bytes, packed: bytearray, ellipsis: int) -> bytes:
    if len(packed) < 16:
        if ellipsis < 0:
            raise _trouble(whole, "address string too short")
        return bytes(packed[:ellipsis] + bytes(16 - len(packed)) + packed[ellipsis:])
    if ellipsis >= 0:
        raise _trouble(whole, "the :: must expand to at least one field of zeros")
    return bytes(packed)


def parse_prefix(text: str) -> Prefix:
    """Read an address with a prefix length (netip.ParsePrefix); bits behind it may be set. AddressError as in Go."""

    def trouble(message: str) -> AddressError:
        return AddressError(f"netip.ParsePrefix({quote(text)}): {message}")

    head, slash, tail = text.rpartition("/")
    if not slash:
        raise trouble("no '/'")
    try:
        address = parse_addr(head)
    except AddressError as error:
        raise trouble(str(error)) from None
    if address.zone:
        raise trouble("IPv6 zones cannot be present in a prefix")
    signed = re.fullmatch(r"[+-]?[0-9]+", tail, re.ASCII)
    if (len(tail) > 1 and not "1" <= tail[0] <= "9") or signed is None or len(tail) > 18:
        raise trouble(f"bad bits after slash: {quote(tail)}")
    if not 0 <= int(tail) <= len(address.packed) * 8:
        raise trouble("prefix length out of range")
    return Prefix(address, int(tail))

"""Reads when a certificate expires and whom it is for, without a library: importing cryptography for it takes 9 MiB of
memory."""

from __future__ import annotations

import re
from binascii import a2b_base64
from datetime import UTC, datetime
from typing import Final

_FIRST: Final = re.compile(rb"-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----")
_VERSION, _GENERALIZED_TIME, _DNS_NAME = 0xA0, 0x18, 0x82
_VALIDITY: Final = 3
"""Its index in a certificate without version: after serial number, algorithm and issuer (RFC 5280, 4.1)."""


def expiry(pem: bytes) -> datetime:
    """Return when the first certificate in `pem` expires, in UTC. Raises ValueError if there is none."""
    block = _FIRST.search(pem)
    if block is None:
        raise ValueError("no certificate between BEGIN and END lines")
    try:
        (_, certificate), *_ = _elements(a2b_base64(block[1]))
        (_, to_be_signed), *_ = _elements(certificate)
        fields = _elements(to_be_signed)
        _, validity = fields[_VALIDITY + (fields[0][0] == _VERSION)]
        _, (tag, end) = _elements(validity)
        text = end.decode("ascii")
        if tag != _GENERALIZED_TIME:
            text = f"{19 if text >= '50' else 20}{text}"  # two digits of the year, 1950 to 2049
        return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except (IndexError, ValueError) as error:
        raise ValueError(f"the certificate is damaged: {error}") from None


def is_for(pem: bytes, name: str) -> bool:
    """Return whether the first certificate in `pem` has a DNS name, by itself or by a wildcard (RFC 5280, 4.2.1.6)."""
    block = _FIRST.search(pem)
    if block is None:
        return False
    der = a2b_base64(block[1])
    return any(_dns_name(known) in der for known in (name, f"*.{name.partition('.')[2]}"))


def _dns_name(name: str) -> bytes:
    size = len(name)
    return bytes([_DNS_NAME, *([size] if size < 0x80 else [0x81, size])]) + name.encode()


def _elements(data: bytes) -> list[tuple[int, bytes]]:
    """Return tag and content of each DER element."""
    elements, at = [], 0
    while at < len(data):
        tag, size = data[at], data[at + 1]
        at += 2
        if size >= 0x80:  # the number of length bytes that follow
            count = size - 0x80
            size = int.from_bytes(data[at : at + count], "big")
            at += count
        if at + size > len(data):
            raise ValueError("it ends too early")
        elements.append((tag, data[at : at + size]))
        at += size
    return elements

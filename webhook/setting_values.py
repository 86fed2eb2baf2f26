"""Values as people write them in options, variables and settings: numbers, addresses, names, labels.

Each function reads a value or raises ValueError, which says what was given and what is allowed.
"""

from __future__ import annotations

import ipaddress
import math
import re
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_HOST: Final = re.compile(r"(\*\.)?[A-Za-z0-9_]([-A-Za-z0-9_]{0,62})(\.[A-Za-z0-9_][-A-Za-z0-9_]{0,62})*\.?")
_WORD: Final = re.compile(r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_DIGITS: Final = re.compile(r"-?[0-9]{1,15}")
_MOST_OF_A_NAME: Final = 253
_MOST_OF_A_PORT: Final = 65_535
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
"""The names of this machine for itself."""


def text(value: object) -> str:
    """Read a text that is not blank: that is what a shell makes of a variable that is not set. No path has a NUL."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a string")
    if not value.strip():
        raise ValueError("must not be empty; give a value or leave it out")
    if "\0" in value:
        raise ValueError("must not contain a NUL character")
    return value


def number(value: object, low: float, high: float, unit: str = "") -> float:
    """Read a number from `low` to `high`."""
    allowed = _allowed(low, high, unit)
    try:
        found = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        found = math.nan
    if math.isnan(found):
        raise ValueError(f"{_shown(value)} is not a number; give one {allowed}")
    if not low <= found <= high:
        raise ValueError(f"{_shown(value)} is out of range; give a number {allowed}")
    return found


def whole(value: object, low: int, high: int, unit: str = "") -> int:
    """Read a whole number from `low` to `high`, written in digits."""
    if not _DIGITS.fullmatch(str(value)):
        raise ValueError(f"{_shown(value)} is not a whole number; give one {_allowed(low, high, unit)}")
    return int(number(value, low, high, unit))


def moment(value: object) -> int:
    """Read a time (RFC 3339) with its offset from UTC; give milliseconds since the epoch."""
    form = "use RFC 3339, such as 2026-01-15T12:00:00Z"
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"{_shown(value)} is not a valid time; {form}") from None
    if found.tzinfo is None:
        raise ValueError(f"{_shown(value)} has no offset from UTC; {form}")
    try:
        return int(found.astimezone(UTC).timestamp() * 1000)
    except OverflowError:
        raise ValueError(f"{_shown(value)} is out of range; give a time in the years 1 to 9999 of UTC") from None


def address(value: object) -> str:
    """Read HOST:PORT, [IPv6]:PORT, or :PORT for all addresses."""
    host_and_port(value)
    return str(value)


def host_and_port(value: object) -> tuple[str, int]:
    """Split what `address` reads; the host is empty for all addresses."""
    host, colon, port = text(value).rpartition(":")
    if not colon or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        raise ValueError(f"{_shown(value)} is not HOST:PORT, such as 127.0.0.1:9443, [::1]:9443 or :9443")
    return host.strip("[]"), _port(port, value)


def url(value: object) -> str:
    """Read https://HOST[:PORT][/PATH]: the API server calls webhooks over TLS only."""
    try:
        parts = urlsplit(text(value))
        good = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or parts.username or parts.query or parts.fragment or any(c.isspace() for c in str(value)):
        raise ValueError(f"{_shown(value)} is not https://HOST[:PORT][/PATH]")
    return str(value).rstrip("/")


def service(value: object) -> tuple[str, str, int]:
    """Read NAMESPACE/NAME[:PORT] of a Service; without a port it is 443."""
    namespace, slash, rest = text(value).partition("/")
    name, colon, port = rest.partition(":")
    if not slash or not _LABEL.fullmatch(namespace) or not _LABEL.fullmatch(name):
        raise ValueError(f"{_shown(value)} is not NAMESPACE/NAME or NAMESPACE/NAME:PORT, such as sluice-system/sluice")
    return namespace, name, _port(port, value, least=1) if colon else 443


def label(value: object) -> str:
    """Read the name of a namespace or Service: a DNS label."""
    if not _LABEL.fullmatch(text(value)):
        raise ValueError(f"{_shown(value)} is not a valid name: use at most 63 lower-case letters, digits and -")
    return str(value)


def name(value: object) -> str:
    """Read the name of an object: DNS labels with dots between them."""
    if len(text(value)) > _MOST_OF_A_NAME or not all(map(_LABEL.fullmatch, str(value).split("."))):
        raise ValueError(f"{_shown(value)} is not a valid object name: use lower-case letters, digits, - and .")
    return str(value)


def named(value: object) -> str:
    """Read NAMESPACE/NAME."""
    namespace, _, rest = text(value).partition("/")
    try:
        label(namespace), name(rest)
    except ValueError:
        raise ValueError(f"{_shown(value)} is not NAMESPACE/NAME") from None
    return str(value)


def host(value: object) -> str:
    """Read a DNS name (its first part may be *) or an IP address, as a certificate names its server."""
    try:
        return str(ipaddress.ip_address(text(value)))
    except ValueError:
        pass
    if len(text(value)) > _MOST_OF_A_NAME or not _HOST.fullmatch(str(value)):
        raise ValueError(f"{_shown(value)} is neither a DNS name nor an IP address (without a port)")
    return str(value)


def labels(value: object) -> dict[str, str]:
    """Read labels, key=value with commas between them; an empty text has none."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a string")
    found: dict[str, str] = {}
    for key, content in (pair(part) for part in value.split(",") if part.strip()):
        if found.setdefault(key, content) != content:
            raise ValueError(f'"{value}" has two values for {key}')
    return found


def pair(value: object) -> tuple[str, str]:
    """Read one label, key=value."""
    key, equals, content = text(value).strip().partition("=")
    prefix, slash, word = key.rpartition("/")
    good = bool(equals) and bool(_WORD.fullmatch(word)) and (not content or bool(_WORD.fullmatch(content)))
    if not good or (slash and not all(map(_LABEL.fullmatch, prefix.split(".")))):
        raise ValueError(f"{_shown(value)} is not a label, KEY=VALUE")
    return key, content


def _allowed(low: float, high: float, unit: str) -> str:
    return f"from {low:,.10g} to {high:,.10g} {unit}".rstrip()


def _port(digits: str, value: object, *, least: int = 0) -> int:
    if not digits.isascii() or not digits.isdigit() or not least <= int(digits[:9]) <= _MOST_OF_A_PORT:
        raise ValueError(f"{_shown(value)} does not end in a port from {least} to {_MOST_OF_A_PORT}")
    return int(digits)


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)

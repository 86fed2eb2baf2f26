"""Reading and writing URLs exactly as Go's net/url does. The functions of the language are in `urls.py`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from webhook.cel.lib.go.netip import AddressError, parse_addr
from webhook.cel.lib.go.strconv import from_bytes, quote, to_bytes

_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS: Final = b"0123456789"
_PLAIN: Final = _LETTERS + _DIGITS + b"-_.~"
_PATH: Final = frozenset(_PLAIN + b"$&+,/:;=@")
_USER: Final = frozenset(_PLAIN + b"$&+,;=")
_HOST: Final = frozenset(_PLAIN + b"!$&'()*+,;=:[]<>\"")
_FRAGMENT: Final = frozenset(_PLAIN + b"$&+,/:;=?@!()*")
_ENCODED: Final = frozenset(b"!$&'()*+,;=:@[]%")
_USERINFO: Final = frozenset(_PLAIN + b"!$&'()*+,;=%:@")
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_MOST_PARAMETERS: Final = 10_000


class LocatorError(ValueError):
    """A text is no URL. The message is Go's."""


@dataclass(frozen=True, slots=True)
class Locator:
    """The parts of a URL, unescaped where Go unescapes them. Texts are bytes: an escape may give what is no UTF-8."""

    scheme: bytes = b""
    opaque: bytes = b""
    user: tuple[bytes, bytes | None] | None = None
    host: bytes = b""
    omit_host: bool = False
    path: bytes = b""
    raw_path: bytes = b""
    force_query: bool = False
    raw_query: bytes = b""
    fragment: bytes = b""
    raw_fragment: bytes = b""

    def escaped_path(self) -> bytes:
        """The path as written where that is a valid way to write it, else with what must be escaped escaped."""
        return _written(self.raw_path, self.path, _PATH) or (b"*" if self.path == b"*" else _escape(self.path, _PATH))

    def host_port(self) -> tuple[bytes, bytes]:
        """The host without brackets, and the port; either may be empty."""
        host, port = self.host, b""
        colon = host.rfind(b":")
        if colon >= 0 and _valid_port(host[colon:]):
            host, port = host[:colon], host[colon + 1 :]
        if host.startswith(b"[") and host.endswith(b"]"):
            host = host[1:-1]
        return host, port

    def query(self) -> dict[str, list[str]]:
        """The parameters; what is not well formed is left out."""
        values: dict[str, list[str]] = {}
        if self.raw_query.count(b"&") >= _MOST_PARAMETERS:
            return values
        for setting in self.raw_query.split(b"&"):
            if b";" in setting or not setting:
                continue
            key, _, value = setting.partition(b"=")
            try:
                name, text = (from_bytes(_unescape(part, "query")) for part in (key, value))
            except LocatorError:
                continue
            values.setdefault(name, []).append(text)
        return values

    def __str__(self) -> str:
        """The URL put together again."""
        text = self.scheme + b":" if self.scheme else b""
        text += self.opaque or self._hierarchical(text)
        if self.force_query or self.raw_query:
            text += b"?" + self.raw_query
        if self.fragment:
            written = _written(self.raw_fragment, self.fragment, _FRAGMENT)
            text += b"#" + (written or _escape(self.fragment, _FRAGMENT))
        return from_bytes(text)

    def _hierarchical(self, before: bytes) -> bytes:
        text, path = b"", self.escaped_path()
        somewhere = self.scheme or self.host or self.user is not None
        if somewhere and not (self.omit_host and not self.host and self.user is None):
            if self.host or self.path or self.user is not None:
                text += b"//"
            if self.user is not None:
                name, password = self.user
                text += _escape(name, _USER) + (b"" if password is None else b":" + _escape(password, _USER)) + b"@"
            text += _escape(self.host, _HOST)
        if path and path[:1] != b"/" and self.host:
            text += b"/"
        if not before and not text and b":" in path.partition(b"/")[0]:
            text += b"./"
        return text + path


def _written(raw: bytes, meant: bytes, allowed: frozenset[int]) -> bytes:
    """The raw form where it stands for what is meant and needs no more escapes, else nothing."""
    if raw and all(byte in _ENCODED or byte in allowed for byte in raw):
        try:
            return raw if _unescape(raw, "path") == meant else b""
        except LocatorError:
            return b""
    return b""


def _escape(text: bytes, allowed: frozenset[int]) -> bytes:
    return b"".join(bytes((byte,)) if byte in allowed else b"%%%02X" % byte for byte in text)


def _unescape(text: bytes, part: str) -> bytes:
    """The text with its escapes resolved; LocatorError for a bad escape, or a character a host cannot have."""
    out, position, host = bytearray(), 0, part in ("host", "zone")
    while position < len(text):
        byte = text[position]
        if byte == ord("%"):
            out.append(_escaped_byte(text[position : position + 3], part))
            position += 3
            continue
        if host and byte < 0x80 and byte not in _HOST:
            raise LocatorError(f"invalid character {quote(chr(byte))} in host name")
        out.append(ord(" ") if byte == ord("+") and part == "query" else byte)
        position += 1
    return bytes(out)


def _escaped_byte(escape: bytes, part: str) -> int:
    if len(escape) < 3 or not _HEX.issuperset(escape[1:]):
        raise LocatorError(f"invalid URL escape {quote(from_bytes(escape))}")
    byte = int(escape[1:], 16)
    refused = (part == "host" and byte < 0x80) or (part == "zone" and byte != ord(" ") and byte not in _HOST)
    if refused and escape != b"%25":
        raise LocatorError(f"invalid URL escape {quote(from_bytes(escape))}")
    return byte


def parse(text: str) -> Locator:
    """Read a URL or a reference (url.Parse); LocatorError with Go's sentence."""
    before, _, fragment = to_bytes(text).partition(b"#")
    try:
        locator = _parse(before, False)
    except LocatorError as error:
        raise LocatorError(f"parse {quote(from_bytes(before))}: {error}") from None
    if not fragment:
        return locator
    try:
        meant = _unescape(fragment, "fragment")
    except LocatorError as error:
        raise LocatorError(f"parse {quote(text)}: {error}") from None
    raw = b"" if _escape(meant, _FRAGMENT) == fragment else fragment
    return replace(locator, fragment=meant, raw_fragment=raw)


def check_request_uri(text: str) -> None:
    """Raise LocatorError unless the text is an absolute URL or an absolute path (url.ParseRequestURI)."""
    try:
        _parse(to_bytes(text), True)
    except LocatorError as error:
        raise LocatorError(f"parse {quote(text)}: {error}") from None


def _parse(text: bytes, request: bool) -> Locator:
    if any(byte < 0x20 or byte == 0x7F for byte in text):
        raise LocatorError("net/url: invalid control character in URL")
    if not text and request:
        raise LocatorError("empty url")
    if text == b"*":
        return Locator(path=b"*")
    scheme, rest = _scheme(text)
    force = rest.endswith(b"?") and rest.count(b"?") == 1
    rest, _, query = rest.partition(b"?")
    if not rest.startswith(b"/"):
        if scheme:
            return Locator(scheme, opaque=rest, force_query=force, raw_query=query)
        if request:
            raise LocatorError("invalid URI for request")
        if b":" in rest.partition(b"/")[0]:
            raise LocatorError("first path segment in URL cannot contain colon")
    user, host, omit = None, b"", False
    if rest.startswith(b"//") and (scheme or (not request and not rest.startswith(b"///"))):
        authority, slash, tail = rest[2:].partition(b"/")
        rest = slash + tail
        user, host = _authority(scheme, authority)
    elif scheme and rest.startswith(b"/"):
        omit = True
    path = _unescape(rest, "path")
    raw = b"" if _escape(path, _PATH) == rest else rest
    return Locator(scheme, b"", user, host, omit, path, raw, force, query)


def _scheme(text: bytes) -> tuple[bytes, bytes]:
    for index, byte in enumerate(text):
        if byte in _LETTERS:
            continue
        if byte == ord(":"):
            if index == 0:
                raise LocatorError("missing protocol scheme")
            return text[:index].lower(), text[index + 1 :]
        if index == 0 or byte not in _DIGITS + b"+-.":
            break
    return b"", text


def _authority(scheme: bytes, text: bytes) -> tuple[tuple[bytes, bytes | None] | None, bytes]:
    info, at, host = text.rpartition(b"@")
    found = _host(scheme, host)
    if not at:
        return None, found
    if not _USERINFO.issuperset(info):
        raise LocatorError("net/url: invalid userinfo")
    name, colon, password = info.partition(b":")
    return (_unescape(name, "user"), _unescape(password, "user") if colon else None), found


def _host(scheme: bytes, host: bytes) -> bytes:
    bracket = host.rfind(b"[")
    if bracket > 0:
        raise LocatorError("invalid IP-literal")
    if bracket == 0:
        return _literal(host)
    first, last = host.find(b":"), host.rfind(b":")
    if first >= 0:
        _check_port(host[first if scheme in (b"http", b"https") else last :])
    return _unescape(host, "host")


def _literal(host: bytes) -> bytes:
    close = host.rfind(b"]")
    if close < 0:
        raise LocatorError("missing ']' in host")
    _check_port(host[close + 1 :])
    port, name = _unescape(host[close + 1 :], "host"), host[1:close]
    zone = name.find(b"%25")
    if zone >= 0:
        name = _unescape(name[:zone], "host") + _unescape(name[zone:], "zone")
    else:
        name = _unescape(name, "host")
    try:
        address = parse_addr(from_bytes(name))
    except AddressError as error:
        raise LocatorError(f"invalid host: {error}") from None
    if address.is4:
        raise LocatorError("invalid IP-literal")
    return b"[" + name + b"]" + port


def _check_port(port: bytes) -> None:
    if not _valid_port(port):
        raise LocatorError(f"invalid port {quote(from_bytes(port))} after host")


def _valid_port(port: bytes) -> bool:
    return not port or (port[:1] == b":" and all(byte in _DIGITS for byte in port[1:]))

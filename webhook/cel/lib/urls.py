"""Kubernetes' URL library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from webhook.cel.errors import CelError
from webhook.cel.function_types import Function
from webhook.cel.lib import costs
from webhook.cel.lib.go.neturl import Locator, LocatorError, check_request_uri, parse
from webhook.cel.lib.go.strconv import from_bytes
from webhook.cel.lib.ordering import NO_OVERLOAD
from webhook.cel.lib.rows import library, member, of_text
from webhook.cel.types import BOOL, STRING, Type, list_of, map_of, object_type

URL_TYPE: Final = object_type("kubernetes.URL")


@dataclass(frozen=True, slots=True)
class URL:
    """A URL as a value of the language."""

    cel_type: ClassVar[Type] = URL_TYPE
    locator: Locator

    def cel_equal(self, other: object) -> bool:
        """Equal to a URL that is written the same; CelError for anything that is no URL."""
        if not isinstance(other, URL):
            raise CelError(NO_OVERLOAD)
        return str(self) == str(other)

    def __str__(self) -> str:
        return str(self.locator)


def url(text: str) -> URL:
    """The absolute URL or absolute path that the text is."""
    try:
        check_request_uri(text)
        return URL(parse(text))
    except LocatorError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None


def is_url(text: str) -> bool:
    """Whether the text is an absolute URL or an absolute path."""
    try:
        check_request_uri(text)
    except LocatorError:
        return False
    return True


def scheme(value: URL) -> str:
    """The scheme in lower case, empty if there is none."""
    return from_bytes(value.locator.scheme)


def host(value: URL) -> str:
    """The host with its port, empty if there is none."""
    return from_bytes(value.locator.host)


def hostname(value: URL) -> str:
    """The host without its port and without brackets."""
    return from_bytes(value.locator.host_port()[0])


def port(value: URL) -> str:
    """The port, empty if there is none."""
    return from_bytes(value.locator.host_port()[1])


def escaped_path(value: URL) -> str:
    """The path with its escapes."""
    return from_bytes(value.locator.escaped_path())


def query(value: URL) -> dict[str, list[str]]:
    """The parameters of the query, each with all its values."""
    return value.locator.query()


FUNCTIONS: Final = library(
    "kubernetes.urls",
    Function(
        "url",
        (of_text("string_to_url", URL_TYPE, url, costs.KEPT),),
        "A URL from a text: absolute, or a path that begins with a slash.",
        (("url('https://example.com:80/').getHost()", "'example.com:80'"),),
    ),
    Function(
        "isURL",
        (of_text("is_url_string", BOOL, is_url, costs.nominal),),
        "Whether a text is an absolute URL or an absolute path.",
        (("isURL('https://example.com:80/path')", "true"), ("isURL('../relative')", "false"), ("isURL('*')", "true")),
    ),
    Function(
        "getScheme",
        (member("url_get_scheme", URL_TYPE, (), STRING, scheme, costs.nominal),),
        "The scheme, empty if there is none.",
        (("url('https://example.com/').getScheme()", "'https'"),),
    ),
    Function(
        "getHost",
        (member("url_get_host", URL_TYPE, (), STRING, host, costs.nominal),),
        "The host with its port.",
        (("url('https://[::1]:80/').getHost()", "'[::1]:80'"),),
    ),
    Function(
        "getHostname",
        (member("url_get_hostname", URL_TYPE, (), STRING, hostname, costs.nominal),),
        "The host without port and brackets.",
        (("url('https://[::1]:80/').getHostname()", "'::1'"),),
    ),
    Function(
        "getPort",
        (member("url_get_port", URL_TYPE, (), STRING, port, costs.nominal),),
        "The port as text, empty if there is none.",
        (("url('https://example.com:80/').getPort()", "'80'"),),
    ),
    Function(
        "getEscapedPath",
        (member("url_get_escaped_path", URL_TYPE, (), STRING, escaped_path, costs.nominal),),
        "The path with its escapes.",
        (("url('https://example.com/a b').getEscapedPath()", "'/a%20b'"),),
    ),
    Function(
        "getQuery",
        (member("url_get_query", URL_TYPE, (), map_of(STRING, list_of(STRING)), query, costs.nominal),),
        "The parameters of the query, each with all its values.",
        (("url('https://e/?a=1&a=2').getQuery()", "{'a': ['1', '2']}"),),
    ),
)

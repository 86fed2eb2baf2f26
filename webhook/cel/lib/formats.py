"""Kubernetes' format library: named string formats, and the errors of a string that does not match."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from webhook.cel.errors import CelError
from webhook.cel.function_types import Function, Price
from webhook.cel.lib import costs, estimates
from webhook.cel.lib.go.neturl import LocatorError, check_request_uri
from webhook.cel.lib.go.strconv import from_bytes, to_bytes
from webhook.cel.lib.ordering import NO_OVERLOAD
from webhook.cel.lib.rows import library, member, plain
from webhook.cel.lib.times import valid_date
from webhook.cel.types import STRING, Type, list_of, object_type, optional_of
from webhook.cel.values import NONE, Optional

FORMAT_TYPE: Final = object_type("kubernetes.NamedFormat")
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = _LABEL + "(\\." + _LABEL + ")*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_IS_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)
_IS_LABEL_1035: Final = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)
_IS_KEY: Final = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
_IS_UUID: Final = re.compile(
    r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE
)
_IS_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_IS_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII)
_IS_CLOCK: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[^\n][0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_LABEL_TEXT: Final = "alphanumeric characters or '-', and must start and end with an alphanumeric character"
_KEY_TEXT: Final = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"


def _long(limit: int, text: str) -> list[str]:
    return [f"must be no more than {limit} bytes"] if len(to_bytes(text)) > limit else []


def _long_characters(limit: int, text: str) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(to_bytes(text)) > limit else []


def _explain(sentence: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{sentence} (e.g. {shown}regex used for validation is '{pattern}')"


def _is_subdomain(text: str) -> bool:
    return all(_IS_LABEL.fullmatch(label) for label in text.split("."))


def _label(text: str) -> list[str]:
    found = _long_characters(63, text)
    if not _IS_LABEL.fullmatch(text):
        if _is_subdomain(text):
            return [*found, "must not contain dots"]
        found.append(
            _explain(
                f"a lowercase RFC 1123 label must consist of lower case {_LABEL_TEXT}", _LABEL, "my-name", "123-abc"
            )
        )
    return found


def _subdomain_text() -> str:
    sentence = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character"
    )
    return _explain(sentence, _SUBDOMAIN, "example.com")


def _subdomain(text: str) -> list[str]:
    return _long_characters(253, text) + ([] if _is_subdomain(text) else [_subdomain_text()])


def _label_1035(text: str) -> list[str]:
    found = _long_characters(63, text)
    if not _IS_LABEL_1035.fullmatch(text):
        sentence = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character"
        )
        found.append(_explain(sentence, _LABEL_1035, "my-name", "abc-123"))
    return found


def _masked(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The check of a prefix of a name: a dash at the end, with the character before it, counts as a letter."""

    def masked(text: str) -> list[str]:
        data = to_bytes(text)
        if len(data) > 1 and data.endswith(b"-"):
            text = from_bytes(data[:-2] + b"a")
        return check(text)

    return masked


def _key_name() -> str:
    return _explain(f"must consist of {_KEY_TEXT}", _KEY, "MyName", "my.name", "123-abc")


def _qualified_name(text: str) -> list[str]:
    parts = text.split("/")
    if len(parts) > 2:
        return [
            f"a valid label key {_key_name()} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    found, name = [], parts[-1]
    if len(parts) == 2:
        if not parts[0]:
            found.append("prefix part must be non-empty")
        else:
            found += [f"prefix part {message}" for message in _content_subdomain(parts[0])]
    if not name:
        found.append("name part must be non-empty")
    found += [f"name part {message}" for message in _long(63, name)]
    if not _IS_KEY.fullmatch(name):
        found.append(f"name part {_key_name()}")
    return found


def _content_subdomain(text: str) -> list[str]:
    """The same rule as `_subdomain`, which in another package of the API server counts bytes."""
    return _long(253, text) + ([] if _is_subdomain(text) else [_subdomain_text()])


def _label_value(text: str) -> list[str]:
    found = _long(63, text)
    if text and not _IS_KEY.fullmatch(text):
        sentence = f"a valid label must be an empty string or consist of {_KEY_TEXT}"
        found.append(_explain(sentence, f"({_KEY})?", "MyValue", "my_value", "12345"))
    return found


def _uri(text: str) -> list[str]:
    try:
        check_request_uri(text)
    except LocatorError as error:
        return [str(error)]
    return []


def _uuid(text: str) -> list[str]:
    return [] if _IS_UUID.fullmatch(text) else ["does not match the UUID format"]


def _byte(text: str) -> list[str]:
    return [] if _IS_BASE64.fullmatch(text) else ["invalid base64"]


def _is_date(text: str) -> bool:
    match = _IS_DATE.fullmatch(text)
    return match is not None and valid_date(int(match.group(1)), int(match.group(2)), int(match.group(3)))


def _date(text: str) -> list[str]:
    return [] if _is_date(text) else ["invalid date"]


def _datetime(text: str) -> list[str]:
    day, *rest = text.lower().split("t")
    clock = _IS_CLOCK.fullmatch(rest[0]) if rest and _is_date(day) else None
    if clock is None or clock.group(1) > "23" or clock.group(2) > "59" or clock.group(3) > "59":
        return ["invalid datetime"]
    return []


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format: its name, its check (the sentences of what is wrong), and the size of its pattern for the cost."""

    cel_type: ClassVar[Type] = FORMAT_TYPE
    cel_native: ClassVar[bool] = True
    name: str
    check: Callable[[str], list[str]]
    pattern_size: int

    def cel_equal(self, other: object) -> bool:
        """Equal to the format of the same name; CelError for anything that is no format."""
        if not isinstance(other, NamedFormat):
            raise CelError(NO_OVERLOAD)
        return self.name == other.name

    def __str__(self) -> str:
        return self.name


FORMATS: Final = {
    "dns1123Label": NamedFormat("DNS1123Label", _label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", _subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", _label_1035, 30),
    "qualifiedName": NamedFormat("QualifiedName", _qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _masked(_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _masked(_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _masked(_label_1035), 30),
    "labelValue": NamedFormat("LabelValue", _label_value, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat("uuid", _uuid, 70),
    "byte": NamedFormat("byte", _byte, 84),
    "date": NamedFormat("date", _date, 71),
    "datetime": NamedFormat("datetime", _datetime, 71),
}


def named(name: str) -> Optional:
    """The format of a name, if there is one."""
    return Optional(FORMATS[name]) if name in FORMATS else NONE


def validate(value: NamedFormat, text: str) -> Optional:
    """What is wrong with a text, empty if all is well."""
    found = value.check(text)
    return Optional(found) if found else NONE


def _validation(arguments: Sequence[object], result: object) -> int:
    form, text = arguments
    if not isinstance(form, NamedFormat):
        return 1
    return costs.traversal(1 + costs.size(text)) * costs.traversal(form.pattern_size, costs.REGEX_FACTOR)


_VALIDATED: Final = Price(
    _validation, estimates.validated, "1 for each 10 characters of the text, times 1 for each 4 of the format's pattern"
)


def _constant(name: str) -> Function:
    row = plain(f"format.{name}", (), FORMAT_TYPE, lambda: FORMATS[name], costs.nominal)
    return Function(f"format.{name}", (row,), f"The format {name}.", ((f"format.{name}() == format.{name}()", "true"),))


FUNCTIONS: Final = library(
    "kubernetes.format",
    Function(
        "format.named",
        (plain("format-named", (STRING,), optional_of(FORMAT_TYPE), named, costs.nominal),),
        "The format of a name as an optional: " + ", ".join(FORMATS) + ".",
        (("format.named('uuid').hasValue()", "true"), ("format.named('email').hasValue()", "false")),
    ),
    Function(
        "validate",
        (member("format-validate", FORMAT_TYPE, (STRING,), optional_of(list_of(STRING)), validate, _VALIDATED),),
        "What is wrong with a text, as an optional list of sentences; empty if the text has the format.",
        (
            ("format.dns1123Label().validate('my-label-name').hasValue()", "false"),
            ("format.byte().validate('?').value()", "['invalid base64']"),
        ),
    ),
    *map(_constant, FORMATS),
)

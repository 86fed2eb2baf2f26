"""Reads maps by tables of fields: each has a name, the attribute that it sets, and a reader of its value.

An invalid value is a finding at its place; so is an unknown field, which a caller may report as a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from webhook.api.durations import duration_ms
from webhook.diagnostics import Diagnostic, Severity, did_you_mean
from webhook.documents import Document, Path
from webhook.kube.selectors import SelectorError, compile_selector

UNKNOWN: Final = "CFG001"
WRONG: Final = "CFG002"
UNUSED: Final = "CFG003"
Read = Callable[["Reading", Any, Path], Any]
Table = Mapping[str, tuple[str, Read]]
"""The name of a field in a file -> the attribute that it sets ("" for none), and how it is read."""
_MOST: Final = 2**31 - 1


class Reading:
    """One document on its way to settings; `findings` are errors, `told` are warnings."""

    def __init__(self, document: Document, *, strict: bool) -> None:
        """Begin. Where it is not `strict`, a field that nobody knows is only told."""
        self._document, self._strict = document, strict
        self.findings: list[Diagnostic] = []
        self.told: list[Diagnostic] = []

    def fields(self, value: Any, path: Path, table: Table) -> dict[str, Any]:
        """Read a map; give the attributes that it sets. Null leaves a field as it is by default."""
        if not isinstance(value, dict):
            self.wrong(path, f"{_shown(path)} must be a map")
            return {}
        found: dict[str, Any] = {}
        for key, item in value.items():
            here = (*path, key)
            if key not in table:
                self._unknown(here, table)
            elif item is not None:
                attribute, read = table[key]
                self._one(found, attribute, read, item, here)
        return found

    def _one(self, found: dict[Any, Any], name: Any, read: Read, item: Any, path: Path) -> None:
        try:
            value = read(self, item, path)
        except ValueError as error:
            self.wrong(path, f"{_shown(path)}: {error}")
            return
        if name != "":
            found[name] = value

    def each(self, items: Iterable[tuple[Any, Any]], read: Read, path: Path) -> dict[Any, Any]:
        """Read the items of a list or map, by their step; those that are wrong are left out."""
        found: dict[Any, Any] = {}
        for step, item in items:
            self._one(found, step, read, item, (*path, step))
        return found

    def wrong(self, path: Path, message: str) -> None:
        """Note an error."""
        self.findings.append(self._document.diagnostic(WRONG, path, message))

    def unused(self, path: Path, why: str) -> None:
        """Note a field that is known and has no effect here."""
        message = f"{_shown(path)} is not used: {why}"
        found = self._document.diagnostic(UNUSED, path, message, key=True)
        self.told.append(replace(found, severity=Severity.WARNING))

    def _unknown(self, path: Path, table: Table) -> None:
        hint = did_you_mean(str(path[-1]), table)
        found = self._document.diagnostic(UNKNOWN, path, f'unknown setting "{_shown(path)}"', key=True, hint=hint)
        if self._strict:
            self.findings.append(found)
        else:
            self.told.append(replace(found, severity=Severity.WARNING))


def boolean(reading: Reading, value: Any, path: Path) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is not true or false")
    return value


def text(reading: Reading, value: Any, path: Path) -> str:
    """Read a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is not a string, or is empty")
    return value


def texts(reading: Reading, value: Any, path: Path) -> tuple[str, ...]:
    """Read a list of texts."""
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ValueError("must be a list of strings")
    return tuple(value)


def whole(reading: Reading, value: Any, path: Path) -> int:
    """Read a whole number that is not negative."""
    if type(value) is not int or not 0 <= value <= _MOST:
        raise ValueError(f"{value!r} is not a whole number from 0 to {_MOST}")
    return value


def duration(reading: Reading, value: Any, path: Path) -> int:
    """Read a duration such as 5m or 1h30m; give milliseconds."""
    return duration_ms(value)


def one_of(*known: str) -> Read:
    """Return a reader of one of these texts."""

    def read(reading: Reading, value: Any, path: Path) -> str:
        if value not in known:
            raise ValueError(f"{value!r} is not one of {', '.join(known)}")
        return str(value)

    return read


def items(read_item: Read) -> Read:
    """Return a reader of a list."""

    def read(reading: Reading, value: Any, path: Path) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError("must be a list")
        return tuple(reading.each(enumerate(value), read_item, path).values())

    return read


def by_name(read_item: Read) -> Read:
    """Return a reader of a map from names to values of one kind."""

    def read(reading: Reading, value: Any, path: Path) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError("must be a map")
        return reading.each(value.items(), read_item, path)

    return read


def selector(reading: Reading, value: Any, path: Path) -> Mapping[str, Any]:
    """Read a LabelSelector."""
    if not isinstance(value, dict):
        raise ValueError("must be a label selector")
    try:
        compile_selector(value)
        _only_texts(value)
    except (SelectorError, AttributeError, TypeError) as error:
        raise ValueError(str(error)) from None
    return value


def _only_texts(selector: Mapping[str, Any]) -> None:
    """Refuse a value that YAML reads as another type: no label is ever equal to it, and nothing would be selected."""
    values = [(f"matchLabels.{key}", item) for key, item in (selector.get("matchLabels") or {}).items()]
    for number, expression in enumerate(selector.get("matchExpressions") or ()):
        values += [(f"matchExpressions[{number}].values", item) for item in expression.get("values") or ()]
    for where, item in values:
        if not isinstance(item, str):
            raise ValueError(f"{where}: {item!r} is not a string; quote it")


def not_used(why: str) -> Read:
    """Return a reader of a field that has no effect: it is told."""

    def read(reading: Reading, value: Any, path: Path) -> None:
        reading.unused(path, why)

    return read


def _shown(path: Path) -> str:
    """Write a path as people do: `resources.transformations[0].input`."""
    shown = ""
    for step in path:
        shown += f"[{step}]" if isinstance(step, int) else f".{step}" if shown else str(step)
    return shown or "the configuration"

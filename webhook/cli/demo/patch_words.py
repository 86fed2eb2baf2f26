"""A JSON patch in a few words, for tables: what changed, not where in which template it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

ANCHORS: Final = frozenset({"metadata", "resources", "spec"})
"""A path is told from the last of these on: which container of which template it was does not fit a column."""


def changes(steps: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each field that the patch sets or removes; the same change in several templates is one line."""
    counted = Counter(line for step in steps for line in _lines(step))
    return [f"{line} (x{times})" if times > 1 else line for line, times in counted.items()]


def _lines(step: Mapping[str, Any]) -> Iterator[str]:
    path = [part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]]
    if step["op"] in ("add", "replace"):
        yield from (f"{_field(where)}: {value}" for where, value in _leaves(path, step["value"]))
    elif step["op"] != "test":
        yield f"{step['op']} {_field(path)}"


def _leaves(path: list[str], value: Any) -> Iterator[tuple[list[str], str]]:
    """Walk down to what has no inner structure; a list item that names itself by `key` or `name` is told by that."""
    if isinstance(value, dict) and value:
        if "key" in value or "name" in value:
            yield path, " ".join(str(part) for part in value.values())
            return
        for key, inner in value.items():
            yield from _leaves([*path, key], inner)
    elif isinstance(value, list) and value:
        for inner in value:
            yield from _leaves([*path, "-"], inner)
    else:
        yield path, "true" if value is True else "false" if value is False else str(value)


def _field(path: list[str]) -> str:
    named = [part for part in path if not part.isdigit() and part != "-"]
    start = max((at for at, part in enumerate(named) if part in ANCHORS), default=0)
    return ".".join(named[start:])

"""`sluice test --update`: writes the result of a case into its suite file, as the expected patch or object only."""

from __future__ import annotations

import codecs
import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import orjson

from webhook import documents
from webhook.diagnostics import Place, SourceError
from webhook.documents import Document, YamlNode
from webhook.documents import Path as Route
from webhook.offline.files import write_whole
from webhook.offline.suite.run_case import Result
from webhook.policy.loading.shapes import dotted

UNREAD: Final = "not updated: the new text would not be read as wanted; write the patch or object by hand"


@dataclass(frozen=True, slots=True)
class Updated:
    """How many values were written, by file; and what was left as it was, a sentence each."""

    files: dict[Path, int]
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewValue:
    """A value for a place in a document; `routes` are all ways to the place, several where an alias leads there."""

    document: Document
    routes: tuple[Route, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class Span:
    """What is written in place of the characters from `start` to `end` of a text."""

    start: int
    end: int
    text: str


def update(results: Iterable[Result]) -> Updated:
    """Rewrite the expected patches and objects that are wrong. Raises OSError where a file cannot be written.

    A file stays as it is where its new text would not be read as what is wanted, and so does a value that several
    cases share by an anchor where they need different ones.
    """
    wanted: dict[Path, list[tuple[Document, Route, Any]]] = {}
    written: dict[Path, int] = {}
    left: list[str] = []
    for result in results:
        verdict, case = result.verdict, result.case
        if verdict is None or not any(f.code == "SUI012" for f in result.findings):
            continue
        for name, value in (("patch", [s.wire() for s in verdict.patch]), ("patched", verdict.object)):
            route: Route = (*case.route, "expect", name)
            if value is None or route not in case.document.keys:
                continue
            if isinstance(at := case.document.at(route), str):
                left.append(f"{case.document.place(route)}: not updated: the object is in {at}; change that by hand")
            else:
                wanted.setdefault(Path(case.document.file), []).append((case.document, route, value))
    for file, values in wanted.items():
        changes = list(_changes(values, left))
        if changes and _rewrite(file, changes):
            written[file] = len(changes)
        elif changes:
            left.append(f"{Place(str(file))}: {UNREAD}")
    return Updated(written, tuple(left))


def _changes(wanted: Iterable[tuple[Document, Route, Any]], left: list[str]) -> Iterator[NewValue]:
    """Yield one change for each place; a place that needs several values goes to `left`."""
    places: dict[tuple[YamlNode, YamlNode], tuple[Document, dict[Route, Any]]] = {}
    for document, route, value in wanted:
        at = (document.nodes[()], document.nodes[route])
        places.setdefault(at, (document, {}))[1][route] = value
    for (_, node), (document, values) in places.items():
        shared = tuple(route for route, other in document.nodes.items() if other == node)
        value = next(iter(values.values()))
        if all(route in values and values[route] == value for route in shared):
            yield NewValue(document, shared, value)
            continue
        named = " and ".join(dotted(route) for route in shared)
        why = f"{named} share this value by an anchor, and need different ones"
        left.append(f"{document.place(shared[0])}: not updated: {why}")


def _rewrite(file: Path, changes: Sequence[NewValue]) -> bool:
    """Write the new values into a file; return False, with the file as it was, where they would not be read so."""
    data = file.read_bytes()
    old = text = data.decode("utf-8-sig")
    starts = [0, *accumulate(len(line) for line in old.splitlines(keepends=True))]
    spans = [_span(old, starts, change) for change in changes]
    for span in sorted(spans, key=lambda span: span.start, reverse=True):
        text = text[: span.start] + span.text + text[span.end :]
    try:
        before, after = documents.read(old), documents.read(text)
    except SourceError:
        return False
    by_place = {document.nodes[()].line: copy.deepcopy(document.value) for document in before}
    for change in changes:
        for *parents, last in change.routes:
            value: Any = by_place.get(change.document.nodes[()].line)
            try:
                for step in parents:
                    value = value[step]
                value[last] = change.value
            except (KeyError, IndexError, TypeError):  # another program has written the file since
                return False
    if [document.value for document in after] != list(by_place.values()):
        return False
    write_whole(file, (codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b"") + text.encode())
    return True


def _span(text: str, starts: Sequence[int], change: NewValue) -> Span:
    """Return where a value stands in a text, and its new text: an operation a line in a block, else on one line."""
    document, (route, *_) = change.document, change.routes
    node, key = document.nodes[route], document.keys[route]
    line, column = documents.behind_properties(document.lines, node)
    start, end = starts[line] + column, starts[node.end_line - 1] + node.end_column - 1
    is_block = isinstance(document.at(route), list | dict) and text[start] not in "[{"
    if is_block:
        end = start + len(_without_comments(text[start:end]))
    colon = text[starts[key.end_line - 1] + key.end_column - 1 :].lstrip(" ").startswith(":")
    head = text[starts[line] : start]
    if not colon or _in_flow(document, node) or (head.strip() and line != key.line - 1):
        return Span(start, end, orjson.dumps(change.value).decode())
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = newline.join(_block(change.value, key.column - 1))
    if not head.strip():
        return Span(starts[line], end, lines)
    rest = text[end : starts[node.end_line]].rstrip("\r\n")
    comment = f"  {rest.strip()}" if rest.strip().startswith("#") else ""
    return Span(starts[line] + len(head.rstrip()), end + len(rest), f"{comment}{newline}{lines}")


def _in_flow(document: Document, node: YamlNode) -> bool:
    """Return whether a value stands within `{ }` or `[ ]`, as all in JSON does."""
    for other in document.nodes.values():
        around = (other.line, other.column) < (node.line, node.column) and (other.end_line, other.end_column) >= (
            node.end_line,
            node.end_column,
        )
        line, column = documents.behind_properties(document.lines, other)
        if around and not other.style and document.lines[line][column : column + 1] in ("[", "{"):
            return True
    return False


def _without_comments(block: str) -> str:
    """Leave out the blank lines and comments behind the last line of a block, and the end of that line."""
    lines = block.splitlines(keepends=True)
    while lines[-1].strip()[:1] in ("", "#"):
        lines.pop()
    return "".join(lines).rstrip("\r\n")


def _block(value: Any, indent: int) -> list[str]:
    """Write a value as the lines that follow its key: a list with an operation a line, a map as a block."""
    if isinstance(value, list):
        return [f"{' ' * indent}- {orjson.dumps(step).decode()}" for step in value] or [f"{' ' * indent}  []"]
    return [f"{' ' * (indent + 2)}{line}" for line in documents.dump(value).rstrip("\n").split("\n")]

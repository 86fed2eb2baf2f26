"""YAML and JSON text in, plain values out, with the line and column of every node.

With `yaml_library.py` the only module that knows the YAML library. It keeps the position of each key and value, and,
for a block scalar such as `expression: >-`, the position of each character, so that a mistake in a CEL expression is
shown at its place in the file.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final

import yaml

from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.yaml_library import DUMPER, LOADER, too_deep

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 200
"""Nesting beyond this is refused: no Kubernetes object comes near it."""
MAX_ALIASED = 100_000
"""Nodes that aliases and merges repeat in one document: a bound on `billion laughs` files."""

ESCAPES: Final = {"x": 4, "u": 6, "U": 10}
"""How long a numeric escape of a double-quoted scalar is; any other is two characters."""
BLANK_ESCAPES: Final = "tnvfr _NLP"
_MERGE: Final = "tag:yaml.org,2002:merge"
_NOT_YAML: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PAIR: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_UNCLOSED: Final = "did not find expected ',' or"
_HINTS: Final = {
    "mapping values are not allowed": 'quote a value that contains ": ", or fix the indentation',
    "could not find expected ':'": 'a key must end with ": "; use | or quotes for a string of several lines',
    "did not find expected key": "the indentation differs from the lines around it, or a quote ends too early",
    "did not find expected '-' indicator": "the indentation differs from the other items of the list",
    _UNCLOSED: "a bracket is not closed, or a comma is missing",
    "did not find expected node content": "a value is missing, or there is one comma too many",
    "found unexpected end of stream": "this quote is never closed",
    "found unknown escape character": r"in double quotes, \ starts an escape: write \\ or use single quotes",
    "found undefined alias": "define the anchor &name before the alias *name",
    "did not find expected alphabetic": "quote a value that starts with * or &",
    "found invalid Unicode character escape": r"write \u and four hexadecimal digits; a surrogate needs its other half",
    "found character that cannot start any token": "quote a value that starts with @, ` or %",
}
"""The way out of a syntax error, by the beginning of libyaml's message."""

Path = tuple[str | int, ...]
"""The way from a document's root to a node: keys and list indexes."""


@dataclass(frozen=True, slots=True)
class YamlNode:
    """Where a value stands: `start` is its first character; for scalars `style` is YAML's (`>`, `|`, quote or "")."""

    line: int
    column: int
    end_line: int
    end_column: int
    style: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: its value as plain dicts and lists, and the place of each node.

    `nodes` maps a path to its value's place, `keys` to its key's. `lines` are those of the whole file.
    """

    value: Any
    file: str
    lines: tuple[str, ...] = ()
    nodes: dict[Path, YamlNode] = field(default_factory=dict)
    keys: dict[Path, YamlNode] = field(default_factory=dict)

    def place(self, path: Path = (), *, key: bool = False) -> Place:
        """The place of the value (or of the key) at `path`; of the nearest parent where the path is not there."""
        for cut in range(len(path), -1, -1):
            table = self.keys if key and path[:cut] in self.keys else self.nodes
            if node := table.get(path[:cut]):
                length = node.end_column - node.column if node.end_line == node.line else 0
                return Place(self.file, node.line, node.column, max(length, 0))
        return Place(self.file)

    def text_place(self, path: Path, offset: int, length: int = 1) -> Place:
        """The place of the character at `offset` of the string at `path`, through folding, indents and escapes."""
        node = self.nodes.get(path)
        value = self.at(path)
        if node is None or not isinstance(value, str):
            return self.place(path)
        last = len(value.rstrip()) - 1
        if offset > last >= 0:  # the end of the text is behind its last character, not at what follows in the file
            line, column = _character_place(self.lines, node, value, last)
            return Place(self.file, line, column + 1, length)
        line, column = _character_place(self.lines, node, value, offset)
        return Place(self.file, line, column, length)

    def text_offset(self, path: Path, line: int, column: int) -> int | None:
        """How far into the string at `path` a place is, behind the last character before it; None for another value."""
        node, value = self.nodes.get(path), self.at(path)
        if node is None or not isinstance(value, str):
            return None
        before = sum(1 for _ in takewhile(lambda at: at < (line, column), _written(self.lines, node)))
        solid = [at for at, character in enumerate(value) if not character.isspace()]
        return solid[min(before, len(solid)) - 1] + 1 if before and solid else 0

    def at(self, path: Path) -> Any:
        """The value at `path`, or None."""
        value = self.value
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def source(self, place: Place) -> str:
        """The line of the file at `place`."""
        return self.lines[place.line - 1] if 0 < place.line <= len(self.lines) else ""

    def diagnostic(self, code: str, path: Path, message: str, *, key: bool = False, hint: str = "") -> Diagnostic:
        """A finding about the value (or the key) at `path`."""
        place = self.place(path, key=key)
        return Diagnostic(code, place, message, source=self.source(place), hint=hint)


def decode(data: bytes, file: str) -> str:
    """Return a file's bytes as text, without a byte order mark. Raises SourceError (FILE001) where it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        place = Place(file, before.count(b"\n") + 1, column)
        utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        hint = "the file is UTF-16: save it as UTF-8" if utf16 else "save it as UTF-8"
        raise SourceError([Diagnostic("FILE001", place, "not UTF-8 text", hint=hint)]) from None


def read(text: str, file: str = "<input>") -> list[Document]:
    """Every non-empty document of `text`.

    Raises SourceError (code `YAML001`) on a syntax error, a duplicate key, nesting deeper than `MAX_DEPTH` or more
    than `MAX_ALIASED` nodes repeated by aliases; each with its place.
    """
    text = text.removeprefix("\ufeff")
    try:
        return _read(text, file)
    except SourceError as error:
        joined = _PAIR.sub(_joined, text) if "invalid Unicode character escape" in str(error) else text
        if joined == text:
            raise
    return _read(joined, file)


def _joined(match: re.Match[str]) -> str:
    """Write the two halves that JSON makes of a character beyond U+FFFF as the one escape that YAML has for it."""
    high, low = int(match[2], 16), int(match[3], 16)
    return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + low - 0xDC00:08x}"


def _read(text: str, file: str) -> list[Document]:
    lines = tuple(text.splitlines())
    documents = []
    try:
        if (at := too_deep(text, MAX_DEPTH + 1)) is not None:
            place = Place(file, at.line + 1, at.column + 1)
            raise SourceError([Diagnostic("YAML001", place, "nested too deeply", source=_line(lines, at.line))])
        loader = LOADER(text)
        try:
            while loader.check_node():
                node = loader.get_node()
                if node is None:
                    continue
                document = _Builder(loader, file, lines).document(node)
                if document.value is not None:
                    documents.append(document)
        finally:
            loader.dispose()
    except (yaml.reader.ReaderError, UnicodeEncodeError):
        raise SourceError([_no_character(text, file, lines)]) from None
    except yaml.YAMLError as error:
        raise SourceError([_syntax_error(error, file, lines)]) from None
    except RecursionError:
        raise SourceError([Diagnostic("YAML001", Place(file), "nested too deeply")]) from None
    return documents


def dump(value: Any) -> str:
    """`value` as YAML in block style, keys in their own order."""
    written: str = yaml.dump(value, Dumper=DUMPER, sort_keys=False, allow_unicode=True, width=100_000)
    return written


class _Builder:
    """Turns one composed YAML tree into a Document."""

    def __init__(self, loader: Any, file: str, lines: tuple[str, ...]) -> None:
        self.loader, self.file, self.lines = loader, file, lines
        self.nodes: dict[Path, YamlNode] = {}
        self.keys: dict[Path, YamlNode] = {}
        self.aliased = 0
        self.seen: set[int] = set()
        self.flat: dict[int, dict[str, tuple[Any, Any]]] = {}

    def document(self, node: Any) -> Document:
        value = self.value(node, ())
        return Document(value, self.file, self.lines, self.nodes, self.keys)

    def value(self, node: Any, path: Path) -> Any:
        self.aliased += id(node) in self.seen
        self.seen.add(id(node))
        if len(path) > MAX_DEPTH or self.aliased > MAX_ALIASED:
            wrong = "nested too deeply" if len(path) > MAX_DEPTH else "too large once its aliases are expanded"
            raise SourceError([self.finding(node, wrong)])
        self.nodes[path] = _node(node, self.lines)
        if isinstance(node, yaml.MappingNode):
            return dict(self.items(node, path))
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*path, i)) for i, child in enumerate(node.value)]
        return self.scalar(node)

    def items(self, node: Any, path: Path) -> Iterator[tuple[str, Any]]:
        """The entries of a mapping. A key that `<<` merges in gives way to the same key written out."""
        for key, (key_node, value_node) in self.merged(node, path).items():
            self.keys[(*path, key)] = _node(key_node, self.lines)
            yield key, self.value(value_node, (*path, key))

    def merged(self, node: Any, path: Path) -> dict[str, tuple[Any, Any]]:
        """The keys and values of a mapping, those that `<<` brings in first; found out once for each mapping."""
        if (known := self.flat.get(id(node))) is not None:
            return known
        self.refuse_twice(node)
        brought: dict[str, tuple[Any, Any]] = {}
        written: dict[str, tuple[Any, Any]] = {}
        for key_node, value_node in node.value:
            if key_node.tag != _MERGE:
                written[key_node.value] = (key_node, value_node)
                continue
            sources = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
            for source in reversed(sources):
                if not isinstance(source, yaml.MappingNode) or len(path) > MAX_DEPTH:
                    raise SourceError([self.finding(source, "<< requires a mapping or a list of mappings")])
                brought.update(self.merged(source, (*path, "<<")))
                self.aliased += len(source.value)
        self.flat[id(node)] = {**brought, **written}
        return self.flat[id(node)]

    def refuse_twice(self, node: Any) -> None:
        """Raise SourceError where a key is written twice in one mapping, or is not a plain string."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                hint = _template(_line(self.lines, key_node.start_mark.line))
                raise SourceError([self.finding(key_node, "a key must be a plain string", hint)])
            if key_node.value in seen:
                raise SourceError([self.finding(key_node, f'duplicate key "{key_node.value}"')])
            seen.add(key_node.value)

    def scalar(self, node: Any) -> Any:
        """The value as Kubernetes reads it: timestamps and `=` stay strings, numbers are numbers."""
        if node.tag == "tag:yaml.org,2002:timestamp" or node.tag == "tag:yaml.org,2002:value":
            return node.value
        try:
            value = self.loader.construct_object(node)
        except yaml.YAMLError as error:
            raise SourceError([self.finding(node, str(error).splitlines()[0])]) from None
        except (ValueError, KeyError, IndexError, OverflowError):
            kind = node.tag.rpartition(":")[2]
            raise SourceError([self.finding(node, f"not a valid {kind}", "quote it if it is a string")]) from None
        if isinstance(value, float) and not math.isfinite(value):
            raise SourceError(
                [self.finding(node, "Kubernetes does not accept this number", "quote it if it is a string")]
            )
        return node.value if isinstance(value, bytes) else value

    def finding(self, node: Any, message: str, hint: str = "") -> Diagnostic:
        at = _node(node, self.lines)
        place = Place(self.file, at.line, at.column)
        return Diagnostic("YAML001", place, message, source=_line(self.lines, at.line - 1), hint=hint)


def _node(node: Any, lines: tuple[str, ...]) -> YamlNode:
    start, end = node.start_mark, node.end_mark
    if not isinstance(node, yaml.ScalarNode):
        return YamlNode(start.line + 1, start.column + 1, end.line + 1, end.column + 1)
    style = node.style or ""
    line, column = behind_properties(lines, YamlNode(start.line + 1, start.column + 1, end.line + 1, end.column + 1))
    return YamlNode(line + 1, column + 1, end.line + 1, end.column + 1, style)


def behind_properties(lines: tuple[str, ...], node: YamlNode) -> tuple[int, int]:
    """Line and column, from 0, of a value's own text, behind its anchor (`&a`) and tag (`!!str`)."""
    line, column, end = node.line - 1, node.column - 1, (node.end_line - 1, node.end_column - 1)
    if _line(lines, line)[column : column + 1] not in {"&", "!"}:
        return line, column
    while (line, column) < end:
        rest = _line(lines, line)[column:]
        word = rest.split(maxsplit=1)[0] if rest.strip() else "#"
        column += len(rest) - len(rest.lstrip())
        if word.startswith("#"):
            line, column = line + 1, 0
        elif word.startswith(("&", "!")):
            column += len(word)
        else:
            return line, column
    return end


def _line(lines: tuple[str, ...], index: int) -> str:
    return lines[index] if index < len(lines) else ""


def _template(source: str) -> str:
    """A word about templates, where the file is one that nobody has rendered."""
    return "this looks like a template: render it first, for example with helm template" if "{{" in source else ""


def _no_character(text: str, file: str, lines: tuple[str, ...]) -> Diagnostic:
    match = _NOT_YAML.search(text)
    at = match.start() if match else 0
    before = text[:at].splitlines() if not text[:at].endswith(("\n", "\r")) else [*text[:at].splitlines(), ""]
    place = Place(file, max(1, len(before)), len(before[-1]) + 1 if before else 1)
    wrong = f"the character U+{ord(match[0]):04X}" if match else "a character"
    hint = "remove it, or write it as an escape in double quotes"
    half = match is not None and "\ud800" <= match[0] <= "\udfff"
    message = "half of a surrogate pair is not a character" if half else f"{wrong} is not allowed in YAML"
    return Diagnostic("YAML001", place, message, source=_line(lines, place.line - 1), hint=hint)


def _syntax_error(error: yaml.YAMLError, file: str, lines: tuple[str, ...]) -> Diagnostic:
    mark = getattr(error, "problem_mark", None)
    message = getattr(error, "problem", None) or str(error).splitlines()[0]
    if message.startswith("found unexpected end of stream") and getattr(error, "context_mark", None):
        mark = error.context_mark  # type: ignore[attr-defined]
    if mark is None:
        return Diagnostic("YAML001", Place(file), message)
    source = _line(lines, mark.line)
    hint = _template(source) or next((way for start, way in _HINTS.items() if message.startswith(start)), "")
    opened = getattr(error, "context_mark", None)
    if opened and opened.line != mark.line and message.startswith(_UNCLOSED):
        hint = hint.replace("a bracket", f"the bracket that opens on line {opened.line + 1}")
    if source[mark.column : mark.column + 1] == "\t":
        hint = "indent with spaces: YAML does not accept tabs"
    return Diagnostic("YAML001", Place(file, mark.line + 1, mark.column + 1), message, source=source, hint=hint)


def _character_place(lines: tuple[str, ...], node: YamlNode, value: str, offset: int) -> tuple[int, int]:
    """Line and column of `value[offset]`, found by walking the file's text and the value side by side.

    Both are walked over their non-blank characters, which folding and indentation leave alone.
    """
    want = sum(1 for c in value[:offset] if not c.isspace())
    return next(islice(_written(lines, node), want, None), (node.line, node.column))


def _written(lines: tuple[str, ...], node: YamlNode) -> Iterator[tuple[int, int]]:
    """Line and column of each character of a scalar that is not blank, and of what follows it in the file."""
    line, column = node.line, node.column
    if node.style in {">", "|"}:
        line, column = line + 1, 1
    elif node.style:
        column += 1
    while line <= len(lines):
        for at, blank in _characters(lines[line - 1], column - 1, node.style):
            if not blank:
                yield line, at + 1
        line, column = line + 1, 1


def _characters(text: str, at: int, quote: str) -> Iterator[tuple[int, bool]]:
    """The index of each character from `at` on, and whether it is blank; an escape sequence is one character."""
    escapes = quote == '"'
    while at < len(text):
        if quote == "'" and text[at : at + 2] == "''":
            yield at, False
            at += 2
            continue
        if escapes and text[at:] == "\\":  # it joins the line with the next one
            return
        if escapes and text[at] == "\\":
            length = ESCAPES.get(text[at + 1], 2)
            code = text[at + 2 : at + length]
            yield at, chr(int(code, 16)).isspace() if code else text[at + 1] in BLANK_ESCAPES
            at += length
        else:
            yield at, text[at].isspace()
            at += 1

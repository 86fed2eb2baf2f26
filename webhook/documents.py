"""YAML and JSON text in, plain values out, with the line and column of every node.

The only module that knows the YAML library. It keeps the position of each key and value, and, for a block
scalar such as `expression: >-`, the position of each character, so that a mistake in a CEL expression is shown
at its place in the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import yaml

from webhook.diagnostics import Diagnostic, Place, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_DEPTH = 200
"""Nesting beyond this is refused: no Kubernetes object comes near it."""
MAX_ALIASED = 100_000
"""Nodes that aliases repeat in one document: a bound on `billion laughs` files."""

ESCAPES: Final = {"x": 4, "u": 6, "U": 10}
"""How long a numeric escape of a double-quoted scalar is; any other is two characters."""
BLANK_ESCAPES: Final = "tnvfr _NLP"

Path = tuple[str | int, ...]
"""The way from a document's root to a node: keys and list indexes."""


@dataclass(frozen=True, slots=True)
class Node:
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
    nodes: dict[Path, Node] = field(default_factory=dict)
    keys: dict[Path, Node] = field(default_factory=dict)

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
        line, column = _character_place(self.lines, node, value, offset)
        return Place(self.file, line, column, length)

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


def read(text: str, file: str = "<input>") -> list[Document]:
    """Every non-empty document of `text`.

    Raises SourceError (code `YAML001`) on a syntax error, a duplicate key, nesting deeper than `MAX_DEPTH` or more
    than `MAX_ALIASED` nodes repeated by aliases; each with its place.
    """
    lines = tuple(text.splitlines())
    documents = []
    try:
        loader = _Loader(text)
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
    except yaml.YAMLError as error:
        raise SourceError([_syntax_error(error, file, lines)]) from None
    except RecursionError:
        raise SourceError([Diagnostic("YAML001", Place(file), "nested too deeply")]) from None
    except UnicodeEncodeError as error:
        before = text[: error.start].split("\n")
        place = Place(file, len(before), len(before[-1]) + 1)
        raise SourceError([Diagnostic("YAML001", place, "half of a surrogate pair is no character")]) from None
    return documents


def dump(value: Any) -> str:
    """`value` as YAML in block style, keys in their own order."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100_000)


class _Builder:
    """Turns one composed YAML tree into a Document."""

    def __init__(self, loader: Any, file: str, lines: tuple[str, ...]) -> None:
        self.loader, self.file, self.lines = loader, file, lines
        self.nodes: dict[Path, Node] = {}
        self.keys: dict[Path, Node] = {}
        self.aliased = 0
        self.seen: set[int] = set()
        self.flat: set[int] = set()

    def document(self, node: Any) -> Document:
        value = self.value(node, ())
        return Document(value, self.file, self.lines, self.nodes, self.keys)

    def value(self, node: Any, path: Path) -> Any:
        self.aliased += id(node) in self.seen
        self.seen.add(id(node))
        if len(path) > MAX_DEPTH or self.aliased > MAX_ALIASED:
            wrong = "nested too deeply" if len(path) > MAX_DEPTH else "too large: aliases repeat too much"
            raise SourceError([self.finding(node, wrong)])
        self.nodes[path] = _node(node)
        if isinstance(node, yaml.MappingNode):
            return dict(self.items(node, path))
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*path, i)) for i, child in enumerate(node.value)]
        return self.scalar(node)

    def items(self, node: Any, path: Path) -> Iterator[tuple[str, Any]]:
        """The entries of a mapping. A key that `<<` merges in gives way to the same key written out."""
        if id(node) not in self.flat:  # an alias shows a mapping again whose merges were resolved in place
            self.flat.add(id(node))
            self.refuse_twice(node)
            self.loader.flatten_mapping(node)
        entries = {key_node.value: (key_node, value_node) for key_node, value_node in node.value}
        for key, (key_node, value_node) in entries.items():
            self.keys[(*path, key)] = _node(key_node)
            yield key, self.value(value_node, (*path, key))

    def refuse_twice(self, node: Any) -> None:
        """Raise SourceError where a key is written twice in one mapping, or is not a plain string."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise SourceError([self.finding(key_node, "a key must be a plain string")])
            if key_node.value in seen:
                raise SourceError([self.finding(key_node, f'the key "{key_node.value}" is there twice')])
            seen.add(key_node.value)

    def scalar(self, node: Any) -> Any:
        """The value as Kubernetes reads it: timestamps and `=` stay strings, numbers are numbers."""
        if node.tag == "tag:yaml.org,2002:timestamp" or node.tag == "tag:yaml.org,2002:value":
            return node.value
        try:
            value = self.loader.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise SourceError([self.finding(node, str(error).splitlines()[0])]) from None
        return node.value if isinstance(value, bytes | set) else value

    def finding(self, node: Any, message: str) -> Diagnostic:
        at = _node(node)
        place = Place(self.file, at.line, at.column)
        source = self.lines[at.line - 1] if at.line <= len(self.lines) else ""
        return Diagnostic("YAML001", place, message, source=source)


def _node(node: Any) -> Node:
    start, end = node.start_mark, node.end_mark
    style = (node.style or "") if isinstance(node, yaml.ScalarNode) else ""
    return Node(start.line + 1, start.column + 1, end.line + 1, end.column + 1, style)


def _syntax_error(error: yaml.YAMLError, file: str, lines: tuple[str, ...]) -> Diagnostic:
    mark = getattr(error, "problem_mark", None)
    message = getattr(error, "problem", None) or str(error).splitlines()[0]
    if mark is None:
        return Diagnostic("YAML001", Place(file), message)
    source = lines[mark.line] if mark.line < len(lines) else ""
    return Diagnostic("YAML001", Place(file, mark.line + 1, mark.column + 1), message, source=source)


def _character_place(lines: tuple[str, ...], node: Node, value: str, offset: int) -> tuple[int, int]:
    """Line and column of `value[offset]`, found by walking the file's text and the value side by side.

    Both are walked over their non-blank characters, which folding and indentation leave alone.
    """
    line, column = node.line, node.column
    if node.style in {">", "|"}:
        line, column = line + 1, 1
    elif node.style:
        column += 1
    want = sum(1 for c in value[:offset] if not c.isspace())
    while line <= len(lines):
        for at, blank in _characters(lines[line - 1], column - 1, escapes=node.style == '"'):
            if blank:
                continue
            if want == 0:
                return line, at + 1
            want -= 1
        line, column = line + 1, 1
    return node.line, node.column


def _characters(text: str, at: int, *, escapes: bool) -> Iterator[tuple[int, bool]]:
    """The index of each character from `at` on, and whether it is blank; an escape sequence is one character."""
    while at < len(text):
        if escapes and text[at] == "\\" and at + 1 < len(text):
            length = ESCAPES.get(text[at + 1], 2)
            code = text[at + 2 : at + length]
            yield at, chr(int(code, 16)).isspace() if code else text[at + 1] in BLANK_ESCAPES
            at += length
        else:
            yield at, text[at].isspace()
            at += 1

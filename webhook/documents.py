"""YAML and JSON text in, plain values out, with the line and column of every node.

The only module that knows the YAML library. It keeps the position of each key and value, and, for a block
scalar such as `expression: >-`, the position of each character, so that a mistake in a CEL expression is shown
at its place in the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from webhook.diagnostics import Diagnostic, Place, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_DEPTH = 200
"""Nesting beyond this is refused: no Kubernetes object comes near it."""
MAX_NODES = 2_000_000
"""Nodes in one file, aliases counted each time they are used: a bound on `billion laughs` files."""

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
    than `MAX_NODES` nodes; each with its place.
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
        self.count = 0

    def document(self, node: Any) -> Document:
        value = self.value(node, ())
        return Document(value, self.file, self.lines, self.nodes, self.keys)

    def value(self, node: Any, path: Path) -> Any:
        self.count += 1
        if len(path) > MAX_DEPTH or self.count > MAX_NODES:
            raise SourceError([self.finding(node, "nested too deeply" if len(path) > MAX_DEPTH else "too large")])
        self.nodes[path] = _node(node)
        if isinstance(node, yaml.MappingNode):
            return dict(self.items(node, path))
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*path, i)) for i, child in enumerate(node.value)]
        return self.scalar(node)

    def items(self, node: Any, path: Path) -> Iterator[tuple[str, Any]]:
        self.loader.flatten_mapping(node)
        seen: set[str] = set()
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else ""
            if key in seen or not isinstance(key_node, yaml.ScalarNode):
                wrong = f'the key "{key}" is there twice' if key in seen else "a key must be a plain string"
                raise SourceError([self.finding(key_node, wrong)])
            seen.add(key)
            self.keys[(*path, key)] = _node(key_node)
            yield key, self.value(value_node, (*path, key))

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

    Both are walked over their non-blank characters, which folding and indentation leave alone. An escape in a
    quoted scalar counts as its first character; after one the column is that of the escape or later.
    """
    line, column = node.line, node.column
    if node.style in {">", "|"}:
        line, column = line + 1, 1
    elif node.style:
        column += 1
    want = sum(1 for c in value[:offset] if not c.isspace())
    blank_target = offset < len(value) and value[offset].isspace()
    while line <= len(lines):
        text = lines[line - 1]
        for at in range(column - 1, len(text)):
            if text[at].isspace():
                continue
            if want == 0 and not blank_target:
                return line, at + 1
            want -= 1
            if want == 0 and blank_target:
                return line, at + 2
        line, column = line + 1, 1
    return node.line, node.column

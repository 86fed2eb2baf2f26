"""A `List` object as the documents inside it, each still knowing its place in the file."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.documents import Document, Node, Path


def entries(document: Document) -> Iterator[Document]:
    """Give the objects of a `v1 List`, one document each; any other document as it is."""
    value = document.value
    if not isinstance(value, dict) or value.get("apiVersion") != "v1" or not str(value.get("kind")).endswith("List"):
        yield document
        return
    items = value.get("items")
    for i in range(len(items) if isinstance(items, list) else 0):
        yield below(document, ("items", i))


def below(document: Document, path: Path) -> Document:
    """Give the part of a document at `path` as a document of its own."""
    return Document(
        document.at(path), document.file, document.lines, _cut(document.nodes, path), _cut(document.keys, path)
    )


def _cut(table: dict[Path, Node], path: Path) -> dict[Path, Node]:
    length = len(path)
    return {key[length:]: node for key, node in table.items() if key[:length] == path}

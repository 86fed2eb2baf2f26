"""A `List` object as the documents inside it, each still knowing its place in the file."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.documents import Document, Path, YamlNode


def entries(document: Document) -> Iterator[Document]:
    """Yield the objects of a `v1 List`, one document each; any other document as it is."""
    value = document.value
    if not isinstance(value, dict) or value.get("apiVersion") != "v1" or not str(value.get("kind")).endswith("List"):
        yield document
        return
    items = value.get("items")
    if not isinstance(items, list):
        return
    nodes, keys = _by_item(document.nodes), _by_item(document.keys)
    for i, item in enumerate(items):
        yield Document(item, document.file, document.lines, nodes.get(i, {}), keys.get(i, {}))


def _by_item(table: dict[Path, YamlNode]) -> dict[str | int, dict[Path, YamlNode]]:
    """Return what stands below each item, in one walk: a cluster's List has thousands of items."""
    found: dict[str | int, dict[Path, YamlNode]] = {}
    for path, node in table.items():
        if len(path) > 1 and path[0] == "items":
            found.setdefault(path[1], {})[path[2:]] = node
    return found


def below(document: Document, path: Path) -> Document:
    """Return the part of a document at `path` as a document of its own."""
    return Document(
        document.at(path), document.file, document.lines, _cut(document.nodes, path), _cut(document.keys, path)
    )


def _cut(table: dict[Path, YamlNode], path: Path) -> dict[Path, YamlNode]:
    length = len(path)
    return {key[length:]: node for key, node in table.items() if key[:length] == path}

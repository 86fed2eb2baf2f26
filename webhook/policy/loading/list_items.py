"""A list of objects as the documents inside it, each still knowing its place in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webhook.documents import Document, Path, YamlNode


def entries(document: Document) -> Iterator[Document]:
    """Yield the objects of a list, one document each, those of lists in lists too; any other document as it is.

    What `items` holds instead of a list is given as it is: it is no object.
    """
    items = list_items(document.value)
    if items is None:
        yield document
        return
    if not isinstance(items, list):
        yield below(document, ("items",))
        return
    nodes, keys = _by_item(document.nodes), _by_item(document.keys)
    for i, item in enumerate(items):
        yield from entries(Document(item, document.file, document.lines, nodes.get(i, {}), keys.get(i, {})))


def list_items(value: Any) -> Any:
    """Return what a list has as `items`, None where the value is no list: `kind: List`, or one kind's, as `JobList`.

    The items of a list of one kind get its apiVersion and kind where they have none: the API server writes them so.
    """
    if not isinstance(value, dict) or not str(kind := value.get("kind")).endswith("List"):
        return None
    if "items" not in value and (kind != "List" or value.get("apiVersion") != "v1"):
        return None
    items = value.get("items") or []
    if kind == "List" or not isinstance(items, list):
        return items
    inherited = {"apiVersion": value.get("apiVersion"), "kind": str(kind).removesuffix("List")}
    return [{**inherited, **item} if isinstance(item, dict) else item for item in items]


def objects_in(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the objects of lists one by one, as `entries` does, and other values as they are."""
    for value in values:
        items = list_items(value)
        if items is None:
            yield value
        else:
            yield from objects_in(items if isinstance(items, list) else [items])


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

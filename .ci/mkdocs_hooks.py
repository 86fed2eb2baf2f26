"""What MkDocs does not do by itself: folders in the navigation, and links to what is not part of the site."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def on_config(config: Any) -> None:
    """Put the pages of a folder in the place of its name."""
    config["nav"] = expanded(config["nav"], Path(config["docs_dir"]))


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Leave the text of a link to what has no page."""
    docs = Path(config["docs_dir"]).resolve()
    file = docs / page.file.src_uri
    return LINK.sub(lambda link: link[1] if has_no_page(link[2], file, docs) else link[0], markdown)


def has_no_page(target: str, page: Path, docs: Path) -> bool:
    """Say whether a link leads to something of the repository that is not on the site: a folder, or a file outside."""
    path, _, _ = target.partition("#")
    found = (page.parent / path).resolve()
    return bool(path) and found.exists() and (found.is_dir() or not found.is_relative_to(docs))


def expanded(nav: list[Any], docs: Path) -> list[Any]:
    """Give the navigation with each `folder/` as the list of its pages that are named nowhere else."""
    return _expanded(nav, docs, set(_named(nav)))


def _named(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        target = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from _named(target) if isinstance(target, list) else [target]


def _expanded(nav: list[Any], docs: Path, named: set[str]) -> list[Any]:
    entries: list[Any] = []
    for entry in nav:
        title, target = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
        if isinstance(target, list):
            target = _expanded(target, docs, named)
        elif target.endswith("/"):
            pages = (page.relative_to(docs).as_posix() for page in sorted((docs / target).glob("*.md")))
            target = [page for page in pages if page not in named]
            if title is None:
                entries += target
                continue
        if target:
            entries.append({title: target} if title else target)
    return entries

"""What MkDocs does not do by itself: folders in the navigation, and links to files that are not part of the site."""

import re
from pathlib import Path
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:certs|charts|policies|tests|webhook)\b[^)]*\)")


def on_config(config: Any) -> None:
    """Put the pages of a folder in the place of its name."""
    config["nav"] = expanded(config["nav"], Path(config["docs_dir"]))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leave the text of a link to a file of the repository that has no page."""
    return OUTSIDE.sub(r"\1", markdown)


def expanded(nav: list[Any], docs: Path) -> list[Any]:
    """Give the navigation with each `folder/` as the list of its pages; without those that are not there."""
    entries = []
    for entry in nav:
        title, target = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
        if isinstance(target, list):
            target = expanded(target, docs)
        elif target.endswith("/"):
            target = [f"{target}{page.name}" for page in sorted((docs / target).glob("*.md"))]
        if target:
            entries.append({title: target} if title else target)
    return entries

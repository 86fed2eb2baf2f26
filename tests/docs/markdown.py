"""What the tests of the documentation read of a page: its links, its headings, its fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.shared import ROOT

DOCS = ROOT / "docs"
FENCE = re.compile(r'^( *)```(\S*)(?: title="([^"]+)")?[^\n]*\n(.*?)^\1```$', re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `title` is the file that it shows, empty where it shows none."""

    language: str
    title: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """Give the fenced blocks of a page in their order, without the indent of the list they stand in."""
    for indent, language, title, text in FENCE.findall(page.read_text(encoding="utf-8")):
        yield Block(language, title, re.sub(f"^{indent}", "", text, flags=re.MULTILINE))


def prose(page: Path) -> str:
    """Give a page without its code, fenced and in backticks."""
    return re.sub(r"`[^`\n]+`", "", FENCE.sub("", page.read_text(encoding="utf-8")))


def links(page: Path) -> list[str]:
    """Give the targets of a page's links into the repository."""
    return [target for target in LINK.findall(prose(page)) if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """Give the anchors of a page's headings, as GitHub and MkDocs both make them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {slug(heading) for heading in re.findall(r"^#+ +(.*)$", text, re.MULTILINE)}


def slug(heading: str) -> str:
    """Give the anchor of a heading."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", words).strip().lower())

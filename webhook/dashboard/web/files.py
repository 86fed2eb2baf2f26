"""The page's own files: read once, answered from memory, with a tag by which a browser knows that it has them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent.parent / "static"
TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webmanifest": "application/manifest+json",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the page."""

    body: bytes
    type: str
    tag: str


def static_files() -> dict[str, StaticFile]:
    """Read the files of the page, by their path below `/ui/`; `index.html` is the page itself."""
    found = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.is_file() and (kind := TYPES.get(path.suffix)) is not None:
            body = path.read_bytes()
            file = StaticFile(body, kind, f'"{hashlib.sha256(body).hexdigest()[:16]}"')
            found[f"static/{path.relative_to(FOLDER).as_posix()}"] = file
    if (index := found.get("static/index.html")) is not None:
        found[""] = index
    return found

"""`sluice init`: the files of a new policy repository. What they say stands in `files/`; writing them is here.

A file's name in `files/` starts with `dot-` where the written one starts with a dot. A line `@install@` stands for the
commands that install Sluice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from webhook.offline.files import write_whole
from webhook.offline.reference.json_schema import of_files
from webhook.offline.scaffold.wheel import Wheel, install_commands

CI: Final = {"github": ".github", "gitlab": ".gitlab-ci.yml"}
"""CI system -> the first part of the paths that are its own."""
SCHEMA: Final = ".sluice/schema.json"
"""The one file that is made: the schema for editors, which the first line of each YAML file names."""


@dataclass(frozen=True, slots=True)
class Scaffolded:
    """A file of the scaffold: its path in the repository, and what is in it."""

    path: str
    data: bytes


def files(ci: str, wheel: Wheel | None = None) -> tuple[Scaffolded, ...]:
    """Return the files for a CI system (`github`, `gitlab`, `none`), sorted by path; it installs the wheel."""
    unwanted = {first for system, first in CI.items() if system != ci}
    root = resources.files("webhook.offline.scaffold") / "files"
    texts = {path: _filled(entry.read_text(encoding="utf-8"), wheel) for path, entry in _walk(root, "")}
    texts[SCHEMA] = json.dumps(of_files(), indent=1, ensure_ascii=False) + "\n"
    found = [Scaffolded(path, text.encode()) for path, text in texts.items()]
    if wheel is not None and wheel.path:
        found.append(Scaffolded(wheel.path, wheel.data))
    return tuple(sorted((f for f in found if f.path.split("/")[0] not in unwanted), key=lambda f: f.path))


def _filled(text: str, wheel: Wheel | None) -> str:
    """Write the install commands, indented as it is, where a line says `@install@`."""
    lines = "\n".join(rf"\g<1>{line}" for line in install_commands(wheel))
    return re.sub(r"(?m)^( *)@install@$", lines, text)


def _walk(folder: Traversable, above: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        name = f".{entry.name.removeprefix('dot-')}" if entry.name.startswith("dot-") else entry.name
        path = f"{above}/{name}" if above else name
        if entry.is_dir():
            yield from _walk(entry, path)
        else:
            yield path, entry


def write(folder: Path, ci: str, wheel: Wheel | None = None, *, force: bool) -> tuple[list[str], list[str]]:
    """Write the scaffold into a folder, as `write_files` does."""
    return write_files(folder, files(ci, wheel), force=force)


def write_files(folder: Path, found: Iterable[Scaffolded], *, force: bool) -> tuple[list[str], list[str]]:
    """Write files into a folder; those that are there stay, unless `force`. Gives (written, kept) paths.

    Raises OSError where a file cannot be written.
    """
    written: list[str] = []
    kept: list[str] = []
    for file in found:
        target = folder / file.path
        if target.exists() and not force:
            kept.append(file.path)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, file.data)
        written.append(file.path)
    return written, kept

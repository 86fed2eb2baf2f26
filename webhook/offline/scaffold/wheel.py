"""The wheel that a repository's CI installs Sluice from: a URL or a copy in the repository, always with its SHA-256.

Never a bare name: until Sluice is published, anyone may register its name on a package index.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

FILE: Final = re.compile(r"sluice_gate-\d[\w.+!]*(-\d\w*)?-[\w.]+-[\w.]+-[\w.]+\.whl", re.ASCII)
"""The file name of one of our wheels (PyPA, binary distribution format)."""
URL: Final = re.compile(r"https://[!-~]*")
SHOWN: Final = "sluice_gate-VERSION-py3-none-any.whl"
MISSING: Final = (
    "echo 'Sluice is not on a package index yet. Replace these lines with one that installs its wheel:' >&2",
    f"echo '  pip install \"https://HOST/{SHOWN}#sha256=HASH\"' >&2",
    "echo 'or delete this file, and run sluice init again with --wheel PATH-OR-URL and the same --ci' >&2",
    "exit 1",
)
"""What CI runs where no wheel was given."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel to install: the URL that pip is given, hash included, and what goes into the repository."""

    url: str
    path: str = ""
    data: bytes = b""


def read_wheel(given: str) -> Wheel:
    """Return the wheel at an https URL with `#sha256=`, or at a path. Raises ValueError, OSError if there is none."""
    return _remote(given) if "://" in given else _local(Path(given))


def install_commands(wheel: Wheel | None) -> tuple[str, ...]:
    """Return the lines of shell that install Sluice in CI; without a wheel they fail, and say what to write."""
    return MISSING if wheel is None else (f'pip install "{wheel.url}"',)


def _remote(url: str) -> Wheel:
    parts = urlsplit(url)
    if not URL.fullmatch(url) or set(url) & set("\"'`$\\"):
        raise ValueError("use an https:// URL without quotes, $ or backslashes")
    _check_name(parts.path.rsplit("/", 1)[-1])
    if not re.fullmatch(r"sha256=[0-9a-f]{64}", parts.fragment):
        raise ValueError("add #sha256= and the wheel's 64-digit `sha256sum`, so that CI installs exactly this wheel")
    return Wheel(url)


def _local(path: Path) -> Wheel:
    _check_name(path.name)
    if not path.is_file():
        raise ValueError(f"File '{path}' does not exist.")
    data = path.read_bytes()
    kept = f".sluice/{path.name}"
    return Wheel(f"file://$PWD/{kept}#sha256={hashlib.sha256(data).hexdigest()}", kept, data)


def _check_name(name: str) -> None:
    if not FILE.fullmatch(name):
        raise ValueError(f"{name!r} is not a Sluice wheel; expected a file such as {SHOWN}")

"""Paths as they are printed."""

from __future__ import annotations

from pathlib import Path


def shorter(path: Path) -> Path:
    """Return a path relative to the working folder, where it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path

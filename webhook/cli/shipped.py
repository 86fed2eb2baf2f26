"""Where the files that Sluice ships stand: beside the package in a checkout, inside it where it was installed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

PACKAGE: Final = Path(__file__).resolve().parent.parent


def policies() -> Path:
    """Return the folder of the shipped policies."""
    return _folder(PACKAGE.parent / "policies", PACKAGE / "_policies")


def samples() -> Path:
    """Return the folder of the sample manifests: the five articles', and the queues they arrive at."""
    return _folder(PACKAGE.parent / "tests" / "seeds", PACKAGE / "_seeds")


def not_in_own_source(folder: Path) -> None:
    """End a command that would write policies of a cluster among those that Sluice ships."""
    if is_own_source(folder):
        way = "name another folder, such as gpu-policies"
        raise click.UsageError(f"{folder.resolve()} is Sluice's own source: {way}")


def is_own_source(folder: Path) -> bool:
    """Return whether a folder is Sluice's own clone, or its shipped policies: no place for policies of a cluster."""
    place = folder.resolve()
    return any(
        (root / "webhook" / "cli" / "shipped.py").is_file()
        and (place == root or place.is_relative_to(root / "policies"))
        for root in (place, *place.parents)
    )


def _folder(checkout: Path, installed: Path) -> Path:
    return checkout if checkout.is_dir() and (PACKAGE.parent / "pyproject.toml").is_file() else installed

"""Where the files that Sluice ships stand: beside the package in a checkout, inside it where it was installed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parent.parent


def policies() -> Path:
    """Give the folder of the shipped policies."""
    return _folder(PACKAGE.parent / "policies", PACKAGE / "_policies")


def samples() -> Path:
    """Give the folder of the sample manifests: the five articles', and the queues they arrive at."""
    return _folder(PACKAGE.parent / "tests" / "seeds", PACKAGE / "_seeds")


def _folder(checkout: Path, installed: Path) -> Path:
    return checkout if checkout.is_dir() and (PACKAGE.parent / "pyproject.toml").is_file() else installed

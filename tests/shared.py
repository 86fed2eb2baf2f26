"""Where the shared reference data stands, on the machines that have it."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared(name: str) -> Path:
    """The path of a shared file or folder; skips the test, saying so, where it is absent."""
    path = Path(os.environ.get("SLUICE_SHARED", ROOT.parent / "shared")) / name
    if not path.exists():
        pytest.skip(f"reference data {name} is not on this machine")
    return path

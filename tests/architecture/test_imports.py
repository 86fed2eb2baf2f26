"""The import contracts of pyproject.toml hold: imports go down only, and each library has one door."""

import subprocess
import sys
from pathlib import Path

from tests.shared import ROOT


def test_imports_go_down_only():
    """Every contract of pyproject.toml holds."""
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]

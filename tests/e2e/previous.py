"""The previous commit as a release of its own: sources, chart and policies, with an older version number."""

import re
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.shared import ROOT

VERSION = "0.0.9"


def previous(home: Path) -> Path:
    """The folder of the former release; skips the test where this is no git checkout with a commit before."""
    call = ["git", "archive", "HEAD~1", "webhook", "charts", "policies"]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no commit before this one")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(home, filter="data")
    (home / "opt" / "sluice").mkdir(parents=True)
    (home / "policies").rename(home / "opt" / "sluice" / "policies")
    init = home / "webhook" / "__init__.py"
    init.write_text(re.sub('__version__ = "[^"]*"', f'__version__ = "{VERSION}"', init.read_text()))
    assert VERSION in init.read_text()
    return home


def command(home: Path) -> list[str]:
    """What runs `sluice` from the sources of a folder."""
    program = f"import sys; sys.path.insert(0, {str(home)!r}); from webhook.cli.main import main; main()"
    return [sys.executable, "-P", "-c", program]

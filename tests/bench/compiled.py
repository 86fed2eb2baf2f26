"""The compiled wheel, unpacked to be served beside the plain sources."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from functools import cache
from pathlib import Path

from tests.shared import ROOT

WHEEL = f"sluice_gate-*-cp{sys.version_info.major}{sys.version_info.minor}-*.whl"


@cache
def unpacked() -> Path | None:
    """The wheel's files: that in `dist` where its sources are today's, else one made now.

    None, and a sentence that says why, where it cannot be made.
    """
    wheel = _made() or _make()
    if wheel is None:
        return None
    folder = ROOT / "build" / "compiled"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.unpack_archive(wheel, folder, "zip")
    return folder


def _made() -> Path | None:
    """The wheel in `dist`, where all its sources are as they are here."""
    wheel = next(iter((ROOT / "dist").glob(WHEEL)), None)
    if wheel is None:
        return None
    with zipfile.ZipFile(wheel) as archive:
        there = {name for name in archive.namelist() if name.startswith("webhook/") and name.endswith(".py")}
        here = {str(path.relative_to(ROOT)) for path in (ROOT / "webhook").rglob("*.py")}
        same = here <= there and all(archive.read(name) == (ROOT / name).read_bytes() for name in here)
    return wheel if same else None


def _make() -> Path | None:
    headers = Path(sysconfig.get_path("include")) / "Python.h"
    if not headers.exists():
        print("without the compiled wheel: Python's headers are not here")
        return None
    print("making the compiled wheel: some minutes", flush=True)
    made = subprocess.run(["make", "wheel"], cwd=ROOT, capture_output=True, text=True, check=False)
    if made.returncode:
        why = next((line for line in reversed(made.stderr.splitlines()) if line), "no reason given")
        print(f"without the compiled wheel: it was not made ({why})")
        return None
    return next((ROOT / "dist").glob(WHEEL))

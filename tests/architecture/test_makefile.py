"""The Makefile's targets are what pages and CI name, and run what is there."""

import re
import subprocess
import sys

from tests.shared import ROOT


def test_an_old_python_is_told_before_anything_is_made(tmp_path):
    """Else the environment of the old one would stay, and pip's message would not say why nothing fits."""
    old = tmp_path / "python3"
    old.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'import sys; sys.version_info = (3, 10, 13); exec(sys.argv[2])' \"$@\"\n"
    )
    old.chmod(0o755)
    made = tmp_path / "environment"
    command = ["make", "install", f"PYTHON={old}", f"VENV={made}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"Sluice needs Python 3.11 or newer, and {old} is 3.10: make install PYTHON=python3.11" in done.stderr
    assert not made.exists()


def test_make_targets_are_as_written():
    """Each `make TARGET` that a page or CI names is one; the Makefile's own list of targets is whole."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    assert set(phony[1].split()) == targets
    pages = [ROOT / "README.md", ROOT / ".ci" / "run", *(ROOT / "docs").rglob("*.md")]
    named = {
        (p.name, t) for p in pages for t in re.findall(r"(?:`|^|\$ |m )make ([a-z-]+)", p.read_text("utf-8"), re.M)
    }
    assert {(page, target) for page, target in named if target not in targets} == set()


def test_what_make_runs_is_there():
    """A target that is run by hand names only files and modules that exist: CI would not see that one has moved."""
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    done = subprocess.run(["make", "--dry-run", "--always-make", *targets], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    paths = set(re.findall(r"(?<=[\s,=])tests/[\w./-]+", done.stdout))
    modules = {module.replace(".", "/") for module in re.findall(r"-m ((?:tests|webhook)\.[\w.]+)", done.stdout)}
    assert "tests/faults" in paths
    assert "tests/faults/endurance" in modules
    gone = {path for path in paths if not (ROOT / path).exists()}
    gone |= {m for m in modules if not (ROOT / f"{m}.py").exists() and not (ROOT / m / "__main__.py").exists()}
    assert gone == set()

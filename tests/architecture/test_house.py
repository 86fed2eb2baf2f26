"""The house keeps its own rules: imports go down only, one door per library, one word per thing."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import ROOT

SOURCES = sorted((ROOT / "webhook").rglob("*.py"))
TOP_LEVEL = {"pyproject.toml", "webhook", "policies", "certs", "charts", "tests"} | {
    "README.md", "CHANGELOG.md", "LICENSE", "Makefile", "docs",
}  # fmt: skip
FORBIDDEN_NAMES = {"utils", "helpers", "common", "manager", "misc"}


def test_imports_go_down_only():
    """Every contract of pyproject.toml holds."""
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


def test_top_level_is_the_agreed_layout():
    """Nothing is tracked at the top level but what the layout names, and dot files."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    tops = {line.split("/")[0] for line in done.stdout.splitlines()}
    assert {top for top in tops if not top.startswith(".")} <= TOP_LEVEL


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_source_file_keeps_the_rules(path):
    """A file has a docstring, a name of the field, no import inside a function and nothing left open."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "no module docstring"
    assert path.stem not in FORBIDDEN_NAMES
    inner = [
        node.lineno
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert inner == [], "imports inside functions"
    assert not re.search(r"\b(TODO|FIXME|XXX)\b|NotImplementedError", text)


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

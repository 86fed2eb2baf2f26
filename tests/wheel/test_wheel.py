"""Both wheels hold the same sources, and the tests that run on the compiled one do run machine code."""

import importlib
import tomllib
import zipfile
from pathlib import Path

import pytest

import webhook
from tests.shared import ROOT

HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
    "wheel"
]
COMPILED, LEFT_OUT = HOOK["hooks"]["mypyc"]["include"], HOOK["hooks"]["mypyc"]["exclude"]
INSTALLED = Path(webhook.__file__).parent
HERE = ROOT / "webhook"


@pytest.mark.skipif(not HERE.exists(), reason="only the wheel is here, not its sources")
@pytest.mark.parametrize("pattern", [*COMPILED, *(p for p in LEFT_OUT if p.startswith("/"))])
def test_what_is_named_is_there(pattern):
    """What is renamed is named anew in pyproject.toml, or it would silently no longer be compiled."""
    assert (ROOT / pattern.removeprefix("/")).exists()


def modules():
    """The modules that are compiled: those of the packages that are named, less those that are left out."""
    left_out = [INSTALLED.parent / p.removeprefix("/") for p in LEFT_OUT if p.startswith("/")]
    for pattern in COMPILED:
        named = INSTALLED.parent / pattern.removeprefix("/")
        for path in [named] if named.is_file() else sorted(named.rglob("*.py")):
            inside = any(path == out or out in path.parents for out in left_out)
            if path.name != "__init__.py" and not inside:
                yield path


@pytest.mark.skipif(HERE.exists(), reason="for `make test-wheel`: the sources stand beside the tests")
def test_machine_code_runs():
    """Each module that is compiled is imported as machine code, no other is."""
    found = list(modules())
    assert len(found) > 40
    for path in found:
        name = ".".join(path.relative_to(INSTALLED.parent).with_suffix("").parts)
        assert str(importlib.import_module(name).__file__).endswith((".so", ".pyd")), name
    files = {path.name.split(".")[0] for path in INSTALLED.rglob("*.so")}
    assert files <= {path.stem for path in found}


@pytest.mark.skipif(HERE.exists(), reason="for `make test-wheel`, which puts the wheels beside the tests")
def test_both_wheels_hold_the_same():
    """Sources, shipped policies and sample manifests are in both; machine code is in one."""
    pure, compiled = (set(_names(tag)) for tag in ("py3-none-any", "cp3*"))
    assert {name for name in compiled - pure if not name.endswith((".so", ".pyd"))} == set()
    assert pure - compiled == set()
    assert {name for name in pure if name.endswith((".so", ".pyd"))} == set()
    assert "webhook/_policies/gpu-integer/policy.yaml" in pure
    assert {"webhook/_policies/library/.not-in-force", "webhook/_policies/library/run-time/suite.yaml"} <= pure
    assert "webhook/offline/scaffold/files/dot-gitlab-ci.yml" in pure


def _names(tag):
    [wheel] = (ROOT / "dist").glob(f"sluice_gate-*-{tag}.whl")
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if ".dist-info/" not in name]

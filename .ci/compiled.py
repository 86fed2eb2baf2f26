"""`python .ci/compiled.py DEST`: a copy of the sources with the admission path compiled to machine code by mypyc.

The very same sources, without a line written for it: what is compiled is faster, and does the same. Never compiles in
the checkout itself, where a module that was compiled would hide later edits. Needs a C compiler; without one Sluice
runs as it is. Why, and what is left out: docs/decisions/0060-steps-and-reads.md.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = (
    "admission/pipeline",
    "admission/wire",
    "cel/program",
    "cel/runtime",
    "cluster/facts",
    "cluster/view",
    "jobs/counts",
    "jobs/describe",
    "jobs/model",
    "jobs/normalise",
    "kube/equality",
    "kube/merge",
    "kube/patch",
    "kube/schema",
    "kube/selectors",
    "policy/authorizer",
    "policy/expand",
    "policy/expression",
    "policy/findings",
    "policy/fuse",
    "policy/index",
    "policy/invoke",
    "policy/match",
    "policy/model",
    "policy/mutate",
    "policy/native",
    "policy/params",
    "policy/patching",
    "policy/reads",
    "policy/request",
    "policy/scene",
    "policy/steps",
    "policy/validate",
    "policy/world",
    "server/app",
    "server/body",
    "server/json_body",
    "server/limits",
    "server/metrics",
    "server/port",
    "server/responses",
    "server/routes/admission",
    "store/mirror",
)
"""What a request goes through. Left out: frozen classes that are pickled (compiled, they cannot be), what derives from
a list or an int, the exact form of expressions (it is given frames that derive from a list, which compiled code would
not ask), and a policy's expressions, which become Python source when they are loaded."""


def compiled(folder: Path) -> None:
    """Put the sources into a folder that is not there yet, and compile the modules there. Raises CalledProcessError."""
    folder.mkdir(parents=True)
    skipped = shutil.ignore_patterns("__pycache__", "*.so")
    for name in ("webhook", "tests", "policies"):
        shutil.copytree(ROOT / name, folder / name, ignore=skipped)
    files = [f"webhook/{module}.py" for module in MODULES]
    subprocess.run([Path(sys.executable).with_name("mypyc"), *files], cwd=folder, check=True)  # noqa: S603 - our own
    shutil.rmtree(folder / "build")
    shutil.copy(ROOT / "pyproject.toml", folder)


if __name__ == "__main__":
    compiled(Path(sys.argv[1]).resolve())

"""Ctrl-C at any moment of a command's start and end: exit code 130, no traceback, at most an empty line."""

import os
import signal
import subprocess
import sys

import pytest

from tests.shared import ROOT
from webhook.cli import exits

PROGRAM = """
import atexit, importlib.abc, os, signal, sys
WHEN, *sys.argv = sys.argv[1:]

class Press(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == WHEN:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
if WHEN == "the end":
    atexit.register(os.kill, os.getpid(), signal.SIGINT)
from webhook.cli.main import main
main()
"""
"""Presses Ctrl-C when a module is about to be loaded."""
POLICY = "policies/gpu-integer"
MOMENTS = [
    ("webhook.cli.group", "--version", ""),
    ("click", "--help", ""),
    ("click.core", "--version", ""),
    ("webhook.diagnostics", "--version", ""),
    ("webhook.cli.commands.policies.lint", f"lint {POLICY}", ""),
    ("yaml", f"lint {POLICY}", ""),
    ("webhook.cel.codegen.emitter", f"test {POLICY}", ""),
    ("rich.console", f"test {POLICY}", ""),
    ("webhook.daemon", "serve --no-cluster", ""),
    ("the end", "--version", "sluice, version "),
    ("the end", f"lint {POLICY}", "no findings"),
]


def pressed(when: str, command: str, **how: object) -> subprocess.CompletedProcess[str]:
    """Run a command and press Ctrl-C at a moment."""
    call = [sys.executable, "-c", PROGRAM, when, "sluice", *command.split()]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(call, cwd=ROOT, env=env, capture_output=True, text=True, check=False, **how)


@pytest.mark.parametrize(("when", "command", "said"), MOMENTS, ids=lambda v: v.replace("/", "-") or "nothing")
def test_an_interrupt_is_quiet(when, command, said):
    """Whatever is being loaded, or about to be cleared away; what was said before stays said."""
    done = pressed(when, command)
    assert (done.returncode, done.stderr.strip()) == (exits.INTERRUPTED, "")
    assert said in done.stdout
    assert bool(said) == bool(done.stdout)


def test_an_interrupt_that_is_ignored_stays_so():
    """`nohup`, or a shell that starts a job in the background, tells the process not to listen to Ctrl-C."""
    done = pressed("click", "--version", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert (done.returncode, done.stderr) == (exits.PASSED, "")


def test_little_is_loaded_before_an_interrupt_is_safe():
    """The first module of the command line brings none but Python's own, and not `typing`."""
    code = "import webhook.cli.main; print(*{'click', 'typing', 're'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == ""

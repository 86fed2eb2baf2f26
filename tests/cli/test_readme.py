"""The README shows what the program really prints."""

import re
import subprocess
import sys

from tests.shared import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def sluice(*arguments: str) -> str:
    command = [sys.executable, "-m", "webhook.cli.main", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def timeless(text: str) -> str:
    return re.sub(r"\d+\.\d+ s", "N s", text).strip()


def test_policy_is_the_example():
    """The policy of the first screen is the file that the command below it tests."""
    policy = README.split("```yaml\n")[1].split("```")[0]
    file = (ROOT / "docs/examples/gpu-ceiling/policy.yaml").read_text(encoding="utf-8")
    assert file.startswith(policy)
    assert len(policy.splitlines()) == 8


def test_output_is_the_programs():
    """`sluice test` prints what the README says, times aside."""
    shown = README.split("$ sluice test docs/examples/gpu-ceiling\n")[1].split("```")[0]
    assert timeless(sluice("test", "docs/examples/gpu-ceiling")) == timeless(shown)


def test_mistake_is_told_as_shown(tmp_path):
    """A misspelt function is found at the place and in the words of the README."""
    shown = README.split("$ sluice lint docs/examples/gpu-ceiling\n")[1].split("```")[0]
    folder = tmp_path / "gpu-ceiling"
    folder.mkdir()
    for name in ("policy.yaml", "suite.yaml"):
        text = (ROOT / "docs/examples/gpu-ceiling" / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("all(c, quantity", "all(c, quantty"), encoding="utf-8")
    printed = sluice("lint", str(folder)).replace(str(folder), "docs/examples/gpu-ceiling")
    assert shown.strip() in printed

"""The README shows what the program really prints."""

import re
import subprocess
import sys
from pathlib import Path

from tests.shared import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def sluice(*arguments: str, cwd: Path = ROOT, given: str = "") -> str:
    command = [sys.executable, "-m", "webhook.cli.main", *arguments]
    done = subprocess.run(command, cwd=cwd, input=given, capture_output=True, text=True)
    return "\n".join(line.rstrip() for line in (done.stdout + done.stderr).splitlines()) + "\n"


def shown(command: str) -> str:
    """What the README says a command prints."""
    return re.split(r"```|^\$ ", README.split(f"$ {command}\n")[1], flags=re.MULTILINE)[0]


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
    printed = sluice("test", "docs/examples/gpu-ceiling")
    assert timeless(printed) == timeless(shown("sluice test docs/examples/gpu-ceiling"))


def test_mistake_is_told_as_shown(tmp_path):
    """A misspelt function is found at the place and in the words of the README."""
    folder = tmp_path / "gpu-ceiling"
    folder.mkdir()
    for name in ("policy.yaml", "suite.yaml"):
        text = (ROOT / "docs/examples/gpu-ceiling" / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("all(c, quantity", "all(c, quantty"), encoding="utf-8")
    printed = sluice("lint", str(folder), "--only", "CEL").replace(str(folder), "docs/examples/gpu-ceiling")
    assert printed == shown("sluice lint docs/examples/gpu-ceiling --only CEL")


def test_a_new_repository_is_as_shown(tmp_path):
    """`sluice init` writes the files of the README; they are right, and a broken policy is told in its words."""
    assert sluice("init", cwd=tmp_path).startswith(shown("sluice init"))
    policy = tmp_path / "policies/whole-gpus/policy.yaml"
    text = policy.read_text(encoding="utf-8")
    assert "5 passed, 0 failed" in sluice("test", cwd=tmp_path)
    policy.write_text(text.replace("isInteger()", 'isGreaterThan(quantity("0"))'), encoding="utf-8")
    assert sluice("test", cwd=tmp_path).startswith(shown("sluice test"))
    policy.write_text(text.replace("isInteger()", "isWhole()"), encoding="utf-8")
    assert "policy.yaml:25:53: error[CEL001]: undeclared reference to 'isWhole'" in sluice(
        "lint", "policies", cwd=tmp_path
    )


def test_a_dry_run_is_as_shown():
    """`sluice dry-run` prints what the README says about the first Job of article 003."""
    seed = "tests/seeds/003-kueue-two-teams.yaml"
    given = (ROOT / seed).read_text(encoding="utf-8")
    words = ("dry-run", "-p", "sluice.dev/job-user", "-p", "sluice.dev/queue-name", "-f", "-")
    assert sluice(*words, given=given).startswith(shown(f"sluice {' '.join(words)} < {seed}"))


def test_a_plan_is_as_shown():
    """`sluice plan` says who waits in article 003, for what, and who holds it, in the README's words."""
    seed = "tests/seeds/003-kueue-two-teams.yaml"
    assert shown(f"sluice plan -f {seed}") in sluice("plan", "-f", seed)

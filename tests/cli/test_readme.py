"""The README shows what the program really prints, and its commands end as they should when they are typed."""

import re
import subprocess

import pytest

from tests.docs.console import runs
from tests.docs.layers import layers
from tests.shared import ROOT

PAGE = ROOT / "README.md"
README = PAGE.read_text(encoding="utf-8")
FAILED = {"sluice lint": 1, "sluice test": 1}
"""Commands that show a mistake: a misspelt policy, a broken one."""


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """Every command of the README, typed in its order in a clone."""
    links = {"tests": ROOT / "tests", "policies": ROOT / "policies"}
    return list(runs(PAGE, tmp_path_factory.mktemp("readme"), links))


def test_policy_is_the_example():
    """The policy of the README is the file that the command below it tests."""
    policy = README.split("```yaml\n")[1].split("```")[0]
    file = (ROOT / "docs/examples/gpu-ceiling/policy.yaml").read_text(encoding="utf-8")
    assert file.startswith(policy)
    assert len(policy.splitlines()) == 8


def test_output_is_the_programs(typed):
    """Each console block shows what is printed."""
    assert "\n".join(str(run) for run in typed if not run.agrees) == ""
    assert len(typed) == 7


def test_commands_end_well(typed):
    """With 0, but those that show a mistake: with 1."""
    wrong = {run.command: run.code for run in typed if run.code}
    assert {re.search("sluice [a-z]+", command)[0]: code for command, code in wrong.items()} == FAILED


def test_clone_stays_as_it_is(typed):
    """No command writes into the clone, but into the folder that it names."""
    changed = subprocess.run(["git", "status", "--short", "docs", "policies"], cwd=ROOT, capture_output=True, text=True)
    written = {run.command for run in typed if "wrote" in run.printed}
    assert written == {"sluice init gpu-policies && cd gpu-policies"}
    assert "misspelt" not in changed.stdout


def test_layers_are_the_contract():
    """The packages from top to bottom are those of the import contract in pyproject.toml."""
    rows = [" | ".join(name.removeprefix("webhook.") for name in row) for row in layers()]
    assert f"\n    {' > '.join(rows)}\n" in README


def test_first_screen_comes_first():
    """For whom and why, and one picture, before the first example; `make shell` before the first `sluice`."""
    example = README.index("```yaml")
    assert max(README.index(words) for words in ("**For whom.**", "**Why.**", "![")) < example
    assert README.index("make shell") < README.index("$ sluice")
    assert README.count("![") == 1

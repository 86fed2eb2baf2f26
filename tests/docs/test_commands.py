"""No command of a page is without a test: typed ones run in their blocks, named ones are known to the program."""

import re
from itertools import pairwise

import pytest

from tests.chart.helm import template
from tests.docs.commands import PAGES, indented, misunderstood, of
from tests.docs.markdown import blocks
from tests.shared import ROOT

INDENTED = {
    "docs/import.md", "docs/journal.md", "docs/plan.md", "docs/replay.md", "docs/simulate.md",
}  # fmt: skip
"""Pages whose indented commands nothing runs yet: a fenced block of `console` or `sh` is run. None may be added."""
PROMPTS = {"docs/journal.md", "docs/start/tutorial.md", "docs/zh/tutorial.md"}
"""Pages with a command that runs until Ctrl-C, or needs a cluster beside a Kueue, shown as text."""
KUBECTL = re.compile(r"kubectl get [^|>`\n]*\b(?:cq|clusterqueues),[^|>`\n]*\b(?:lq|localqueues)\b[^|>`\n]*")
"""A state of the queues: without Cohorts their quota is missing, without Namespaces no selector of a queue matches."""
CHART = ROOT / "charts/sluice"


def name(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_are_fenced(page):
    """A block made by an indent is read by no test; a prompt belongs in a block that is run."""
    found = indented(page)
    assert found == [] or name(page) in INDENTED
    shown = [block.text for block in blocks(page) if block.language == "text"]
    assert [text for text in shown if text.startswith("$ ") and name(page) not in PROMPTS] == []


@pytest.mark.parametrize("page", [page for page in PAGES if any(of("sluice", page))], ids=name)
def test_sluice_knows_its_commands(page):
    """Each command exists, with each of its options and choices."""
    assert [wrong for words in of("sluice", page) if (wrong := misunderstood(words))] == []


def test_states_have_cohorts_and_namespaces():
    """What pages and help take from a cluster is all that decides."""
    found = [match[0] for page in PAGES for match in KUBECTL.finditer(page.read_text(encoding="utf-8"))]
    lacking = [line for line in found if not re.search(r"\bcohorts\b.*\b(?:ns|namespaces)\b", line)]
    assert (lacking, len(found) > 3) == ([], True)


def test_what_is_misunderstood():
    assert misunderstood(["sluice", "get", "queues", "-o", "wide"]) == ""
    assert misunderstood(["sluice", "fly"]) == "no command sluice fly"
    assert "--upward" in misunderstood(["sluice", "lint", "--upward"])
    assert "'sideways'" in misunderstood(["sluice", "lint", "-o", "sideways"])


HELM = {" ".join(words): words for page in PAGES for words in of("helm", page) if words[1] in ("install", "upgrade")}


@pytest.mark.parametrize("command", HELM)
def test_helm_commands_render(command):
    """The chart takes the settings of each `helm install` and `helm upgrade`."""
    given = HELM[command]
    settings = [f"--set={value}" for flag, value in pairwise(given) if flag == "--set"]
    settings += [word for word in given if word.startswith("--set=")]
    rendered = template(CHART, *settings)
    assert "kind: Deployment" in rendered or "kind: StatefulSet" in rendered


def test_helm_commands_are_found():
    assert len(HELM) > 1

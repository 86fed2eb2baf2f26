"""The suites beside the queue rules that come with Sluice, run as `sluice test` runs them."""

from pathlib import Path

import pytest

from webhook.offline.reports.junit import CaseOutcome
from webhook.offline.suite.run_case import run_case
from webhook.offline.suite.suite_file import suites_of
from webhook.policy.loading.load_bundle import load_bundle

QUEUE = Path(__file__).parents[2] / "policies" / "queue"
SUITES = suites_of([QUEUE], [])
CASES = [(s, c) for s in SUITES for c in s.cases]
RULE_FILES = [file for file in sorted(QUEUE.glob("*/policy.yaml")) if "kind: QueuePolicy" in file.read_text("utf-8")]
"""The others beside them are admission policies on the objects of the queue."""


@pytest.mark.parametrize(
    "suite, case", [(s, c) for s in SUITES for c in s.cases], ids=lambda x: getattr(x, "title", "")
)
def test_every_case_of_the_queue_rules_holds(suite, case):
    """Each case decides as its suite says, with the numbers in the message where it says so."""
    result = run_case(case, load_bundle(suite.policies))
    assert result.outcome == CaseOutcome.PASSED, "\n".join(d.render() for d in result.findings)


@pytest.mark.parametrize("folder", [file.parent for file in RULE_FILES], ids=lambda p: p.name)
def test_every_rule_file_says_which_laws_it_keeps(folder):
    """A reader finds what can be relied on, and why a law is given up where it is."""
    (rules,) = load_bundle([folder]).queue_policies
    laws = rules.at(("spec", "laws"))
    assert laws["keeps"]
    assert all(given["law"] and given["why"] for given in laws.get("givesUp", ()))
    assert rules.at(("metadata", "name")) == folder.name

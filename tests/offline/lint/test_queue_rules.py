"""QueuePolicies are compiled by lint: what is wrong in one is a finding at its place, and hides nothing else."""

from datetime import UTC, datetime

import pytest

from tests.shared import ROOT
from webhook.offline.files import read_files, read_text
from webhook.offline.lint.run import lint

HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: mine}\nspec:\n"
NOW = datetime(2026, 9, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("strict: workload.prio > 1", ["RUL003"]),
        ("strict: workload.priority", ["RUL004"]),
        ("strict: startWith('a')", ["RUL003"]),
        ("strict: 'true &'", ["RUL003"]),
        ("extends: [kueu]", ["RUL006"]),
        ("extends: [mine.yaml/x]", ["RUL006"]),
        ("history: {halfLife: 1week}", ["RUL002"]),
        ("extends: [user-caps]\n  parameters: {workload: 1}", ["RUL005"]),
        ("ordr: []\n  park: workload.name", ["RUL001", "RUL004"]),
        ("extends: [kueue-fair]", []),
    ],
)
def test_a_mistake_in_a_rule_file_is_a_finding(spec, found):
    """Its code, once, and each with a hint or a caret."""
    report = lint(read_text(HEAD + f"  {spec}\n", "mine.yaml"), NOW)
    assert [f.code for f in report.findings] == found
    assert all(f.place.line and f.place.column and f.source for f in report.findings)


def test_the_shipped_rules_have_no_findings():
    """Nothing is found in the files that come with Sluice."""
    report = lint(read_files([ROOT / "policies" / "queue"]), NOW)
    assert [f.render() for f in report.findings] == []

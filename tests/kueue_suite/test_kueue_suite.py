"""The harness without Kueue: how reports are read, and that an edit that finds nothing is an error."""

import json

import pytest

from tests.kueue_suite.edits import GO_FILES, HERE, apply
from tests.kueue_suite.report import LEFT, rows, written
from webhook.api.compatibility.differences import DIFFERENCES
from webhook.api.compatibility.kueue import KUEUE


def spec(name, state, message=""):
    return {
        "ContainerHierarchyTexts": ["Scheduler"],
        "LeafNodeText": name,
        "LeafNodeType": "It",
        "State": state,
        "Failure": {"Message": message, "Location": {"FileName": "/k/scheduler_test.go", "LineNumber": 7}},
        "ReportEntries": [{"Name": "gate", "Value": {"AsJSON": '"PriorityBoost=true"'}}],
    }


def test_a_report_counts_what_can_be_judged(tmp_path):
    """Specs out of reach count for nothing; a failure has its place, its gates and the beginning of its message."""
    specs = [
        spec("Should admit", "passed"),
        spec("Should evict", "failed", "Timed out\n\nExpected"),
        spec("left out", "skipped"),
        spec("Should not place by Topology", "failed"),
    ]
    file = tmp_path / "report.json"
    file.write_text(json.dumps([{"SuitePath": "/k/test/integration/singlecluster/scheduler", "SpecReports": specs}]))
    assert [line.split() for line in written(file, failures=False)] == [
        ["scheduler", "1", "of", "2", "passed,", "1", "not", "judged"]
    ]
    assert list(written(file, failures=True))[1:] == [
        "  scheduler_test.go:7 Scheduler / Should evict PriorityBoost=true",
        "      NOT KNOWN",
        "      Timed out",
        "      Expected",
    ]


def test_each_spec_that_is_left_has_a_row_in_the_compatibility_tables():
    """By the name of a feature or of a difference, so that it is said to users too."""
    said = {feature.name for feature in KUEUE} | {difference.what for difference in DIFFERENCES}
    assert [what for what, _ in rows(LEFT) if not any(name.startswith(what) for name in said)] == []


def test_another_kueue_is_told(tmp_path):
    """A file that is not as an edit knows it stops the run, and names the edit."""
    for path in ("test/integration/framework", "test/util", "pkg/controller/core"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "pkg/controller/core/core.go").write_text("package core\n")
    with pytest.raises(ValueError, match=r"core\.go: no .*SetupControllers"):
        apply(tmp_path)
    copied = tmp_path / GO_FILES["hook.go"]
    assert copied.read_text() == (HERE / "go" / "hook.go").read_text()

"""What is told while a file is written is what `sluice lint` tells of it, but for the rules that try policies out."""

import re
from datetime import UTC, datetime

import pytest

from tests.editor.marked import POLICY
from tests.shared import ROOT
from webhook import documents
from webhook.editor.findings import QUICK, findings_of, prepare
from webhook.editor.workspace import Workspace
from webhook.offline.files import read_files
from webhook.offline.lint.apply_rules import lint
from webhook.offline.lint.rules import document_fields

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EXAMPLES = sorted(ROOT.glob("webhook/offline/lint/examples/*.yaml"))


def told(place):
    """What lint says of all files, and what an editor says of each."""
    report = lint(read_files([place]), NOW, QUICK)
    workspace = Workspace((place,))
    workspace.load()
    found = [f for path in workspace.files for f in findings_of(workspace, path, NOW).findings]
    return sorted(map(str, report.findings)), sorted(map(str, found))


def test_the_same_findings_of_the_shipped_policies():
    wanted, found = told(ROOT / "policies")
    assert found == wanted


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_same_findings_as_lint(tmp_path, example):
    """Of each example, its documents in files of their own."""
    for at, text in enumerate(re.split("(?m)^---$", documents.read(example.read_text())[0].value["wrong"])):
        (tmp_path / f"{at}.yaml").write_text(text)
    wanted, found = told(tmp_path)
    assert found == wanted


def test_a_text_that_cannot_be_read_keeps_what_was_known(tmp_path):
    workspace = Workspace((tmp_path,))
    workspace.write(tmp_path / "a.yaml", "kind: Pod\napiVersion: v1\n")
    workspace.write(tmp_path / "a.yaml", "kind: Pod\napiVersion: [\n")
    (finding,) = findings_of(workspace, tmp_path / "a.yaml", NOW).findings
    assert finding.code == "YAML001"
    assert [s.gvk.kind for s in workspace.subjects()] == ["Pod"]


def test_before_the_first_file_is_opened_what_is_built_once_is_built(tmp_path):
    """The schemas of our own kinds take longer to build than an editor may wait."""
    built = document_fields._own
    built.cache_clear()
    (tmp_path / "broken.yaml").write_text("a: [")
    (tmp_path / "policy.yaml").write_text(POLICY.replace("EXPRESSION", "true"))
    workspace = Workspace((tmp_path,))
    prepare(workspace, NOW)
    assert not built.cache_info().currsize
    workspace.load()
    prepare(workspace, NOW)
    assert built.cache_info().currsize

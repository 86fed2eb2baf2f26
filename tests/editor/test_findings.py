"""What is told while a file is written is what `sluice lint` tells of it, but for the rules that try policies out."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

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
    assert len(list(workspace.load())) == len(workspace.files)
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


JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {memory: 1Gi, cpu: 1}}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: team-a}
spec: {clusterQueue: cq}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups:
  - {coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 1}]}]}
"""


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("resources: {excludeResourcePrefixes: [memory]}", []),
        ("mode: embedded", ["QUE027"]),
        ("resources: [", ["QUE027"]),
    ],
)
def test_queues_are_as_the_repository_has_them(tmp_path, text, codes):
    """Its `.sluice.yaml` says which resources count; one that cannot be read says nothing."""
    (tmp_path / ".sluice.yaml").write_text(text)
    (tmp_path / "all.yaml").write_text(JOB)
    workspace = Workspace((tmp_path,))
    list(workspace.load())
    found = findings_of(workspace, tmp_path / "all.yaml", NOW).findings
    assert [finding.code for finding in found if finding.code == "QUE027"] == codes


def test_a_text_that_cannot_be_read_keeps_what_was_known(tmp_path):
    workspace = Workspace((tmp_path,))
    workspace.write(tmp_path / "a.yaml", "kind: Pod\napiVersion: v1\n")
    workspace.write(tmp_path / "a.yaml", "kind: Pod\napiVersion: [\n")
    (finding,) = findings_of(workspace, tmp_path / "a.yaml", NOW).findings
    assert finding.code == "YAML001"
    assert [s.gvk.kind for s in workspace.subjects()] == ["Pod"]


def test_nothing_is_said_before_all_is_read_that_is_taken_back_then():
    """Queues, parameters and kinds may stand in files that have not been read yet."""
    for example in EXAMPLES:
        texts = re.split("(?m)^---$", documents.read(example.read_text())[0].value["wrong"])
        whole = Workspace()
        for at, text in enumerate(texts):
            whole.write(Path(f"{at}.yaml"), text)
        for path in whole.files:
            alone = Workspace(files={path: whole.files[path]}, is_read=False)
            early, late = ({f.place for f in findings_of(some, path, NOW).findings} for some in (alone, whole))
            assert early <= late, example.name


def test_before_a_file_is_opened_what_is_built_once_is_built():
    """The schemas of our own kinds take longer to build than an editor may wait."""
    built = document_fields._own
    built.cache_clear()
    prepare(NOW)
    assert built.cache_info().currsize

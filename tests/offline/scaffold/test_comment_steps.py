"""The CI of a new repository, run by a shell: the change is told in one comment, which later runs update.

`gh` and `curl` stand in as scripts that write down how they were called; `sluice` is ours.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.offline.running import invoke
from tests.shared import ROOT
from webhook import documents
from webhook.cli.commands.policies.init import init_command
from webhook.offline.dryrun.comment import MARK

JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}]
---
apiVersion: v1
kind: Namespace
metadata: {name: ml, labels: {sluice.dev/managed: "true"}}
"""
RECORD = """#!/bin/sh
case "$*" in *"$READS"*) printf '%s' "$ANSWER";; *) printf '%s\\n' "$*" >> calls;; esac
"""
GITLAB = {
    "CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "base", "COMMENT_TOKEN": "t", "CI_PROJECT_ID": "3",
    "CI_API_V4_URL": "https://gitlab.example.com/api/v4", "READS": "per_page",
}  # fmt: skip
GITHUB = {
    "GITHUB_BASE_REF": "base", "GITHUB_REPOSITORY": "o/r", "NUMBER": "7", "READS": "--paginate",
    "GITHUB_STEP_SUMMARY": "summary.md",
}  # fmt: skip


@pytest.fixture
def repo(tmp_path, monkeypatch):
    """A repository of `sluice init` with live objects, whose branch refuses what its base allowed."""
    monkeypatch.chdir(tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("gh", "curl"):
        (tools / name).write_text(RECORD)
        (tools / name).chmod(0o755)
    (tools / "sluice").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m webhook.cli.main "$@"\n')
    (tools / "sluice").chmod(0o755)
    (tools / "python").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def branch(ci):
    """Commit the scaffold as `base` (and what GitHub's checkout calls `origin/base`), then break a rule of it."""
    invoke(init_command, "--ci", ci)
    Path("live").mkdir()
    Path("live/objects.yaml").write_text(JOB)
    git("init", "-q", "-b", "base")
    git("add", "-A")
    git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "base")
    git("update-ref", "refs/remotes/origin/base", "HEAD")
    policy = Path("policies/whole-gpus/policy.yaml")
    policy.write_text(policy.read_text().replace("isInteger()", 'isLessThan(quantity("2"))'))


def git(*args):
    subprocess.run([shutil.which("git"), *args], check=True, capture_output=True)


def script(text, **variables):
    """Run a step as CI does, ending at the first failure, and give how `gh` or `curl` were called to write."""
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], env={**os.environ, **variables},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    calls = Path("calls")
    return calls.read_text().splitlines() if calls.exists() else []


@pytest.mark.parametrize(
    ("there", "call"),
    [
        ("", "api --silent -X POST repos/o/r/issues/7/comments -F body=@comment.md"),
        ("41\n42\n", "api --silent -X PATCH repos/o/r/issues/comments/41 -F body=@comment.md"),
    ],
)
def test_github(repo, there, call):
    """A first run writes a comment, a later one updates it; the summary has the same text."""
    branch("github")
    (workflow,) = documents.read(Path(".github/workflows/policies.yaml").read_text())
    change, comment = workflow.value["jobs"]["check"]["steps"][-2:]
    assert script(change["run"], **GITHUB) == []
    assert script(comment["run"], **GITHUB, ANSWER=there) == [call]
    text = Path("comment.md").read_text()
    assert text.startswith(MARK)
    assert "#### Now denied\n" in text
    assert Path("summary.md").read_text() == text


@pytest.mark.parametrize(
    ("there", "call"),
    [
        ("[]", "-o /dev/null NOTES --data-urlencode body@comment.md"),
        (f'[{{"id": 1, "body": "hm"}}, {{"id": 2, "body": "{MARK} x"}}]',
         "-o /dev/null -X PUT NOTES/2 --data-urlencode body@comment.md"),
    ],
)  # fmt: skip
def test_gitlab(repo, there, call):
    """The same in a merge request, by the token of a CI variable."""
    branch("gitlab")
    notes = "https://gitlab.example.com/api/v4/projects/3/merge_requests/7/notes"
    change, comment = steps()
    assert script(change, **GITLAB) == []
    assert script(comment, **GITLAB, ANSWER=there) == [f"-fsS -H PRIVATE-TOKEN: t {call.replace('NOTES', notes)}"]
    assert "#### Now denied\n" in Path("comment.md").read_text()


def test_gitlab_without_a_token_or_a_request(repo):
    """Without the variable the comment is an artifact alone, and outside of a merge request there is none."""
    branch("gitlab")
    change, comment = steps()
    script(change, **{**GITLAB, "CI_MERGE_REQUEST_IID": ""})
    assert not Path("comment.md").exists()
    assert script(comment, **GITLAB, ANSWER="[]") == []
    script(change, **GITLAB)
    assert script(comment, **{**GITLAB, "COMMENT_TOKEN": ""}) == []


def steps():
    (pipeline,) = documents.read(Path(".gitlab-ci.yml").read_text())
    return pipeline.value["policies"]["script"][-2:]


@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_unusable_files_fail(repo, ci):
    """A refusal is for the reviewer, a file that cannot be read is not."""
    branch(ci)
    Path("live/objects.yaml").write_text("kind: [")
    step = steps()[0] if ci == "gitlab" else change_step()
    with pytest.raises(AssertionError, match=r"live/objects\.yaml"):
        script(step, **{**GITLAB, **GITHUB})


def change_step():
    (workflow,) = documents.read(Path(".github/workflows/policies.yaml").read_text())
    return workflow.value["jobs"]["check"]["steps"][-2]["run"]


@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_nothing_to_compare(repo, ci):
    """Objects of the cluster that no policy is about are no failure, and there is no comment to write."""
    branch(ci)
    Path("live/objects.yaml").write_text("apiVersion: v1\nkind: List\nitems: []\n")
    if ci == "gitlab":
        change, comment = steps()
    else:
        (workflow,) = documents.read(Path(".github/workflows/policies.yaml").read_text())
        change, comment = (step["run"] for step in workflow.value["jobs"]["check"]["steps"][-2:])
    assert script(change, **{**GITLAB, **GITHUB}) == []
    assert Path("comment.md").read_text() == ""
    assert script(comment, **{**GITLAB, **GITHUB}) == []

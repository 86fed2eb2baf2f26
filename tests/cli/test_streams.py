"""What programs read: with `-o json` one document is on standard output, everything else on standard error."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import ROOT
from webhook.cli import exits

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: half, namespace: team-a}
spec: {template: {spec: {restartPolicy: Never, containers: [
  {name: a, image: i, resources: {limits: {nvidia.com/gpu: %s}}}]}}}
"""


def sluice(*arguments: str, cwd: Path) -> tuple[int, str, str]:
    """Run the command as a user does."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "webhook.cli.main", *arguments]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A new repository with a job that is fine, one that is not, and a policy that cannot be read."""
    folder = tmp_path_factory.mktemp("repository")
    assert sluice("init", cwd=folder)[0] == exits.PASSED
    (folder / "fine.yaml").write_text(JOB % 1)
    (folder / "half.yaml").write_text(JOB % 0.5)
    (folder / "broken").mkdir()
    (folder / "broken" / "policy.yaml").write_text("kind: [")
    (folder / "empty").mkdir()
    return folder


ROWS = [
    (("test", "-o", "json"), exits.PASSED),
    (("lint", "policies", "-o", "json"), exits.PASSED),
    (("dry-run", "-f", "fine.yaml", "-c", "cluster", "-o", "json"), exits.PASSED),
    (("dry-run", "-f", "half.yaml", "-c", "cluster", "-o", "json"), exits.FAILED),
    (("dry-run", "-f", "half.yaml", "-c", "cluster", "--against", "policies", "-o", "json"), exits.PASSED),
    (("explain", "-f", "half.yaml", "-c", "cluster", "-o", "json"), exits.FAILED),
    (("plan", "-f", "cluster", "-f", "fine.yaml", "-o", "json"), exits.PASSED),
    (("generate", "schema"), exits.PASSED),
    (("test", "broken", "-o", "json"), exits.NOTHING_TO_RUN),
]
WRONG = [
    (("test", "empty"), exits.NOTHING_TO_RUN),
    (("test", "nowhere"), exits.BAD_INPUT),
    (("test", "--jobs", "0"), exits.BAD_INPUT),
    (("dry-run", "-f", "fine.yaml", "-p", "broken", "-o", "json"), exits.BAD_INPUT),
    (("explain", "-f", "nowhere.yaml", "-o", "json"), exits.BAD_INPUT),
    (("replay", "empty"), exits.NOTHING_TO_RUN),
    (("generate", "native", "broken"), exits.BAD_INPUT),
    (("generate", "schema", "--kind", "Nothing"), exits.BAD_INPUT),
]


@pytest.mark.parametrize(("words", "code"), ROWS, ids=lambda v: " ".join(v) if isinstance(v, tuple) else str(v))
def test_standard_output_is_one_document(repository, words, code):
    """The whole of standard output is JSON, and the exit code says how it went."""
    ended, out, err = sluice(*words, cwd=repository)
    assert ended == code, err
    assert json.loads(out)


@pytest.mark.parametrize(("words", "code"), WRONG, ids=lambda v: " ".join(v) if isinstance(v, tuple) else str(v))
def test_what_cannot_be_done_is_told_aside(repository, words, code):
    """Nothing is on standard output, the reason on standard error, and the code is 2 or 3."""
    ended, out, err = sluice(*words, cwd=repository)
    assert (ended, out) == (code, "")
    assert err.strip()


@pytest.mark.parametrize(
    ("words", "pipe"),
    [
        (("lint", "policies"), "stdout"),
        (("test",), "stdout"),
        (("plan", "-f", "cluster", "-f", "fine.yaml"), "stdout"),
        (("generate", "schema"), "stdout"),
        (("run", "--once", "-f", "fine.yaml", "-c", "cluster"), "stdout"),
        (("--help",), "stdout"),
        (("lint", "nowhere", "-o", "github", "--only", "X"), "stderr"),
        (("dry-run", "-f", "nowhere.yaml"), "stderr"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, tuple) else str(v),
)
def test_a_reader_that_has_seen_enough_is_no_failed_check(repository, words, pipe):
    """`sluice lint | head -1` ends with a code of its own, in text and in JSON, on either stream, without a word."""
    command = [sys.executable, "-m", "webhook.cli.main", *words]
    reads, writes = os.pipe()
    os.close(reads)
    other = "stderr" if pipe == "stdout" else "stdout"
    try:
        done = subprocess.run(
            command, cwd=repository, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
            **{pipe: writes, other: subprocess.PIPE},
        )  # fmt: skip
    finally:
        os.close(writes)
    assert (done.returncode, getattr(done, other)) == (exits.CLOSED, b"")


def test_a_terminal_without_a_size_gets_the_whole_text(repository, monkeypatch):
    """`COLUMNS=0` is what some terminals say before they know."""
    monkeypatch.setenv("COLUMNS", "0")
    assert " passed, 0 failed" in sluice("test", cwd=repository)[1]

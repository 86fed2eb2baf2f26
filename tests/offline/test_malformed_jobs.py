"""A job that an API server would refuse is told where it stands, in the words of the linter, before queues decide."""

import json
from pathlib import Path

import pytest

from tests.offline.dryrun.files import NAMESPACE, QUEUES, job, together
from tests.offline.running import invoke
from webhook.cli import exits
from webhook.cli.commands.policies.dry_run import dry_run_command
from webhook.cli.commands.policies.explain import explain_command
from webhook.cli.commands.policies.lint import lint_command
from webhook.cli.commands.policies.test import test as suites_command
from webhook.cli.commands.queues.plan import plan
from webhook.documents import read

DECIDING = {
    "plan": (plan, "-f", "cluster.yaml", "-f"),
    "dry-run": (dry_run_command, "-p", "none", "-c", "cluster.yaml", "-f"),
    "explain": (explain_command, "-p", "none", "-c", "cluster.yaml", "-f"),
}
SUITE = """apiVersion: sluice.dev/v1alpha1
kind: Suite
policies: [none]
namespace: team-a
cluster: [cluster.yaml]
cases: [{name: a, object: job.yaml, expect: {queue: {decision: admitted}}}]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with queues, and no policies."""
    monkeypatch.chdir(tmp_path)
    Path("none").mkdir()
    Path("cluster.yaml").write_text(together(NAMESPACE, QUEUES))


def counting(count: str) -> str:
    """A job of so many pods."""
    return job("train").replace("spec:", f"spec:\n  parallelism: {count}\n  completions: {count}", 1)


PYTORCH = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: gpu}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 1
      template:
        spec: {containers: [{name: pytorch, image: i, resources: {limits: {nvidia.com/gpu: eight}}}]}
"""
WRONG = {
    "a count in quotes": (counting('"64"'), "error[SCH002]: spec.parallelism is a string, expected a whole number"),
    "a count with a fraction": (counting("1.5"), "error[SCH002]: spec.parallelism is the number 1.5, expected a whole"),
    "an amount that is none": (job("train", "eight"), 'error[QUE030]: nvidia.com/gpu is not a valid quantity: "eight"'),
    "a size with a B": (
        job("train").replace("1}", "1}, requests: {memory: 64GB}"),
        'error[QUE030]: memory is not a valid quantity: "64GB"',
    ),
    "an amount in a custom kind": (PYTORCH, 'error[QUE030]: nvidia.com/gpu is not a valid quantity: "eight"'),
}


@pytest.mark.parametrize("command", DECIDING)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_job_that_an_api_server_refuses_is_told(here, wrong, command):
    """Also of JSON, which a plan reads in another way; the linter says the same."""
    text, told = WRONG[wrong]
    Path("job.yaml").write_text(text)
    Path("job.json").write_text(json.dumps(read(text)[0].value))
    for file in ("job.yaml", "job.json"):
        run, *options = DECIDING[command]
        done = invoke(run, *options, file)
        assert (done.exit_code, done.stdout, told in done.stderr) == (exits.BAD_INPUT, "", True)
        assert done.stderr.startswith(f"{file}:")
        assert told in invoke(lint_command, file).stdout


NULLS = {
    "a name": ("- name: a100", "- name: null", "spec.resourceGroups[0].flavors[0].name is null, expected a string"),
    "an item": (
        "[{name: nvidia.com/gpu, nominalQuota: 4}]",
        "[null]",
        "spec.resourceGroups[0].flavors[0].resources[0] is null, expected a map",
    ),
}


@pytest.mark.parametrize("command", [*DECIDING, "lint"])
@pytest.mark.parametrize("null", NULLS)
def test_a_null_that_a_queue_cannot_have_is_told(here, null, command):
    """It became the flavor `None`, or Python's words."""
    before, after, told = NULLS[null]
    Path("cluster.yaml").write_text(together(NAMESPACE, QUEUES.replace(before, after)))
    Path("job.yaml").write_text(job("train"))
    run, *options = {**DECIDING, "lint": (lint_command, "cluster.yaml")}[command]
    done = invoke(run, *options, "job.yaml")
    assert done.exit_code == (exits.FAILED if command == "lint" else exits.BAD_INPUT)
    assert f"error[SCH002]: {told}" in done.stdout + done.stderr


def test_a_field_that_is_missing_is_named(here):
    """Where a queue cannot be read without it."""
    text = QUEUES.replace("{name: nvidia.com/gpu, nominalQuota: 4}", "{nominalQuota: 4}")
    Path("cluster.yaml").write_text(text)
    done = invoke(plan, "-f", "cluster.yaml")
    assert done.exit_code == exits.BAD_INPUT
    assert "14:19: error[SCH002]: spec.resourceGroups[0].flavors[0].resources[0] has no name" in done.stderr


@pytest.mark.parametrize(
    ("before", "after"), [("[{name: pytorch", "[5, {name: pytorch"), ("{limits: {nvidia.com/gpu: eight}}", "[5]")]
)
def test_a_pod_that_cannot_be_made_is_told_in_words(here, before, after):
    """Not in those of Python; of a kind without a schema only its queue finds it out."""
    Path("job.yaml").write_text(PYTORCH.replace(before, after).replace("eight", "8"))
    done = invoke(dry_run_command, "-p", "none", "-c", "cluster.yaml", "-f", "job.yaml")
    assert done.exit_code == exits.FAILED
    assert "queue team-a/gpu: cannot make a pod of this job: a field of its pod template has the wrong" in done.stdout


def test_a_suite_and_a_batch_tell_it_too(here):
    """A queue decides there as well."""
    text, told = WRONG["a count in quotes"]
    Path("job.yaml").write_text(text)
    Path("suite.yaml").write_text(SUITE)
    done = invoke(suites_command)
    assert (done.exit_code, told.partition("]: ")[2] in done.stdout) == (exits.FAILED, True)
    Path("cases.jsonl").write_text(json.dumps({"id": "a", "objects": [read(text)[0].value]}))
    done = invoke(plan, "--batch", "cases.jsonl")
    assert (done.exit_code, told in done.stderr) == (exits.BAD_INPUT, True)


@pytest.mark.parametrize("command", DECIDING)
@pytest.mark.parametrize("file", ["job.yaml", "job.json"])
def test_a_whole_number_with_a_point_is_that_number(here, file, command):
    """As kubectl sends it: these pods are too many."""
    Path(file).write_text(counting("64.0") if file == "job.yaml" else json.dumps(read(counting("64"))[0].value))
    Path(file).write_text(Path(file).read_text().replace(": 64,", ": 64.0,"))
    run, *options = DECIDING[command]
    done = invoke(run, *options, file)
    assert "requests 64" in done.stdout
    assert invoke(lint_command, file).exit_code == exits.PASSED

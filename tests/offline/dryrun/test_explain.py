"""`sluice explain` says which clause decided, on which template, and why other policies say nothing."""

import json
from pathlib import Path

import pytest

from tests.offline.dryrun.files import GPU, NAMESPACE, QUEUES, SUSPEND, job
from tests.offline.running import invoke
from webhook.cli import exits
from webhook.cli.commands.policies.explain import explain_command

FIVE = "appwrappers.workload.codeflare.dev, cronjobs.batch, jobsets.jobset.x-k8s.io, pods, rayclusters.ray.io"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("policies").mkdir()
    Path("policies/gpu.yaml").write_text(GPU)
    Path("policies/suspend.yaml").write_text(SUSPEND)
    Path("ns.yaml").write_text(NAMESPACE)
    return lambda *args, stdin=None: invoke(explain_command, *args, stdin=stdin)


def test_what_decides_and_is_missing_is_named(run):
    """As in `dry-run`: for want of a namespace and a queue the answer is no pass, unless that is accepted."""
    done = run("-f", "-", stdin=job("train"))
    missing = "required objects are missing: Namespace team-a, LocalQueue team-a/gpu; add them with -c FILE"
    assert (done.exit_code, missing in done.stderr) == (exits.BAD_INPUT, True)
    assert run("-f", "-", "--allow-missing", stdin=job("train")).exit_code == exits.PASSED


def test_the_deciding_clause_is_shown_with_its_parts(run):
    """The clause that refused is named with its place, its message, and the value of the part that decided."""
    done = run("-f", "-", "-c", "ns.yaml", "--policy", "gpu", stdin=job("half", 0.5))
    assert done.exit_code == exits.FAILED
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[:2] == ["Job team-a/half: denied",
                         "denied: whole-gpus: spec.template: give GPUs in whole units"]  # fmt: skip
    assert "true      matchConditions[0] not-exempt on spec.template  policies/gpu.yaml:13:36" in lines
    assert "false     validations[0] on spec.template  policies/gpu.yaml:17:17" in lines
    assert "says: give GPUs in whole units" in lines
    assert 'c.resources.limits["nvidia.com/gpu"] = "500m"' in lines


@pytest.mark.parametrize(
    ("args", "policy", "reason"),
    [
        (("--operation", "UPDATE"), "suspend", "it does not match UPDATE; its rules match CREATE"),
        (
            (),
            "suspend",
            'namespaceSelector does not match namespace "team-a" (labels: kubernetes.io/metadata.name=team-a)',
        ),
        ((), "services", "it does not match jobs.batch; its rules match services"),
        ((), "many", "it does not match jobs.batch; its rules match " + FIVE + " and 2 more"),
        ((), "version", "it does not match version v1; its rules match v1beta1"),
        ((), "alone", "it has no binding"),
        ((), "labels", "objectSelector does not match the object's labels"),
        ((), "left-out", "excludeResourceRules exclude jobs"),
        ((), "bound", 'binding bound: namespaceSelector does not match namespace "team-a"'),
    ],
)
def test_why_a_policy_says_nothing(run, args, policy, reason):
    """A policy that is not for the request says what keeps it apart."""
    open_to_all = SUSPEND.replace('    namespaceSelector: {matchLabels: {team: "yes"}}\n', "")
    variants = {
        "services": open_to_all.replace("[batch]", '[""]').replace("[jobs]", "[services]"),
        "many": open_to_all.replace("[batch]", '["", batch, ray.io, jobset.x-k8s.io, workload.codeflare.dev]').replace(
            "[jobs]", "[pods, cronjobs, jobsets, rayclusters, rayjobs, rayservices, appwrappers]"),
        "version": open_to_all.replace("apiVersions: [v1]", "apiVersions: [v1beta1]").replace(
            "  matchConstraints:", "  matchConstraints:\n    matchPolicy: Exact"),
        "alone": open_to_all.split("---")[0],
        "labels": open_to_all.replace("    resource", "    objectSelector: {matchLabels: {a: b}}\n    resource"),
        "left-out": open_to_all.replace(
            "  mutations:", "    excludeResourceRules:\n    - {apiGroups: [batch], apiVersions: [v1], "
            "resources: [jobs], operations: [CREATE]}\n  mutations:"),
        "bound": open_to_all.replace(
            "spec: {policyName: suspend}",
            "spec: {policyName: suspend, matchResources: {namespaceSelector: {matchLabels: {a: b}}}}"),
    }  # fmt: skip
    if policy in variants:
        Path("policies/suspend.yaml").write_text(variants[policy].replace("suspend}", f"{policy}}}").replace(
            "policyName: suspend", f"policyName: {policy}"))  # fmt: skip
    done = run("-f", "-", "--policy", policy, *args, stdin=job("train"))
    assert f"  not evaluated: {reason}" in done.stdout


def test_json_has_every_part(run):
    """The JSON form holds the verdict and the tree of parts with their values."""
    done = run("-f", "-", "-c", "ns.yaml", "-o", "json", stdin=job("half", 0.5))
    (found,) = json.loads(done.stdout)
    suspend, gpus = found["trace"]
    assert (found["state"], suspend["policy"], suspend["clauses"][0]["outcome"]) == ("denied", "suspend", "changed")
    decided = gpus["clauses"][-1]
    assert (decided["clause"], decided["outcome"], decided["parts"]["values"]) == ("validations[0]", "false", ["false"])


@pytest.mark.parametrize(
    ("stdin", "code"),
    [("a: [", exits.BAD_INPUT), ("", exits.NOTHING_TO_RUN), ("a: b", exits.BAD_INPUT), ("kind: Job", exits.BAD_INPUT)],
)
def test_bad_input_is_told(run, stdin, code):
    """What is no object ends with a message and its exit code, never with a traceback."""
    done = run("-f", "-", stdin=stdin)
    assert (done.exit_code, bool(done.stderr), "Traceback" in done.stderr) == (code, True, False)


def test_what_the_gate_refuses_is_refused(run):
    """`explain` asks the same gate as `serve`: a job larger than its queue is not let in."""
    Path("queues.yaml").write_text(QUEUES)
    done = run("-f", "-", "-c", "ns.yaml", "-c", "queues.yaml", stdin=job("large", 16))
    assert done.exit_code == exits.FAILED
    assert "this job can never be admitted: requests 16 nvidia.com/gpu" in done.stdout

"""`sluice dry-run` tells what the server would do, and what other policies would do otherwise."""

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.offline.dryrun.files import GPU, NAMESPACE, QUEUES, SUSPEND, job, together
from tests.offline.running import invoke
from tests.shared import ROOT
from webhook.cli import exits
from webhook.cli.commands.policies.dry_run import dry_run_command


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("policies").mkdir()
    Path("policies/gpu.yaml").write_text(GPU)
    Path("policies/suspend.yaml").write_text(SUSPEND)
    Path("ns.yaml").write_text(NAMESPACE)
    Path("job.yaml").write_text(job("train"))
    Path("half.yaml").write_text(job("half", 0.5))

    def call(*args, stdin=None):
        return invoke(dry_run_command, *args, stdin=stdin)

    return call


def test_text_tells_verdict_change_and_reason(run):
    """A changed object is shown with its diff, a refused one with the message the user would get."""
    done = run("-f", "job.yaml", "-f", "half.yaml", "-c", "ns.yaml")
    assert done.exit_code == exits.FAILED
    assert done.stdout == (
        "Job team-a/train: patched  by suspend\n"
        "  @@ -28,5 +28,5 @@\n"
        "     backoffLimit: 6\n"
        "     completionMode: NonIndexed\n"
        "  -  suspend: false\n"
        "  +  suspend: true\n"
        "     manualSelector: false\n"
        "     podReplacementPolicy: TerminatingOrFailed\n"
        "Job team-a/half: denied\n"
        "  denied: whole-gpus: spec.template: give GPUs in whole units\n"
        "2 objects: 1 denied, 1 patched\n"
    )


def test_json_has_the_patch_and_the_place(run):
    """The JSON form is one document with the patch as the API server would get it."""
    (found,) = json.loads(run("-f", "job.yaml", "-c", "ns.yaml", "-o", "json").stdout)["objects"]
    assert found["patch"] == [{"op": "replace", "path": "/spec/suspend", "value": True}]
    assert (found["state"], found["file"], found["line"]) == ("patched", "job.yaml", 1)


def test_json_says_that_an_object_is_refused(run):
    """`allowed` is there when it is false, too: what a script asks for first."""
    (found,) = json.loads(run("-f", "half.yaml", "-c", "ns.yaml", "-o", "json").stdout)["objects"]
    assert (found["allowed"], found["code"], found["state"]) == (False, 422, "denied")


def test_an_unknown_namespace_is_told(run):
    """Where policies select by namespace and the Namespace is not there, that is said, and labels can be given."""
    done = run("-f", "half.yaml")
    assert (done.exit_code, "assumed to have no labels: team-a" in done.stdout) == (exits.BAD_INPUT, True)
    assert run("-f", "half.yaml", "--namespace-label", "team=yes").exit_code == exits.FAILED


LIMITS = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limits}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [batch], apiVersions: [v1], resources: [jobs], operations: [CREATE]}
  validations: [{expression: "true"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: limits}
spec:
  policyName: limits
  validationActions: [Deny]
  paramRef: {name: max, namespace: team-a, parameterNotFoundAction: Allow}
"""


@pytest.mark.parametrize(
    ("known", "missing"),
    [
        ((), "Namespace team-a, ConfigMap team-a/max, LocalQueue team-a/gpu"),
        (("ns.yaml",), "ConfigMap team-a/max, LocalQueue team-a/gpu"),
        (("ns.yaml", "queues.yaml"), "ConfigMap team-a/max"),
        (("ns.yaml", "queues.yaml", "max.yaml"), ""),
    ],
)
def test_what_decides_and_is_missing_is_named(run, known, missing):
    """`no policy` for want of a namespace, a parameter or a queue is no pass: exit code 2, unless that is accepted."""
    Path("policies/limits.yaml").write_text(LIMITS)
    Path("queues.yaml").write_text(QUEUES)
    Path("max.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: max, namespace: team-a}}")
    context = [word for name in known for word in ("-c", name)]
    done = run("-f", "job.yaml", *context)
    assert done.exit_code == (exits.BAD_INPUT if missing else exits.PASSED)
    assert (f"required objects are missing: {missing}; add them with -c FILE" in done.stderr) == bool(missing)
    assert run("-f", "job.yaml", *context, "--allow-missing").exit_code == exits.PASSED


def test_namespaces_among_the_objects_count(run):
    """A Namespace that is tried itself gives its labels to the others, from standard input as well."""
    done = run("-f", "-", stdin=together(NAMESPACE, job("half", 0.5)))
    assert "Job team-a/half: denied" in done.stdout
    assert done.stdout.endswith("2 objects: 1 denied, 1 no policy\n")


def test_lists_are_unpacked(run):
    """What `kubectl get -o yaml` gives is tried object by object."""
    body = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
        f"- {line}" if first else f"  {line}"
        for text in (job("a"), job("b", 0.5))
        for first, line in zip([True, *[False] * 99], text.splitlines(keepends=True), strict=False)
    )
    done = run("-f", "-", "-c", "ns.yaml", stdin=body)
    assert done.stdout.endswith("2 objects: 1 denied, 1 patched\n")


def test_a_whole_review_is_tried_as_it_is(run):
    """An AdmissionReview is taken with its own operation and user."""
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "namespace": "team-a",
            "object": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "namespace": "team-a"},
                "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "500m"}}}]},
            },
        },
    }
    assert "whole-gpus: give GPUs in whole units" in run("-f", "-", "-c", "ns.yaml", stdin=json.dumps(review)).stdout


def test_operation_decides_what_matches(run):
    """A policy on CREATE says nothing of an update."""
    assert "by whole-gpus\n" in run("-f", "job.yaml", "-c", "ns.yaml", "--operation", "UPDATE").stdout


@pytest.mark.parametrize(
    ("args", "stdin", "code"),
    [
        (("-f", "nowhere.yaml"), None, exits.BAD_INPUT),
        (("-f", "-"), "a: [", exits.BAD_INPUT),
        (("-f", "-"), "just: a map", exits.BAD_INPUT),
        (("-f", "-"), "{apiVersion: 5, kind: Pod}", exits.BAD_INPUT),
        (("-f", "-"), "{apiVersion: v1, kind: Pod, metadata: foo}", exits.BAD_INPUT),
        (("-f", "-"), "", exits.NOTHING_TO_RUN),
        (("-f", "policies"), None, exits.NOTHING_TO_RUN),
        (("-f", "job.yaml", "-p", "nowhere"), None, exits.BAD_INPUT),
        (("-f", "job.yaml", "--against", "no-such-rev"), None, exits.BAD_INPUT),
        (("-f", "job.yaml", "--namespace-label", "x"), None, exits.BAD_INPUT),
    ],
)
def test_bad_input_is_told(run, args, stdin, code):
    """Files that cannot be used end with code 2, nothing to try with 3; each says why."""
    done = run(*args, stdin=stdin)
    assert (done.exit_code, bool(done.stderr)) == (code, True)
    assert "Traceback" not in done.stderr


@pytest.fixture
def branch(run):
    """The policies of `run` in a folder `old`, and changed ones in `policies`: other rules on GPUs and on jobs."""
    shutil.copytree("policies", "old")
    Path("policies/gpu.yaml").write_text(GPU.replace(".isInteger()", ".isInteger() && false"))
    Path("policies/suspend.yaml").write_text(SUSPEND.replace("suspend: true", "backoffLimit: 0"))
    return run


def test_against_a_folder_tells_only_differences(branch):
    """Only what comes out otherwise is shown, the refusals first, with counts in words."""
    Path("plain.yaml").write_text(job("plain", 0).replace("nvidia.com/gpu: 0", "cpu: 1"))
    done = branch("-f", "job.yaml", "-f", "half.yaml", "-f", "plain.yaml", "-c", "ns.yaml", "--against", "old")
    assert done.exit_code == exits.FAILED
    text = done.stdout
    assert "Job team-a/train: now denied\n  + denied: whole-gpus: spec.template: give GPUs in whole units\n" in text
    assert "Job team-a/plain: stored differently\n" in text
    assert "  -  backoffLimit: 6\n" in text
    assert "team-a/half" not in text
    assert "1 of 3 objects would now be denied.\n1 of 3 objects would be stored differently.\n" in text


def test_against_as_markdown_and_json(branch):
    """The same as a comment for a pull request and as JSON."""
    args = ("-f", "job.yaml", "-c", "ns.yaml", "--against", "old", "-o")
    markdown = branch(*args, "markdown").stdout
    assert "- 1 of 1 objects would now be denied.\n" in markdown
    assert "- whole-gpus: spec.template: give GPUs in whole units\n  - Job team-a/train\n" in markdown
    found = json.loads(branch(*args, "json").stdout)
    assert (found["total"], found["summary"]) == (1, {"now denied": 1})
    assert [d["old"]["allowed"] for d in found["differences"]] == [True]


def git(*args: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *args], check=True, capture_output=True
    )


def test_against_a_revision_reads_git(run):
    """The policies of a commit are read from the repository, without touching the checkout."""
    git("init", "-q")
    git("add", "policies")
    git("commit", "-q", "-m", "first")
    Path("policies/gpu.yaml").write_text(GPU.replace(".isInteger()", ".isInteger() && false"))
    done = run("-f", "job.yaml", "-c", "ns.yaml", "--against", "HEAD")
    assert "1 of 1 objects would now be denied." in done.stdout
    assert "&& false" in Path("policies/gpu.yaml").read_text()
    assert (
        "No change for 1 object."
        in run("-f", "job.yaml", "-c", "ns.yaml", "-p", "policies", "--against", "policies").stdout
    )


def test_against_a_revision_reads_the_context_of_that_revision(run):
    """A smaller quota in a file of `-c` is a change as one of a policy is; what git does not keep counts for both."""
    Path("queues.yaml").write_text(QUEUES)
    git("init", "-q")
    git("add", "policies", "queues.yaml")
    git("commit", "-q", "-m", "first")
    against = ("-f", "-", "-c", "queues.yaml", "-c", "ns.yaml", "--against", "HEAD")
    assert "No change for 1 object." in run(*against, stdin=job("large", 4)).stdout
    Path("queues.yaml").write_text(QUEUES.replace("nominalQuota: 4", "nominalQuota: 2"))
    done = run(*against, stdin=job("large", 4))
    assert (done.exit_code, "1 of 1 objects would now be denied" in done.stdout) == (exits.FAILED, True)
    Path("queues.yaml").write_text("kind: [")
    git("commit", "-q", "-a", "-m", "broken")
    Path("queues.yaml").write_text(QUEUES)
    done = run(*against, stdin=job("large", 4))
    assert (done.exit_code, done.stderr[:17]) == (exits.BAD_INPUT, "HEAD:queues.yaml:")


def test_a_comment_says_each_note_once(run, tmp_path):
    """What is noted of both sides stands there once, and no folder of this machine does."""
    git("init", "-q")
    git("add", "policies")
    git("commit", "-q", "-m", "first")
    Path("policies/gpu.yaml").write_text(GPU.replace(".isInteger()", ".isInteger() && false"))
    text = run("-f", "job.yaml", "--against", "HEAD", "-o", "markdown").stdout
    assert text.count("assumed to have no labels: team-a") == 1
    assert not any(folder in text for folder in (tempfile.gettempdir(), str(tmp_path), "sluice-"))


def test_a_bad_old_policy_is_named_by_its_revision(run):
    """A mistake in the policies of a commit is told as `REV:path`, not by a temporary folder."""
    Path("policies/gpu.yaml").write_text(GPU.replace("variables.all.all(", "variables.al.all("))
    git("init", "-q")
    git("add", "policies")
    git("commit", "-q", "-m", "first")
    Path("policies/gpu.yaml").write_text(GPU)
    done = run("-f", "job.yaml", "--against", "HEAD")
    assert (done.exit_code, done.stderr[:27]) == (exits.BAD_INPUT, "HEAD:policies/gpu.yaml:18:1")


def test_policies_themselves_are_not_tried(run):
    """The API server asks nobody about them."""
    done = run("-f", "policies/gpu.yaml")
    why = ": the API server evaluates no policy on policies and bindings"
    said = f"sluice dry-run: no objects to evaluate in these files{why}\n"
    assert (done.exit_code, done.stderr) == (exits.NOTHING_TO_RUN, said)


HOOKS = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: hooks}
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [admissionregistration.k8s.io]
      apiVersions: [v1]
      resources: [validatingwebhookconfigurations, mutatingwebhookconfigurations]
      operations: [CREATE]
  validations:
  - expression: object.webhooks.all(w, w.failurePolicy == 'Ignore' && w.timeoutSeconds <= 10)
    message: a webhook that is away may stop nobody
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: hooks}
spec: {policyName: hooks, validationActions: [Deny]}
"""
HOOK = """apiVersion: admissionregistration.k8s.io/v1
kind: KIND
metadata: {name: ours}
webhooks:
- name: a.example.com
  POLICY
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: "https://hooks.example.com"}
"""


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
def test_webhook_configurations_are_tried(run, kind):
    """The API server's own policies judge them, with their defaults; that it asks no webhook about them is said."""
    Path("policies/hooks.yaml").write_text(HOOKS)
    done = run("-f", "-", stdin=HOOK.replace("KIND", kind).replace("  POLICY\n", ""))
    assert (done.exit_code, "hooks: a webhook that is away may stop nobody" in done.stdout) == (exits.FAILED, True)
    assert f"the API server calls no webhook for {kind} ours; apply these policies to the cluster itself" in done.stdout
    done = run("-f", "-", stdin=HOOK.replace("KIND", kind).replace("POLICY", "failurePolicy: Ignore"))
    assert (done.exit_code, f"the API server calls no webhook for {kind} ours" in done.stdout) == (exits.PASSED, True)


def test_a_pod_that_names_its_node_is_in_no_queue(run):
    """No gate can hold it: it starts at once, takes no quota, and the one behind it is the first in the queue."""
    Path("queues.yaml").write_text(QUEUES)
    pod = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: gpu}}
spec: {NODE containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 4}}}]}
"""
    pods = pod.replace("NAME", "pinned").replace("NODE", "nodeName: gpu-1,")
    pods += f"---{pod.replace('NAME', 'other').replace('NODE', 'schedulingGates: [{name: kueue.x-k8s.io/admission}],')}"
    pods += f"---{pod.replace('NAME', 'free').replace('NODE', '')}"
    text = run("-f", "-", "-c", "queues.yaml", "-v", stdin=pods).stdout
    assert "  queue: bypasses its queue: it sets spec.nodeName, so a scheduling gate cannot hold it\n" in text
    assert "  queue: bypasses its queue: no policy adds the scheduling gate that holds a Pod; " in text


def test_the_queue_is_told(run):
    """Jobs that are let in are put before their queue together: one starts, one waits."""
    Path("queues.yaml").write_text(QUEUES)
    jobs = together(NAMESPACE, job("first", 3), job("second", 2))
    done = run("-f", "-", "-c", "queues.yaml", "-o", "json", stdin=jobs)
    found = {o["name"]: o.get("queue", {}) for o in json.loads(done.stdout)["objects"] if o["kind"] == "Job"}
    assert {name: (q["state"], q["clusterQueue"]) for name, q in found.items()} == {
        "first": ("admitted", "research"),
        "second": ("pending", "research"),
    }
    assert "nvidia.com/gpu" in found["second"]["message"]
    text = run("-f", "-", "-c", "queues.yaml", stdin=jobs).stdout
    assert "  queue: admitted in research\n" in text


def test_jobs_of_one_generated_name_are_as_many(run):
    """Each gets a name of its own, and takes its quota."""
    Path("queues.yaml").write_text(QUEUES)
    one = job("j", 3).replace("name: j", "generateName: j-")
    told = json.loads(
        run("-f", "-", "-c", "queues.yaml", "-c", "ns.yaml", "-o", "json", stdin=together(one, one)).stdout
    )
    assert [(o["name"], o["queue"]["state"]) for o in told["objects"]] == [("j-x", "admitted"), ("j-x2", "pending")]


OLD = """apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: old}
spec:
  cohort: all
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: a, resources: [{name: cpu, nominalQuota: 1, borrowingLimit: 1}]}
"""


@pytest.mark.parametrize(
    ("sent", "state"),
    [
        (OLD, "allowed"),
        (OLD.replace("  cohort: all\n", ""), "denied"),
        (OLD.replace("v1beta1", "v1beta2").replace("cohort", "cohortName"), "allowed"),
    ],
    ids=["old", "old without a cohort", "stored"],
)
def test_an_object_of_an_older_version_is_judged_in_the_stored_one(run, sent, state):
    """As the API server converts it: a borrowing limit needs a cohort, by either name."""
    done = run("-p", str(ROOT / "policies/queue/valid-quotas"), "-f", "-", "-o", "json", "--allow-missing", stdin=sent)
    assert [o["state"] for o in json.loads(done.stdout)["objects"]] == [state]


@pytest.mark.parametrize("gpus", [4, 9])
def test_the_gate_says_what_serve_says(run, gpus):
    """A job that no quota could ever hold is refused, with the numbers; at the quota's size it is let in."""
    Path("queues.yaml").write_text(QUEUES)
    [_, found] = json.loads(
        run("-f", "-", "-c", "queues.yaml", "-o", "json", stdin=together(NAMESPACE, job("j", gpus))).stdout
    )["objects"]
    if gpus == 4:
        assert found["state"] != "denied"
        return
    assert (found["state"], found["code"], found["reason"]) == ("denied", 403, "Forbidden")
    assert found["denials"] == [
        "queue team-a/gpu: this job can never be admitted: requests 9 nvidia.com/gpu of flavor a100, the queue can "
        "use at most 4 (request less, or use another queue)"
    ]


def test_a_job_waits_for_what_an_object_can_mend(run):
    """A LocalQueue that does not exist yet: the job waits for it, and has no position."""
    Path("queues.yaml").write_text(QUEUES)
    lost = job("j", 1).replace("queue-name: gpu", "queue-name: nope")
    told = run("-f", "-", "-c", "queues.yaml", "-c", "ns.yaml", stdin=lost).stdout
    assert '  queue: pending: LocalQueue "nope" does not exist\n' in told
    assert "never" not in told


def test_what_can_never_be_admitted_has_no_position(run):
    """A job that exists is not refused; an update of it is told the same without a place in the queue."""
    Path("queues.yaml").write_text(together(QUEUES, job("j", 9)))
    told = run("-f", "-", "-c", "queues.yaml", "-c", "ns.yaml", "--operation", "UPDATE", stdin=job("j", 9)).stdout
    assert "queue: can never be admitted in research: requests 9 nvidia.com/gpu of flavor a100, the queue can" in told
    assert "position" not in told


def test_running_jobs_of_the_cluster_take_their_quota_at_the_gate(run):
    """What is known has started before; a job that comes is told where it would stand, as at `kubectl apply`."""
    Path("queues.yaml").write_text(together(QUEUES, job("busy", 3)))
    done = run("-f", "-", "-c", "queues.yaml", "-c", "ns.yaml", stdin=job("next", 2))
    assert done.exit_code == exits.PASSED
    assert "  warning: queue team-a/gpu: position 1, requests 2 nvidia.com/gpu, 1 free\n" in done.stdout
    hour = job("busy", 3).replace("labels", 'annotations: {sluice.dev/run-time-seconds: "3600"}, labels', 1)
    Path("queues.yaml").write_text(together(QUEUES, hour))
    done = run("-f", "-", "-c", "queues.yaml", "-c", "ns.yaml", stdin=job("next", 2))
    assert re.search(r"2 nvidia.com/gpu, 1 free; expected start \d{4}-\d\d-\d\dT\d\d:\d\dZ\n", done.stdout)


@pytest.mark.parametrize("seconds", ["9" * 12, "9" * 19, "9" * 5000])
def test_a_run_time_of_one_job_spoils_no_other_jobs_review(run, seconds):
    """Any user may write one: the estimate is far, and the next job is let in."""
    long = job("busy", 3).replace("labels", f'annotations: {{sluice.dev/run-time-seconds: "{seconds}"}}, labels', 1)
    Path("queues.yaml").write_text(together(QUEUES, long))
    done = run("-f", "-", "-c", "queues.yaml", "-c", "ns.yaml", stdin=job("next", 2))
    assert done.exit_code == exits.PASSED
    assert re.search(r"2 nvidia.com/gpu, 1 free; expected start 21\d\d-", done.stdout)

"""The commands for the day, over objects in memory: what they show, what they ask, and what they write."""

import asyncio
import importlib
import json
import signal
import tomllib

import pytest

from tests.offline.running import invoke
from tests.shared import ROOT
from webhook.api.configuration.sections import QueueSettings, ResourceSettings
from webhook.api.conversion.convert import VERSIONED, convert
from webhook.cli import exits
from webhook.cli.commands.cluster.evict import evict
from webhook.cli.commands.cluster.get import get
from webhook.cli.commands.cluster.requeue import requeue
from webhook.cli.commands.cluster.resume import resume
from webhook.cli.commands.cluster.stop import stop
from webhook.cli.commands.cluster.top import top
from webhook.cli.commands.cluster.why import why
from webhook.cli.commands.policies.dry_run import dry_run_command
from webhook.cli.commands.queues.plan import plan
from webhook.cli.live import steering
from webhook.cli.live.session import ask, namespace_of
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LEASE, LOCAL_QUEUE, WORKLOAD
from webhook.documents import read
from webhook.policy.queue_rules.configured import PUBLISHED, Configured, published
from webhook.policy.queue_rules.files import rules_named
from webhook.store.errors import NotFound, Refused
from webhook.store.memory import MemoryStore

OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {sluice.dev/managed: "true"}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100}
spec: {nodeLabels: {gpu: a100}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: gpus}
spec:
  cohortName: all
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: "8"}]}]
status:
  pendingWorkloads: 1
  admittedWorkloads: 1
  conditions: [{type: Active, status: "True"}]
  flavorsReservation: [{name: a100, resources: [{name: nvidia.com/gpu, total: "6"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: team-a}
spec: {clusterQueue: gpus}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata:
  name: job-runs-1
  namespace: team-a
  creationTimestamp: "2026-01-01T00:00:00Z"
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: runs, uid: u1, controller: true}]
spec:
  queueName: lq
  podSets: [{name: main, count: 1, template: {spec: {containers: [
    {name: c, image: i, resources: {requests: {nvidia.com/gpu: "6"}}}]}}}]
status:
  conditions:
  - {type: QuotaReserved, status: "True", reason: QuotaReserved, message: m, lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: Admitted, status: "True", reason: Admitted, message: m, lastTransitionTime: "2026-01-01T00:00:00Z"}
  admission:
    clusterQueue: gpus
    podSetAssignments: [{name: main, count: 1, flavors: {nvidia.com/gpu: a100}, resourceUsage: {nvidia.com/gpu: "6"}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata:
  name: job-waits-1
  namespace: team-a
  creationTimestamp: "2026-01-01T00:00:01Z"
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: waits, uid: u2, controller: true}]
spec:
  queueName: lq
  podSets: [{name: main, count: 1, template: {spec: {containers: [
    {name: c, image: i, resources: {requests: {nvidia.com/gpu: "4"}}}]}}}]
"""


def objects():
    return [document.value for document in read(OBJECTS)]


@pytest.fixture
def store(monkeypatch):
    """A cluster in memory, which the commands reach in the place of the live one."""
    made = MemoryStore()

    async def fill():
        for obj in objects():
            await made.create(obj)

    asyncio.run(fill())
    library = importlib.import_module("webhook.cli.live.connection")
    monkeypatch.setattr(library, "with_store", lambda do, kubeconfig, context: asyncio.run(do(made)))
    return made


def field(store, gvk, name, namespace, key):
    return asyncio.run(store.get(gvk, name, namespace))["spec"].get(key)


def rows(text):
    return [line.split() for line in text.splitlines()]


def test_queues_are_shown_with_what_they_use(store):
    """Quota and use of all flavors together; `wide` names the LocalQueues too."""
    done = invoke(get, "queues")
    assert done.exit_code == exits.PASSED, done.stderr
    assert rows(done.stdout)[1] == ["gpus", "all", "1", "1", "nvidia.com/gpu", "6/8", "Active"]
    assert "team-a/lq" not in done.stdout
    assert "team-a/lq" in invoke(get, "queues", "-o", "wide").stdout


def test_workloads_are_shown_with_their_jobs(store):
    """Of a namespace, or of all; by name; as names for a script."""
    done = invoke(get, "workloads", "-n", "team-a")
    assert [row[:6] for row in rows(done.stdout)[1:]] == [
        ["team-a", "job-runs-1", "Job/runs", "lq", "gpus", "Admitted"],
        ["team-a", "job-waits-1", "Job/waits", "lq", "-", "Pending"],
    ]
    assert invoke(get, "workloads", "-n", "other").stdout == ""
    assert "none found" in invoke(get, "workloads", "-n", "other").stderr
    assert invoke(get, "workloads", "-A", "-o", "name").stdout.split() == [
        "workload.kueue.x-k8s.io/job-runs-1", "workload.kueue.x-k8s.io/job-waits-1",
    ]  # fmt: skip
    one = json.loads(invoke(get, "workloads", "job-runs-1", "-A", "-o", "json").stdout)
    assert [item["metadata"]["name"] for item in one["items"]] == ["job-runs-1"]
    gone = invoke(get, "workloads", "x", "-A")
    assert (gone.exit_code, gone.stderr) == (exits.BAD_INPUT, "sluice get: no workloads named x\n")


def test_a_row_is_a_line_for_a_script(store):
    """However long its message is: `grep` finds all of it."""
    say(store, {"QuotaReserved": ("False", "WaitingForQuota", "one\ntwo " + "long " * 100 + "end")})
    shown = invoke(get, "workloads", "-n", "team-a", "-o", "wide").stdout.splitlines()
    assert len(shown) == 3
    assert "one two long" in shown[2]
    assert shown[2].endswith("long end")
    at = shown[0].index("State")
    assert (shown[1][at:][:8], shown[2][at:][:7]) == ("Admitted", "Pending")


def test_flavors_are_shown_with_what_all_queues_own(store):
    """Used and owned over all queues, and the labels of the nodes."""
    assert rows(invoke(get, "flavors").stdout)[1] == ["a100", "nvidia.com/gpu", "6/8", "gpu=a100"]
    (document,) = read(invoke(get, "flavors", "-o", "yaml").stdout)
    assert document.value["items"][0]["metadata"]["name"] == "a100"


def test_flavors_have_the_quota_of_cohorts(store):
    """The quota of a cohort is used as that of queues is: without it a flavor looked used beyond what there is."""
    quota = [{"name": "a100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "4"}]}]
    for name, spec in (
        ("all", {"resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": quota}]}),
        ("b", None),
    ):
        cohort = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": name}}
        asyncio.run(store.create(cohort if spec is None else {**cohort, "spec": spec}))
    assert rows(invoke(get, "flavors").stdout)[1] == ["a100", "nvidia.com/gpu", "6/12", "gpu=a100"]


SAID = {
    "QuotaReserved": ("False", "WaitingForQuota", "couldn't assign flavors to pod set main: 2 more needed"),
    "sluice.dev/Waiting": ("True", "WaitingForQuota", "requests 4 nvidia.com/gpu of flavor a100, 2 free"),
}


def say(store, said=SAID):
    """Let the Workload that waits say why, as the leader writes it."""
    rows = [{"type": t, "status": s, "reason": r, "message": m} for t, (s, r, m) in said.items()]
    asyncio.run(store.patch(WORKLOAD, "job-waits-1", "team-a", {"status": {"conditions": rows}}, subresource="status"))


def publish(store, names=("kueue",), digest="", queues=None):
    """Let the leader name its rules and settings on its Lease."""
    rules = rules_named(names)
    text = published(Configured(names), digest or rules.digest, queues or QueueSettings())
    metadata = {"name": "sluice", "namespace": "sluice-system", "annotations": {PUBLISHED: text}}
    asyncio.run(store.create({"apiVersion": LEASE.api_version, "kind": "Lease", "metadata": metadata}))


def name_on_lease(store, text):
    """Let the leader name others."""
    asyncio.run(store.patch(LEASE, "sluice", "sluice-system", {"metadata": {"annotations": {PUBLISHED: text}}}))


def forbid(monkeypatch, store, *kinds):
    """Let the API server refuse the lists of some kinds, as it does for want of a right."""
    listed = store.list

    async def refusing(gvk, *rest):
        if gvk.kind in kinds:
            raise Refused(f"{gvk.kind} is forbidden", 403)
        return await listed(gvk, *rest)

    monkeypatch.setattr(store, "list", refusing)


def test_why_says_what_the_workload_says_then_what_must_end_first(store):
    """The conditions as they are stored; position, holder, the clause that decides; the same as JSON."""
    say(store)
    publish(store)
    done = invoke(why, "waits", "-n", "team-a")
    assert (done.exit_code, done.stderr) == (exits.PASSED, "")
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "Job team-a/waits: pending in LocalQueue lq",
        "  QuotaReserved=False  WaitingForQuota: couldn't assign flavors to pod set main: 2 more needed",
        "  sluice.dev/Waiting=True  WaitingForQuota: requests 4 nvidia.com/gpu of flavor a100, 2 free",
    ]
    assert "  position 1 of 1 in ClusterQueue gpus" in lines
    assert "  must end first: Job team-a/runs holds 6 nvidia.com/gpu" in lines
    assert lines[-2].startswith("  decided by: rule kueue, capacity.available (policies/queue/kueue/policy.yaml:")
    assert lines[-1] == "  estimated start: unknown, Job team-a/runs has no run time"
    told = json.loads(invoke(why, "Job/waits", "-n", "team-a", "-o", "json").stdout)
    assert [row["type"] for row in told["conditions"]] == list(SAID)
    assert (told["decision"]["reason"], told["decision"]["position"]) == ("WaitingForQuota", 1)
    assert told["decision"]["shortages"][0]["free"] == "2"
    assert told["decision"]["holders"] == [{"job": "Job team-a/runs", "amount": "6", "resource": "nvidia.com/gpu"}]


def test_control_characters_of_a_message_do_nothing_to_a_terminal(store):
    """A rule may quote what a user wrote into an annotation; the JSON has it as it is."""
    say(store, {"QuotaReserved": ("False", "Denied", "it clears \x1b[2J the screen")})
    assert r"it clears \x1b[2J the screen" in invoke(why, "waits", "-n", "team-a").stdout
    assert r"it clears \x1b[2J the screen" in invoke(get, "workloads", "-n", "team-a", "-o", "wide").stdout
    told = json.loads(invoke(why, "waits", "-n", "team-a", "-o", "json").stdout)
    assert any(row["message"] == "it clears \x1b[2J the screen" for row in told["conditions"])


def test_why_with_few_rights(store, monkeypatch):
    """What may not be listed is named once; without queues the record alone is shown, and that is no failure."""
    say(store)
    forbid(monkeypatch, store, "Namespace", "Job", "PyTorchJob", "LimitRange")
    done = invoke(why, "waits", "-n", "team-a")
    assert (done.exit_code, "position 1 of 1" in done.stdout) == (exits.PASSED, True)
    assert "you may not list Namespace, LimitRange: decided without them; every namespace counts" in done.stderr
    forbid(monkeypatch, store, "ClusterQueue", "Cohort")
    done = invoke(why, "waits", "-n", "team-a")
    assert (done.exit_code, "requests 4 nvidia.com/gpu" in done.stdout) == (exits.PASSED, True)
    assert "position" not in done.stdout
    assert done.stderr == "note: you may not list ClusterQueue, Cohort: only what the Workload says is shown\n"
    planned = invoke(plan, "--live")
    assert (planned.exit_code, planned.stdout) == (exits.BAD_INPUT, "")
    assert "sluice plan: you may not list ClusterQueue, Cohort, without which nothing can be decided" in planned.stderr


def test_the_rules_are_those_in_force(store, monkeypatch, tmp_path):
    """The rules that the leader names; else those of the folder, and that is said; `--rules` goes before both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".sluice.yaml").write_text("queueRules: [fifo]\npolicies: []\n")
    asked = (why, "waits", "-n", "team-a")
    assert "note: the rules in force are not known: Lease sluice-system/sluice does not exist; decided by those of " \
        ".sluice.yaml: fifo" in invoke(*asked).stderr  # fmt: skip
    assert invoke(*asked, "--rules", "kueue").stderr == "note: the settings of the queues in force are not known: " \
        "Lease sluice-system/sluice does not exist; counted by those of .sluice.yaml\n"  # fmt: skip
    publish(store, ("kueue", "backfill"))
    assert invoke(*asked).stderr == ""
    name_on_lease(store, published(Configured(("kueue",)), "sha256:0", QueueSettings()))
    assert "note: the files of the rules kueue differ here from those in force" in invoke(*asked).stderr
    name_on_lease(store, published(Configured(("team-rules",)), "sha256:0", QueueSettings()))
    assert "the rules in force, team-rules, are not all found here; decided by" in invoke(*asked).stderr
    assert invoke(*asked, "--rules", "kueue").stderr == ""
    name_on_lease(store, "{}")
    for more, what in ((), "rules in force"), (("--rules", "kueue"), "settings of the queues in force"):
        done = invoke(*asked, *more)
        assert done.exit_code == exits.PASSED, done.stderr
        assert f"the {what} are not known: Lease sluice-system/sluice: the annotation sluice.dev/rules cannot be " \
            "read: KeyError('names'); " in done.stderr  # fmt: skip


LICENCES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: licensed, namespace: team-a, creationTimestamp: "2026-01-01T00:00:02Z"}
spec:
  queueName: lq
  podSets: [{name: main, count: 1, template: {spec: {containers: [
    {name: c, image: i, resources: {requests: {nvidia.com/gpu: "4", example.com/licence: "1"}}}]}}}]
"""
UNCOUNTED = ResourceSettings(exclude_resource_prefixes=("example.com/",))
UNCOVERED = "example.com/licence"


def asked_of_licensed(*more):
    """Return what `why` and `plan --live` say of the Workload with the licence, and the notes of both."""
    told, planned = invoke(why, "licensed", "-n", "team-a", *more), invoke(plan, "--live", "-o", "json", *more)
    assert (told.exit_code, planned.exit_code) == (exits.PASSED, exits.PASSED)
    (row,) = [row for row in json.loads(planned.stdout)["pending"] if row["workload"] == "team-a/licensed"]
    assert told.stderr == planned.stderr
    return UNCOVERED in told.stdout, UNCOVERED in row["message"], told.stderr


def test_requests_are_counted_as_the_leader_counts_them(store, monkeypatch, tmp_path):
    """By the settings that it names; else by those of the folder, and that is said; a newer leader's are not known."""
    monkeypatch.chdir(tmp_path)
    asyncio.run(store.create(read(LICENCES)[0].value))
    publish(store)
    assert asked_of_licensed() == (True, True, "")
    (tmp_path / ".sluice.yaml").write_text("resources: {excludeResourcePrefixes: [example.com/]}\n")
    assert asked_of_licensed() == (True, True, "")
    assert asked_of_licensed("--rules", "kueue") == (True, True, "")
    annotation = published(Configured(), rules_named().digest, QueueSettings(resources=UNCOUNTED))
    name_on_lease(store, annotation)
    (tmp_path / ".sluice.yaml").write_text("policies: []\n")
    assert asked_of_licensed() == (False, False, "")
    assert asked_of_licensed("--rules", "kueue") == (False, False, "")
    (tmp_path / ".sluice.yaml").write_text("resources: {excludeResourcePrefixes: [example.com/]}\n")
    newer = {"source": "example.com/licence", "newer": 1}
    strategy, part, row = {"quota_check_strategy": "newer"}, {"newer": 1}, {"transformations": [newer]}
    for unknown in (None, {"newer": 1}, *({"resources": inner} for inner in (strategy, part, row))):
        fields = {**json.loads(annotation), "queues": unknown}
        name_on_lease(store, json.dumps({name: value for name, value in fields.items() if value is not None}))
        told = "note: the settings of the queues in force are not known: counted by those of .sluice.yaml\n"
        assert asked_of_licensed() == (False, False, told)


def test_why_of_what_does_not_wait(store):
    """One that runs is told to; one that is not there, or of another kind, ends with 2."""
    done = invoke(why, "runs", "-n", "team-a")
    assert done.stdout.startswith("Job team-a/runs: Admitted\n")
    assert "Admitted=True" in done.stdout
    for asked in (["nothing", "-n", "team-a"], ["waits", "-n", "team-b"], ["PyTorchJob/waits", "-n", "team-a"]):
        done = invoke(why, *asked)
        assert done.exit_code == exits.BAD_INPUT
        assert f'sluice why: no queued job or Workload "{asked[0]}" in namespace {asked[2]}' in done.stderr


@pytest.mark.parametrize(
    ("command", "arguments", "key", "value", "told"),
    [
        (stop, ["gpus"], (CLUSTER_QUEUE, "gpus", None, "stopPolicy"), "Hold",
         "ClusterQueue gpus is stopped; 1 pending Workload cannot be admitted, 1 running continue"),
        (stop, ["gpus", "--drain"], (CLUSTER_QUEUE, "gpus", None, "stopPolicy"), "HoldAndDrain",
         "ClusterQueue gpus is stopped and drained; 1 pending Workload cannot be admitted, 1 running are evicted"),
        (stop, ["lq", "-n", "team-a"], (LOCAL_QUEUE, "lq", "team-a", "stopPolicy"), "Hold",
         "LocalQueue team-a/lq is stopped; 0 pending Workloads cannot be admitted, 0 running continue"),
        (resume, ["gpus"], (CLUSTER_QUEUE, "gpus", None, "stopPolicy"), "None",
         "ClusterQueue gpus is resumed; 1 pending Workload can be admitted"),
        (evict, ["runs", "-n", "team-a"], (WORKLOAD, "job-runs-1", "team-a", "active"), False,
         "Workload team-a/job-runs-1 is evicted and is held until it is requeued"),
        (evict, ["Job/waits", "-n", "team-a"], (WORKLOAD, "job-waits-1", "team-a", "active"), False,
         "Workload team-a/job-waits-1 loses its place in the queue and is held until it is requeued"),
        (requeue, ["job-waits-1", "-n", "team-a"], (WORKLOAD, "job-waits-1", "team-a", "active"), True,
         "Workload team-a/job-waits-1 is pending again"),
    ],
)  # fmt: skip
def test_a_change_is_told_asked_and_written(store, command, arguments, key, value, told):
    """`--dry-run` writes nothing; without `--yes` there is a question, and no is no."""
    before = field(store, *key)
    assert invoke(command, *arguments, "--dry-run").stdout == f"{told} (dry run)\n"
    assert field(store, *key) == before
    refused = invoke(command, *arguments, stdin="n\n")
    assert (refused.exit_code, field(store, *key)) == (exits.FAILED, before)
    assert f"{told}. Continue?" in refused.stderr
    done = invoke(command, *arguments, "--yes")
    assert (done.exit_code, done.stdout) == (exits.PASSED, f"{told}\n")
    assert field(store, *key) == value


def test_a_running_workload_is_requeued_when_it_has_let_go(store, monkeypatch):
    """The job is stopped first, and waits again when its quota is free; where nobody frees it, that is said."""
    seen = []

    async def lets_go(store, change):
        seen.append(field_now(await store.get(change.gvk, change.name, change.namespace)))
        return True

    monkeypatch.setattr(steering, "released", lets_go)
    assert invoke(requeue, "runs", "-n", "team-a", "--yes").exit_code == exits.PASSED
    assert seen == [False]
    assert field(store, WORKLOAD, "job-runs-1", "team-a", "active") is True

    async def keeps(store, change):
        return False

    monkeypatch.setattr(steering, "released", keeps)
    told = "its pods are not gone yet; when they are, run `sluice requeue job-runs-1 -n team-a` again"
    done = invoke(requeue, "runs", "-n", "team-a", "--yes")
    assert (done.exit_code, told in done.stderr) == (exits.BAD_INPUT, True)

    async def is_interrupted(store, change):
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)

    monkeypatch.setattr(steering, "released", is_interrupted)
    assert told in invoke(requeue, "runs", "-n", "team-a", "--yes").stderr


def field_now(workload):
    return workload["spec"].get("active")


def finish(store, name):
    """Let a Workload finish: it keeps the conditions that it had."""
    found = asyncio.run(store.get(WORKLOAD, name, "team-a"))
    rows = [*found.get("status", {}).get("conditions", []), {"type": "Finished", "status": "True", "reason": "x"}]
    asyncio.run(store.patch(WORKLOAD, name, "team-a", {"status": {"conditions": rows}}, subresource="status"))


@pytest.mark.parametrize("command", [evict, requeue], ids=["evict", "requeue"])
@pytest.mark.parametrize("arguments", [["--dry-run"], ["--yes"]], ids=["tried", "done"])
@pytest.mark.parametrize("name", ["runs", "waits"])
def test_what_has_finished_is_left_alone(store, command, arguments, name):
    """What has finished has nothing to give back and waits for nothing: that is said, and nothing is written."""
    finish(store, f"job-{name}-1")
    done = invoke(command, name, "-n", "team-a", *arguments)
    told = f"sluice {command.name}: Workload team-a/job-{name}-1 has finished: it holds no quota and waits for none\n"
    assert (done.exit_code, done.stdout, done.stderr) == (exits.BAD_INPUT, "", told)
    assert field(store, WORKLOAD, f"job-{name}-1", "team-a", "active") is None


def test_a_slice_that_was_replaced_is_not_the_job(store):
    """Of two Workloads of a job that are of one second it is the one that goes on."""
    new = next(obj for obj in objects() if obj["metadata"]["name"] == "job-runs-1")
    new["metadata"] |= {"name": "job-runs-2"}
    asyncio.run(store.create(new))
    finish(store, "job-runs-1")
    assert asyncio.run(steering.workload_of(store, "runs", "team-a"))["metadata"]["name"] == "job-runs-2"


def test_quota_is_waited_for(store):
    """`released` looks until the condition is gone, and no longer than it is told."""

    async def go():
        change = await steering.of_workload(store, "runs", "team-a", active=False)
        looks = []

        async def sleep(seconds):
            looks.append(seconds)
            if len(looks) == 3:
                await store.patch(WORKLOAD, change.name, "team-a", {"status": {"conditions": []}}, subresource="status")

        assert await steering.released(store, change, sleep)
        assert len(looks) == 3
        with pytest.raises(NotFound, match='no queued job or Workload "nothing"'):
            await steering.workload_of(store, "nothing", "team-a")

    asyncio.run(go())


def test_what_is_not_there_is_told(store):
    """A queue that does not exist ends with 2 and its name."""
    done = invoke(stop, "gpu", "--yes")
    assert done.exit_code == exits.BAD_INPUT
    assert "gpu" in done.stderr


def test_top_shows_queues_and_what_waits(store):
    """One look: counts, queues, and the Workloads that do not run."""
    done = invoke(top, "--once")
    assert done.exit_code == exits.PASSED, done.stderr
    assert "1 queues; Workloads: 1 admitted, 1 pending, 0 finished" in done.stdout
    assert "job-waits-1" in done.stdout
    assert "job-runs-1" not in done.stdout


def test_kubectl_finds_it():
    """The same program has the name that kubectl looks for."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["kubectl-sluice"] == scripts["sluice"]


def test_the_namespace_is_the_contexts(tmp_path):
    """As kubectl: of the context that is named, or is current; `default` where it says none."""
    file = tmp_path / "config"
    contexts = [{"name": "a", "context": {"namespace": "team-a"}}, {"name": "b", "context": {}}]
    file.write_text(json.dumps({"contexts": contexts, "current-context": "a", "clusters": [], "users": []}))
    assert namespace_of(file, None) == "team-a"
    assert namespace_of(file, "b") == namespace_of(tmp_path / "none", None) == "default"


def test_top_has_a_row_on_a_line_for_a_script(store):
    """However long its message is, as `get` prints it."""
    say(store, {"QuotaReserved": ("False", "WaitingForQuota", "one\ntwo " + "long " * 100 + "end")})
    *_, header, row = invoke(top, "--once").stdout.splitlines()
    assert header.startswith("Namespace")
    assert "job-waits-1" in row
    assert row.endswith("long end")


@pytest.mark.parametrize(
    "command", [why, evict, requeue, stop, resume, get], ids=["why", "evict", "requeue", "stop", "resume", "get"]
)
def test_an_empty_name_is_refused(store, command):
    """An empty name would be the path of a whole list."""
    done = invoke(command, *(("queues",) if command is get else ()), "")
    assert done.exit_code == exits.BAD_INPUT
    assert "must not be empty" in done.stderr


UNQUEUED = """
apiVersion: v1
kind: Namespace
metadata: {name: outside}
---
apiVersion: batch/v1
kind: Job
metadata: {name: free, namespace: team-a}
spec: {template: {spec: {containers: [{name: c, image: i}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: over, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: lq}}
spec: {template: {spec: {containers: [{name: c, image: i}]}}}
status: {conditions: [{type: Complete, status: "True"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: early, namespace: outside, labels: {kueue.x-k8s.io/queue-name: lq}}
spec: {suspend: true, template: {spec: {containers: [{name: c, image: i}]}}}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: none, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: lq}}
spec: {suspend: true, replicatedJobs: []}
"""


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ("free", "no queue holds Job team-a/free: it names none (label kueue.x-k8s.io/queue-name)"),
        ("job/free", "no queue holds Job team-a/free: it names none (label kueue.x-k8s.io/queue-name)"),
        ("over", "no queue holds Job team-a/over: it has ended"),
        ("none", "no queue holds JobSet team-a/none: it has no pods"),
        ("Pod/free", 'no queued job or Workload "Pod/free" in namespace team-a'),
        ("early", "Sluice is not called for objects in namespaces without the label sluice.dev/managed=true: outside"),
    ],
)  # fmt: skip
def test_why_tells_what_keeps_a_job_out_of_the_queues(store, job, told):
    """The job names no queue, has ended, is not there; or its namespace has not opted in, and nobody looks at it."""
    for document in read(UNQUEUED):
        asyncio.run(store.create(document.value))
    namespace = "outside" if job == "early" else "team-a"
    assert told in invoke(why, job, "-n", namespace).stderr


GROUP = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: lq, kueue.x-k8s.io/managed: "true",
  kueue.x-k8s.io/pod-group-name: GROUP}, annotations: {kueue.x-k8s.io/pod-group-total-count: "2"}}
spec:
  schedulingGates: [{name: kueue.x-k8s.io/admission}]
  containers: [{name: c, image: i, resources: {requests: {nvidia.com/gpu: "4"}}}]
---
"""
OF_GROUP = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: pair, namespace: team-a, creationTimestamp: "2026-01-01T00:00:00Z", ownerReferences: [
  {apiVersion: v1, kind: Pod, name: one, uid: p1}, {apiVersion: v1, kind: Pod, name: two, uid: p2}]}
spec:
  queueName: lq
  podSets: [{name: main, count: 2, template: {spec: {containers: [
    {name: c, image: i, resources: {requests: {nvidia.com/gpu: "4"}}}]}}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: early, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: lq,
  kueue.x-k8s.io/prebuilt-workload-name: later}}
spec: {suspend: true, template: {spec: {containers: [{name: c, image: i}]}}}
"""


def test_a_pod_of_a_group_goes_by_the_workload_of_the_group(store):
    """It was counted beside it, and told to wait for it; one of a group that is not complete waits for its Workload."""
    pods = [GROUP.replace("NAME", name).replace("GROUP", "pair") for name in ("one", "two")]
    alone = GROUP.replace("NAME", "alone").replace("GROUP", "other")
    for document in read("".join(pods) + alone + OF_GROUP):
        asyncio.run(store.create(document.value))
    for name in ("one", "Pod/two", "pair"):
        done = invoke(why, name, "-n", "team-a")
        assert done.stdout.startswith("Workload team-a/pair: pending in LocalQueue lq\n")
        assert "position 1 of 2 in ClusterQueue gpus" in done.stdout
        assert "must end first: Job team-a/runs holds 6" in done.stdout
    assert (
        'no queue holds Pod team-a/alone: it waits for Workload "other"' in invoke(why, "alone", "-n", "team-a").stderr
    )
    assert (
        'no queue holds Job team-a/early: it waits for Workload "later"' in invoke(why, "early", "-n", "team-a").stderr
    )
    done = invoke(evict, "one", "-n", "team-a", "--dry-run")
    assert done.stdout.startswith("Workload team-a/pair loses its place in the queue")
    planned = json.loads(invoke(plan, "--live", "-o", "json").stdout)
    assert [row["workload"] for row in planned["pending"]] == ["team-a/pair", "team-a/job-waits-1"]


def test_a_plan_of_a_cluster_leaves_alone_what_runs_outside_of_the_queues(store):
    """A job that was let in without a queue gets no default one now, and holds no quota."""
    door = next(obj for obj in objects() if obj["kind"] == "LocalQueue")
    asyncio.run(store.create({**door, "metadata": {"name": "default", "namespace": "team-a"}}))
    container = {"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "1"}}}
    runs = {"template": {"spec": {"containers": [container]}}}
    for name, kind, version, spec in (
        ("free", "Job", "batch/v1", runs),
        ("pod", "Pod", "v1", runs["template"]["spec"]),
    ):
        metadata = {"name": name, "namespace": "team-a"}
        asyncio.run(store.create({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}))
    done = invoke(plan, "--live")
    assert "0 admitted, 0 preempted, 1 pending" in done.stdout
    assert "not queued (no queue name): Job team-a/free" in done.stdout


OLDER = "kueue.x-k8s.io/v1beta1"


def test_a_plan_is_of_files_or_of_a_cluster(store, tmp_path):
    """A file beside --live would not be looked at: both together are refused, with the command that takes both."""
    (tmp_path / "job.yaml").write_text("kind: Job")
    done = invoke(plan, "--live", "-f", str(tmp_path / "job.yaml"))
    assert (done.exit_code, "sluice dry-run --live -f FILE" in done.stderr) == (exits.BAD_INPUT, True)


def test_a_dry_run_of_a_cluster_without_jobs_has_nothing_to_run(store):
    """That there are none is no mistake in the options."""
    done = invoke(dry_run_command, "--live", "-p", "sluice.dev/gpu-tolerations")
    assert (done.exit_code, "no jobs or Pods that a policy matches" in done.stderr) == (exits.NOTHING_TO_RUN, True)


def test_an_older_kueue_serves_the_older_version_only(store, monkeypatch):
    """Before 0.15: its objects are shown, explained, imported and changed in `v1beta1`."""
    kinds = {"ClusterQueue", "LocalQueue", "ResourceFlavor", "Cohort", "Workload"}
    scope = store.scope

    async def older(gvk):
        return None if gvk.kind in kinds and gvk.version == "v1beta2" else await scope(gvk)

    def refusing(verb):
        known = getattr(store, verb)

        async def call(gvk, *rest, **more):
            if gvk.kind in kinds and gvk.version == "v1beta2":
                raise NotFound(f"the API server does not serve {gvk}")
            return await known(gvk, *rest, **more)

        return call

    monkeypatch.setattr(store, "scope", older)
    for verb in ("get", "list", "patch"):
        monkeypatch.setattr(store, verb, refusing(verb))
    store._objects.clear()
    for obj in objects():
        asyncio.run(store.create(convert([obj], OLDER)[0] if obj["kind"] in VERSIONED else obj))
    assert rows(invoke(get, "queues").stdout)[1][:2] == ["gpus", "all"]
    assert "must end first: Job team-a/runs holds 6" in invoke(why, "waits", "-n", "team-a").stdout
    assert "1 queues" in invoke(top, "--once").stdout
    for command, arguments in ((stop, ["gpus"]), (resume, ["lq", "-n", "team-a"]), (evict, ["runs", "-n", "team-a"])):
        done = invoke(command, *arguments, "--yes")
        assert done.exit_code == exits.PASSED, done.stderr
    library = importlib.import_module("webhook.cli.live.kueue_setup")
    monkeypatch.setattr(library, "with_store", lambda do, kubeconfig, context: asyncio.run(do(store)))
    assert [d.value["kind"] for d in library.documents(None, None)].count("ClusterQueue") == 1


def test_a_closed_output_is_no_mistake_of_the_cluster(monkeypatch):
    """`sluice top | head -1` prints while it is connected: what ends it is that nobody reads on."""

    def printed(*_):
        raise BrokenPipeError

    monkeypatch.setattr("webhook.cli.live.connection.with_store", printed)
    with pytest.raises(BrokenPipeError):
        ask("top", None, None, None)

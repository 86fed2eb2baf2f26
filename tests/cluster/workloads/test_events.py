"""What is told by Events for Kueue's reasons: to the victim of a preemption, to jobs without a Workload, and others."""

import asyncio

import pytest

from tests.cluster.jobs.test_pod_groups import member
from tests.cluster.jobs.test_train_jobs import train_job
from tests.cluster.small_cluster import JOB, below, job, jobset, queues, small_cluster
from tests.cluster.workloads.test_admission_checks import answer, held
from tests.patience import until
from webhook.cluster.api.event_recorder import EVENT
from webhook.jobs.pod_groups import FAST
from webhook.kube.conditions import find
from webhook.store.errors import Refused
from webhook.store.memory import MemoryStore

WRAPPER = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper"}


async def told(w, name, reason):
    """Wait for an Event about an object, by its name; give type and note."""

    async def found():
        for event in (await w.store.list(EVENT)).items:
            if event["involvedObject"]["name"] == name and event["reason"] == reason:
                return event["type"], event["message"]
        return None

    return await until(found, f"an Event tells {reason} of {name}")


class Refusing(MemoryStore):
    """A store that takes no Workload, as an API server does of more than 18 pod sets."""

    async def create(self, obj, **options):
        if obj["kind"] == "Workload":
            raise Refused("spec.podSets: Too many: 20: must have at most 18 items")
        return await super().create(obj, **options)


@pytest.mark.parametrize("made", [job("big"), member("big", total=1)], ids=["job", "group"])
def test_a_workload_that_is_refused_shows_at_its_job(made):
    """Until then it showed in our log alone."""

    async def go():
        async with small_cluster(*queues("1"), store=Refusing()) as w:
            await w.create(made)
            return await told(w, "big", "ErrWorkloadCompose")

    assert asyncio.run(go()) == ("Warning", "spec.podSets: Too many: 20: must have at most 18 items")


@pytest.mark.parametrize(
    ("made", "note"),
    [
        (jobset("big") | {"spec": {"suspend": True, "replicatedJobs": []}}, "the job has no pods"),
        (train_job("big"), 'ClusterTrainingRuntime "torch" not found, or it has no pods'),
    ],
    ids=["JobSet", "TrainJob"],
)
def test_a_job_without_pods_says_so(made, note):
    """It has no Workload, so nothing else would tell why it stays suspended."""

    async def go():
        async with small_cluster(*queues("1")) as w:
            await w.create(made)
            return await told(w, "big", "ErrWorkloadCompose")

    assert asyncio.run(go()) == ("Warning", note)


def test_a_group_that_is_not_complete_says_so():
    """Once, at its first pod: not again at each pod that comes."""

    async def go():
        async with small_cluster(*queues("1")) as w:
            await w.create(member("a", total=9))
            first = await told(w, "a", "ErrWorkloadCompose")
            for number in range(7):
                await w.create(member(f"b-{number}", total=9))
            await w.create(member("last", group="h", total=2))
            await told(w, "last", "ErrWorkloadCompose")
            events = [e for e in (await w.store.list(EVENT)).items if e["reason"] == "ErrWorkloadCompose"]
            return first, sorted((event["involvedObject"]["name"], event["count"]) for event in events)

    note = "pod group g has fewer than 9 pods that may run"
    assert asyncio.run(go()) == (("Warning", note), [("a", 1), ("last", 1)])


def test_a_victim_is_told_for_whom_it_goes():
    """In the words of its condition."""

    async def go():
        within = {"withinClusterQueue": "LowerPriority"}
        level = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass"}
        level |= {"metadata": {"name": "high"}, "value": 9}
        async with small_cluster(*queues("1", preemption=within), level, seconds=None) as w:
            await w.create(job("low"))
            await w.until_condition("low", "Admitted")
            victim = await w.workload("low")
            high = job("high")
            high["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
            await w.create(high)
            note = await told(w, victim["metadata"]["name"], "Preempted")
            return note, find(await w.workload("low"), "Preempted")["message"]

    (type_, note), message = asyncio.run(go())
    assert (type_, note) == ("Normal", message)
    assert note.startswith("Preempted to accommodate a workload")


def test_a_job_is_told_what_its_checks_say():
    """While one is pending with a message."""

    async def go():
        async with held({"name": "one"}) as w:
            await answer(w, "one", "Pending")
            return await told(w, "a", "UpdatedAdmissionCheck")

    assert asyncio.run(go()) == ("Normal", "one: one says Pending")


def test_a_job_too_deep_below_others_is_told():
    """Kueue follows ten owners as well."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            above = None
            for number in range(12):
                inner = job("last") if number == 11 else {**WRAPPER, "metadata": {"name": f"w-{number + 1}"}}
                metadata = {"name": f"w-{number}", "namespace": "team-a"}
                made = {**WRAPPER, "metadata": metadata, "spec": {"components": [{"template": inner}]}}
                above = (await w.create(made if above is None else below(above, made)))[0]
            await w.create(below(above, job("last")))
            return await told(w, "last", "JobNestingTooDeep")

    assert asyncio.run(go())[0] == "Warning"


def test_a_gate_that_changes_is_told_of():
    """The annotation of a job that waits is that of its Workload."""
    gate = "kueue.x-k8s.io/admission-gated-by"

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            made = job("a")
            made["metadata"]["annotations"] = {gate: "example.com/one"}
            await w.create(made)
            await w.until_waits("a", "AdmissionGated")
            await w.store.patch(JOB, "a", "team-a", {"metadata": {"annotations": {gate: "example.com/two"}}})
            return await told(w, "a", "UpdatedWorkload")

    assert asyncio.run(go()) == ("Normal", 'Updated workload AdmissionGatedBy to "example.com/two"')


def test_pods_that_join_a_workload_are_told_of():
    """The first pod of a group that is admitted fast has the Workload made; the next becomes its owner as well."""

    async def go():
        async with small_cluster(*queues("3")) as w:
            await w.create(member("a", **{FAST: "true"}))
            await told(w, "a", "CreatedWorkload")
            await w.create(member("b", **{FAST: "true"}))
            return await told(w, "g", "OwnerReferencesAdded")

    assert asyncio.run(go()) == ("Normal", "Added 1 owner reference(s)")

"""Jobs that name their Workload; Workloads that are too many; priority classes that are not there; Events of jobs."""

import asyncio

import pytest

from tests.cluster.small_cluster import JOB, job, queues, small_cluster
from webhook.api.configuration.sections import QueueSettings
from webhook.api.job_to_workload import API_VERSION
from webhook.cluster.api.event_recorder import EVENT
from webhook.cluster.api.kinds import WORKLOAD, WORKLOAD_CLASS
from webhook.jobs.read_job import PREBUILT
from webhook.kube.conditions import find, holds
from webhook.store.objects import merge


def prebuilt(name="wl", cpu="1", count=1, **metadata):
    """A Workload that somebody made for a job of one pod."""
    pods = {"name": "main", "count": count, "template": job("x", cpu)["spec"]["template"]}
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "team-a", **metadata},
        "spec": {"queueName": "main", "podSets": [pods]},
    }


def naming(name, workload="wl", **how):
    """A Job that names its Workload by label, or as `how` says."""
    return merge(job(name), {"metadata": how or {"labels": {PREBUILT: workload}}})


async def events(w, name, reason):
    found = (await w.store.list(EVENT)).items
    return [e["message"] for e in found if e["involvedObject"]["name"] == name and e["reason"] == reason]


async def workloads(w):
    return {found["metadata"]["name"]: found for found in (await w.store.list(WORKLOAD)).items}


async def told(w, name, reason):
    async def there():
        return bool(await events(w, name, reason))

    await w.until(there, f"an Event {reason} of {name}")
    return (await events(w, name, reason))[0]


def test_a_job_takes_over_the_workload_that_it_names():
    """The job becomes the Workload's controller, starts and ends with it, and no second Workload is made."""

    async def go():
        async with small_cluster(*queues(), prebuilt()) as w:
            await w.create(naming("a"))
            ended = await w.until_condition("a", "Finished")
            return ended, await workloads(w), await w.job("a"), await told(w, "a", "Started")

    ended, found, ran, started = asyncio.run(go())
    assert list(found) == ["wl"]
    assert ended["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] == ran["metadata"]["uid"]
    assert find(ended, "Finished")["reason"] == "Succeeded"
    assert started == "Admitted by clusterQueue cq"


def test_a_job_waits_for_the_workload_that_it_names():
    """By annotation as well; a job that runs without it is suspended."""

    async def go():
        async with small_cluster(*queues(), seconds=None) as w:
            await w.create(merge(naming("a", annotations={PREBUILT: "later"}), {"spec": {"suspend": False}}))

            async def held():
                return (await w.job("a"))["spec"]["suspend"]

            await w.until(held, "a is suspended")
            before = await workloads(w)
            await w.create(prebuilt("later"))
            await w.until_runs("a")
            return before, await workloads(w)

    before, after = asyncio.run(go())
    assert not before
    assert list(after) == ["later"]


def test_a_workload_of_another_size_is_not_taken():
    """The Workload ends with the reason OutOfSync, and the job stays suspended."""

    async def go():
        async with small_cluster(*queues(), prebuilt(cpu="2"), seconds=None) as w:
            await w.create(naming("a"))
            ended = await w.until_condition("a", "Finished")
            return ended, await w.job("a")

    ended, held = asyncio.run(go())
    assert find(ended, "Finished")["reason"] == "OutOfSync"
    assert held["spec"]["suspend"]


LIMIT = {"metadata": {"labels": {"kueue.x-k8s.io/max-exec-time-seconds": "60"}}}
MINIMUM = {"metadata": {"annotations": {"kueue.x-k8s.io/job-min-parallelism": "1"}}}
IN_PART = {"podSets": [{**prebuilt(count=2)["spec"]["podSets"][0], "minCount": 1}]}
TWO = {"parallelism": 2, "completions": 2}


@pytest.mark.parametrize(
    ("spec", "made"),
    [
        ({}, LIMIT),
        ({"maximumExecutionTimeSeconds": 60}, {}),
        (IN_PART, {"spec": TWO}),
        ({"podSets": prebuilt(count=2)["spec"]["podSets"]}, {"spec": TWO, **MINIMUM}),
    ],
    ids=["the job has a time limit", "the Workload has one", "the Workload may be smaller", "the job may be smaller"],
)
def test_a_workload_on_other_terms_is_not_taken(spec, made):
    """Its job does not start: it would run beyond its time, or with more pods than it gets."""

    async def go():
        async with small_cluster(*queues("1"), merge(prebuilt(), {"spec": spec}), seconds=None) as w:
            await w.create(merge(naming("a"), made))
            return await w.until_condition("a", "Finished"), w.kubelet.starts

    ended, starts = asyncio.run(go())
    assert find(ended, "Finished")["reason"] == "OutOfSync"
    assert starts == []


@pytest.mark.parametrize(
    ("spec", "made"),
    [({"maximumExecutionTimeSeconds": 60}, LIMIT), (IN_PART, {"spec": TWO, **MINIMUM})],
    ids=["a time limit", "a smaller size"],
)
def test_a_workload_on_the_same_terms_is_taken(spec, made):
    """It starts, with as many pods as there is quota for."""

    async def go():
        async with small_cluster(*queues("1"), merge(prebuilt(), {"spec": spec}), seconds=None) as w:
            await w.create(merge(naming("a"), made))
            await w.until_runs("a")
            return (await w.job("a"))["spec"]["parallelism"]

    assert asyncio.run(go()) == 1


RANGE = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "least", "namespace": "team-a"},
    "spec": {"limits": [{"type": "Container", "defaultRequest": {"memory": "1Gi"}}]},
}


def of_two(memory):
    """The queues, with a quota of memory beside that of CPU."""
    made = queues()
    (group,) = made[2]["spec"]["resourceGroups"]
    group["coveredResources"].append("memory")
    group["flavors"][0]["resources"].append({"name": "memory", "nominalQuota": memory})
    return made


@pytest.mark.parametrize("requests", [{}, {"memory": "1Gi"}], ids=["as the Workload", "as a policy completes them"])
def test_what_a_limit_range_adds_is_in_a_workload_that_lacks_it(requests):
    """The queue counts it there, so a job whose template has it is of the same size; so is one without it."""

    async def go():
        async with small_cluster(*of_two("1Gi"), RANGE, prebuilt(), seconds=None) as w:
            made = naming("a")
            made["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] |= requests
            await w.create(made)
            await w.until_runs("a")
            return await workloads(w), w.kubelet.starts

    found, starts = asyncio.run(go())
    (assigned,) = found["wl"]["status"]["admission"]["podSetAssignments"]
    assert assigned["resourceUsage"] == {"cpu": "1", "memory": "1Gi"}
    assert starts == ["a"]


def test_a_job_that_is_given_more_pods_than_its_workload_got_is_started_anew():
    """With those that it got; the Workload, which somebody else made, stays."""

    async def go():
        async with small_cluster(*queues("1"), merge(prebuilt(), {"spec": IN_PART}), seconds=None) as w:
            await w.create(merge(naming("a"), {"spec": TWO, **MINIMUM}))
            await w.until_runs("a")
            before = await workloads(w)
            await w.store.patch(JOB, "a", "team-a", {"spec": {"parallelism": 2}})

            async def again():
                spec = (await w.job("a"))["spec"]
                return (spec["suspend"], spec["parallelism"]) == (False, 1)

            await w.until(again, "a runs with one pod again")
            return before, await workloads(w), await told(w, "a", "Stopped")

    before, after, _ = asyncio.run(go())
    assert after["wl"]["metadata"]["uid"] == before["wl"]["metadata"]["uid"]


def test_a_job_that_outgrows_the_workload_that_it_names_is_stopped():
    """Its Workload ends only then, and its quota is another's: else it would run on without any."""

    async def go():
        async with small_cluster(*queues("2", labels={"pool": "x"}), prebuilt(), seconds=None) as w:
            await w.create(naming("a"))
            await w.until_runs("a")
            await w.store.patch(JOB, "a", "team-a", {"spec": {"parallelism": 2, "completions": 2}})
            ended = await w.until_condition("a", "Finished")
            stopped = await w.job("a")
            await w.create(job("b", "2"))
            await w.until_runs("b")
            return ended, stopped, w.kubelet.peak

    ended, stopped, peak = asyncio.run(go())
    assert find(ended, "Finished")["reason"] == "OutOfSync"
    assert stopped["spec"]["suspend"]
    assert "nodeSelector" not in stopped["spec"]["template"]["spec"]
    assert peak == 2


def test_a_workload_of_another_job_is_left_alone():
    """The second job that names it waits."""

    async def go():
        async with small_cluster(*queues(), prebuilt(), seconds=None) as w:
            await w.create(naming("a"))
            await w.until_runs("a")
            await w.create(naming("b"), job("c"))
            await w.until_runs("c")
            return await workloads(w), await w.job("b")

    found, held = asyncio.run(go())
    assert found["wl"]["metadata"]["ownerReferences"][0]["name"] == "a"
    assert len(found) == 2
    assert held["spec"]["suspend"]


def test_a_job_gets_the_next_workload_of_the_name_that_another_had():
    """Two wait for one; the one that got it is deleted, and it with that; the other gets what is made anew."""

    async def go():
        async with small_cluster(*queues(), seconds=None) as w:
            await w.create(naming("a"), naming("b"))
            await w.create(prebuilt())

            async def one_runs():
                return w.kubelet.starts

            (first,) = await w.until(one_runs, "one of them runs")
            await w.store.delete(JOB, first, "team-a")

            async def away():
                return not await workloads(w)

            await w.until(away, "its Workload is gone")
            await w.create(prebuilt())
            await w.until_runs({"a": "b", "b": "a"}[first])

    asyncio.run(go())


def test_a_second_workload_of_a_job_is_deleted():
    """The job keeps its own, and an Event says what was deleted."""

    async def go():
        async with small_cluster(*queues(), seconds=None) as w:
            await w.create(job("a"))
            await w.until_runs("a")
            own = await w.workload("a")
            await w.create(prebuilt("extra", ownerReferences=own["metadata"]["ownerReferences"]))
            message = await told(w, "a", "DeletedWorkload")
            return own, message, await workloads(w), await w.job("a")

    own, message, found, ran = asyncio.run(go())
    assert message == "Deleted not matching Workload: team-a/extra"
    assert list(found) == [own["metadata"]["name"]]
    assert not ran["spec"]["suspend"]


def test_a_job_that_grew_while_it_ran_is_queued_anew():
    """It is stopped, its Workload is deleted, and the next one has its new size."""

    async def go():
        async with small_cluster(*queues(labels={"pool": "x"}), seconds=None) as w:
            await w.create(job("a"))
            await w.until_runs("a")
            await w.store.patch(JOB, "a", "team-a", {"spec": {"parallelism": 2, "completions": 2}})
            await told(w, "a", "DeletedWorkload")

            async def bigger():
                found = await w.workload("a")
                return found is not None and holds(found, "Admitted") and found["spec"]["podSets"][0]["count"] == 2

            await w.until(bigger, "a is admitted with two pods")
            return await events(w, "a", "Stopped")

    assert asyncio.run(go()) == ["No matching Workload; restoring pod templates according to existent Workload"]


def test_a_job_whose_priority_class_is_missing_waits_for_it():
    """An Event names the class; the Workload comes with the class."""

    async def go():
        async with small_cluster(*queues(), seconds=None) as w:
            await w.create(merge(job("a"), {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}}}))
            message = await told(w, "a", "WorkloadPriorityClassNotFound")
            before = await workloads(w)
            kind = {"apiVersion": API_VERSION, "kind": WORKLOAD_CLASS.kind}
            await w.create({**kind, "metadata": {"name": "high"}, "value": 7})
            await w.until_runs("a")
            return message, before, await w.workload("a")

    message, before, after = asyncio.run(go())
    assert message == 'WorkloadPriorityClass "high" not found'
    assert not before
    assert after["spec"]["priority"] == 7


def test_pods_that_have_ended_give_their_quota_back():
    """The Workload says so while the job runs, and another job gets the quota."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:
            await w.create(job("a", parallelism=2, completions=2))
            await w.until_runs("a")
            await w.create(job("b"))
            await w.until_condition("b", "QuotaReserved", "False")
            await w.store.patch(JOB, "a", "team-a", {"status": {"succeeded": 1}}, subresource="status")
            await w.until_runs("b")
            return await w.workload("a")

    found = asyncio.run(go())
    assert found["status"]["reclaimablePods"] == [{"name": "main", "count": 1}]


def test_the_life_of_a_job_is_told_in_events():
    """Created, started, finished, in Kueue's words."""

    async def go():
        async with small_cluster(*queues()) as w:
            await w.create(job("a"))
            await told(w, "a", "FinishedWorkload")
            return [(e["reason"], e["type"]) for e in (await w.store.list(EVENT)).items]

    reasons = asyncio.run(go())
    assert set(reasons) >= {("CreatedWorkload", "Normal"), ("Started", "Normal"), ("FinishedWorkload", "Normal")}


def test_a_job_that_is_being_deleted_gives_its_quota_back():
    """Once its pods are gone, though another's finalizer holds the job itself."""

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(merge(job("a"), {"metadata": {"finalizers": ["example.com/keep"]}}))
            await w.until_runs("a")
            await w.create(job("b"))
            await w.until_condition("b", "QuotaReserved", "False")
            await w.store.delete(JOB, "a", "team-a")
            await w.until_runs("b")
            return await w.until_condition("a", "Finished")

    assert find(asyncio.run(go()), "Finished")["reason"] == "OwnerNotFound"


def test_a_running_job_whose_pods_were_named_otherwise_goes_on():
    """Its Workload is an older Kueue's, and what somebody said of its pods stays."""

    async def go():
        async with small_cluster(*queues("4"), seconds=None) as w:
            await w.create(job("a"))
            await w.until_runs("a")
            own = await w.workload("a")
            spec = {"spec": {"podSets": [{**own["spec"]["podSets"][0], "name": "other"}]}}
            await w.store.patch(WORKLOAD, own["metadata"]["name"], "team-a", spec)
            await w.create(job("b"))
            await w.until_runs("b")
            return own, await w.workload("a"), await w.job("a")

    own, after, ran = asyncio.run(go())
    assert after["metadata"]["uid"] == own["metadata"]["uid"]
    assert not ran["spec"]["suspend"]


def test_a_job_that_is_started_again_needs_nothing_for_pods_that_have_ended():
    """It is admitted for what is left, keeps its size, and runs."""

    async def go():
        async with small_cluster(*queues("3"), seconds=None) as w:
            await w.create(job("a", parallelism=3, completions=3))
            await w.until_runs("a")
            await w.store.patch(JOB, "a", "team-a", {"status": {"succeeded": 1}}, subresource="status")
            await w.create(job("b"))
            await w.until_runs("b")
            own = await w.workload("a")
            path = own["metadata"]["name"], "team-a"
            await w.store.patch(WORKLOAD, *path, {"spec": {"active": False}})
            await w.until_condition("a", "QuotaReserved", "False")
            await w.store.patch(WORKLOAD, *path, {"spec": {"active": True}})
            again = await w.until_condition("a", "Admitted")
            await w.until_runs("a")
            return again, await w.job("a"), await events(w, "a", "DeletedWorkload")

    again, ran, deleted = asyncio.run(go())
    assert again["status"]["admission"]["podSetAssignments"][0]["resourceUsage"] == {"cpu": "2"}
    assert ran["spec"]["parallelism"] == 3
    assert not deleted


def test_a_job_that_is_admitted_with_fewer_pods_is_not_bigger():
    """It is started once, with what it got, though it asked for more."""

    async def go():
        async with small_cluster(*queues("2"), seconds=None) as w:
            least = {"metadata": {"annotations": {"kueue.x-k8s.io/job-min-parallelism": "1"}}}
            await w.create(merge(job("a", parallelism=5, completions=6), least))
            await w.until_runs("a")
            return await w.job("a"), await events(w, "a", "DeletedWorkload"), w.kubelet.starts

    ran, deleted, starts = asyncio.run(go())
    assert ran["spec"]["parallelism"] == 2
    assert not deleted
    assert starts == ["a"]


def test_an_annotation_that_names_a_workload_counts_unless_its_gate_is_off():
    """With Kueue's gate WorkloadIdentifierAnnotations off, only the label counts: the job gets one of its own."""
    settings = QueueSettings(feature_gates={"WorkloadIdentifierAnnotations": False})

    async def go():
        async with small_cluster(*queues(), seconds=None, settings=settings) as w:
            await w.create(prebuilt(), naming("a", annotations={PREBUILT: "wl"}))
            await w.until_condition("a", "Admitted")
            return await w.workload("a"), await workloads(w)

    own, every = asyncio.run(go())
    assert own["metadata"]["name"] != "wl"
    assert "ownerReferences" not in every["wl"]["metadata"]

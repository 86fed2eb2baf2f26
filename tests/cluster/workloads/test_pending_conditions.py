"""What a Workload without quota says, in Kueue's reasons and messages; one without a job of ours is seen to as well."""

import asyncio

import pytest

from tests.cluster.small_cluster import job, queues, small_cluster
from webhook.api.configuration.sections import QueueSettings, Retention
from webhook.api.pending_message import condition_of
from webhook.cluster.api.finalizers import FINALIZER
from webhook.cluster.api.kinds import LOCAL_QUEUE, WORKLOAD, WORKLOAD_CLASS
from webhook.cluster.workloads import pending_status, reserved_status
from webhook.cluster.workloads.pending_status import Around
from webhook.kube.conditions import find, holds
from webhook.kube.gvk import GroupVersionKind
from webhook.queue.decisions import Pending, PendingPlace, Reason, Shortage
from webhook.store.errors import NotFound
from webhook.store.objects import merge

NOW = "2026-01-01T00:01:00Z"
PAST = "2026-01-01T00:00:00Z"
STOPPED = {"spec": {"stopPolicy": "Hold", "clusterQueue": "cq"}}
LOCAL = {"spec": {"clusterQueue": "cq"}}
TARGET = {"metadata": {"name": "cq"}, "spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}]}}}
EVALUATED = ("PendingEvaluation", "Workload is pending evaluation in the scheduling queue")


def workload(*conditions, queue="main", **status):
    """A Workload with some conditions: (type, status, reason)."""
    rows = [
        {"type": t, "status": s, "reason": r, "message": f"about {r}", "lastTransitionTime": PAST}
        for t, s, r in conditions
    ]
    metadata = {"name": "w", "namespace": "team-a", "generation": 1}
    return {"metadata": metadata, "spec": {"queueName": queue}, "status": {"conditions": rows, **status}}


def told(reason, message="", *shortages, outcome=""):
    return Pending("team-a/w", "cq", PendingPlace.ACTIVE, reason, message, shortages, outcome=outcome)


def lack(asked, free, most, pod_set="main", beside=0, note=""):
    return Shortage(pod_set, "spot", "cpu", asked, free, most, most, note=note, beside=beside)


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        (Around(None), ("Misconfigured", "LocalQueue main doesn't exist")),
        (Around(STOPPED), ("Suspended", "LocalQueue main is inactive")),
        (Around(LOCAL, "cq"), ("Misconfigured", "ClusterQueue cq doesn't exist")),
        (Around(LOCAL, "cq", TARGET, inactive=True), ("Suspended", "ClusterQueue cq is inactive")),
        (Around(LOCAL, "cq", TARGET, pending=told(Reason.BACKOFF)), EVALUATED),
        (Around(LOCAL, "cq", TARGET, pending=told(Reason.BEHIND_HEAD, "blocked")), EVALUATED),
    ],
)
def test_why_there_is_no_quota(around, expected):
    """The first thing in the way is told; Admitted says that nothing is reserved."""
    status = pending_status.status_of(workload(), around, NOW)
    row = find({"status": status}, "QuotaReserved")
    assert (row["status"], row["reason"], row["message"]) == ("False", *expected)
    admitted = find({"status": status}, "Admitted")
    assert (admitted["status"], admitted["reason"], admitted["message"]) == (
        "False",
        "NoReservation",
        "The workload has no reservation",
    )


def test_nothing_is_said_before_a_round_looked():
    """It may start at once: what is written before would be one write too many, and no news."""
    assert (
        find({"status": pending_status.status_of(workload(), Around(LOCAL, "cq", TARGET), NOW)}, "QuotaReserved")
        is None
    )


def test_checks_are_asked_before_there_is_quota():
    """Those that the ClusterQueue asks for on all flavors."""
    status = pending_status.status_of(workload(), Around(LOCAL, "cq", TARGET), NOW)
    assert [(row["name"], row["state"]) for row in status["admissionChecks"]] == [("a", "Pending")]


FULL = "couldn't assign flavors to pod set main: "


@pytest.mark.parametrize(
    ("pending", "expected"),
    [
        (
            told(Reason.WAITING_FOR_QUOTA, "", lack(3000, 2000, 9000)),
            FULL + "insufficient unused quota for cpu in flavor spot, 1 more needed",
        ),
        (
            told(Reason.EXCEEDS_MAX_QUOTA, "", lack(5000, 0, 4000, beside=2000)),
            FULL + "insufficient quota for cpu in flavor spot, previously considered podsets requests (2)"
            " + current podset request (3) > maximum capacity (4)",
        ),
        (
            told(Reason.NO_MATCHING_FLAVOR, "", lack(0, 0, 0, note="flavor spot doesn't match node affinity")),
            FULL + "flavor spot doesn't match node affinity",
        ),
        (
            told(Reason.WAITING_FOR_QUOTA, "", lack(2000, 0, 9000), lack(1500, 0, 9000, "other")),
            FULL + "insufficient unused quota for cpu in flavor spot, 2 more needed; couldn't assign flavors to pod set"
            " other: insufficient unused quota for cpu in flavor spot, 1500m more needed",
        ),
        (
            told(Reason.WAITING_FOR_PREEMPTED, "Pending the preemption of 2 workload(s)", lack(3000, 2000, 9000)),
            FULL + "insufficient unused quota for cpu in flavor spot, 1 more needed."
            " Pending the preemption of 2 workload(s)",
        ),
        (
            told(Reason.WAITING_FOR_QUOTA, "Workload no longer fits", lack(3000, 2000, 9000), outcome="NoLongerFits"),
            "Workload no longer fits",
        ),
    ],
)
def test_the_words_of_a_shortage(pending, expected):
    assert condition_of(pending) == (pending.reason.value, expected)


def test_one_set_inactive_is_evicted_without_back_off():
    """Though it holds nothing; set active again it is queued again."""
    old = workload(requeueState={"count": 2, "requeueAt": "2030-01-01T00:00:00Z"})
    old["spec"]["active"] = False
    status = pending_status.status_of(old, Around(LOCAL, "cq", TARGET), NOW)
    for type_, state in (("QuotaReserved", "False"), ("Evicted", "True")):
        row = find({"status": status}, type_)
        assert (row["status"], row["reason"], row["message"]) == (state, "Deactivated", "The workload is deactivated")
    assert status["requeueState"] is None
    assert status["schedulingStats"]["evictions"] == [{"reason": "Deactivated", "underlyingCause": "", "count": 1}]
    again = pending_status.status_of({**old, "status": status}, Around(LOCAL, "cq", TARGET), NOW)
    assert merge(merge({}, status), again) == merge({}, status), "said once"


@pytest.mark.parametrize(
    ("reason", "around", "at", "said"),
    [
        ("Deactivated", Around(LOCAL), None, ("Reactivated", "The workload was reactivated")),
        ("AdmissionCheck", Around(LOCAL), PAST, ("BackoffFinished", "The workload backoff was finished")),
        ("AdmissionCheck", Around(LOCAL), "2030-01-01T00:00:00Z", None),
        (
            "LocalQueueStopped",
            Around(LOCAL),
            None,
            ("LocalQueueRestarted", "The LocalQueue was restarted after being stopped"),
        ),
        ("LocalQueueStopped", Around(STOPPED), None, None),
        (
            "ClusterQueueStopped",
            Around(LOCAL, "cq", TARGET),
            None,
            ("ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped"),
        ),
        ("ByHand", Around(LOCAL), None, None),
    ],
)
def test_what_puts_one_back_into_its_queue(reason, around, at, said):
    old = workload(("Requeued", "False", reason), requeueState={"count": 1, "requeueAt": at})
    row = find({"status": pending_status.status_of(old, around, NOW)}, "Requeued")
    assert (row["status"] == "True", (row["reason"], row["message"])) == (
        bool(said),
        said or (reason, f"about {reason}"),
    )


@pytest.mark.parametrize(
    ("reason", "at", "over"),
    [
        ("PodsReadyTimeout", PAST, True),
        ("AdmissionCheck", None, True),
        ("PodsReadyTimeout", "2030-01-01T00:00:00Z", False),
        ("Deactivated", PAST, False),
    ],
)
def test_a_back_off_may_end_before_an_evicted_workload_gave_its_quota_back(reason, at, over):
    """What is said of the queue has to wait for that; and nothing is said of a back-off that was not begun."""
    conditions = (("QuotaReserved", "True", "QuotaReserved"), ("Evicted", "True", reason))
    old = workload(*conditions, ("Requeued", "False", reason), requeueState={"count": 2, "requeueAt": at})
    status = pending_status.still_held(old, NOW)
    row = find({"status": status}, "Requeued")
    assert (row["status"], row["reason"]) == (("True", "BackoffFinished") if over else ("False", reason))
    assert status["requeueState"] == {"count": 2, "requeueAt": None if over else at}
    assert find({"status": status}, "QuotaReserved")["status"] == "True"
    unmarked = workload(*conditions, requeueState={"count": 2, "requeueAt": PAST})
    assert pending_status.still_held(unmarked, NOW) == unmarked["status"]


def held(state, **fields):
    return workload(
        ("QuotaReserved", "True", "QuotaReserved"),
        admission={"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "f"}}]},
        admissionChecks=[{"name": "a", "state": state, "message": "", "lastTransitionTime": PAST}],
        **fields,
    )


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        (
            Around(LOCAL, "cq", TARGET),
            ("Admitted", "UnsatisfiedAdmissionChecks", "The workload has not all checks ready"),
        ),
        (Around(STOPPED, "cq", TARGET), ("QuotaReserved", "Suspended", "LocalQueue main is stopped")),
        (Around(None, "cq", TARGET), ("QuotaReserved", "Misconfigured", "LocalQueue main is terminating or missing")),
        (Around(LOCAL, "cq"), ("QuotaReserved", "Misconfigured", "ClusterQueue cq is terminating or missing")),
    ],
)
def test_quota_that_waits_for_checks(around, expected):
    """It goes back where a queue is stopped or gone before the checks answer."""
    type_, reason, message = expected
    row = find({"status": reserved_status.status_of(held("Pending"), around, NOW)}, type_)
    assert (row["status"], row["reason"], row["message"]) == ("False", reason, message)


def test_one_whose_cluster_queue_is_gone_is_admitted_by_its_checks():
    status = reserved_status.status_of(held("Ready"), Around(None, "cq"), NOW)
    assert find({"status": status}, "Admitted")["message"] == "The workload is admitted"


EVENT = GroupVersionKind("", "v1", "Event")


def by_hand(name="w", **metadata):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    head = {"apiVersion": WORKLOAD.api_version, "kind": "Workload"}
    ref = {"kind": "WorkloadPriorityClass", "group": "kueue.x-k8s.io", "name": "p"}
    spec = {"queueName": "main", "podSets": [pods], "priorityClassRef": ref, "priority": 1}
    return {**head, "metadata": {"name": name, "namespace": "team-a", **metadata}, "spec": spec}


def test_a_gate_holds_a_workload_until_it_is_taken_away():
    """Said in the condition and by Events; then it is admitted as any other, and that is told too."""
    gate = {"annotations": {"kueue.x-k8s.io/admission-gated-by": "example.com/one"}}

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(by_hand(**gate))

            async def says(type_, reason):
                found = await w.store.get(WORKLOAD, "w", "team-a")
                return (find(found, type_) or {}).get("reason") == reason

            await w.until(lambda: says("QuotaReserved", "AdmissionGated"), "it is gated")
            found = await w.store.get(WORKLOAD, "w", "team-a")
            await w.store.patch(WORKLOAD, "w", "team-a", {"metadata": {"annotations": None}})
            await w.until(lambda: says("Admitted", "Admitted"), "it is admitted")

            async def reasons():
                return {event["reason"] for event in (await w.store.list(EVENT)).items}

            async def all_told():
                return {"AdmissionGated", "QuotaReserved", "Admitted"} <= await reasons()

            await w.until(all_told, "Events tell of it")
            return find(found, "QuotaReserved")["message"]

    assert asyncio.run(go()) == "Admission is gated by: example.com/one"


def test_a_workload_without_a_job_follows_its_class():
    """The value of its WorkloadPriorityClass is its priority, whether it waits or runs."""
    level = {"apiVersion": WORKLOAD_CLASS.api_version, "kind": "WorkloadPriorityClass", "metadata": {"name": "p"}}

    async def go():
        async with small_cluster(*queues("1"), {**level, "value": 1}, seconds=None) as w:
            await w.create(by_hand("runs"), by_hand("waits"))

            async def runs():
                return holds(await w.store.get(WORKLOAD, "runs", "team-a"), "QuotaReserved")

            await w.until(runs, "the first has its quota")
            await w.store.patch(WORKLOAD_CLASS, "p", None, {"value": 7})

            async def both():
                return {o["spec"]["priority"] for o in (await w.store.list(WORKLOAD)).items} == {7}

            await w.until(both, "both have the new value")
            rows = (await w.store.list(WORKLOAD)).items
            return {o["metadata"]["name"]: (holds(o, "QuotaReserved"), o["spec"]["priorityClassRef"]) for o in rows}

    reference = by_hand()["spec"]["priorityClassRef"]
    assert asyncio.run(go()) == {"runs": (True, reference), "waits": (False, reference)}


def test_the_queue_that_comes_late_is_found():
    """A Workload says that its LocalQueue is missing, and is admitted when it is there."""
    objects = queues("1")

    async def go():
        async with small_cluster(*objects[:-1], seconds=None) as w:
            await w.create(by_hand())

            async def says(type_, reason):
                found = await w.store.get(WORKLOAD, "w", "team-a")
                return (find(found, type_) or {}).get("reason") == reason

            await w.until(lambda: says("QuotaReserved", "Misconfigured"), "its queue is missing")
            await w.create(objects[-1])
            await w.until(lambda: says("Admitted", "Admitted"), "it is admitted")
            with pytest.raises(NotFound):
                await w.store.get(LOCAL_QUEUE, "other", "team-a")

    asyncio.run(go())


def test_a_finished_workload_is_kept_for_a_time():
    """It is deleted, finalizer or not, and that is told; one that has not ended stays."""

    async def go():
        settings = QueueSettings(retention=Retention(after_finished=200))
        async with small_cluster(*queues("9"), seconds=None, settings=settings) as w:
            await w.create(by_hand("ended", finalizers=[FINALIZER]), by_hand("runs"))
            finished = {"type": "Finished", "status": "True", "reason": "Succeeded", "lastTransitionTime": w.stamp()}
            await w.store.patch(
                WORKLOAD, "ended", "team-a", {"status": {"conditions": [finished]}}, subresource="status"
            )

            async def deleted():
                return [o["metadata"]["name"] for o in (await w.store.list(WORKLOAD)).items] == ["runs"]

            await w.until(deleted, "only what runs is left")

            async def told():
                rows = (await w.store.list(EVENT)).items
                return [event["involvedObject"]["name"] for event in rows if event["reason"] == "Deleted"]

            await w.until(told, "an Event tells of it")
            return await told()

    assert asyncio.run(go()) == ["ended"]


def test_one_whose_cluster_queue_is_gone_ends_in_time():
    """Its maximum execution time counts though no queue looks after it; rounds of decisions go on."""
    admission = {"clusterQueue": "gone", "podSetAssignments": [{"name": "main", "count": 1}]}

    async def go():
        async with small_cluster(*queues("9"), seconds=None) as w:
            made = by_hand()
            made["spec"] |= {"maximumExecutionTimeSeconds": 1, "queueName": "none"}
            await w.create(made)
            rows = [
                {"type": t, "status": "True", "reason": t, "lastTransitionTime": w.stamp()} for t in ("QuotaReserved",)
            ]
            status = {"conditions": rows, "admission": admission}
            await w.store.patch(WORKLOAD, "w", "team-a", {"status": status}, subresource="status")

            async def says(type_, reason):
                found = await w.store.get(WORKLOAD, "w", "team-a")
                return (find(found, type_) or {}).get("reason") == reason

            await w.until(lambda: says("Admitted", "Admitted"), "it has no checks: it is admitted")
            await w.until(lambda: says("Evicted", "DeactivatedDueToMaximumExecutionTimeExceeded"), "its time is over")
            await w.until(lambda: says("QuotaReserved", "Deactivated"), "no job is to be stopped: its quota is free")
            return await w.store.get(WORKLOAD, "w", "team-a")

    found = asyncio.run(go())
    assert found["spec"]["active"] is False
    told = "The workload is deactivated due to exceeding the maximum execution time"
    assert find(found, "Evicted")["message"] == told


def test_one_that_cannot_be_read_stops_nobody(caplog):
    """Without a schema a status may hold anything; the others are seen to."""
    broken = {**by_hand("broken"), "status": {"conditions": [{"status": "False"}]}}

    async def go():
        async with small_cluster(*queues("9"), seconds=None) as w:
            await w.create(broken)
            await asyncio.sleep(1)
            await w.create(by_hand("later"))

            async def admitted():
                return bool(find(await w.store.get(WORKLOAD, "later", "team-a"), "Admitted"))

            await w.until(admitted, "another one is admitted")

    asyncio.run(go())
    assert "the controller restarts" not in caplog.text


def test_what_has_finished_waits_no_more():
    """A job that fails while it is pending: `why` and a watch on the condition were told that it still waits."""

    async def go():
        async with small_cluster(*queues("2")) as w:
            await w.create(job("big", "9"))
            await w.until_waits("big", "ExceedsMaxQuota")
            assert holds(await w.workload("big"), "sluice.dev/Waiting")
            await w.kubelet.status("team-a", "big", conditions=[{"type": "Failed", "status": "True", "message": "m"}])
            return await w.until_condition("big", "Finished")

    assert find(asyncio.run(go()), "sluice.dev/Waiting") is None

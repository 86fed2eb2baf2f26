"""Two-phase admission: quota first, then checks; their answers start, put back or end a job, and reach its pods."""

import asyncio
import logging
from contextlib import asynccontextmanager

import pytest

from tests.cluster.small_cluster import job, queues, small_cluster
from tests.patience import until
from webhook.cluster.api.kinds import ADMISSION_CHECK, CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD
from webhook.cluster.workloads import admission_checks
from webhook.cluster.workloads.conditions import checked as checked_status
from webhook.kube.conditions import find, holds
from webhook.store.objects import copy_json, key_of, merge

V2 = "kueue.x-k8s.io/v1beta2"
NOW = "2026-01-01T00:00:00Z"


def check(name):
    return {
        "apiVersion": V2,
        "kind": "AdmissionCheck",
        "metadata": {"name": name},
        "spec": {"controllerName": "example.com/checks"},
        "status": {"conditions": [{"type": "Active", "status": "True"}]},
    }


def checked(*uses, cpu="1", **spec):
    """Queues whose ClusterQueue asks for checks, with the checks."""
    strategy = {"admissionChecks": list(uses)}
    return [*queues(cpu, admissionChecksStrategy=strategy, **spec), *(check(use["name"]) for use in uses)]


@asynccontextmanager
async def held(*uses, **options):
    """A cluster in which job `a` has its quota, and waits for its checks."""
    async with small_cluster(*checked(*uses, **options), seconds=None) as w:
        await w.create(job("a"))
        await w.until_condition("a", "QuotaReserved")
        yield w


async def answer(w, name, state, job_name="a", **fields):
    """Answer a check as its controller does: a write to the Workload's status."""
    found = await w.workload(job_name)
    states = copy_json(found["status"]["admissionChecks"])
    for row in states:
        if row["name"] == name:
            row.update(state=state, message=f"{name} says {state}", lastTransitionTime=w.stamp(), **fields)
    patch = {"status": {"admissionChecks": states}}
    await w.store.patch(WORKLOAD, found["metadata"]["name"], "team-a", patch, subresource="status")


def states_of(workload):
    return {row["name"]: row["state"] for row in workload["status"].get("admissionChecks") or []}


def test_the_log_tells_quota_from_an_admission(caplog):
    """Of a queue with a check, the first line says that quota is reserved, the second that the job is admitted."""

    async def go():
        async with held({"name": "one"}) as w:
            await answer(w, "one", "Ready")
            await w.until_runs("a")
            return "/".join(key_of(await w.workload("a")))

    with caplog.at_level(logging.INFO, logger="webhook.cluster.decision_writer"):
        key = asyncio.run(go())
    assert caplog.messages == [f"{key} quota reserved in cq", f"{key} admitted in cq: its checks are ready"]


def test_a_job_starts_when_its_last_check_is_ready():
    """Quota is reserved, each check is asked with a Pending entry, and Admitted comes with the last answer."""

    async def go():
        async with held({"name": "one"}, {"name": "two"}) as w:
            waiting, stopped = await w.workload("a"), await w.job("a")
            await answer(w, "one", "Ready")
            await asyncio.sleep(0.2)
            half = await w.workload("a")
            await answer(w, "two", "Ready")
            await w.until_runs("a")
            return waiting, stopped, half, await w.workload("a")

    waiting, stopped, half, done = asyncio.run(go())
    assert states_of(waiting) == {"one": "Pending", "two": "Pending"}
    assert all(row["lastTransitionTime"] and "message" in row for row in waiting["status"]["admissionChecks"])
    assert stopped["spec"]["suspend"] is True
    assert not holds(half, "Admitted")
    assert holds(done, "Admitted")
    assert find(done, "Admitted")["message"] == "The workload is admitted"


def test_only_the_checks_of_the_flavor_are_asked():
    """A check for another flavor has no entry, and is not waited for."""

    async def go():
        async with held({"name": "here", "onFlavors": ["f"]}, {"name": "there", "onFlavors": ["g"]}) as w:
            asked = states_of(await w.workload("a"))
            await answer(w, "here", "Ready")
            await w.until_condition("a", "Admitted")
            return asked

    assert asyncio.run(go()) == {"here": "Pending"}


def test_a_check_for_every_flavor_is_known_before_admission():
    """`onFlavors` that names all flavors of the queue is as none; pods without a flavor need no check at all."""
    uses = [{"name": "all", "onFlavors": ["f"]}, {"name": "some", "onFlavors": ["g"]}, {"name": "plain"}]
    (queue,) = (o for o in checked(*uses) if o["kind"] == "ClusterQueue")
    assert admission_checks.always(queue) == ["all", "plain"]
    assert admission_checks.asked(queue, {"podSetAssignments": [{"name": "main", "flavors": {}}]}) == []


def test_a_check_that_nobody_answers_for_reserves_no_quota():
    """Its controller has not said `Active` yet: the ClusterQueue says so, and its jobs wait without quota."""

    async def go():
        *objects, fresh = checked({"name": "one"})
        async with small_cluster(*objects, {**fresh, "status": {}}, seconds=None) as w:
            await w.create(job("a"))
            await w.until_condition("a", "QuotaReserved", "False")
            closed = await w.store.get(CLUSTER_QUEUE, "cq")
            said = find(await w.workload("a"), "QuotaReserved")
            await w.store.patch(ADMISSION_CHECK, "one", None, {"status": fresh["status"]}, subresource="status")
            await w.until_condition("a", "QuotaReserved")
            return closed, said

    closed, said = asyncio.run(go())
    assert find(closed, "Active")["reason"] == "AdmissionCheckInactive"
    assert said["message"] == "ClusterQueue cq is inactive"


def test_a_check_that_the_queue_gets_later_is_asked_too():
    """An edit of the ClusterQueue adds and removes entries of what holds quota and is not admitted."""

    async def go():
        async with held({"name": "one"}, {"name": "two"}) as w:
            strategy = {"admissionChecks": [{"name": "two"}]}
            await w.store.patch(CLUSTER_QUEUE, "cq", None, {"spec": {"admissionChecksStrategy": strategy}})

            async def one_is_gone():
                return states_of(await w.workload("a")) == {"two": "Pending"}

            await w.until(one_is_gone, "the entry of the check that is not asked any more is gone")
            await answer(w, "two", "Ready")
            return states_of(await w.until_condition("a", "Admitted"))

    assert asyncio.run(go()) == {"two": "Ready"}


def test_what_is_admitted_follows_the_checks_of_its_queue():
    """It stays admitted while a new check is Pending; only a check that is still required evicts it (Kueue's sync)."""

    async def go():
        async with held({"name": "old"}) as w:
            await w.create(check("new"), check("other"))
            await answer(w, "old", "Ready")
            await w.until_runs("a")
            await requires(w, "old", "new")
            more = await until_states(w, {"old": "Ready", "new": "Pending"})
            await answer(w, "new", "Ready")
            await requires(w, "new", "other")
            await until_states(w, {"new": "Ready", "other": "Pending"})
            runs = await w.job("a")
            await answer(w, "other", "Retry", requeueAfterSeconds=600)
            return more, runs, await w.until_condition("a", "Evicted")

    more, runs, evicted = asyncio.run(go())
    assert holds(more, "Admitted")
    assert runs["spec"]["suspend"] is False
    assert find(evicted, "Evicted")["reason"] == "AdmissionCheck"


def test_the_order_of_entries_is_their_writers():
    """Nothing is written where a check's controller sorts them otherwise, as in Kueue."""
    (queue,) = (o for o in checked({"name": "one"}, {"name": "two"}) if o["kind"] == "ClusterQueue")
    admission = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "f"}}]}
    status = {"admission": admission, "admissionChecks": [{"name": "two"}, {"name": "one"}]}
    assert checked_status({"status": status}, queue, NOW) == status


async def requires(w, *names):
    """Set the checks of the ClusterQueue."""
    strategy = {"admissionChecks": [{"name": name} for name in names]}
    await w.store.patch(CLUSTER_QUEUE, "cq", None, {"spec": {"admissionChecksStrategy": strategy}})


async def until_states(w, wanted):
    """The Workload of `a`, as soon as its checks are in these states."""

    async def there():
        found = await w.workload("a")
        return found if states_of(found) == wanted else None

    return await until(there, f"the checks are {wanted}")


def test_retry_gives_the_quota_back_and_asks_again():
    """Evicted with the reason, every check Pending again with a count; another job takes the quota meanwhile."""

    async def go():
        async with held({"name": "one"}, {"name": "two"}) as w:
            await w.create(job("b"))
            await answer(w, "two", "Ready")
            await answer(w, "one", "Retry", requeueAfterSeconds=600)
            evicted = await w.until_condition("a", "Evicted")
            await w.until_condition("b", "QuotaReserved")
            return evicted, await w.until_condition("a", "Requeued", "False")

    evicted, waiting = asyncio.run(go())
    reason = find(evicted, "Evicted")
    assert reason["reason"] == "AdmissionCheck"
    assert reason["message"] == 'Evicted due to AdmissionCheck in Retry state: "one" (one says Retry)'
    assert states_of(evicted) == {"one": "Pending", "two": "Pending"}
    one = next(row for row in evicted["status"]["admissionChecks"] if row["name"] == "one")
    assert (one["retryCount"], one["message"]) == (1, "Reset to Pending after eviction. Previously: Retry")
    assert evicted["status"]["requeueState"]["requeueAt"] > find(evicted, "Evicted")["lastTransitionTime"]
    assert not holds(waiting, "QuotaReserved")
    assert find(waiting, "Requeued")["reason"] == "AdmissionCheck"


def test_after_the_back_off_it_is_tried_again():
    """Without a time the check may be asked again at once; Requeued says that the back-off is over."""

    async def go():
        async with held({"name": "one"}) as w:
            await answer(w, "one", "Retry")
            again = await w.until_condition("a", "Evicted", "False")
            await answer(w, "one", "Ready")
            await w.until_runs("a")
            return again

    again = asyncio.run(go())
    assert states_of(again) == {"one": "Pending"}
    assert holds(again, "QuotaReserved")


def test_rejected_deactivates_the_workload():
    """spec.active is false, the eviction names the check, and the job stays where it is until it is set active."""

    async def go():
        async with held({"name": "one"}) as w:
            await answer(w, "one", "Rejected")
            await w.until_condition("a", "Requeued", "False")
            rejected = await w.workload("a")
            await asyncio.sleep(0.3)
            still = await w.workload("a")
            name = rejected["metadata"]["name"]
            await w.store.patch(WORKLOAD, name, "team-a", {"spec": {"active": True}})
            await w.until_condition("a", "QuotaReserved")
            return rejected, still

    rejected, still = asyncio.run(go())
    assert rejected["spec"]["active"] is False
    evicted = find(rejected, "Evicted")
    assert evicted["reason"] == "DeactivatedDueToAdmissionCheck"
    assert evicted["message"] == (
        'The workload is deactivated due to AdmissionCheck in Rejected state: "one" (one says Rejected)'
    )
    assert states_of(rejected) == {"one": "Pending"}
    assert find(rejected, "DeactivationTarget") is None
    assert not holds(still, "QuotaReserved")


UPDATE = {
    "name": "main",
    "labels": {"zone": "a"},
    "annotations": {"capacity": "c-1"},
    "nodeSelector": {"reservation": "r-1"},
    "tolerations": [{"key": "reserved", "operator": "Exists"}],
}


def test_updates_of_a_check_reach_the_pods_and_are_taken_back():
    """Labels, annotations, node selector and tolerations stand in the template while it runs, and not after."""
    other = {"apiVersion": V2, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 9}

    async def go():
        options = {"labels": {"pool": "a100"}, "preemption": {"withinClusterQueue": "LowerPriority"}}
        async with held({"name": "one"}, **options) as w:
            before = (await w.job("a"))["spec"]["template"]
            await answer(w, "one", "Ready", podSetUpdates=[UPDATE])
            await w.until_runs("a")
            running = (await w.job("a"))["spec"]["template"]
            await w.create(other, merge(job("b"), {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}}}))
            await w.until_condition("b", "QuotaReserved")
            return before, running, (await w.job("a"))["spec"]["template"]

    before, running, after = asyncio.run(go())
    assert {"zone": "a"}.items() <= running["metadata"]["labels"].items()
    assert {"capacity": "c-1"}.items() <= running["metadata"]["annotations"].items()
    assert running["spec"]["nodeSelector"] == {"pool": "a100", "reservation": "r-1"}
    assert running["spec"]["tolerations"] == [{"key": "reserved", "operator": "Exists"}]
    assert {k: v for k, v in after["spec"].items() if v} == before["spec"]
    assert not after.get("metadata")


@pytest.mark.parametrize(
    ("kind", "name", "namespace"),
    [(CLUSTER_QUEUE, "cq", None), (LOCAL_QUEUE, "main", "team-a")],
    ids=["cluster", "local"],
)
@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_quota_that_waits_for_checks_goes_back_when_its_queue_stops(kind, name, namespace, policy):
    """No job runs, so nothing is evicted: the reservation ends, as in Kueue, and no eviction is counted."""

    async def go():
        async with held({"name": "one"}) as w:
            await w.store.patch(kind, name, namespace, {"spec": {"stopPolicy": policy}})
            return await w.until_condition("a", "QuotaReserved", "False")

    found = asyncio.run(go())
    assert find(found, "QuotaReserved")["reason"] == "Suspended"
    assert find(found, "Evicted") is None
    assert not found["status"].get("schedulingStats")


@pytest.mark.parametrize("field", ["nodeSelector", "labels", "annotations"])
def test_an_update_that_contradicts_the_flavor_or_the_job_ends_the_workload(field):
    """There is no point in trying again: Finished with FailedToStart, the job stays suspended, its quota is free."""
    clash = {"name": "main", field: {"pool": "other"}}

    async def go():
        async with small_cluster(*checked({"name": "one"}, labels={"pool": "a100"}), seconds=None) as w:
            template = {"metadata": {"labels": {"pool": "mine"}, "annotations": {"pool": "mine"}}}
            await w.create(merge(job("a"), {"spec": {"template": template}}), job("b"))
            await w.until_condition("a", "QuotaReserved")
            await answer(w, "one", "Ready", podSetUpdates=[clash])
            ended = await w.until_condition("a", "Finished")
            await w.until_condition("b", "QuotaReserved")
            return ended, await w.job("a")

    ended, stopped = asyncio.run(go())
    assert find(ended, "Finished")["reason"] == "FailedToStart"
    assert f"check one changes {field} pool" in find(ended, "Finished")["message"]
    assert stopped["spec"]["suspend"] is True


def test_entries_are_brought_to_what_is_wanted():
    """Pending ones are added, others taken away, answers kept; nothing is said where nothing changes."""
    ready = {"name": "b", "state": "Ready", "message": "", "lastTransitionTime": NOW}
    gone = {"name": "z", "state": "Pending", "message": "", "lastTransitionTime": NOW}
    found = admission_checks.synced([ready, gone], ["b", "a"], NOW)
    assert [(row["name"], row["state"]) for row in found] == [("a", "Pending"), ("b", "Ready")]
    assert admission_checks.synced(found, ["a", "b"], "later") == found


def test_the_latest_retry_counts():
    """Of several checks that want another try, the last to allow it decides; others have no say."""
    rows = [
        {"name": "a", "state": "Retry", "lastTransitionTime": NOW, "requeueAfterSeconds": 60},
        {"name": "b", "state": "Retry", "lastTransitionTime": NOW, "requeueAfterSeconds": 90},
        {"name": "c", "state": "Pending", "lastTransitionTime": NOW, "requeueAfterSeconds": 900},
    ]
    assert admission_checks.retry_at(rows) == "2026-01-01T00:01:30Z"
    assert admission_checks.retry_at(rows[2:]) == ""


@pytest.mark.parametrize("seconds", ["60", "soon", -1, 1.5, True, 2**40, [60]])
def test_a_retry_after_no_number_of_seconds_is_one_at_once(seconds):
    """An API server with the CRDs refuses it; where it gets in, the controller goes on."""
    row = {"name": "a", "state": "Retry", "lastTransitionTime": NOW, "requeueAfterSeconds": seconds, "retryCount": "x"}
    assert admission_checks.retry_at([row]) == NOW
    (again,) = admission_checks.reset([row], NOW)
    assert (again["state"], again["retryCount"]) == ("Pending", 1)


@pytest.mark.parametrize(("state", "count"), [("Retry", 2), ("Pending", 1), ("Ready", None), ("Rejected", 1)], ids=str)
def test_how_often_it_was_tried_is_forgotten_after_a_success(state, count):
    """The entry is Pending again. After a success a later failure is the first one; a refusal keeps the count."""
    row = {"name": "a", "state": state, "lastTransitionTime": NOW, "retryCount": 1}
    (again,) = admission_checks.reset([row], NOW)
    assert (again["state"], again.get("retryCount")) == ("Pending", count)


def test_a_time_to_wait_for_is_never_written_earlier_than_it_is():
    """The API has whole seconds: a back-off of one second was over in a moment where it began late in a second."""
    assert [admission_checks.stamp(at) for at in (0, 1, 999, 1000)] == [
        "1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "1970-01-01T00:00:01Z", "1970-01-01T00:00:01Z"
    ]  # fmt: skip

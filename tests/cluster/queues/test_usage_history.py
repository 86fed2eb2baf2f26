"""What was used lately outlives a restart: written into the queues' status once per sampling point, and read back."""

import asyncio
import math

import pytest

from tests.cluster.core.test_revision import workload
from tests.cluster.small_cluster import job, make_controller, queues, small_cluster
from tests.patience import until
from webhook.api.configuration.sections import AdmissionFairSharing, QueueSettings
from webhook.api.snapshot.queue_objects import history, history_status
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.pace import at_once
from webhook.cluster.queues.conditions import Known
from webhook.cluster.queues.counts import WorkloadCounts
from webhook.cluster.queues.status import status_of, tally
from webhook.policy.queue_rules.configured import configured
from webhook.policy.queue_rules.files import rules_configured, rules_named
from webhook.queue.model import History
from webhook.store.memory import MemoryStore
from webhook.store.objects import merge

HOUR = 3_600_000
SAMPLING, WEEK = 300_000, 7 * 24 * HOUR
NOW = 1_767_225_600_000
BUDGET = ["kueue", "gpu-budget"]
GPU = "nvidia.com/gpu"


def gpu_queues():
    """Queues of 40 GPUs, of which a namespace may have 16 on average."""
    objects = queues()
    quota = {"name": GPU, "nominalQuota": 40}
    objects[2]["spec"]["resourceGroups"] = [
        {"coveredResources": [GPU], "flavors": [{"name": "f", "resources": [quota]}]}
    ]
    return objects


def asking(name, gpus):
    made = workload(name)
    resources = {"requests": {GPU: gpus}}
    made["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"] = resources
    return merge(made, {"metadata": {"annotations": {"sluice.dev/user": "ann"}}})


def core_of(objects, now):
    core = QueueCore(rules_named(BUDGET))
    for obj in objects:
        core.heard(None, obj)
    return core, core.decide(now)


def held(made, decision, at):
    """The Workload with the quota that was decided, since some time."""
    pods = decision.pod_sets[0]
    usage = {resource: str(n) for resource, n in pods.resource_usage.items()}
    assignment = {"name": pods.name, "flavors": dict(pods.flavors), "resourceUsage": usage, "count": pods.count}
    row = {"status": "True", "reason": "x", "message": "", "lastTransitionTime": at}
    rows = [{"type": type_, **row} for type_ in ("QuotaReserved", "Admitted")]
    admission = {"clusterQueue": "cq", "podSetAssignments": [assignment]}
    return {**made, "status": {"conditions": rows, "admission": admission}}


def published(core, objects, now):
    """The queues with the status that is written for them."""
    known = [o for o in objects if o["kind"] in ("ClusterQueue", "LocalQueue")]
    shown = [[o for o in known if o["kind"] == kind] for kind in ("ClusterQueue", "LocalQueue")]
    counts = at_once(tally(*shown, Known.of([], [], {}), WorkloadCounts()))
    out = []
    for obj in objects:
        if obj in known:
            local = obj["kind"] == "LocalQueue"
            table = counts.local_queues if local else counts.cluster_queues
            name = "team-a/main" if local else "cq"
            used = core.used(name, now, local=local)
            obj = {**obj, "status": status_of(obj, table[name], "2026-01-01T00:00:00Z", used, local=local)}
        out.append(obj)
    return out


def test_a_restart_keeps_a_budget():
    """A namespace that used its GPUs up waits after a restart as before it, and starts when its budget allows it."""
    objects, now = gpu_queues(), 1_767_225_600_000
    core, made = core_of([*objects, asking("big", 40)], now)
    big = held(asking("big", 40), made.admitted[0], "2026-01-01T00:00:00Z")
    core.heard(None, big)
    core.decide(now + 200 * HOUR)
    core.heard(big, None)
    core.heard(None, asking("next", 1))
    later = now + 201 * HOUR
    assert core.decide(later).admitted == ()
    kept = published(core, objects, later)
    fresh, made = core_of([*kept, asking("next", 1)], later)
    assert made.admitted == ()
    before, after = (c.used("team-a/main", later, local=True) for c in (core, fresh))
    assert (after.at, after.usage[GPU]) == (before.at, pytest.approx(before.usage[GPU]))
    _, made = core_of([*objects, asking("next", 1)], later)
    assert [a.workload for a in made.admitted] == ["team-a/next"]
    assert [a.workload for a in fresh.decide(later + 168 * HOUR).admitted] == ["team-a/next"]


def test_who_used_it_is_kept_too():
    """The part of each user is in the status, beside the sum that Kueue has."""
    objects, now = gpu_queues(), 1_767_225_600_000
    core, made = core_of([*objects, asking("big", 40)], now)
    core.heard(None, held(asking("big", 40), made.admitted[0], "2026-01-01T00:00:00Z"))
    core.decide(now + 10 * HOUR)
    status = next(o for o in published(core, objects, now + 10 * HOUR) if o["kind"] == "LocalQueue")["status"]
    assert status["fairSharing"]["weightedShare"] == 0  # Kueue's CRD requires it beside the history
    kept = status["fairSharing"]["admissionFairSharingStatus"]
    assert kept["users"] == [{"name": "ann", "consumedResources": kept["consumedResources"]}]
    assert kept["lastUpdate"] == "2026-01-01T10:00:00Z"


def test_it_is_written_once_per_sampling_point():
    """Between two points the status stays as it is."""
    objects, now = gpu_queues(), 1_767_225_600_000
    core, made = core_of([*objects, asking("big", 40)], now)
    core.heard(None, held(asking("big", 40), made.admitted[0], "2026-01-01T00:00:00Z"))
    core.decide(now + 300_000)
    first = published(core, objects, now + 300_000)
    assert published(core, first, now + 301_000) == first
    assert published(core, first, now + 600_000) != first


def test_a_status_is_read_as_it_was_written():
    """To a billionth of a unit, or to the unit where it is large."""
    kept = History(
        1_767_225_600_250, {"cpu": 1234.5678, GPU: 0.123456789, "memory": 12345678901.4}, {"ann": {GPU: 0.1}}
    )
    read = history(history_status(kept))
    assert (read.at, read.users) == (kept.at, {"ann": {GPU: 0.1}})
    assert all(math.isclose(read.usage[name], number, rel_tol=1e-7) for name, number in kept.usage.items())


def test_without_a_rule_that_asks_nothing_is_written():
    """The shipped kueue without admission fair sharing keeps no history."""
    core = QueueCore(rules_named(["kueue"]))
    for obj in queues():
        core.heard(None, obj)
    core.decide(0)
    assert core.used("cq", HOUR, local=False) is None
    assert core.used("team-a/main", HOUR, local=True) is None


def test_admission_fair_sharing_is_shown_of_every_queue():
    """With the setting it is counted for queues whose order is another, too, while time passes and nothing happens."""
    objects, now = gpu_queues(), 1_767_225_600_000
    asked = QueueSettings(admission_fair_sharing=AdmissionFairSharing(HOUR, 300_000))
    core = QueueCore(rules_configured((), configured(asked)))
    for obj in [*objects, asking("big", 40)]:
        core.heard(None, obj)
    core.heard(None, held(asking("big", 40), core.decide(now).admitted[0], "2026-01-01T00:00:00Z"))
    core.follow(now)
    halves = [core.used("team-a/main", now + hours * HOUR, local=True).usage[GPU] for hours in (1, 2, 2)]
    assert halves == pytest.approx([20, 30, 30], rel=0.1)


def test_a_queue_that_used_nothing_is_not_written_again():
    """The first status says so; those after it would say the same."""
    objects, now = gpu_queues(), 1_767_225_600_000
    core, _ = core_of(objects, now)
    first = published(core, objects, now)
    assert published(core, first, now + 10 * HOUR) == first


def test_the_status_is_in_the_cluster_and_comes_back():
    """The controller writes it beside the counts, and the one after it goes on from there."""

    async def go():
        store = MemoryStore()
        core = QueueCore(rules_named(BUDGET))
        async with small_cluster(*queues("2"), store=store, core=core, seconds=None) as w:
            await w.create(job("a"))
            await w.until_condition("a", "Admitted")

            async def kept():
                local = (await w.local_status()).get("fairSharing")
                queue = (await store.get(CLUSTER_QUEUE, "cq")).get("status", {}).get("fairSharing")
                return local and queue and local["admissionFairSharingStatus"]

            first = await until(kept, "the history is in the status")
            await w.controller.stop()
            await w.view.stop()
            again = QueueCore(rules_named(BUDGET))
            w.controller, w.view, _ = make_controller(store, core=again)
            w.view.start()
            w.controller.start()
            await w.create(job("b"))
            await w.until_condition("b", "Admitted")
            return first, again.state.local_queues["team-a/main"].history, await store.list(LOCAL_QUEUE)

    first, kept, _ = asyncio.run(go())
    assert kept.at >= history(first).at > 0


def test_a_queue_that_used_nothing_shows_so():
    """Every resource of its quota is there, with 0, and a core that begins with it has used nothing either."""
    objects, now = gpu_queues(), 1_767_225_600_000
    core, _ = core_of(objects, now)
    kept = published(core, objects, now + 10 * HOUR)
    for obj in kept:
        if obj["kind"] == "LocalQueue":
            assert obj["status"]["fairSharing"]["admissionFairSharingStatus"]["consumedResources"] == {GPU: "0"}
    fresh, _ = core_of(kept, now + 10 * HOUR)
    assert fresh.used("team-a/main", now + 10 * HOUR, local=True).usage == {}


def test_an_admission_that_is_not_written_costs_nothing():
    """However often it is decided and refused: as in Kueue, the charge is taken back."""
    core, made = core_of([*gpu_queues(), asking("big", 8)], NOW)
    for number in range(1, 6):
        assert [each.workload for each in made.admitted] == ["team-a/big"]
        made = core.decide(NOW + number * SAMPLING)
    core.heard(asking("big", 8), None)
    core.decide(NOW + 5 * SAMPLING)
    assert core.used("team-a/main", NOW + 5 * SAMPLING, local=True).usage == {}
    assert core.used("cq", NOW + 5 * SAMPLING, local=False).usage == {}


def test_what_is_held_while_it_is_written_counts():
    """A write without an answer for ten minutes, and then none: it held its GPUs that long."""
    core, _ = core_of([*gpu_queues(), asking("big", 8)], NOW)
    core.in_flight.keys.add("team-a/big")
    core.decide(NOW + 2 * SAMPLING)
    core.heard(asking("big", 8), None)
    core.in_flight.keys.clear()
    core.decide(NOW + 2 * SAMPLING)
    usage = core.used("team-a/main", NOW + 2 * SAMPLING, local=True).usage
    assert usage[GPU] == pytest.approx(8 * (1 - 0.5 ** (2 * SAMPLING / WEEK)))


def test_who_waits_because_of_such_a_charge_starts():
    """A namespace at its budget may use at once what an admission that was not written took of it."""
    objects = gpu_queues()
    kept = history_status(History(NOW, {GPU: 15.999}))
    objects[3] = merge(objects[3], {"status": {"fairSharing": {"admissionFairSharingStatus": kept}}})
    core, made = core_of([*objects, asking("big", 8)], NOW)
    core.heard(None, asking("next", 1))
    core.in_flight.keys.add("team-a/big")
    assert [each.workload for each in (*made.admitted, *core.decide(NOW).admitted)] == ["team-a/big"]
    core.heard(asking("big", 8), None)
    core.in_flight.keys.clear()
    assert [each.workload for each in core.decide(NOW).admitted] == ["team-a/next"]


def test_what_is_written_is_charged_for_good():
    """Its charge stays when the job ends right after its start."""
    core, made = core_of([*gpu_queues(), asking("big", 8)], NOW)
    charged = core.used("cq", NOW, local=False).usage
    core.heard(None, big := held(asking("big", 8), made.admitted[0], "2026-01-01T00:00:00Z"))
    core.decide(NOW)
    core.heard(big, None)
    core.decide(NOW)
    assert core.used("cq", NOW, local=False).usage == charged

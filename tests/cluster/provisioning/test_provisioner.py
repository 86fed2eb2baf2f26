"""The check `kueue.x-k8s.io/provisioning-request`: nodes are asked for when quota is there; the job starts on them."""

import asyncio

import pytest

from tests.cluster import small_cluster as small_cluster_module
from tests.cluster.jobs.test_pods import pod, started
from tests.cluster.small_cluster import in_virtual_time, job, queues, small_cluster
from webhook.api.types.provisioning import ProvisioningRequestConfigSpec, RetryStrategy
from webhook.cluster.api.kinds import (
    ADMISSION_CHECK,
    CLUSTER_QUEUE,
    POD_TEMPLATE,
    PROVISIONING_CONFIG,
    PROVISIONING_REQUEST,
    WORKLOAD,
)
from webhook.cluster.provisioning.answers import answer
from webhook.cluster.provisioning.requests import attempt_of, name_of, wanted
from webhook.kube.conditions import find
from webhook.store.errors import Refused
from webhook.store.memory import Event, EventType, MemoryStore
from webhook.store.objects import merge

CHECK = {
    "apiVersion": ADMISSION_CHECK.api_version,
    "kind": "AdmissionCheck",
    "metadata": {"name": "nodes"},
    "spec": {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "few"},
    },
}


def config(**spec):
    head = {"apiVersion": PROVISIONING_CONFIG.api_version, "kind": "ProvisioningRequestConfig"}
    return {**head, "metadata": {"name": "few"}, "spec": {"provisioningClassName": "queued", **spec}}


def cluster(**spec):
    uses = {"admissionChecks": [{"name": "nodes"}]}
    return [*queues("2", labels={"zone": "a"}, admissionChecksStrategy=uses), CHECK, config(**spec)]


async def request_of(w, attempt=1):
    """The request of an attempt, once it is there."""
    found = []

    async def there():
        items = (await w.store.list(PROVISIONING_REQUEST)).items
        found[:] = [r for r in items if r["metadata"]["name"].endswith(f"-nodes-{attempt}")]
        return bool(found)

    await w.until(there, f"request {attempt} is made")
    return found[0]


async def tell(w, request, type_, message=""):
    """Answer as an autoscaler does."""
    rows = [{"type": type_, "status": "True", "reason": type_, "message": message, "lastTransitionTime": w.stamp()}]
    name, namespace = request["metadata"]["name"], request["metadata"]["namespace"]
    details = {"zone": "b"}
    status = {"conditions": rows, "provisioningClassDetails": details}
    await w.store.patch(PROVISIONING_REQUEST, name, namespace, {"status": status}, subresource="status")


def test_a_job_starts_on_the_nodes_that_were_made_for_it():
    """Its pods carry the name of the request; the request has a template with the flavor's labels."""
    updates = {"nodeSelector": [{"key": "pool", "valueFromProvisioningClassDetail": "zone"}]}

    async def go():
        async with small_cluster(*cluster(parameters={"p": "1"}, podSetUpdates=updates), seconds=None) as w:
            asked = job("a")
            asked["metadata"]["annotations"] = {"provreq.kueue.x-k8s.io/ValidUntilSeconds": "60"}
            await w.create(asked)
            request = await request_of(w)
            waiting = await w.job("a")
            template = (await w.store.list(POD_TEMPLATE)).items[0]
            await tell(w, request, "Provisioned", "there they are")
            await w.until_runs("a")
            return request, waiting, template, await w.job("a")

    request, waiting, template, started = asyncio.run(go())
    name = request["metadata"]["name"]
    assert waiting["spec"]["suspend"] is True
    assert request["spec"]["parameters"] == {"p": "1", "ValidUntilSeconds": "60"}
    assert request["spec"]["podSets"] == [{"podTemplateRef": {"name": template["metadata"]["name"]}, "count": 1}]
    assert template["template"]["spec"]["nodeSelector"] == {"zone": "a"}
    annotations = started["spec"]["template"]["metadata"]["annotations"]
    assert annotations.pop("kueue.x-k8s.io/workload").startswith("job-a-")
    assert annotations == {
        "autoscaling.x-k8s.io/consume-provisioning-request": name,
        "autoscaling.x-k8s.io/provisioning-class-name": "queued",
    }
    assert started["spec"]["template"]["spec"]["nodeSelector"] == {"zone": "a", "pool": "b"}


def test_a_request_that_fails_is_made_again_and_then_refused():
    """The quota goes back for the time of the back-off; after the last attempt the Workload is set inactive."""

    async def go():
        retry = {"backoffLimitCount": 1, "backoffBaseSeconds": 0, "backoffMaxSeconds": 0}
        async with small_cluster(*cluster(retryStrategy=retry), seconds=None) as w:
            await w.create(job("a"))
            await tell(w, await request_of(w), "Failed", "no nodes")
            second = await request_of(w, 2)
            between = await w.workload("a")
            await tell(w, second, "Failed", "no nodes at all")

            async def inactive():
                return (await w.workload("a"))["spec"].get("active") is False

            await w.until(inactive, "it is refused")
            await w.until_condition("a", "Evicted")

            async def none_left():
                return not (await w.store.list(PROVISIONING_REQUEST)).items

            await w.until(none_left, "its requests are deleted")
            return between, await w.workload("a")

    between, refused = asyncio.run(go())
    (row,) = between["status"]["admissionChecks"]
    assert row["retryCount"] == 1
    told = find(refused, "Evicted")
    assert told["reason"] == "DeactivatedDueToAdmissionCheck"
    assert 'AdmissionCheck in Rejected state: "nodes" (no nodes at all)' in told["message"]


def test_a_check_without_its_configuration_is_not_active():
    """And active when it is there."""

    async def go():
        async with small_cluster(*cluster()[:-1], seconds=None) as w:

            async def says(reason):
                found = await w.store.get(ADMISSION_CHECK, "nodes")
                return (find(found, "Active") or {}).get("reason") == reason

            await w.until(lambda: says("BadParametersRef"), "it is not active")
            await w.create(config())
            await w.until(lambda: says("Active"), "it is active")
            await w.create(job("a"))
            return (await request_of(w))["spec"]["provisioningClassName"]

    assert asyncio.run(go()) == "queued"


def workload(*pod_sets, counts=(), **row):
    sets = [{"name": f"p{n}", "count": 2, "template": {"spec": spec}} for n, spec in enumerate(pod_sets)]
    given = [{"name": s["name"], "count": counts[n] if counts else 2} for n, s in enumerate(sets)]
    status = {"admission": {"podSetAssignments": given}, "conditions": row.pop("conditions", [])}
    return {
        "metadata": {"name": "w", "namespace": "n"},
        "spec": {"podSets": sets},
        "status": status,
        "kind": WORKLOAD.kind,
    }


def pods(cpu="1", image="i", **more):
    return {"containers": [{"name": "c", "image": image, "resources": {"requests": {"cpu": cpu, **more}}}]}


@pytest.mark.parametrize(
    ("found", "options", "expected"),
    [
        (workload(pods(), pods()), {}, [("p0", 2), ("p1", 2)]),
        (workload(pods(), pods(), counts=(0, 1)), {}, [("p1", 1)]),
        (workload(pods(), pods(gpu="1")), {"managed_resources": ["gpu"]}, [("p1", 2)]),
        (workload(pods(), pods(), counts=(1, 3)), {"pod_set_merge_policy": "IdenticalPodTemplates"}, [("p0", 4)]),
        (
            workload(pods(image="a"), pods(image="b")),
            {"pod_set_merge_policy": "IdenticalPodTemplates"},
            [("p0", 2), ("p1", 2)],
        ),
        (
            workload(pods(image="a"), pods(image="b"), pods("2")),
            {"pod_set_merge_policy": "IdenticalWorkloadSchedulingRequirements"},
            [("p0", 4), ("p2", 2)],
        ),
    ],
)
def test_which_pods_are_asked_for(found, options, expected):
    """Those of managed resources, as many as were admitted; alike ones together, where the configuration says so."""
    spec = ProvisioningRequestConfigSpec(provisioning_class_name="queued", **options)
    assert [(row.pod_set["name"], row.count) for row in wanted(found, spec)] == expected


ADMITTED = [{"type": "Admitted", "status": "True"}]


@pytest.mark.parametrize(
    ("type_", "attempt", "tried", "conditions", "expected"),
    [
        ("Failed", 1, 0, [], ("Retry", "Retrying after failure: why", 60)),
        ("Failed", 3, 2, [], ("Retry", "Retrying after failure: why", 200)),
        ("Failed", 1, 1, [], ("Pending", "Retrying after failure: why", None)),
        ("Failed", 4, 3, [], ("Rejected", "why", None)),
        ("BookingExpired", 1, 0, [], ("Retry", "Retrying after booking expired: why", 60)),
        ("BookingExpired", 1, 0, ADMITTED, ("Pending", "before", None)),
        ("CapacityRevoked", 1, 0, ADMITTED, ("Rejected", "why", None)),
        ("Provisioned", 1, 0, [], ("Ready", "why", None)),
        ("Unknown", 1, 0, [], ("Pending", "", None)),
    ],
)
def test_what_a_request_comes_to(type_, attempt, tried, conditions, expected):
    """A state and a message; each retry waits twice as long as the one before, up to a limit."""
    row = {"name": "c", "state": "Pending", "message": "before", "retryCount": tried}
    request = {
        "metadata": {"name": name_of("w", "c", attempt), "namespace": "n"},
        "status": {"conditions": [{"type": type_, "status": "True", "message": "why"}]},
    }
    strategy = RetryStrategy(backoff_max_seconds=200)
    spec = ProvisioningRequestConfigSpec(provisioning_class_name="queued", retry_strategy=strategy)
    new = answer(row, request, workload(pods(), conditions=conditions), spec, "2026-01-01T00:00:00Z")
    assert (new["state"], new["message"], new.get("requeueAfterSeconds")) == expected


@pytest.mark.parametrize("length", [1, 241, 242, 243, 244, 245, 300])
@pytest.mark.parametrize("attempt", [1, 9, 12])
def test_names_of_requests(length, attempt):
    """A long name is cut, and has the same end each time; the attempt is found by it, however long it is."""
    workload_name = "w" * length
    request = {"metadata": {"name": name_of(workload_name, "c", attempt), "namespace": "n"}}
    assert len(request["metadata"]["name"]) <= 253
    assert attempt_of(request, workload_name, "c") == attempt
    assert attempt_of(request, workload_name, "other") == 0


def test_the_request_of_a_workload_with_a_long_name_is_found():
    """The pod starts on the nodes that were made for it; the request stays the same."""
    long = merge(pod("p" * 253), {"spec": {"nodeSelector": {"zone": "a"}}})

    async def go():
        async with small_cluster(*cluster(), seconds=None) as w:
            await w.create(long)
            found = []

            async def asked():
                found[:] = (await w.store.list(PROVISIONING_REQUEST)).items
                return bool(found)

            await w.until(asked, "a request is made")
            await tell(w, found[0], "Provisioned")
            started_ = await started(w, long["metadata"]["name"])
            return found[0], (await w.store.list(PROVISIONING_REQUEST)).items, started_

    request, kept, ran = asyncio.run(go())
    assert [each["metadata"]["uid"] for each in kept] == [request["metadata"]["uid"]]
    assert ran["metadata"]["annotations"]["autoscaling.x-k8s.io/consume-provisioning-request"]


class Refuses(MemoryStore):
    """An API server whose admission webhook refuses the first ProvisioningRequest, and takes any later one."""

    def __init__(self, now):
        super().__init__(now=now)
        self.refused, self.templates = 0, 0

    async def create(self, obj, **options):
        self.templates += obj["kind"] == POD_TEMPLATE.kind
        if obj["kind"] == PROVISIONING_REQUEST.kind and not self.refused:
            self.refused += 1
            raise Refused("no")
        return await super().create(obj, **options)


def test_a_request_that_is_refused_is_made_again_after_a_while(monkeypatch):
    """Not twice a second for ever: half a minute later, or when something changes."""

    async def go():
        store = Refuses(now=lambda: small_cluster_module.CLOCKS.now())
        async with small_cluster(*cluster(), seconds=None, store=store) as w:
            await w.create(job("a"))
            await asyncio.sleep(20)
            before = store.refused, store.templates
            await request_of(w)
            return before, asyncio.get_running_loop().time()

    before, seconds = in_virtual_time(monkeypatch, go)
    assert before == (1, 1)
    assert 30 <= seconds < 40


class SlowCollector(MemoryStore):
    """A store whose garbage collector is late: what an object owned outlives it."""

    def _remove(self, kind, key, obj):
        del self._objects[kind][key]
        self._version += 1
        last = merge(obj, {"metadata": {"resourceVersion": str(self._version)}})
        self._publish(kind, Event(EventType.DELETED, last))


def test_a_job_that_is_admitted_again_asks_for_nodes_of_its_flavor_then():
    """Its first request is not the second one's answer; the first template, of the same name, becomes the second's."""
    first, then = {"f": "2", "g": "2"}, {"f": "0", "g": "2"}

    def groups(quotas):
        flavors = [{"name": n, "resources": [{"name": "cpu", "nominalQuota": q}]} for n, q in quotas.items()]
        return [{"coveredResources": ["cpu"], "flavors": flavors}]

    async def go():
        made = cluster()
        made[2]["spec"]["resourceGroups"] = groups(first)
        other = merge(made[1], {"metadata": {"name": "g"}, "spec": {"nodeLabels": {"zone": "g"}}})
        store = SlowCollector(now=small_cluster_module.CLOCKS.now)
        async with small_cluster(*made, other, seconds=None, store=store) as w:
            await w.create(job("a"))
            old = await request_of(w)
            await tell(w, old, "Provisioned", "there")
            await w.until_runs("a")
            await w.store.patch(CLUSTER_QUEUE, "cq", None, {"spec": {"stopPolicy": "HoldAndDrain"}})
            await w.until_condition("a", "QuotaReserved", "False")
            anew = {"spec": {"stopPolicy": "None", "resourceGroups": groups(then)}}
            await w.store.patch(CLUSTER_QUEUE, "cq", None, anew)

            async def asks_again(old=old):
                found = (await w.store.list(PROVISIONING_REQUEST)).items
                return next((r for r in found if r["metadata"]["uid"] != old["metadata"]["uid"]), None)

            request = await w.until(asks_again, "another request is made")
            (named,) = request["spec"]["podSets"]

            async def owned():
                found = await w.store.get(POD_TEMPLATE, named["podTemplateRef"]["name"], "team-a")
                (owner,) = found["metadata"]["ownerReferences"]
                return found if owner["uid"] == request["metadata"]["uid"] else None

            return await w.until(owned, "its template is its own")

    assert asyncio.run(go())["template"]["spec"]["nodeSelector"] == {"zone": "g"}

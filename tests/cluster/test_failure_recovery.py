"""Pods that were deleted on a node which nobody reaches are ended, where their annotation allows it."""

import asyncio

import pytest

from tests.cluster.small_cluster import small_cluster
from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.kinds import NODE
from webhook.cluster.failure_recovery import is_overdue, unreachable
from webhook.kube.gvk import POD
from webhook.kube.times import milliseconds
from webhook.store.errors import NotFound, Refused
from webhook.store.memory import MemoryStore
from webhook.store.objects import merge

ALLOWED = "kueue.x-k8s.io/safe-to-forcefully-delete"
TAINT = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
ON = QueueSettings(feature_gates={"FailureRecoveryPolicy": True}, force_delete_after=0)
LONG_AGO = "2026-01-01T00:00:00Z"


class Kubelets(MemoryStore):
    """Pods go only when their kubelet says so, or by force: what they were then is in `ended`."""

    def __init__(self):
        super().__init__()
        self.ended = {}

    async def delete(self, gvk, name, namespace, *, uid="", grace=None):
        if gvk != POD:
            await super().delete(gvk, name, namespace, uid=uid, grace=grace)
            return
        assert grace == 0
        self.ended[name] = await self.get(gvk, name, namespace)
        await self.patch(gvk, name, namespace, {"metadata": {"finalizers": None}})


def node(name, *taints):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"taints": list(taints)}}


def pod(name, node_name="lost", allowed="true", deleted=LONG_AGO, phase="Running"):
    """A Pod that a person deleted; a finalizer stands for its kubelet."""
    metadata = {"name": name, "namespace": "team-a", "annotations": {ALLOWED: allowed}, "finalizers": ["kubelet"]}
    if deleted:
        metadata |= {"deletionTimestamp": deleted, "deletionGracePeriodSeconds": 30}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"nodeName": node_name, "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": "False"}]},
    }


def ended(*objects, until, settings=ON, store=None):
    """Run until these Pods have ended; give all that have."""
    store = store or Kubelets()

    async def go():
        async with small_cluster(*objects, seconds=None, store=store, settings=settings) as w:

            async def gone():
                return set(until) <= set(store.ended)

            await w.until(gone, f"{until} end")
            return store.ended

    return asyncio.run(go())


def test_a_pod_of_an_unreachable_node_ends_as_failed():
    """Its status says why; a condition that it had stays."""
    found = ended(node("lost", TAINT), pod("a"), until=["a"])["a"]
    assert found["status"]["phase"] == "Failed"
    ready, condition = found["status"]["conditions"]
    assert ready["type"] == "Ready"
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "KueueFailureRecovery",
        "True",
        "KueueForcefullyDeleted",
    )
    assert condition["message"] == (
        "Pod forcefully terminated after 30s grace period due to unreachable node `lost`"
        f" (triggered by `{ALLOWED}` annotation)"
    )


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_had_ended_keeps_its_phase(phase):
    assert ended(node("lost", TAINT), pod("a", phase=phase), until=["a"])["a"]["status"]["phase"] == phase


def test_others_stay():
    """Those nobody deleted, nobody allowed it for, or whose node is reached; the last to end is listed last."""
    stay = [pod("a", deleted=""), pod("b", allowed="false"), pod("c", node_name="well"), pod("d", node_name="none")]
    objects = [node("lost", TAINT), node("well", {**TAINT, "key": "other"}), *stay, pod("z")]
    assert set(ended(*objects, until=["z"])) == {"z"}


def test_a_pod_that_cannot_be_written_to_holds_up_no_other():
    """A webhook of the cluster refuses its status; the next one of its node ends."""

    class Refuses(Kubelets):
        async def patch(self, gvk, name, *arguments, **options):
            if name == "a":
                raise Refused("not this one")
            return await super().patch(gvk, name, *arguments, **options)

    assert set(ended(node("lost", TAINT), pod("a"), pod("z"), until=["z"], store=Refuses())) == {"z"}


def test_a_node_that_is_lost_later():
    """Its Pods end then, and their Events say so."""

    async def go():
        store = Kubelets()
        async with small_cluster(node("lost"), pod("a"), seconds=None, store=store, settings=ON) as w:
            await w.until(lambda: _known(w), "the view has the node")
            await store.patch(NODE, "lost", None, {"spec": {"taints": [TAINT]}})

            async def gone():
                try:
                    await store.get(POD, "a", "team-a")
                except NotFound:
                    return True
                return False

            await w.until(gone, "a is gone")
            assert not w.view.informer(POD).all(), "a Pod that no queue has is none of the view's"

    asyncio.run(go())


async def _known(w):
    return bool(w.view.informer(NODE).all())


def test_nothing_is_done_or_watched_where_the_gate_is_off():
    async def go():
        async with small_cluster(node("lost", TAINT), pod("a"), seconds=None, settings=QueueSettings()) as w:
            await w.view.wait()
            return w.view.follows(NODE)

    assert not asyncio.run(go())


@pytest.mark.parametrize(
    ("changes", "now", "overdue"),
    [
        ({}, "2026-01-01T00:01:00Z", True),
        ({}, "2026-01-01T00:00:59Z", False),
        ({"metadata": {"annotations": {ALLOWED: "True"}}}, "2027-01-01T00:00:00Z", False),
        ({"metadata": {"annotations": None}}, "2027-01-01T00:00:00Z", False),
        ({"metadata": {"deletionTimestamp": None}}, "2027-01-01T00:00:00Z", False),
    ],
)
def test_overdue(changes, now, overdue):
    """A minute after the Pod should have been gone."""
    assert is_overdue(merge(pod("a"), changes), 60.0, milliseconds(now)) is overdue


def test_unreachable():
    """By the taint's key, whatever its effect."""
    nodes = [node("a", TAINT), node("b"), {"metadata": {"name": "c"}, "spec": {}}, node("d", {"key": TAINT["key"]})]
    assert list(unreachable(nodes)) == ["a", "d"]

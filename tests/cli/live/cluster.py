"""A small cluster in memory for the live commands, and what its leader and its API server do."""

import asyncio

from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.kinds import LEASE, WORKLOAD
from webhook.documents import read
from webhook.policy.queue_rules.configured import PUBLISHED, Configured, published
from webhook.policy.queue_rules.files import rules_named
from webhook.store.errors import Refused

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


def field(store, gvk, name, namespace, key):
    return asyncio.run(store.get(gvk, name, namespace))["spec"].get(key)


def rows(text):
    return [line.split() for line in text.splitlines()]


SAID = {
    "QuotaReserved": ("False", "WaitingForQuota", "couldn't assign flavors to pod set main: 2 more needed"),
    "sluice.dev/Waiting": ("True", "WaitingForQuota", "requests 4 nvidia.com/gpu of flavor a100, 2 free"),
}


def say(store, said=SAID):
    """Let the Workload that waits say why, as the leader writes it."""
    rows = [{"type": t, "status": s, "reason": r, "message": m} for t, (s, r, m) in said.items()]
    asyncio.run(store.patch(WORKLOAD, "job-waits-1", "team-a", {"status": {"conditions": rows}}, subresource="status"))


def publish(store, names=("kueue",), digest="", queues=None, namespace="sluice-system"):
    """Let the leader name its rules and settings on its Lease."""
    rules = rules_named(names)
    text = published(Configured(names), digest or rules.digest, queues or QueueSettings())
    metadata = {"name": "sluice", "namespace": namespace, "annotations": {PUBLISHED: text}}
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


def finish(store, name):
    """Let a Workload finish: it keeps the conditions that it had."""
    found = asyncio.run(store.get(WORKLOAD, name, "team-a"))
    rows = [*found.get("status", {}).get("conditions", []), {"type": "Finished", "status": "True", "reason": "x"}]
    asyncio.run(store.patch(WORKLOAD, name, "team-a", {"status": {"conditions": rows}}, subresource="status"))

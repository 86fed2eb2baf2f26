"""The kinds that the controller reads and writes."""

from __future__ import annotations

from typing import Final

from webhook.jobs.kinds import KINDS as JOB_KINDS
from webhook.jobs.read_job import MARK
from webhook.jobs.train_job import CLUSTER_RUNTIME, RUNTIME
from webhook.kube.gvk import NAMESPACE, GroupVersionKind
from webhook.kube.well_known import KUEUE

VERSION: Final = "v1beta2"

NODE: Final = GroupVersionKind("", "v1", "Node")
LIMIT_RANGE: Final = GroupVersionKind("", "v1", "LimitRange")
RESOURCE_QUOTA: Final = GroupVersionKind("", "v1", "ResourceQuota")
PRIORITY_CLASS: Final = GroupVersionKind("scheduling.k8s.io", "v1", "PriorityClass")
RUNTIME_CLASS: Final = GroupVersionKind("node.k8s.io", "v1", "RuntimeClass")
LEASE: Final = GroupVersionKind("coordination.k8s.io", "v1", "Lease")

WORKLOAD: Final = GroupVersionKind(KUEUE, VERSION, "Workload")
CLUSTER_QUEUE: Final = GroupVersionKind(KUEUE, VERSION, "ClusterQueue")
LOCAL_QUEUE: Final = GroupVersionKind(KUEUE, VERSION, "LocalQueue")
FLAVOR: Final = GroupVersionKind(KUEUE, VERSION, "ResourceFlavor")
COHORT: Final = GroupVersionKind(KUEUE, VERSION, "Cohort")
WORKLOAD_CLASS: Final = GroupVersionKind(KUEUE, VERSION, "WorkloadPriorityClass")
ADMISSION_CHECK: Final = GroupVersionKind(KUEUE, VERSION, "AdmissionCheck")
TOPOLOGY: Final = GroupVersionKind(KUEUE, VERSION, "Topology")

PROVISIONING_CONFIG: Final = GroupVersionKind(KUEUE, VERSION, "ProvisioningRequestConfig")
PROVISIONING_REQUEST: Final = GroupVersionKind("autoscaling.x-k8s.io", "v1", "ProvisioningRequest")
POD_TEMPLATE: Final = GroupVersionKind("", "v1", "PodTemplate")

QUEUE_KINDS: Final = (WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE, FLAVOR, COHORT, WORKLOAD_CLASS, ADMISSION_CHECK)
"""The kinds of the queue CRDs."""
PROVISIONING: Final = (PROVISIONING_CONFIG, PROVISIONING_REQUEST)
"""Kinds of the ProvisioningRequest admission check; followed if they are served."""
BUILT_IN: Final = (NAMESPACE, LIMIT_RANGE, RESOURCE_QUOTA, PRIORITY_CLASS, RUNTIME_CLASS)

MANAGED: Final = tuple(kind.gvk for kind in JOB_KINDS if kind.held)
"""Job kinds that are held by their suspend field or a scheduling gate until they are admitted."""
PARENTS: Final = tuple(kind.gvk for kind in JOB_KINDS if kind.grouped)
"""Kinds whose pods are queued in groups that follow from the object."""
RUNTIMES: Final = (CLUSTER_RUNTIME, RUNTIME)
"""Kinds with the pod templates of jobs that refer to them; followed if they are served."""
LABELS: Final = {(kind.group, kind.kind): {MARK: "true"} for kind in JOB_KINDS if kind.gate}
"""Label selectors for the view: most Pods of a cluster are not managed and never reach it."""
VERSIONS: Final = {(kind.group, kind.kind): kind.versions for kind in JOB_KINDS} | {
    (KUEUE, WORKLOAD.kind): (VERSION, "v1beta1"),
    (PROVISIONING_REQUEST.group, PROVISIONING_REQUEST.kind): ("v1", "v1beta1"),
}
"""The versions in which a kind may be served, the preferred one first: job kinds, and kinds of older releases."""


def followed(*, embedded: bool, external: bool, compares: bool, nodes: bool) -> tuple[GroupVersionKind, ...]:
    """Return the kinds that a replica follows.

    `embedded`: this replica runs the queues; `external`: a Kueue does; `compares`: it decides beside that Kueue;
    `nodes`: Pods on unreachable nodes are deleted.
    """
    if embedded:
        beside = (*PROVISIONING, TOPOLOGY, *((NODE,) if nodes else ()))
        return (*BUILT_IN, *MANAGED, *PARENTS, *RUNTIMES, *QUEUE_KINDS, *beside)
    if compares:
        return (*BUILT_IN, *MANAGED, *QUEUE_KINDS)
    return (*BUILT_IN, *MANAGED, *((WORKLOAD,) if external else ()))  # Workloads say whether an owner has quota

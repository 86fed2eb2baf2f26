"""The kinds that Sluice installs CRDs for: names, scope, versions and columns, one row each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from webhook.api.types import v1beta1
from webhook.api.types.admissioncheck import AdmissionCheck
from webhook.api.types.clusterqueue import ClusterQueue
from webhook.api.types.cohort import Cohort
from webhook.api.types.fields import Api
from webhook.api.types.localqueue import LocalQueue
from webhook.api.types.multikueue import MultiKueueCluster, MultiKueueConfig
from webhook.api.types.provisioning import ProvisioningRequestConfig
from webhook.api.types.queuepolicy import QueuePolicy
from webhook.api.types.resourceflavor import ResourceFlavor
from webhook.api.types.topology import Topology
from webhook.api.types.workload import Workload
from webhook.api.types.workloadpriorityclass import WorkloadPriorityClass
from webhook.kube.well_known import KUEUE, SLUICE

STORED: Final = "v1beta2"
OLD: Final = "v1beta1"


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of `kubectl get`. `wide` shows it with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


@dataclass(frozen=True, slots=True)
class KindVersion:
    """One version of a kind: its name, its type, its columns, and the fields that a list can be filtered by."""

    name: str
    type: type[Api]
    columns: tuple[PrinterColumn, ...] = ()
    selectable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CustomKind:
    """One kind. The first version is stored, the others are deprecated; where there are others, `/convert` serves."""

    group: str
    kind: str
    plural: str
    versions: tuple[KindVersion, ...]
    short: tuple[str, ...] = ()
    namespaced: bool = False

    @property
    def name(self) -> str:
        """The name of its CRD."""
        return f"{self.plural}.{self.group}"


PENDING: Final = PrinterColumn("Pending Workloads", ".status.pendingWorkloads", "integer")
ADMITTED: Final = PrinterColumn("Admitted Workloads", ".status.admittedWorkloads", "integer")
AGE: Final = PrinterColumn("Age", ".metadata.creationTimestamp", "date")
STRATEGY: Final = PrinterColumn("Strategy", ".spec.queueingStrategy", wide=True)
CQ_COLUMNS: Final = (STRATEGY, PENDING, replace(ADMITTED, wide=True))
LQ_COLUMNS: Final = (PrinterColumn("ClusterQueue", ".spec.clusterQueue"), PENDING, ADMITTED)
WL_COLUMNS: Final = (
    PrinterColumn("Queue", ".spec.queueName"),
    PrinterColumn("Reserved in", ".status.admission.clusterQueue"),
    PrinterColumn("Admitted", ".status.conditions[?(@.type=='Admitted')].status"),
    PrinterColumn("Finished", ".status.conditions[?(@.type=='Finished')].status"),
    PrinterColumn("Why", ".status.conditions[?(@.type=='sluice.dev/Waiting')].reason", wide=True),
    AGE,
)
VALUE: Final = (PrinterColumn("Value", ".value", "integer"),)


RESERVED_IN: Final = (".status.admission.clusterQueue",)
CONNECTED: Final = (PrinterColumn("Connected", ".status.conditions[?(@.type=='Active')].status"), AGE)


def _both(
    new: type[Api], old: type[Api], columns: tuple[PrinterColumn, ...] = (), selectable: tuple[str, ...] = ()
) -> tuple[KindVersion, ...]:
    """Only the stored version selects: the API server takes equal fields of all versions for those of one schema."""
    return KindVersion(STORED, new, columns, selectable), KindVersion(OLD, old, columns)


KINDS: Final[tuple[CustomKind, ...]] = (
    CustomKind(
        KUEUE,
        "ClusterQueue",
        "clusterqueues",
        (
            KindVersion(STORED, ClusterQueue, (PrinterColumn("Cohort", ".spec.cohortName"), *CQ_COLUMNS)),
            KindVersion(OLD, v1beta1.ClusterQueue, (PrinterColumn("Cohort", ".spec.cohort"), *CQ_COLUMNS)),
        ),
        ("cq",),
    ),
    CustomKind(
        KUEUE,
        "LocalQueue",
        "localqueues",
        _both(LocalQueue, v1beta1.LocalQueue, LQ_COLUMNS),
        ("queue", "queues", "lq"),
        True,
    ),
    CustomKind(
        KUEUE, "ResourceFlavor", "resourceflavors", _both(ResourceFlavor, ResourceFlavor), ("flavor", "flavors", "rf")
    ),
    CustomKind(KUEUE, "Cohort", "cohorts", _both(Cohort, v1beta1.Cohort), ("co",)),
    CustomKind(
        KUEUE,
        "WorkloadPriorityClass",
        "workloadpriorityclasses",
        _both(WorkloadPriorityClass, WorkloadPriorityClass, VALUE),
        ("wpc",),
    ),
    CustomKind(KUEUE, "AdmissionCheck", "admissionchecks", _both(AdmissionCheck, v1beta1.AdmissionCheck), ("ac",)),
    CustomKind(
        KUEUE,
        "Workload",
        "workloads",
        _both(Workload, v1beta1.Workload, WL_COLUMNS, RESERVED_IN),
        ("kwl", "kueueworkload", "kueueworkloads", "wl"),
        True,
    ),
    CustomKind(KUEUE, "Topology", "topologies", _both(Topology, Topology), ("topo",)),
    CustomKind(
        KUEUE,
        "ProvisioningRequestConfig",
        "provisioningrequestconfigs",
        _both(ProvisioningRequestConfig, ProvisioningRequestConfig),
        ("prc",),
    ),
    CustomKind(
        KUEUE,
        "MultiKueueCluster",
        "multikueueclusters",
        _both(MultiKueueCluster, v1beta1.MultiKueueCluster, CONNECTED),
        ("mkc",),
    ),
    CustomKind(
        KUEUE,
        "MultiKueueConfig",
        "multikueueconfigs",
        _both(MultiKueueConfig, v1beta1.MultiKueueConfig),
        ("mkconf",),
    ),
)
"""Every kind, in the order the CRDs are printed."""

FILE_KINDS: Final[tuple[CustomKind, ...]] = (
    CustomKind(SLUICE, "QueuePolicy", "queuepolicies", (KindVersion("v1alpha1", QueuePolicy),)),
)
"""Kinds that live in files only: they have a schema for editors, and no CRD."""

"""MultiKueueCluster and MultiKueueConfig, kueue.x-k8s.io/v1beta2: kept for clients, not used here."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from webhook.api.types.fields import Api, Condition, Rule, doc

UNIQUE = Rule("self.all(c, self.exists_one(other, other == c))", "a cluster must not be listed twice")


class KubeConfig(Api, frozen=True, kw_only=True):
    """Where the kubeconfig of a cluster is."""

    location: Annotated[str, doc("The Secret's name, or the file's path.", min_length=1, max_length=256)]
    location_type: Annotated[Literal["Secret", "Path"], doc("What `location` is.")] = "Secret"


class ClusterProfileReference(Api, frozen=True, kw_only=True):
    """A ClusterProfile by name."""

    name: Annotated[str, doc("Its name.", min_length=1, max_length=256)]


class ClusterSource(Api, frozen=True, kw_only=True):
    """How a cluster is reached."""

    RULES = (Rule("has(self.kubeConfig) != has(self.clusterProfileRef)", "set either kubeConfig or clusterProfileRef"),)

    kube_config: Annotated[KubeConfig | None, doc("By a kubeconfig.")] = None
    cluster_profile_ref: Annotated[ClusterProfileReference | None, doc("By a ClusterProfile.")] = None


class MultiKueueClusterSpec(Api, frozen=True, kw_only=True):
    """A cluster that could run workloads."""

    cluster_source: Annotated[ClusterSource, doc("How it is reached.")]


class MultiKueueClusterStatus(Api, frozen=True, kw_only=True):
    """Whether the cluster is reached."""

    conditions: Annotated[list[Condition], doc("`Active`: whether it is connected.", keys=("type",), max_length=16)] = (
        msgspec.field(default_factory=list)
    )


class MultiKueueConfigSpec(Api, frozen=True, kw_only=True):
    """Clusters that workloads are sent to."""

    clusters: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=256)]],
        doc("The MultiKueueClusters, the preferred ones first.", kind="atomic", min_length=1, max_length=20,
            rules=(UNIQUE,)),
    ]  # fmt: skip
    quota_management: Annotated[Literal["Manual", "Automated"] | None, doc("Who sets the quotas; absent, Manual.")] = (
        None
    )


class MultiKueueCluster(Api, frozen=True, kw_only=True):
    """A cluster that workloads can be sent to."""

    spec: Annotated[MultiKueueClusterSpec, doc("Desired state.")]
    status: Annotated[MultiKueueClusterStatus | None, doc("What is.")] = None


class MultiKueueConfig(Api, frozen=True, kw_only=True):
    """Clusters that the workloads of a queue are sent to."""

    spec: Annotated[MultiKueueConfigSpec, doc("Desired state.")]

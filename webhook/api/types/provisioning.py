"""ProvisioningRequestConfig, kueue.x-k8s.io: the parameters of checks that ask a cluster autoscaler for nodes."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from webhook.api.types.fields import QUALIFIED, Api, Int32, Name, doc

ParameterValue = Annotated[str, msgspec.Meta(max_length=255)]


class RetryStrategy(Api, frozen=True, kw_only=True):
    """When to retry a failed ProvisioningRequest."""

    backoff_limit_count: Annotated[Int32, doc("Number of retries; then the workload is deactivated.")] = 3
    backoff_base_seconds: Annotated[Int32, doc("Seconds before the first retry; doubles with each retry.")] = 60
    backoff_max_seconds: Annotated[Int32, doc("Most seconds between two retries.")] = 1800


class NodeSelectorUpdate(Api, frozen=True, kw_only=True):
    """A node label that admitted pods ask for."""

    key: Annotated[str, doc("The label's key.", min_length=1, max_length=317, pattern=QUALIFIED)]
    value_from_provisioning_class_detail: Annotated[
        str, doc("The detail of the ProvisioningRequest that has the value.", min_length=1, max_length=32768)
    ]


class ProvisioningUpdates(Api, frozen=True, kw_only=True):
    """What is added to the pods once their nodes are there."""

    node_selector: Annotated[list[NodeSelectorUpdate], doc("Node selector to add.", keys=("key",), max_length=8)] = (
        msgspec.field(default_factory=list)
    )


class ProvisioningRequestConfigSpec(Api, frozen=True, kw_only=True):
    """How nodes are asked for."""

    provisioning_class_name: Annotated[Name, doc("The class of the requests.", min_length=1)]
    parameters: Annotated[dict[str, ParameterValue], doc("Parameters of the class.", max_length=100)] = msgspec.field(
        default_factory=dict
    )
    managed_resources: Annotated[
        list[str], doc("Only pod sets that request one of these resources. Empty: all.", kind="set", max_length=100)
    ] = msgspec.field(default_factory=list)
    retry_strategy: Annotated[RetryStrategy, doc("When to retry a failed ProvisioningRequest.")] = msgspec.field(
        default_factory=RetryStrategy
    )
    pod_set_updates: Annotated[ProvisioningUpdates | None, doc("What is added to the pods.")] = None
    pod_set_merge_policy: Annotated[
        Literal["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"] | None,
        doc("Which pod sets share a ProvisioningRequest. Absent: none."),
    ] = None


class ProvisioningRequestConfig(Api, frozen=True, kw_only=True):
    """How a check asks a cluster autoscaler for nodes."""

    spec: Annotated[ProvisioningRequestConfigSpec, doc("Desired state.")]

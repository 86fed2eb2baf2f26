"""ResourceFlavor, kueue.x-k8s.io: the same in v1beta1 and v1beta2."""

from __future__ import annotations

from typing import Annotated

import msgspec

from webhook.api.types.fields import Api, Labels, Name, Rule, Taint, Toleration, doc


class ResourceFlavorSpec(Api, frozen=True, kw_only=True):
    """A kind of node."""

    RULES = (
        Rule("!has(self.topologyName) || size(self.nodeLabels) >= 1", "topologyName requires at least one node label"),
        Rule(
            "!has(oldSelf.topologyName) || (has(self.topologyName) && self.topologyName == oldSelf.topologyName)",
            "topologyName cannot be changed once it is set",
        ),
    )

    node_labels: Annotated[
        Labels, doc("Labels of its nodes, added to the node selector of admitted pods.", kind="map", max_length=8)
    ] = msgspec.field(default_factory=dict)
    node_taints: Annotated[
        list[Taint],
        doc("Taints of its nodes; a workload must tolerate them to use the flavor.", kind="atomic", max_length=8),
    ] = msgspec.field(default_factory=list)
    tolerations: Annotated[
        list[Toleration], doc("Tolerations added to admitted pods.", kind="atomic", max_length=8)
    ] = msgspec.field(default_factory=list)
    topology_name: Annotated[Name | None, doc("The Topology of its nodes; stored, not used.")] = None


class ResourceFlavor(Api, frozen=True, kw_only=True):
    """A kind of node that quota is counted for."""

    spec: Annotated[ResourceFlavorSpec, doc("Desired state.")] = msgspec.field(default_factory=ResourceFlavorSpec)

"""Topology, kueue.x-k8s.io: kept for clients and other schedulers, not used here."""

from __future__ import annotations

from typing import Annotated, Final

from webhook.api.types.fields import QUALIFIED, Api, Rule, doc

HOSTNAME: Final = "kubernetes.io/hostname"
LEVELS: Final = (
    Rule("self.all(l, self.exists_one(other, other == l))", "a level must not be listed twice"),
    Rule(
        f"self.all(l, l.nodeLabel != '{HOSTNAME}') || self[size(self) - 1].nodeLabel == '{HOSTNAME}'",
        f"{HOSTNAME} can only be the lowest level",
    ),
    Rule(
        f"self == oldSelf || (self[size(self) - 1].nodeLabel == '{HOSTNAME}'"
        f" && oldSelf[size(oldSelf) - 1].nodeLabel == '{HOSTNAME}')",
        f"levels can be changed only if {HOSTNAME} is the lowest level before and after",
    ),
)


class TopologyLevel(Api, frozen=True, kw_only=True):
    """One level of a data centre: a block, a rack, a host."""

    node_label: Annotated[
        str,
        doc(
            "The node label whose values are the domains of this level.",
            min_length=1,
            max_length=316,
            pattern=QUALIFIED,
        ),
    ]


class TopologySpec(Api, frozen=True, kw_only=True):
    """How nodes are near each other."""

    levels: Annotated[
        list[TopologyLevel],
        doc("The levels, the widest first.", kind="atomic", min_length=1, max_length=16, rules=LEVELS),
    ]


class Topology(Api, frozen=True, kw_only=True):
    """How the nodes of a flavor are near each other."""

    spec: Annotated[TopologySpec, doc("Desired state.")]

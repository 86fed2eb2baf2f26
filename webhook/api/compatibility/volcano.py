"""Volcano's features, each with its state here."""

from __future__ import annotations

from typing import Final

from webhook.api.compatibility.model import Feature, Sign, State

VOLCANO: Final[tuple[Feature, ...]] = (
    Feature(
        "Queue",
        State.YES,
        "guarantee, deserved, capability, weight, reclaimable, parent, Closed; read from files by plan and simulate",
        "tests/api/test_volcano.py",
    ),
    Feature(
        "PodGroup",
        State.PART,
        "minMember pods that ask for minResources in all; a running one holds its quota",
        "tests/api/test_volcano.py",
    ),
    Feature(
        "minTaskMember and subGroupPolicy",
        State.NO,
        "the group starts with minMember pods, of whichever task; use minMember alone",
        "tests/api/test_unsupported.py",
        signs=(Sign("PodGroup", ("spec", "minTaskMember")), Sign("PodGroup", ("spec", "subGroupPolicy"))),
    ),
    Feature(
        "network topology and HyperNodes",
        State.NO,
        "take spec.networkTopology away to leave places to the scheduler",
        "tests/api/test_unsupported.py",
        signs=(Sign("PodGroup", ("spec", "networkTopology")),),
    ),
    Feature(
        "node affinity and extended clusters of a Queue",
        State.NO,
        "give the nodes as a ResourceFlavor of a ClusterQueue",
        "tests/api/test_unsupported.py",
        signs=(Sign("Queue", ("spec", "affinity")), Sign("Queue", ("spec", "extendClusters"))),
    ),
    Feature(
        "dequeueStrategy of a Queue",
        State.OTHER,
        "a QueuePolicy says so: the rule `strict` is fifo, without it traverse",
        "tests/queue/test_rule_files.py",
    ),
    Feature(
        "Volcano Job",
        State.PART,
        "its pods are shaped; it is held by Volcano's own scheduler, since it has no suspend field",
        "tests/jobs/test_describe.py",
    ),
    Feature(
        "priority, sla, drf, proportion and capacity plugins",
        State.OTHER,
        "rules of a QueuePolicy: order, across, share",
        "tests/queue/test_rule_files.py",
    ),
    Feature(
        "JobFlow, HyperJob, CronJob of Volcano",
        State.NO,
        "the jobs that they make are read one by one",
    ),
    Feature(
        "placement plugins: binpack, numaaware, task-topology, deviceshare, pdb",
        State.NO,
        "nothing is placed on nodes here: the cluster's scheduler does that",
    ),
    Feature(
        "vcctl",
        State.OTHER,
        "`sluice` and `kubectl` on the objects themselves",
        "tests/cli",
    ),
)
"""Every feature of Volcano, in the order of the page."""

"""Volcano's features and their state in Sluice."""

from __future__ import annotations

from typing import Final

from webhook.api.compatibility.feature import Feature, FeatureState, Sign

VOLCANO: Final[tuple[Feature, ...]] = (
    Feature(
        "Queue",
        FeatureState.YES,
        "guarantee, deserved, capability, weight, reclaimable, parent, Closed; read from files by plan and simulate",
        "tests/api/test_volcano.py",
    ),
    Feature(
        "PodGroup",
        FeatureState.PART,
        "minMember pods that request minResources in total; a running one holds its quota",
        "tests/api/test_volcano.py",
    ),
    Feature(
        "minTaskMember and subGroupPolicy",
        FeatureState.NO,
        "the group starts with minMember pods of any task; use minMember alone",
        "tests/api/test_unsupported.py",
        signs=(Sign("PodGroup", ("spec", "minTaskMember")), Sign("PodGroup", ("spec", "subGroupPolicy"))),
    ),
    Feature(
        "network topology and HyperNodes",
        FeatureState.NO,
        "remove spec.networkTopology; the scheduler then places the pods",
        "tests/api/test_unsupported.py",
        signs=(Sign("PodGroup", ("spec", "networkTopology")),),
    ),
    Feature(
        "node affinity and extended clusters of a Queue",
        FeatureState.NO,
        "define the nodes as a ResourceFlavor of a ClusterQueue",
        "tests/api/test_unsupported.py",
        signs=(Sign("Queue", ("spec", "affinity")), Sign("Queue", ("spec", "extendClusters"))),
    ),
    Feature(
        "dequeueStrategy of a Queue",
        FeatureState.OTHER,
        "set the rule `strict` of a QueuePolicy for fifo; the default is traverse",
        "tests/queue/rules/test_files.py",
    ),
    Feature(
        "Volcano Job",
        FeatureState.PART,
        "policies apply to its pods; Volcano's scheduler queues it, since it has no suspend field",
        "tests/jobs/test_read_job.py",
    ),
    Feature(
        "priority, sla, drf, proportion and capacity plugins",
        FeatureState.OTHER,
        "rules of a QueuePolicy: order, across, share",
        "tests/queue/rules/test_files.py",
    ),
    Feature(
        "JobFlow, HyperJob, CronJob of Volcano",
        FeatureState.NO,
        "the jobs they create are read one by one",
    ),
    Feature(
        "placement plugins: binpack, numaaware, task-topology, deviceshare, pdb",
        FeatureState.NO,
        "placement on nodes is done by the cluster's scheduler",
    ),
    Feature(
        "vcctl",
        FeatureState.OTHER,
        "`sluice`, and `kubectl` on the objects",
        "tests/cli",
    ),
)
"""Every feature of Volcano, in the order of the page."""

"""Shares of fair sharing in the status of ClusterQueues and Cohorts, and in the gauges, as Kueue computes them."""

import asyncio
import math

import pytest
from prometheus_client import CollectorRegistry

from tests.cluster.core.test_revision import workload
from tests.cluster.small_cluster import queues, small_cluster
from webhook.cluster.api.kinds import CLUSTER_QUEUE, COHORT
from webhook.cluster.core.protocol import QueueFacts
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.pace import at_once
from webhook.cluster.queues.conditions import Known
from webhook.cluster.queues.counts import WorkloadCounts
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.cluster.queues.status import INFINITE_SHARE, QueueCount, status_of, tally, with_share
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.quota.shares import CurrentShares
from webhook.store.objects import merge

NOW = "2026-01-01T00:00:00Z"


def borrowing(weight):
    """The shares where a queue of 2 cpu holds 3, and a queue of the same cohort lends all of its 2."""
    lender, borrower = queues("2")[2], merge(queues("2")[2], {"metadata": {"name": "lender"}})
    objects = [*queues("2")[:2], *queues("2")[3:]]
    for queue in (lender, borrower):
        spec = {"cohortName": "all", "fairSharing": {"weight": weight}}
        objects.append(merge(queue, {"spec": spec}))
    core = QueueCore(rules_named(["kueue-fair"]))
    for obj in [*objects, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "all"}},
                *(workload(f"w-{number}", "1") for number in range(3))]:  # fmt: skip
        core.heard(None, obj)
    assert len(core.decide(0).admitted) == 3
    return core.shares()


@pytest.mark.parametrize(("weight", "share"), [("1", 250), ("2", 125), ("0", math.inf)])
def test_a_share_is_what_is_borrowed_of_what_is_lent(weight, share):
    """In thousandths, by weight; who is within nominal quota has none, nor has the root."""
    shares = borrowing(weight)
    assert shares.cluster_queues == {"cq": share, "lender": 0}
    assert shares.cohorts == {"all": 0}


def test_without_fair_sharing_there_are_none():
    """Under the rules of `kueue` nothing is compared."""
    core = QueueCore(rules_named(["kueue"]))
    core.decide(0)
    assert core.shares() is None


@pytest.mark.parametrize(("share", "shown"), [(0.0, 0), (124.2, 125), (math.inf, INFINITE_SHARE)])
def test_the_status_has_it_rounded_up(share, shown):
    """Infinite is the largest number of its type; the same share again is no change."""
    status = status_of({"metadata": {}}, QueueCount("cq", share=share), NOW, None, local=False)
    assert status["fairSharing"] == {"weightedShare": shown}
    again = status_of({"metadata": {}, "status": status}, QueueCount("cq", share=share), NOW, None, local=False)
    assert again == status


def test_a_cohort_has_it_too_and_loses_it_with_fair_sharing():
    """One that no queue is in has the share 0."""
    cohort = {"metadata": {"name": "all"}}
    status = with_share(cohort, CurrentShares(cohorts={"all": 2.5}))
    assert status == {"fairSharing": {"weightedShare": 3}}
    assert with_share(cohort, CurrentShares()) == {"fairSharing": {"weightedShare": 0}}
    assert with_share({**cohort, "status": status}, None) == {"fairSharing": None}


def test_the_shares_are_written_into_the_status():
    """Under fair sharing, of a ClusterQueue and of its Cohort."""
    objects = queues("2", cohortName="all")
    objects.append({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "all"}})

    async def go():
        async with small_cluster(*objects, core=QueueCore(rules_named(["kueue-fair"]))) as cluster:
            for gvk, name in ((CLUSTER_QUEUE, "cq"), (COHORT, "all")):

                async def written(gvk=gvk, name=name):
                    status = (await cluster.store.get(gvk, name)).get("status") or {}
                    return status.get("fairSharing") == {"weightedShare": 0}

                await cluster.until(written, f"{gvk.kind} has a share")

    asyncio.run(go())


def test_gauges_have_it_as_it_is():
    """NaN where one without weight borrows; nothing without fair sharing."""
    registry, queue = CollectorRegistry(), {"metadata": {"name": "cq"}, "spec": {"cohortName": "all"}}
    report = QueueMetrics(registry)

    def shown(shares):
        report.update(at_once(tally([queue], [], Known.of([], [], {}), WorkloadCounts(), QueueFacts(shares))))
        labels = {"cohort": "all", "replica_role": "standalone"}
        of_queue = registry.get_sample_value("kueue_cluster_queue_weighted_share", {**labels, "cluster_queue": "cq"})
        return of_queue, registry.get_sample_value("kueue_cohort_weighted_share", labels)

    assert shown(CurrentShares({"cq": 1.5}, {"all": 0.5})) == (1.5, 0.5)
    assert math.isnan(shown(CurrentShares({"cq": math.inf}, {}))[0])
    assert shown(None) == (None, None)

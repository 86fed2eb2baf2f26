"""Explanations are made anew only when something happened: the core's revision says when."""

from tests.cluster.world import queues
from webhook.cluster.queues.queue_core import QueueCore
from webhook.queue.defaults import KueueRules
from webhook.store.objects import merge

POD = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}


def workload(name, cpu="1"):
    template = merge(POD, {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}})
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "team-a", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template}]},
    }


def test_a_tick_in_which_nothing_happens_changes_no_explanation():
    """A parked workload is explained once; a change of any object, a decision or other rules make it worth it again."""
    core = QueueCore(KueueRules())
    objects = [*queues("1"), workload("big", "5")]
    core.decide(objects, 0)
    settled = core.revision
    for tick in range(1, 4):
        core.decide(objects, 5_000 * tick)
    assert core.revision == settled
    objects = [*objects, workload("small")]
    assert [a.workload for a in core.decide(objects, 20_000).admitted] == ["team-a/small"]
    after = core.revision
    assert after > settled
    core.use(KueueRules())
    assert core.revision > after

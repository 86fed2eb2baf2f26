"""What is looked at again when something changes around Workloads: each of them once, however much changed."""

import asyncio
from collections import Counter
from types import SimpleNamespace

from tests.dashboard.serving import cluster_queue, local_queue, workload
from webhook.api.configuration.sections import Retention
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE
from webhook.cluster.workloads.upkeep import Acts, Upkeep

QUEUES, WORKLOADS = 50, 20


class Read:
    """A mirror of Workloads that counts how often one of them is read."""

    def __init__(self):
        ended = {"conditions": [{"type": "Finished", "status": "True"}]}
        self.objects = {f"w-{n}": {**workload(f"w-{n}"), "status": ended} for n in range(WORKLOADS)}
        self.listed, self.found = 0, Counter()

    def all(self):
        self.listed += len(self.objects)
        return list(self.objects.values())

    def get(self, name, namespace):
        self.found[namespace, name] += 1
        return self.objects[name]


def test_every_workload_is_looked_at_once_however_many_queues_are_new():
    """A leader that takes over hears of every queue: it went through all Workloads for each of them."""
    read, core = Read(), SimpleNamespace(inactive=dict)
    acts = Acts(writer=None, events=None, evict=None, clock_ms=lambda: 0)
    upkeep = Upkeep(SimpleNamespace(mirror=lambda _: read), core, {}, acts, Retention())
    for number in range(QUEUES):
        upkeep.heard(CLUSTER_QUEUE, None, cluster_queue(f"q-{number}", "1"))
        upkeep.heard(LOCAL_QUEUE, None, local_queue("team-a", f"q-{number}", f"q-{number}"))
    asyncio.run(upkeep.run(()))
    assert read.listed == WORKLOADS
    assert read.found == dict.fromkeys((("team-a", name) for name in read.objects), 1)
    asyncio.run(upkeep.run(()))
    assert read.listed == WORKLOADS

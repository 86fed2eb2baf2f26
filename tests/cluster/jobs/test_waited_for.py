"""Jobs that name a Workload which is not there are remembered only while they wait for it."""

import asyncio

from tests.cluster.small_cluster import JOB, job, make_controller
from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.jobs.managed import key_of_job
from webhook.cluster.jobs.workloads_of_jobs import JobWorkloads
from webhook.cluster.pace import CHUNK
from webhook.store.memory import MemoryStore
from webhook.store.objects import merge


class Waiting:
    """Jobs in a view, `j0` and so on, each of which names the Workload of its number."""

    def __init__(self):
        _, self.view, _ = make_controller(MemoryStore())
        self.workloads = JobWorkloads(self.view, QueueSettings())

    def wait(self, number):
        """A job comes, and its Workload is looked for."""
        metadata = {"labels": {"kueue.x-k8s.io/prebuilt-workload-name": f"w{number}"}, "uid": f"u{number}"}
        made = merge(job(f"j{number}"), {"metadata": {**metadata, "resourceVersion": str(number + 1)}})
        self.view.informer(JOB).keep(made)
        assert self.workloads.choose(key_of_job(made), made) == (None, ())
        return made

    def come(self, number):
        """Its Workload comes, with nobody's name on it."""
        metadata = {"name": f"w{number}", "namespace": "team-a", "uid": f"w{number}", "resourceVersion": "1"}
        made = {"apiVersion": WORKLOAD.api_version, "kind": "Workload", "metadata": metadata}
        self.view.informer(WORKLOAD).keep(made)
        return made


def in_loop(work):
    async def go():
        return work(Waiting())

    return asyncio.run(go())


def test_a_workload_that_came_is_waited_for_no_more():
    def work(w):
        made = w.wait(0)
        came = w.come(0)
        assert list(w.workloads.jobs_of(came)) == [key_of_job(made)] * 2
        assert w.workloads.choose(key_of_job(made), made) == (came, ())
        return w.workloads._waiting, list(w.workloads.jobs_of(came))

    assert in_loop(work) == ({}, [])


def test_jobs_that_are_gone_are_forgotten_when_many_have_waited():
    """Their Workloads may never come; the one job that is still there is told of its own."""

    def work(w):
        stays = w.wait(0)
        for number in range(1, 3 * CHUNK):
            w.view.informer(JOB).drop(w.wait(number))
        return len(w.workloads._waiting), key_of_job(stays), list(w.workloads.jobs_of(w.come(0)))

    left, stays, told = in_loop(work)
    assert left <= CHUNK + 2
    assert told == [stays, stays]

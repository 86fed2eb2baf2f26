"""Which jobs are managed: those without a queue name where the settings say so, in some namespaces, of some kinds."""

import asyncio

import pytest

from tests.cluster.jobs.test_pods import pod, started
from tests.cluster.small_cluster import JOB, below, job, jobset, queues, small_cluster
from webhook.api.configuration.sections import Integrations, QueueSettings
from webhook.cluster.api.kinds import WORKLOAD
from webhook.kube.gvk import POD
from webhook.store.objects import merge

EVERY = QueueSettings(manage_jobs_without_queue_name=True)
ONLY_B = {"matchLabels": {"team": "b"}}


def unnamed(obj, **spec):
    """A job that names no queue, and was started by its user."""
    return merge(obj, {"metadata": {"labels": None}, "spec": {"suspend": False, **spec}})


async def settled(w, name):
    """The job and its Workload after a while in which the controller had work to do."""
    await w.create(job(f"after-{name}", "0"))
    await w.until_condition(f"after-{name}", "Admitted")
    return await w.job(name), await w.workload(name)


def test_a_job_without_a_queue_is_suspended_and_gets_a_workload():
    """Where the settings say so; it waits until it names a queue, and then runs."""

    async def go():
        async with small_cluster(*queues(), seconds=None, settings=EVERY) as w:
            await w.create(unnamed(job("a")))

            async def held():
                return (await w.job("a"))["spec"]["suspend"] and await w.workload("a") is not None

            await w.until(held, "a is suspended and has a Workload")
            before = await w.workload("a")
            await w.store.patch(JOB, "a", "team-a", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "main"}}})
            return before, await w.until_condition("a", "Admitted")

    before, after = asyncio.run(go())
    assert "queueName" not in before["spec"]
    assert after["spec"]["queueName"] == "main"


def test_a_pod_without_a_queue_waits_as_well():
    """The policy suspend-pods has gated it; it gets a Workload, and runs when it names a queue."""
    made = merge(pod("a"), {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": None}}})

    async def go():
        async with small_cluster(*queues(), seconds=None, settings=EVERY) as w:
            await w.create(made)

            async def held():
                return bool((await w.store.list(WORKLOAD)).items)

            await w.until(held, "a has a Workload")
            (before,) = (await w.store.list(WORKLOAD)).items
            await w.store.patch(POD, "a", "team-a", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "main"}}})
            await started(w, "a")
            return before

    assert "queueName" not in asyncio.run(go())["spec"]


@pytest.mark.parametrize(
    ("settings", "made"),
    [
        pytest.param(QueueSettings(), unnamed(job("a")), id="not asked for"),
        pytest.param(
            QueueSettings(manage_jobs_without_queue_name=True, managed_jobs_namespace_selector=ONLY_B),
            unnamed(job("a")),
            id="in another namespace",
        ),
        pytest.param(QueueSettings(integrations=Integrations(("pod",))), job("a"), id="a kind that is not queued"),
    ],
)
def test_a_job_that_is_not_managed_is_left_alone(settings, made):
    """It has no Workload, and is as its user wrote it."""

    async def go():
        async with small_cluster(*queues(), seconds=None, settings=settings) as w:
            await w.create(made)
            await asyncio.sleep(0.3)
            return await w.job("a"), await w.workload("a")

    found, workload = asyncio.run(go())
    assert workload is None
    assert found["spec"]["suspend"] == made["spec"]["suspend"]


def test_the_namespace_selector_counts_for_jobs_with_a_queue_too():
    """As Kueue's gate ManagedJobsNamespaceSelectorAlwaysRespected, which is on."""
    settings = QueueSettings(managed_jobs_namespace_selector=ONLY_B)

    async def go():
        async with small_cluster(*queues(), seconds=None, settings=settings) as w:
            await w.create(job("a"))
            await asyncio.sleep(0.3)
            return await w.workload("a")

    assert asyncio.run(go()) is None


def test_the_child_of_a_job_without_a_queue_waits_with_it():
    """It is suspended, and gets no Workload of its own."""

    async def go():
        async with small_cluster(*queues(), seconds=None, settings=EVERY) as w:
            (parent,) = await w.create(unnamed(jobset("parent")))
            await w.create(below(parent, unnamed(job("child"))))

            async def held():
                return (await w.job("child"))["spec"]["suspend"] and await w.workload("parent") is not None

            await w.until(held, "the child is suspended")
            return await settled(w, "child")

    _, workload = asyncio.run(go())
    assert workload is None


def test_the_child_of_a_job_whose_kind_is_left_out_runs():
    """Nobody would admit the owner, and so nobody would ever start the child."""
    settings = QueueSettings(integrations=Integrations(("batch/job",)))

    async def go():
        async with small_cluster(*queues(), seconds=None, settings=settings) as w:
            (parent,) = await w.create(jobset("parent"))
            await w.create(below(parent, unnamed(job("child"))))
            return await settled(w, "child")

    found, workload = asyncio.run(go())
    assert workload is None
    assert found["spec"]["suspend"] is False


def test_what_a_job_without_pods_made_waits_with_it():
    """Its pods may be said later, or elsewhere: what runs by then runs without quota."""

    async def go():
        async with small_cluster(*queues()) as w:
            (parent,) = await w.create(merge(jobset("parent"), {"spec": {"replicatedJobs": []}}))
            await w.create(below(parent, unnamed(job("child"))))

            async def held():
                return (await w.job("child"))["spec"]["suspend"]

            await w.until(held, "the child is suspended")
            return await w.workload("child")

    assert asyncio.run(go()) is None

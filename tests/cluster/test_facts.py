"""What the live facts do where the view is behind: ask the API server, once, and not for long."""

import asyncio

import pytest

from tests.cluster.small_cluster import below, job, jobset
from tests.patience import until
from webhook.api.configuration.sections import Integrations, QueueSettings
from webhook.api.job_to_workload import workload_name
from webhook.cluster.api import live_reads
from webhook.cluster.api.kinds import MANAGED, WORKLOAD
from webhook.cluster.api.live_store import LiveStore
from webhook.cluster.api.param_kinds import ParamKinds
from webhook.cluster.api.view import View
from webhook.cluster.policy_facts import ViewFacts
from webhook.jobs.owners import owned
from webhook.kube.gvk import NAMESPACE, GroupVersionKind
from webhook.policy.facts import FactError, ObjectQuery, Unanswered
from webhook.store.errors import NotFound, Unavailable
from webhook.store.memory import MemoryStore
from webhook.store.objects import copy_json

JOBSET = GroupVersionKind("jobset.x-k8s.io", "v1alpha2", "JobSet")


class Counting(MemoryStore):
    """Counts reads, and lets them wait, or fail."""

    def __init__(self):
        super().__init__()
        self.reads, self.gate, self.failure = [], None, None

    async def get(self, gvk, name, namespace=None):
        self.reads.append(name)
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return await super().get(gvk, name, namespace)


class Nobody:
    """A client that may not be used."""

    async def read(self, *arguments):
        raise AssertionError(arguments)

    write = read


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.seconds = 100.0

    def __call__(self):
        return self.seconds


def ask():
    """Give facts over a view that nothing was listed into, its store and its clock."""
    store, clock = Counting(), Clock()
    view = View(store, (NAMESPACE, *MANAGED, WORKLOAD))
    return ViewFacts(view, ParamKinds(view), clock), store, clock


def spaces(*names):
    """Queries for Namespaces."""
    return [ObjectQuery(NAMESPACE, "", name) for name in names]


async def add(store, *objects):
    """Store copies of some objects."""
    return [await store.create(copy_json(obj)) for obj in objects]


TEAM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": {"tier": "gold"}}}


def test_a_namespace_is_read_once_and_forgotten_soon():
    """Requests that come together share one read; its answer counts for a second."""

    async def go():
        facts, store, clock = ask()
        await add(store, TEAM)
        store.gate = asyncio.Event()
        waiting = [asyncio.create_task(facts.ask(spaces("team-a"))) for _ in range(20)]
        await until(lambda: store.reads, "a read is under way", pause=0)
        store.gate.set()
        await asyncio.gather(*waiting)
        assert facts.namespace("team-a")["metadata"]["labels"] == {"tier": "gold"}
        assert store.reads == ["team-a"]
        clock.seconds += live_reads.REMEMBER + 0.1
        with pytest.raises(Unanswered) as caught:
            facts.namespace("team-a")
        assert [caught.value.question] == spaces("team-a")

    asyncio.run(go())


def test_a_request_that_is_given_up_leaves_the_read_to_the_others():
    """The first to ask is cancelled; the second gets the answer all the same."""

    async def go():
        facts, store, _ = ask()
        await add(store, TEAM)
        store.gate = asyncio.Event()
        first, second = (asyncio.create_task(facts.ask(spaces("team-a"))) for _ in range(2))
        await until(lambda: store.reads, "a read is under way", pause=0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        store.gate.set()
        await second
        assert facts.namespace("team-a")["metadata"]["name"] == "team-a"
        assert store.reads == ["team-a"]

    asyncio.run(go())


@pytest.mark.parametrize(
    ("failure", "told", "missing"),
    [
        (None, "Namespace team-b does not exist", True),
        (Unavailable("no connection"), "Internal error occurred: no connection", False),
    ],
)
def test_a_namespace_that_cannot_be_read(failure, told, missing):
    """It is said why, in the API server's words; a Namespace that is not there is told from one that cannot be read."""

    async def go():
        facts, store, _ = ask()
        store.failure = failure
        await facts.ask(spaces("team-b"))
        with pytest.raises(FactError) as caught:
            facts.namespace("team-b")
        assert (str(caught.value), caught.value.missing) == (told, missing)

    asyncio.run(go())


def test_a_read_that_takes_too_long(monkeypatch):
    """The policy fails by its failurePolicy before the API server gives the review up."""
    monkeypatch.setattr(live_reads, "TIMEOUT", 0.0)

    async def go():
        facts, store, _ = ask()
        store.gate = asyncio.Event()
        await facts.ask(spaces("team-a"))
        with pytest.raises(FactError, match="did not give Namespace team-a"):
            facts.namespace("team-a")

    asyncio.run(go())


def test_many_namespaces_are_read_some_at_a_time():
    """Whoever asks for a thousand names cannot make a thousand requests at once."""

    async def go():
        facts, store, _ = ask()
        store.gate = asyncio.Event()
        asking = asyncio.create_task(facts.ask(spaces(*(f"n{i}" for i in range(100)))))
        await until(lambda: len(store.reads) == live_reads.CONCURRENT_READS, "as many are read as may be", pause=0)
        for _ in range(300):
            await asyncio.sleep(0)
        assert len(store.reads) == live_reads.CONCURRENT_READS
        store.gate.set()
        await asking
        assert len(store.reads) == 100

    asyncio.run(go())


async def decided(facts, obj):
    """Whether an object is owned, after all questions were answered; and how many there were."""
    asked = 0
    while True:
        try:
            return owned(obj, "team-a", facts), asked
        except Unanswered as unanswered:
            await facts.ask([unanswered.question])
            asked += 1


def admitted(owner):
    """The Workload of a job, admitted."""
    metadata = owner["metadata"]
    group = owner["apiVersion"].partition("/")[0]
    name = workload_name(owner["kind"], group, metadata["name"], metadata["uid"])
    found = below(owner, {"metadata": {"name": name, "namespace": metadata["namespace"]}})
    status = {"conditions": [{"type": "Admitted", "status": "True"}]}
    return {"apiVersion": WORKLOAD.api_version, "kind": "Workload", **found, "status": status}


def test_an_owner_and_its_workload_are_asked_for():
    """The view is behind: the JobSet was admitted a moment ago. Its Job must not be held, nobody would start it."""

    async def go():
        facts, store, _ = ask()
        [gang] = await add(store, jobset("gang"))
        child = below(gang, job("child", suspend=False))
        assert await decided(facts, child) == (False, 2)
        other, store, _ = ask()
        [gang] = await add(store, gang)
        await add(store, admitted(gang))
        assert await decided(other, below(gang, child)) == (True, 2)

    asyncio.run(go())


def test_a_workload_of_kueue_counts_whatever_its_name():
    """With mode external Kueue names the Workloads: it is found by the job that it belongs to, and nobody is asked."""

    async def go():
        store = Counting()
        view = View(store, (*MANAGED, WORKLOAD))
        facts = ViewFacts(view, ParamKinds(view), Clock())
        [gang] = await add(store, jobset("gang"))
        workload = admitted(gang)
        workload["metadata"]["name"] = "jobset-gang-0a1b2"
        view.informer(JOBSET).keep(gang)
        view.informer(WORKLOAD).keep(workload)
        assert await decided(facts, below(gang, job("child"))) == (True, 0)

    asyncio.run(go())


def test_an_owner_that_cannot_be_read_fails_the_policy():
    """A guess would hold what nobody starts, or let pass what nobody admitted."""

    async def go():
        facts, store, _ = ask()
        [gang] = await add(store, jobset("gang"))
        store.failure = Unavailable("no connection")
        with pytest.raises(FactError, match="no connection"):
            await decided(facts, below(gang, job("child")))

    asyncio.run(go())


def test_nobody_is_asked_about_an_owner_that_could_not_make_the_object():
    """A reference of a pair that no controller makes costs the API server nothing."""

    async def go():
        facts, store, _ = ask()
        [small] = await add(store, job("small"))
        assert await decided(facts, below(small, job("large"))) == (False, 0)
        assert store.reads == []

    asyncio.run(go())


@pytest.mark.parametrize("name", ["..", ".", "a/b", "../../secrets", "a%2fb"])
def test_a_name_that_is_no_name_reaches_no_url(name):
    """An ownerReference may hold any text: it never becomes another path of the API server."""

    async def go():
        with pytest.raises(NotFound):
            await LiveStore(Nobody()).get(GroupVersionKind("batch", "v1", "Job"), name, "team-a")

    asyncio.run(go())


@pytest.mark.parametrize(
    ("settings", "kind", "held"),
    [
        ({}, "Job", True),
        ({"integrations": Integrations(frameworks=("batch/job",))}, "Job", True),
        ({"integrations": Integrations(frameworks=("batch/job",))}, "JobSet", False),
        ({"managed_jobs_namespace_selector": {"matchLabels": {"tier": "gold"}}}, "Job", True),
        ({"managed_jobs_namespace_selector": {"matchLabels": {"tier": "lead"}}}, "Job", False),
        ({"manage_jobs_without_queue_name": True, "namespace": "team-a"}, "Job", False),
    ],
)
def test_what_the_settings_leave_out_is_not_held(settings, kind, held):
    """By kind, and by the labels of the namespace, which is asked for where it matters; what is no job is held."""
    store = MemoryStore()
    view = View(store, (NAMESPACE,))
    named = {**TEAM["metadata"], "labels": {"tier": "gold", "kubernetes.io/metadata.name": "team-a"}}
    view.informer(NAMESPACE).keep({**TEAM, "metadata": named})
    facts = ViewFacts(view, ParamKinds(view), Clock(), QueueSettings(**settings))
    assert facts.holds(job("a") if kind == "Job" else jobset("a"), "team-a") is held
    assert facts.holds({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}, "team-a")

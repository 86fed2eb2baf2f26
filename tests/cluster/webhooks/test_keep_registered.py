"""What is registered follows the policies in force; whom it is for stays as it was written, and never grows."""

import asyncio
import copy
import itertools

import pytest

from tests.cluster.webhooks.test_registration import OPTIONS, policy
from tests.patience import until
from webhook import documents
from webhook.cluster.webhooks.configurations import (
    MUTATING,
    SYSTEM,
    VALIDATING,
    Options,
    WebhookEndpoint,
    configurations,
    is_kept,
    register,
)
from webhook.cluster.webhooks.keep_registered import Registered, Release, adapted, hooks_of, registered
from webhook.cluster.webhooks.required_webhooks import hooks
from webhook.documents import read
from webhook.policy.loading.assemble import assemble
from webhook.policy.webhook_rules import registration
from webhook.store.errors import Conflict, Refused
from webhook.store.memory import MemoryStore

SERVICE = WebhookEndpoint(b"PEM", service="sluice", namespace="sluice-system")
URL = WebhookEndpoint(b"PEM", url="https://h:1/base/")
RELEASE = Release("sluice", "sluice-system")
SETS = {
    "nothing": [],
    "one": [policy("a")],
    "both failures": [policy("a"), policy("b", "services", failure="Ignore")],
    "with a condition": [policy("a", condition="object.metadata.name != 'x'")],
    "everything": [policy("a", "*", group="*", mutating=True)],
    "mutating": [policy("m", mutating=True), policy("n", "services", failure="Ignore", mutating=True)],
}


def needed(name, *, gate=True):
    """The hooks of a set of policies."""
    text = "---\n".join(documents.dump(obj) for pair in SETS[name] for obj in pair)
    return hooks(registration(assemble(read(text, "p.yaml"), []).policies), gate=gate)


@pytest.mark.parametrize("target", [SERVICE, URL], ids=["service", "url"])
@pytest.mark.parametrize(("before", "after"), [*itertools.product(SETS, SETS)])
def test_what_follows_is_what_would_be_registered(before, after, target):
    """From any set of policies to any other: the same as if it had been registered for the second at once."""
    old, new = (configurations(needed(name), target, OPTIONS) for name in (before, after))
    found = [adapted(there, needed(after), "sluice-system") for there in old]
    assert [obj["webhooks"] for obj in found] == [obj["webhooks"] for obj in new]


@pytest.mark.parametrize("name", SETS)
def test_what_is_registered_can_be_read_back(name):
    """As the hooks that it was made from: `sluice register` without policies writes the same entries again."""
    found = [hook for configuration in configurations(needed(name), URL, OPTIONS) for hook in hooks_of(configuration)]
    assert [(h.name, h.path, h.failure, h.condition) for h in found] == [
        (h.name, h.path, h.failure, h.condition) for h in needed(name)
    ]
    assert configurations(found, URL, OPTIONS) == configurations(needed(name), URL, OPTIONS)


def widened(entry):
    """What a person may have changed by hand, for better or worse."""
    yield "its own namespace is matched", entry.pop("namespaceSelector")
    yield "other labels", entry.update(namespaceSelector={"matchLabels": {"team": "a"}})
    yield (
        "a namespace more is left out",
        entry["namespaceSelector"].update(
            matchExpressions=[{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["mine"]}]
        ),
    )
    yield "an object selector", entry.update(objectSelector={"matchLabels": {"gpu": "yes"}})
    yield "a condition of its own", entry.update(matchConditions=[{"name": "mine", "expression": "false"}])
    yield "a shorter time", entry.update(timeoutSeconds=1)


def test_what_people_wrote_stays_and_the_system_is_left_out():
    """Selectors, conditions and times of an entry are kept, and new entries have them; the system is never matched."""
    mutating, _ = configurations(needed("mutating"), SERVICE, OPTIONS)
    (entry, other) = mutating["webhooks"]
    for _ in widened(entry):
        pass
    mutating["webhooks"] = [entry]
    found = adapted(mutating, needed("everything"), "sluice-system")
    (kept,) = found["webhooks"]
    assert kept["namespaceSelector"]["matchLabels"] == {"team": "a"}
    (excluded,) = kept["namespaceSelector"]["matchExpressions"]
    assert set(excluded["values"]) == {*SYSTEM, "sluice-system", "mine"}
    assert kept["objectSelector"] == {"matchLabels": {"gpu": "yes"}}
    assert [row["name"] for row in kept["matchConditions"]] == ["not-a-lease", "not-an-access-review", "mine"]
    assert kept["timeoutSeconds"] == 1
    again = adapted(found, needed("mutating"), "sluice-system")["webhooks"]
    assert [row["objectSelector"] for row in again] == [kept["objectSelector"]] * 2
    assert {row["name"] for row in again} == {entry["name"], other["name"]}


class Cluster:
    """A store in which something is registered, and replicas with policies of their own."""

    def __init__(self, name="one"):
        self.store, self.name, self.leads = MemoryStore(), name, True

    def may_write(self):
        return self.leads

    def replica(self, name, *, writes=True):
        return Registered(self.store, RELEASE, lambda: needed(name), self.may_write if writes else None)

    async def register(self):
        await register(self.store, needed(self.name), SERVICE, OPTIONS)

    async def found(self):
        return [[h.name, bool(h.rules)] for h in await registered(self.store, "sluice")]


def run(story, name="one"):
    return asyncio.run(story(Cluster(name)))


def test_the_leader_writes_and_the_others_say_what_differs():
    """A replica that does not lead, or may not write, only tells."""

    async def story(cluster):
        await cluster.register()
        cluster.leads = False
        replica = cluster.replica("both failures")
        await replica.look()
        assert replica.differs
        assert replica.detail == (f"{VALIDATING.kind} registered for other policies than those in force")
        watching = cluster.replica("both failures", writes=False)
        await watching.look()
        assert watching.differs
        cluster.leads = True
        await replica.look()
        assert (replica.differs, replica.detail) == (False, "")
        await watching.look()
        assert (watching.differs, watching.detail) == (False, "")
        assert ["ignore.validate.sluice.dev", True] in await cluster.found()

    run(story)


@pytest.mark.parametrize("name", SETS)
def test_the_leader_marks_what_it_keeps(name):
    """Also where the entries are right already. Who may not write does not miss the mark; registering leaves it."""

    async def story(cluster):
        cluster.name = name
        await cluster.register()
        watching = cluster.replica(name, writes=False)
        await watching.look()
        assert (watching.differs, await is_kept(cluster.store, "sluice")) == (False, False)
        await cluster.replica(name).look()
        assert await is_kept(cluster.store, "sluice")
        await cluster.register()
        assert await is_kept(cluster.store, "sluice")

    run(story)


def test_an_entry_comes_with_the_first_policy_that_needs_it():
    """Where no policy mutates, an entry without rules says where the server is; the first mutating policy is called."""

    async def story(cluster):
        await cluster.register()
        assert ["ignore.mutate.sluice.dev", False] in await cluster.found()
        await cluster.replica("mutating").look()
        (hook, _) = (await cluster.store.get(MUTATING, "sluice"))["webhooks"]
        assert (hook["name"], hook["failurePolicy"]) == ("fail.mutate.sluice.dev", "Fail")
        assert hook["clientConfig"]["service"]["path"] == "/mutate/fail"

    run(story, "nothing")


def test_nothing_is_created():
    """Where nothing is registered, or half of it, that is told; an uninstall is not undone."""

    async def story(cluster):
        replica = cluster.replica("one")
        await replica.look()
        assert replica.differs
        assert replica.detail == f"not registered: no {MUTATING.kind} and no {VALIDATING.kind}; run `sluice register`"
        assert await cluster.found() == []
        await cluster.register()
        await cluster.store.delete(MUTATING, "sluice", None)
        await replica.look()
        assert replica.detail == f"not registered: no {MUTATING.kind}; run `sluice register`"

    run(story)


def test_one_that_was_written_meanwhile_is_looked_at_again():
    """A conflict is no error: the next look finds what the other wrote."""

    class Busy(MemoryStore):
        conflicts = 1

        async def update(self, obj, **options):
            if self.conflicts and obj["kind"] == VALIDATING.kind:
                self.conflicts -= 1
                raise Conflict("written meanwhile")
            return await super().update(obj, **options)

    async def story(cluster):
        cluster.store = Busy()
        await cluster.register()
        replica = cluster.replica("both failures")
        await replica.look()
        assert replica.differs
        await replica.look()
        assert not replica.differs

    run(story)


def test_what_the_leader_may_not_write_differs():
    """One that is refused, or says nowhere where the server is, is told, and the other is written all the same."""

    class Refusing(MemoryStore):
        async def update(self, obj, **options):
            if obj["kind"] == MUTATING.kind:
                raise Refused("forbidden: User cannot update resource")
            return await super().update(obj, **options)

    async def story(cluster):
        cluster.store = Refusing()
        await cluster.register()
        replica = cluster.replica("everything")
        await replica.look()
        assert replica.differs
        assert replica.detail == (
            f"{MUTATING.kind} registered for other policies than those in force; "
            f"{MUTATING.kind}: forbidden: User cannot update resource"
        )
        written = (await cluster.store.get(VALIDATING, "sluice"))["webhooks"]
        assert written == configurations(needed("everything"), SERVICE, OPTIONS)[1]["webhooks"]
        cluster.store = MemoryStore()
        empty, other = configurations(needed("one"), SERVICE, OPTIONS)
        await cluster.store.create({**empty, "webhooks": []})
        await cluster.store.create(other)
        replica = cluster.replica("everything")
        await replica.look()
        assert replica.differs
        assert "run `sluice register`" in replica.detail

    run(story)


@pytest.mark.parametrize("turns", range(6))
def test_a_look_that_is_cancelled_at_a_reload_ends(turns):
    """However close the two are."""

    async def story(cluster):
        await cluster.register()
        replica = cluster.replica("one", writes=False)
        following = asyncio.create_task(replica.follow())
        for _ in range(20):
            await asyncio.sleep(0)
        replica.reloaded()
        for _ in range(turns):
            await asyncio.sleep(0)
        following.cancel()
        for _ in range(20):
            await asyncio.sleep(0)
        assert following.cancelled()

    run(story)


def test_what_cannot_be_read_is_told_and_tried_again():
    """Without the right to read them, the detail of readiness has the API server's words."""

    class Locked(MemoryStore):
        async def get(self, *named):
            raise Refused("forbidden: User cannot get resource")

    async def story(cluster):
        cluster.store = Locked()
        replica = cluster.replica("one")
        following = asyncio.create_task(replica.follow())

        async def told():
            return "forbidden" in replica.detail

        await until(told, "it says why")
        following.cancel()

    run(story)


def test_a_configuration_without_entries_says_what_to_do():
    """Nothing tells where the server is."""
    empty = copy.deepcopy(configurations(needed("one"), SERVICE, Options()))[0]
    empty["webhooks"] = []
    with pytest.raises(ValueError, match="run `sluice register`"):
        adapted(empty, needed("one"), "sluice-system")

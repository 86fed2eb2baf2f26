"""The store in memory behaves as an API server does, where the controller relies on it."""

import asyncio

import pytest

from webhook.kube.gvk import GroupVersionKind
from webhook.store.errors import AlreadyExists, Conflict, Expired, NotFound, Refused
from webhook.store.memory import MemoryStore
from webhook.store.objects import EventType, merge, version_of

THING = GroupVersionKind("example.org", "v1", "Thing")


def thing(name="a", **fields):
    metadata = {"name": name, "namespace": "n", **fields.pop("metadata", {})}
    return {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": metadata, **fields}


def run(work):
    async def go():
        return await work(MemoryStore())

    return asyncio.run(go())


def test_an_object_is_created_read_and_deleted():
    """Create gives uid, version and time; get finds it; after delete it is gone."""

    async def work(store):
        made = await store.create(thing(spec={"x": 1}))
        assert made["metadata"]["uid"]
        assert made["metadata"]["creationTimestamp"].endswith("Z")
        assert (await store.get(THING, "a", "n")) == made
        await store.delete(THING, "a", "n")
        with pytest.raises(NotFound):
            await store.get(THING, "a", "n")

    run(work)


def test_a_name_is_taken_once_and_may_be_generated():
    """A second object of a name is refused; `generateName` makes names that differ; none at all is refused."""

    async def work(store):
        await store.create(thing())
        with pytest.raises(AlreadyExists):
            await store.create(thing())
        named = [await store.create(thing(metadata={"name": "", "generateName": "g-"})) for _ in range(2)]
        assert len({obj["metadata"]["name"] for obj in named}) == 2
        with pytest.raises(Refused):
            await store.create(thing(""))

    run(work)


def test_an_old_version_is_a_conflict():
    """A write with a version that is not the stored one changes nothing, by update and by patch."""

    async def work(store):
        old = await store.create(thing(spec={"x": 1}))
        await store.patch(THING, "a", "n", {"spec": {"x": 2}})
        with pytest.raises(Conflict):
            await store.update(merge(old, {"spec": {"x": 3}}))
        with pytest.raises(Conflict):
            await store.patch(THING, "a", "n", {"metadata": {"resourceVersion": version_of(old)}, "spec": {"x": 3}})
        assert (await store.get(THING, "a", "n"))["spec"] == {"x": 2}

    run(work)


def test_a_status_write_leaves_the_rest():
    """The status subresource changes the status only, and the spec's generation stays."""

    async def work(store):
        await store.create(thing(spec={"x": 1}))
        patch = {"spec": {"x": 9}, "status": {"ok": True}}
        after = await store.patch(THING, "a", "n", patch, subresource="status")
        assert (after["spec"], after["status"], after["metadata"]["generation"]) == ({"x": 1}, {"ok": True}, 1)

    run(work)


def test_a_write_that_changes_nothing_makes_no_version():
    """Writing what is there already is not an event."""

    async def work(store):
        before = await store.create(thing(spec={"x": 1}))
        after = await store.patch(THING, "a", "n", {"spec": {"x": 1}})
        assert version_of(before) == version_of(after)

    run(work)


def test_a_dry_run_leaves_no_trace():
    """Create and patch with dryRun give the answer and store nothing."""

    async def work(store):
        await store.create(thing(), dry_run=True)
        assert (await store.list(THING)).items == []
        await store.create(thing(spec={"x": 1}))
        assert (await store.patch(THING, "a", "n", {"spec": {"x": 2}}, dry_run=True))["spec"] == {"x": 2}
        assert (await store.get(THING, "a", "n"))["spec"] == {"x": 1}

    run(work)


def test_a_watch_goes_on_where_a_list_ended():
    """Every change after the list's version is told, in order, of this kind and namespace only."""

    async def work(store):
        await store.create(thing("before"))
        version = (await store.list(THING)).version
        made = await store.create(thing("a"))
        await store.create({**thing("a"), "kind": "Other"})
        await store.create(thing("b", metadata={"namespace": "elsewhere"}))
        await store.patch(THING, "a", "n", {"spec": {"x": 1}})
        await store.delete(THING, "a", "n", uid=made["metadata"]["uid"])
        seen = []
        async for event in store.watch(THING, version, "n"):
            seen.append((event.type, event.object["metadata"]["name"]))
            if event.type is EventType.DELETED:
                break
        return seen

    assert [str(type_) for type_, name in run(work) if name == "a"] == ["ADDED", "MODIFIED", "DELETED"]


def test_a_watch_from_too_long_ago_is_expired():
    """A version that is forgotten raises Expired, so that the caller lists again."""

    async def go():
        store = MemoryStore(history=3)
        for n in range(20):
            await store.create(thing(f"t{n}"))
        with pytest.raises(Expired):
            async for _ in store.watch(THING, "1"):
                pass

    asyncio.run(go())


def test_what_an_object_owns_goes_with_it():
    """Deleting an owner deletes its dependents; one with a finalizer stays, marked, until that is taken off."""

    async def work(store):
        owner = await store.create(thing("owner"))
        reference = {"ownerReferences": [{"uid": owner["metadata"]["uid"], "kind": "Thing", "name": "owner"}]}
        await store.create(thing("free", metadata=reference))
        await store.create(thing("held", metadata={**reference, "finalizers": ["x/y"]}))
        await store.delete(THING, "owner", "n")
        (held,) = (await store.list(THING)).items
        assert held["metadata"]["name"] == "held"
        assert held["metadata"]["deletionTimestamp"]
        await store.patch(THING, "held", "n", {"metadata": {"finalizers": None}})
        assert (await store.list(THING)).items == []

    run(work)


def test_apply_creates_and_then_merges():
    """Server-side apply makes the object, and merges into one that is there."""

    async def work(store):
        await store.apply(thing(spec={"x": 1}), "me")
        after = await store.apply(thing(spec={"y": 2}), "me")
        assert after["spec"] == {"x": 1, "y": 2}

    run(work)


def test_merge_follows_the_rfc():
    """Null takes away, maps merge, anything else replaces; the arguments stay as they were (RFC 7386)."""
    target = {"a": {"b": 1, "c": 2}, "d": [1, 2]}
    assert merge(target, {"a": {"b": None, "e": 3}, "d": [9]}) == {"a": {"c": 2, "e": 3}, "d": [9]}
    assert target == {"a": {"b": 1, "c": 2}, "d": [1, 2]}

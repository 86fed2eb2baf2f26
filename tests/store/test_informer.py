"""An informer follows its store through lost connections, forgotten versions and its owner's own writes."""

import asyncio
from contextlib import asynccontextmanager

from tests.patience import until
from tests.store.test_memory import THING, thing
from webhook.store.errors import Expired, Unavailable
from webhook.store.informer import Informer
from webhook.store.memory import MemoryStore
from webhook.store.objects import Listing, merge


class Shaky(MemoryStore):
    """A store whose watches break: the next one raises what is in `breaks`, after one event."""

    def __init__(self):
        super().__init__()
        self.breaks = []
        self.lists = 0

    async def list(self, gvk, namespace=None, labels=None):
        self.lists += 1
        return await super().list(gvk, namespace)

    async def watch(self, gvk, since, namespace=None, labels=None):
        trouble = self.breaks.pop(0) if self.breaks else None
        if isinstance(trouble, Expired):
            raise trouble
        async for event in super().watch(gvk, since, namespace):
            yield event
            if trouble is not None:
                raise trouble


@asynccontextmanager
async def followed(store, listener=None):
    informer = Informer(THING, listener)
    task = asyncio.create_task(informer.follow(store))
    await informer.synced.wait()
    try:
        yield informer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_changes_arrive():
    """Objects listed and changed later are there; a deleted one is gone; the listener hears before and after."""
    heard = []

    async def go():
        store = MemoryStore()
        await store.create(thing("a"))
        async with followed(store, lambda gvk, old, new: heard.append((bool(old), bool(new)))) as informer:
            await store.patch(THING, "a", "n", {"spec": {"x": 1}})
            await until(lambda: (informer.get("a", "n") or {}).get("spec") == {"x": 1}, "the change arrives")
            uid = informer.get("a", "n")["metadata"]["uid"]
            assert informer.by_uid(uid) is informer.get("a", "n")
            await store.delete(THING, "a", "n")
            await until(lambda: informer.get("a", "n") is None, "it is gone")
            assert informer.by_uid(uid) is None

    asyncio.run(go())
    assert heard == [(False, True), (True, True), (True, False)]


def test_objects_are_found_by_their_values():
    """What the index says of an object now finds it, in its namespace; what it said before, or of one dropped, not."""

    def coloured(name, *colours, namespace="n", uid="", version=1):
        metadata = {"name": name, "namespace": namespace, "uid": uid or name, "resourceVersion": str(version)}
        return {**thing(name), "metadata": metadata, "spec": {"colours": colours}}

    def found(colour, namespace="n"):
        return [obj["metadata"]["name"] for obj in informer.of(namespace, colour)]

    informer = Informer(THING, index=lambda obj: obj["spec"]["colours"])
    for obj in (coloured("a", "red"), coloured("b", "red", "blue"), coloured("c", "red", namespace="other", uid="far")):
        informer.keep(obj)
    assert (found("red"), found("blue"), found("red", "other"), found("green")) == (["a", "b"], ["b"], ["c"], [])
    informer.keep(coloured("a", "red", version=2))
    assert informer.of("n", "red")[0] is informer.get("a", "n")
    informer.keep(coloured("b", "green", version=2))
    assert (found("red"), found("blue"), found("green")) == (["a"], [], ["b"])
    informer.keep(coloured("a", "blue", uid="another", version=3))
    informer.drop(coloured("b", version=4))
    assert (found("red"), found("blue"), found("green")) == ([], ["a"], [])


def test_only_the_watch_itself_says_how_far_it_has_told():
    """The answer to a write is seen at once, but what came before it is there only when the watch has told of both."""

    async def go():
        store = Shaky()
        async with followed(store) as informer:
            await store.create(thing("before"))
            informer.keep(await store.create(thing("own")))
            version = informer.get("own", "n")["metadata"]["resourceVersion"]
            before = informer.get("before", "n")
            await informer.reach(version)
            return before, informer.get("before", "n") is not None, store.lists

    assert asyncio.run(go()) == (None, True, 1)


def test_a_lost_connection_is_taken_up_without_a_list():
    """After an error the watch goes on from the last version; nothing is missed and nothing listed again."""

    async def go():
        store = Shaky()
        store.breaks = [Unavailable("gone")]
        async with followed(store) as informer:
            for n in range(5):
                await store.create(thing(f"t{n}"))
            await until(lambda: len(informer) == 5, "all five are there")
        return store.lists

    assert asyncio.run(go()) == 1


def test_a_forgotten_version_makes_it_list_again():
    """After Expired everything is listed anew; what was deleted meanwhile is gone from the informer too."""

    async def go():
        store = Shaky()
        await store.create(thing("old"))
        store.breaks = [Expired("too old")]
        informer = Informer(THING)
        informer.keep(merge(thing("ghost"), {"metadata": {"uid": "u", "resourceVersion": "0"}}))
        task = asyncio.create_task(informer.follow(store))
        await until(lambda: store.lists == 2, "it lists again")
        await until(lambda: informer.get("old", "n") is not None, "old is there")
        ghost = informer.get("ghost", "n")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return ghost

    assert asyncio.run(go()) is None


def test_a_server_that_forgets_at_once_is_not_asked_without_a_pause(monkeypatch):
    """Each watch is too late: its lists would be what keeps the API server from going on."""
    pauses = []

    async def sleep(seconds):
        pauses.append(seconds)

    async def go():
        store = Shaky()
        store.breaks = [Expired("too old")] * 8
        informer = Informer(THING)
        with monkeypatch.context() as patched:
            patched.setattr("webhook.store.informer.asyncio.sleep", sleep)
            following = asyncio.create_task(informer.follow(store))
            await asyncio.wait({following}, timeout=0.2)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        return store.lists

    assert asyncio.run(go()) == 9
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 15.0]


class Answered(MemoryStore):
    """A store whose lists are on their way until `open`."""

    def __init__(self):
        super().__init__()
        self.open = asyncio.Event()
        self.open.set()

    async def list(self, gvk, namespace=None, labels=None):
        listing = await super().list(gvk, namespace)
        await self.open.wait()
        return listing


def test_what_is_deleted_during_a_list_does_not_come_back():
    """However many objects that are: the watch has told of all of them when the list arrives."""

    async def go():
        store, many = Answered(), 1500
        for n in range(many):
            await store.create(thing(f"t{n}"))
        async with followed(store) as informer:
            store.open.clear()
            listing = asyncio.create_task(informer.refresh(store))
            await asyncio.sleep(0)
            for n in range(many):
                await store.delete(THING, f"t{n}", "n")
            await until(lambda: not len(informer), "all are gone")
            store.open.set()
            await listing
            return len(informer)

    assert asyncio.run(go()) == 0


def test_what_was_deleted_before_the_answer_to_a_write_does_not_come_back():
    """However many were deleted since; what the watch has not told of yet is kept."""

    async def go():
        store, many = MemoryStore(), 1500
        async with followed(store) as informer:
            late, *_ = [await store.create(thing(f"t{n}")) for n in range(many)]
            await until(lambda: len(informer) == many, "all are there")
            for n in range(many):
                await store.delete(THING, f"t{n}", "n")
            await until(lambda: not len(informer), "all are gone")
            informer.answered(late)
            informer.answered(await store.create(thing("new")))
            return [obj["metadata"]["name"] for obj in informer.all()]

    assert asyncio.run(go()) == ["new"]


class Opaque:
    """A store whose versions are no numbers, and whose watches end with Expired when `gone` is set."""

    def __init__(self, *names):
        self.objects, self.gone = {name: self.made(name) for name in names}, asyncio.Event()

    def made(self, name):
        return merge(thing(name), {"metadata": {"uid": name, "resourceVersion": f"v-{name}"}})

    async def list(self, *_):
        return Listing(list(self.objects.values()), f"v-{len(self.objects)}")

    async def watch(self, *_):
        await self.gone.wait()
        self.gone.clear()
        raise Expired("too old")
        yield


def test_versions_need_not_be_numbers():
    """An aggregated API may have its own: what is not listed again is gone."""

    async def go():
        store = Opaque("a", "b")
        async with followed(store) as informer:
            del store.objects["a"]
            store.objects["c"] = store.made("c")
            store.gone.set()
            await until(lambda: informer.get("c", "n"), "it lists again")
            return [obj["metadata"]["name"] for obj in informer.all()]

    assert asyncio.run(go()) == ["b", "c"]


def test_an_older_event_never_undoes_a_write():
    """What was kept from the answer to a write stays, although older events and lists come in after it."""

    async def go():
        store = MemoryStore()
        informer = Informer(THING)
        first = await store.create(thing())
        second = await store.patch(THING, "a", "n", {"spec": {"x": 2}})
        informer.keep(second)
        informer.keep(first)
        assert informer.get("a", "n")["spec"] == {"x": 2}
        informer.drop(second)
        informer.keep(second)
        assert informer.get("a", "n") is None, "a deleted object does not come back by a late event"
        again = await store.create(thing("b"))
        informer.keep(again)
        informer._replace([], first["metadata"]["resourceVersion"])
        assert informer.get("b", "n") is not None, "what was written after the list was made stays"

    asyncio.run(go())

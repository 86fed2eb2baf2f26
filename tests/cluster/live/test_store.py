"""The live store against a real API server: any kind by discovery, preconditions, watches, errors by name."""

import asyncio
import re
from time import monotonic

import pytest

from tests.e2e.crds import crd, install
from tests.patience import PATIENCE, until
from webhook.cluster.api import live_reads
from webhook.cluster.api.client import Client, Pace
from webhook.cluster.api.kinds import LEASE
from webhook.cluster.api.live_store import LiveStore
from webhook.cluster.api.param_kinds import ParamKinds
from webhook.cluster.api.view import View
from webhook.cluster.policy_facts import ViewFacts
from webhook.kube.gvk import NAMESPACE, GroupVersionKind
from webhook.kube.scope import Scope
from webhook.policy.facts import Check, Decision, FactError, ObjectQuery, Unanswered
from webhook.store.errors import AlreadyExists, Conflict, NotFound, Refused, Unavailable
from webhook.store.informer import Informer
from webhook.store.objects import EventType, version_of

pytestmark = pytest.mark.cluster
CONFIG = GroupVersionKind("", "v1", "ConfigMap")


def config(name, namespace, **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {"tests": "live"}},
        "data": data,
    }


@pytest.fixture
def live(control_plane):
    """Runs `work(store)` with a store on the control plane."""

    def run(work):
        async def go():
            client = await Client.connect(control_plane.kubeconfig, None, Pace(timeout=PATIENCE), monotonic)
            try:
                return await work(LiveStore(client))
            finally:
                await client.close()

        return asyncio.run(go())

    return run


def test_objects_of_any_kind_are_written_with_preconditions(live, namespace):
    """Create, get, patch, update, apply and delete; an old version or another uid is a Conflict."""

    async def work(store):
        made = await store.create(config("a", namespace, x="1"))
        assert (made["kind"], made["apiVersion"]) == ("ConfigMap", "v1")
        assert "managedFields" not in made["metadata"]
        with pytest.raises(AlreadyExists):
            await store.create(config("a", namespace))
        newer = await store.patch(CONFIG, "a", namespace, {"data": {"x": None, "y": "2"}})
        assert newer["data"] == {"y": "2"}
        old = {"metadata": {"resourceVersion": version_of(made)}, "data": {"z": "3"}}
        with pytest.raises(Conflict):
            await store.patch(CONFIG, "a", namespace, old)
        with pytest.raises(Conflict):
            await store.update({**made, "data": {"z": "3"}})
        await store.update({**newer, "data": {"w": "4"}})
        applied = await store.apply(config("a", namespace, v="5"), "tests")
        assert applied["data"] == {"w": "4", "v": "5"}
        with pytest.raises(Conflict):
            await store.delete(CONFIG, "a", namespace, uid="00000000-0000-0000-0000-000000000000")
        await store.delete(CONFIG, "a", namespace, uid=made["metadata"]["uid"])
        with pytest.raises(NotFound):
            await store.get(CONFIG, "a", namespace)

    live(work)


def test_a_dry_run_stores_nothing(live, namespace):
    """`dry_run` reaches the API server."""

    async def work(store):
        await store.create(config("dry", namespace), dry_run=True)
        with pytest.raises(NotFound):
            await store.get(CONFIG, "dry", namespace)

    live(work)


def test_kinds_are_found_by_discovery(live):
    """A kind that is there is served, one that is not is NotFound, whatever its group."""

    async def work(store):
        assert await store.scope(NAMESPACE) is Scope.CLUSTER
        assert await store.scope(LEASE) is Scope.NAMESPACED
        assert await store.scope(GroupVersionKind("", "v1", "Gizmo")) is None
        assert await store.scope(GroupVersionKind("example.org", "v1", "Gizmo")) is None
        with pytest.raises(NotFound):
            await store.list(GroupVersionKind("example.org", "v1", "Gizmo"))

    live(work)


def test_parameters_of_a_kind_in_no_namespace_are_found(live, control_plane):
    """The scope of a custom kind is what discovery says; one that comes later is found then, one that never does not.

    Guessed to be namespaced, its objects were looked for in the request's namespace, and never found.
    """
    made = crd("example.org", "v1", "Limit")
    made["spec"]["scope"] = "Cluster"
    gvk = GroupVersionKind("example.org", "v1", "Limit")

    async def work(store):
        view = View(store, ())
        params = ParamKinds(view)
        facts = ViewFacts(view, params, monotonic)
        params.add([gvk])
        view.start()
        params.start()
        try:
            await params.wait([gvk])
            assert facts.scope(gvk) is None
            assert params.missing([gvk]) == []
            await asyncio.to_thread(install, control_plane, made)
            await until(lambda: store.scope(gvk), "discovery has the kind, some time after it is served")
            await store.create({"apiVersion": "example.org/v1", "kind": "Limit", "metadata": {"name": "one"}})
            seen = lambda: facts.scope(gvk) and facts.params(gvk, None, "one", None)  # noqa: E731
            await until(seen, "the kind is followed, and its watch has sent the object")
            assert facts.scope(gvk) is Scope.CLUSTER
            assert [obj["metadata"]["name"] for obj in facts.params(gvk, None, "one", None)] == ["one"]
        finally:
            await params.stop()
            await view.stop()
            await asyncio.to_thread(control_plane.client.delete, control_plane.client.path_of(made))

    live(work)


def test_a_refused_object_is_named(live, namespace):
    """What the API server finds invalid is Refused, with its status and its words."""

    async def work(store):
        with pytest.raises(Refused, match="Invalid value") as caught:
            await store.create(config("Not A Name", namespace))
        assert caught.value.status == 422

    live(work)


def test_a_watch_follows_from_a_list(live, namespace):
    """Changes after the list's version come as events, in order."""

    async def work(store):
        since = (await store.list(CONFIG, namespace)).version
        await store.create(config("w", namespace, x="1"))
        await store.patch(CONFIG, "w", namespace, {"data": {"x": "2"}})
        await store.delete(CONFIG, "w", namespace)
        seen = []
        async for event in store.watch(CONFIG, since, namespace):
            if event.object["metadata"].get("name") != "w":
                continue  # a bookmark, or kube-root-ca.crt, which every namespace gets some time after it was made
            seen.append((event.type, (event.object.get("data") or {}).get("x")))
            if event.type is EventType.DELETED:
                break
        assert seen == [(EventType.ADDED, "1"), (EventType.MODIFIED, "2"), (EventType.DELETED, "2")]

    live(work)


def test_a_list_is_read_page_by_page(live, namespace, monkeypatch):
    """Every object comes, once, however many pages it takes; items say their kind."""
    monkeypatch.setattr("webhook.cluster.api.live_store.PAGE", 3)

    async def work(store):
        for n in range(7):
            await store.create(config(f"p{n}", namespace))
        items = (await store.list(CONFIG, namespace)).items
        names = [i["metadata"]["name"] for i in items if i["metadata"].get("labels")]
        assert names == [f"p{n}" for n in range(7)]
        assert {i["kind"] for i in items} == {"ConfigMap"}

    live(work)


def test_a_informer_follows_the_api_server(live, namespace):
    """What is written by somebody else arrives in the informer without asking."""

    async def work(store):
        informer = Informer(CONFIG)
        follow = asyncio.create_task(informer.follow(store))
        await informer.synced.wait()
        await store.create(config("m", namespace, x="1"))
        await until(lambda: informer.get("m", namespace), "the informer has it")
        follow.cancel()
        await asyncio.gather(follow, return_exceptions=True)
        assert informer.get("m", namespace)["data"] == {"x": "1"}

    live(work)


def test_the_authorizer_is_the_api_servers(live):
    """A check is UNKNOWN until it was asked for; then the API server's own answer stands, for users and groups."""

    async def work(store):
        view = View(store, ())
        facts = ViewFacts(view, ParamKinds(view), monotonic)
        may = Check(user="root", groups=("system:masters",), verb="delete", resource="pods", namespace="default")
        may_not = Check(user="nobody", verb="delete", resource="pods", namespace="default")
        assert facts.authorize(may) is Decision.UNKNOWN
        await facts.ask([may, may_not])
        assert facts.authorize(may) is Decision.ALLOWED
        assert facts.authorize(may_not) is Decision.DENIED

    live(work)


def test_an_object_that_is_not_in_view_is_read(live, namespace, monkeypatch):
    """A Namespace that the view does not have is asked for; one that is not there fails in the API server's words.

    The clock stands still, so that the first answer counts yet when the second has come, however late.
    """
    monkeypatch.setattr(live_reads, "TIMEOUT", PATIENCE)

    async def work(store):
        view = View(store, (NAMESPACE,))
        facts = ViewFacts(view, ParamKinds(view), lambda: 100.0)
        queries = [ObjectQuery(NAMESPACE, "", name) for name in (namespace, "nowhere")]
        with pytest.raises(Unanswered):
            facts.namespace(namespace)
        await facts.ask(queries)
        assert facts.namespace(namespace)["metadata"]["labels"]["kubernetes.io/metadata.name"] == namespace
        with pytest.raises(FactError, match='namespaces "nowhere" not found'):
            facts.namespace("nowhere")

    live(work)


def test_a_server_that_is_away_is_unavailable(tmp_path, control_plane):
    """Nobody listening is Unavailable with a sentence; a kubeconfig that cannot be read is named before anything."""
    text = control_plane.kubeconfig.read_text()
    away = tmp_path / "config"
    away.write_text(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", text))

    async def go():
        client = await Client.connect(away, None, Pace(), monotonic)
        try:
            with pytest.raises(Unavailable, match="cannot reach the API server"):
                await LiveStore(client).get(NAMESPACE, "default")
        finally:
            await client.close()
        with pytest.raises(ValueError, match="cannot connect to a cluster"):
            await Client.connect(tmp_path / "nowhere", None, Pace(), monotonic)

    asyncio.run(go())

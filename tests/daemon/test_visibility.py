"""The aggregated API of pending workloads: who may ask, what is answered, and through a real API server."""

import asyncio
import json
import ssl
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import pytest

from tests.cluster.live.test_preemption import kueue  # noqa: F401 - a fixture
from tests.cluster.small_cluster import queues
from tests.daemon.serving import running
from tests.patience import PATIENCE, until
from webhook.cluster import front_proxy
from webhook.cluster.api.client import Client, Pace
from webhook.cluster.api.live_store import LiveStore
from webhook.kube.gvk import gvk_of
from webhook.store.errors import StoreError
from webhook.store.memory import MemoryStore
from webhook.store.objects import key_of
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure, issue_client

GROUP = "/apis/visibility.kueue.x-k8s.io"
CQ = f"{GROUP}/v1beta2/clusterqueues/cq/pendingworkloads"
LQ = f"{GROUP}/v1beta2/namespaces/team-a/localqueues/main/pendingworkloads"
SECOND = f"{GROUP}/v1beta2/namespaces/team-a/localqueues/second/pendingworkloads"


class Store(MemoryStore):
    """Lets ann read every queue, and nobody else any."""

    def __init__(self):
        super().__init__()
        self.asked = []

    async def create(self, obj, *, dry_run=False):
        if obj["kind"] != "SubjectAccessReview":
            return await super().create(obj, dry_run=dry_run)
        self.asked.append(obj["spec"])
        return {**obj, "status": {"allowed": obj["spec"]["user"] == "ann"}}


def workload(name, queue="main", cpu="1"):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    metadata = {"name": name, "namespace": "team-a"}
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": metadata}
    return {**head, "spec": {"queueName": queue, "podSets": [pods], "priority": 3}}


@asynccontextmanager
async def serving(tmp_path, policies, *objects):
    """A daemon whose front proxy is the test; `ask(path, user)` gives status and answer."""
    store, proxy = Store(), Folder(tmp_path / "proxy")
    ensure(proxy, ("proxy",), datetime.now(UTC))
    issue_client(proxy, "front-proxy", datetime.now(UTC))
    data = {"requestheader-client-ca-file": proxy.bundle.read_text(), "requestheader-allowed-names": '["front-proxy"]'}
    name = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    for obj in ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": data}, *objects):
        await store.create(obj)
    async with running(tmp_path, policies, store, visibility_listen="127.0.0.1:0") as (daemon, talk):
        trust = ssl.create_default_context(cafile=str(Folder(tmp_path / "certs").bundle))
        trust.load_cert_chain(proxy.client_certificate, proxy.client_key)
        url = f"https://127.0.0.1:{daemon.visibility_port}"
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:

            async def ask(path, user="ann", client=session):
                headers = {"X-Remote-User": user, "X-Remote-Group": "dev"} if user else {}
                async with client.get(url + path, headers=headers) as answer:
                    return answer.status, await answer.json()

            yield ask, talk, store


def test_another_authority_of_the_front_proxy_is_trusted_while_it_runs(tmp_path, policies, monkeypatch):
    """Whoever rotates it publishes both first. What cannot be used changes nothing."""
    monkeypatch.setattr(front_proxy, "LOOK_SECONDS", 0.05)
    new = Folder(tmp_path / "new")
    ensure(new, ("proxy",), datetime.now(UTC))
    issue_client(new, "new-proxy", datetime.now(UTC))

    async def go():
        async with serving(tmp_path, policies, *queues()) as (ask, _, store):
            trust = ssl.create_default_context(cafile=str(Folder(tmp_path / "certs").bundle))
            trust.load_cert_chain(new.client_certificate, new.client_key)

            async def publish(authorities, names):
                data = {"requestheader-client-ca-file": authorities, "requestheader-allowed-names": json.dumps(names)}
                await store.patch(front_proxy.CONFIG_MAP, front_proxy.NAME, front_proxy.NAMESPACE, {"data": data})

            async def status():
                async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
                    try:
                        return (await ask(CQ, client=session))[0]
                    except aiohttp.ClientError:
                        return None

            assert await status() is None
            both = (tmp_path / "proxy" / "ca.crt").read_text() + new.bundle.read_text()
            await publish("no certificate", ["front-proxy"])
            await publish(both, ["front-proxy", "new-proxy"])

            async def trusted():
                return await status() == 200

            await until(trusted, "the new front proxy is trusted")
            assert (await ask(CQ))[0] == 200
            await publish(both, ["front-proxy"])

            async def refused():
                return await status() == 403

            await until(refused, "its name is not allowed any more")

    asyncio.run(go())


def test_what_waits_in_the_order_of_the_queue(tmp_path, policies):
    """Positions in both queues, from 0; limit and offset; a LocalQueue shows its own."""
    second = queues()[-1]
    second["metadata"]["name"] = "second"
    names = [("a", "main"), ("b", "second"), ("c", "main")]
    made = [workload(name, queue, cpu="9") for name, queue in names]
    for number, obj in enumerate(made):
        obj["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:0{number}Z"

    async def go():
        async with serving(tmp_path, policies, *queues("9", stopPolicy="Hold")[1:], second, *made) as (ask, *_):

            async def all_there():
                return len((await ask(CQ))[1].get("items", ())) == 3

            await until(all_there, "three wait")
            return (await ask(CQ))[1], [(await ask(path))[1]["items"] for path in (
                LQ, SECOND, f"{CQ}?limit=1&offset=1", f"{CQ}?limit=0", f"{CQ}?offset={2**63}",
            )]  # fmt: skip

    summary, (main, other, part, none, beyond) = asyncio.run(go())
    assert (summary["kind"], summary["apiVersion"]) == (
        "PendingWorkloadsSummary",
        "visibility.kueue.x-k8s.io/v1beta2",
    )

    def rows(items):
        return [
            (i["metadata"]["name"], i["localQueueName"], i["positionInClusterQueue"], i["positionInLocalQueue"])
            for i in items
        ]

    assert rows(summary["items"]) == [("a", "main", 0, 0), ("b", "second", 1, 0), ("c", "main", 2, 1)]
    assert rows(main) == [("a", "main", 0, 0), ("c", "main", 2, 1)]
    assert rows(other) == rows(part) == [("b", "second", 1, 0)]
    assert none == beyond == []
    assert summary["items"][0]["priority"] == 3


def test_who_may_ask(tmp_path, policies):
    """The front proxy alone, for users that the authorizer lets; what is not there is told."""

    async def go():
        async with serving(tmp_path, policies, *queues()[1:]) as (ask, talk, store):

            async def there():
                return (await ask(CQ))[0] == 200

            await until(there, "the queue is known")
            found = [await ask(*row) for row in (
                (CQ,), (CQ, "bob"), (CQ, ""), (f"{GROUP}/v1beta2",), (GROUP,), (f"{GROUP}/v1beta3",),
                (CQ.replace("cq", "none"),), (LQ.replace("main", "none"),), (f"{CQ}?limit=many",),
            )]  # fmt: skip
            stranger = await ask(CQ, "ann", talk.session)
            return [status for status, _ in found], found[1][1]["message"], stranger[0], store.asked[-1]

    statuses, told, stranger, asked = asyncio.run(go())
    assert statuses == [200, 403, 401, 200, 200, 404, 404, 404, 400]
    assert 'clusterqueues.visibility.kueue.x-k8s.io "cq" is forbidden: User "bob"' in told
    assert stranger == 401
    assert asked["groups"] == ["dev"]
    assert asked["resourceAttributes"]["subresource"] == "pendingworkloads"


@pytest.mark.cluster
def test_through_the_api_server(tmp_path, policies, control_plane, kueue):  # noqa: F811
    """An APIService sends what users ask for here, as themselves; discovery lists the resources."""

    async def go():
        client = await Client.connect(
            control_plane.kubeconfig, None, Pace(500, timeout=PATIENCE), asyncio.get_running_loop().time
        )
        store = LiveStore(client)
        assert (await front_proxy.read(store)).names
        made = []
        try:
            async with running(tmp_path, policies, store, visibility_listen="127.0.0.1:0") as (daemon, _):
                wanted = (*queues("1", stopPolicy="Hold")[1:], workload("a"), *aggregated(daemon.visibility_port))
                for obj in wanted:
                    made.append(await store.create(obj))  # noqa: PERF401 - to be deleted, whatever becomes of the next

                async def listed():
                    try:
                        return len((await client.read(CQ))["items"]) == 1
                    except StoreError:
                        return False

                await until(listed, "the API server asks us")
                return (await client.read(f"{GROUP}/v1beta2"))["resources"], (await client.read(f"{LQ}?limit=5"))[
                    "items"
                ]
        finally:
            for obj in reversed(made):
                namespace, name = key_of(obj)
                await store.patch(gvk_of(obj), name, namespace or None, {"metadata": {"finalizers": None}})
                await store.delete(gvk_of(obj), name, namespace or None)
            await client.close()

    resources, items = asyncio.run(go())
    assert {row["name"] for row in resources} >= {"clusterqueues/pendingworkloads", "localqueues/pendingworkloads"}
    assert [row["metadata"]["name"] for row in items] == ["a"]


def aggregated(port):
    """The Service and the APIService by which the API server finds this process."""
    service = {"name": "visibility", "namespace": "default"}
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": service,
        "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
    }
    yield {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta2.visibility.kueue.x-k8s.io"},
        "spec": {
            "group": "visibility.kueue.x-k8s.io",
            "version": "v1beta2",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {**service, "port": port},
        },
    }

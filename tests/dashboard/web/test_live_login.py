"""The login through a real API server: its TokenReview says who one is, its authorizer what he may get."""

import asyncio
import logging

import aiohttp
import pytest

from tests.cluster.live.test_preemption import kueue  # noqa: F401 - a fixture
from tests.controlplane.client import ApiError
from tests.daemon.serving import policies, running  # noqa: F401 - a fixture
from tests.dashboard.serving import cluster_queue, local_queue, workload
from tests.patience import PATIENCE, until
from webhook.cluster.api.client import Client, Pace
from webhook.cluster.api.live_store import LiveStore
from webhook.config import PageMode

RBAC = "rbac.authorization.k8s.io"
MAY_GET = [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads", "localqueues"], "verbs": ["get"]}]
WRONG = "wrong-secret"


def objects(own, other):
    """A stopped queue with a workload of each of two namespaces, and ann, who may get those of her own."""
    queue = cluster_queue(f"cq-{own}", "1")
    queue["spec"] |= {"stopPolicy": "Hold"}
    for space in (own, other):
        yield local_queue(space, "main", f"cq-{own}")
        yield workload(f"job-of-{space}", "main", space)
    yield queue
    rbac = {"apiVersion": f"{RBAC}/v1"}
    name = {"name": "ann", "namespace": own}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": name}
    yield {**rbac, "kind": "Role", "metadata": name, "rules": MAY_GET}
    yield {
        **rbac,
        "kind": "RoleBinding",
        "metadata": name,
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "ann"},
        "subjects": [{"kind": "ServiceAccount", **name}],
    }


@pytest.fixture
def two_teams(kube, namespace, kueue):  # noqa: F811
    """The objects, and ann's token; all of it is gone after the test."""
    other = f"{namespace}-b"
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    made = [kube.create(obj) for obj in objects(namespace, other)]
    ask = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/ann/token"
    yield namespace, other, kube.call("POST", path, ask)["status"]["token"]
    for obj in reversed(made):
        path = kube.path_of(obj)
        try:
            kube.call("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
            kube.delete(path)
        except ApiError as error:
            if error.status != 404:
                raise
    kube.delete(f"/api/v1/namespaces/{other}")


@pytest.mark.cluster
def test_a_person_sees_his_namespace_and_no_other(tmp_path, policies, control_plane, two_teams, caplog):  # noqa: F811
    """Her workload and queue are shown, those of the others are not; no token is in an answer, the page or the log."""
    own, other, token = two_teams
    caplog.set_level(logging.DEBUG)

    async def visit(daemon, talk):
        url, texts = f"https://127.0.0.1:{daemon.ui_port}", []
        jar = aiohttp.CookieJar(unsafe=True)  # of an address, not of a name
        async with aiohttp.ClientSession(
            connector=talk.session.connector, connector_owner=False, cookie_jar=jar
        ) as session:

            async def log_in(secret):
                async with session.post(f"{url}/ui/api/login", data={"token": secret}) as answer:
                    texts.append(await answer.text() + str(answer.headers))
                    return answer.status

            async def get(path):
                async with session.get(url + path) as answer:
                    texts.append(await answer.text() + str(answer.headers))
                    return answer.status, texts[-1]

            cluster = "/ui/api/cluster"
            logins = [await log_in(WRONG), (await get(cluster))[0], await log_in(token), (await get(cluster))[0]]
            paths = [f"/ui/api/workloads/{space}/job-of-{space}" for space in (own, other)]
            views = [
                await get(path) for path in (*paths, f"/ui/api/queues/cq-{own}", f"/ui/api/find?text=job-of-{own}")
            ]
            await get("/ui/")
            return logins, views, texts

    async def go():
        client = await Client.connect(
            control_plane.kubeconfig, None, Pace(500, timeout=PATIENCE), asyncio.get_running_loop().time
        )
        settings = {"ui": PageMode.LOGIN, "ui_listen": "127.0.0.1:0"}
        try:
            async with running(tmp_path, policies, LiveStore(client), **settings) as (daemon, talk):

                async def both_wait():
                    return len(daemon.core.in_order(f"cq-{own}") or ()) == 2

                await until(both_wait, "both workloads wait")
                return await visit(daemon, talk)
        finally:
            await client.close()

    logins, views, texts = asyncio.run(go())
    assert logins == [401, 401, 204, 200]
    assert [status for status, _ in views] == [200, 404, 200, 200]
    shown = "".join(text for status, text in views if status == 200)
    assert f'"job-of-{own}"' in shown
    assert f"job-of-{other}" not in shown
    assert f"{other}/main" not in shown
    assert [secret for secret in (token, WRONG) if secret in caplog.text + "".join(texts)] == []

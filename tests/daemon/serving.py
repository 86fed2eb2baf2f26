"""The whole process over the store in memory, with one small policy; and how to ask it."""

import asyncio
import ssl
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import aiohttp
import pytest

from tests.cluster.small_cluster import Kubelet, queues
from tests.server.serving import review
from webhook.config import Config
from webhook.daemon import Daemon
from webhook.store.errors import AlreadyExists
from webhook.store.memory import MemoryStore
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure

RULES = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-foo}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}
  validations:
  - expression: object.metadata.name != 'FORBIDDEN'
    message: this name is taken
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-foo}
spec: {policyName: no-foo, validationActions: [Deny]}
"""


@pytest.fixture
def policies(tmp_path):
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "policy.yaml").write_text(RULES)
    return folder


@asynccontextmanager
async def running(tmp_path, policies, store=None, traces=None, *, leader_election=False, **settings):
    certificates = Folder(tmp_path / "certs")
    ensure(certificates, ("localhost", "127.0.0.1"), datetime.now(UTC))
    config = Config(
        policies=(policies,),
        listen="127.0.0.1:0",
        cert_dir=certificates.path,
        reload_seconds=0.05,
        leader_election=leader_election,
        **settings,
    )
    store = store or MemoryStore()
    with suppress(AlreadyExists):
        await store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}})
    daemon = Daemon(config, store, traces=traces)
    await daemon.start()
    trust = ssl.create_default_context(cafile=str(certificates.bundle))
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
            yield daemon, Talk(session, f"https://127.0.0.1:{daemon.port}")
    finally:
        await daemon.stop()


class Talk:
    """Asks the running daemon as an API server and a kubelet would."""

    def __init__(self, session, url):
        self.session, self.url = session, url

    async def judge(self, name, path="/validate"):
        obj = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {}}
        return await self.ask(review(object=obj, name=name), path)

    async def ask(self, body, path="/validate"):
        async with self.session.post(self.url + path, json=body) as answer:
            assert answer.status == 200, await answer.text()
            return (await answer.json())["response"]

    async def get(self, path):
        async with self.session.get(self.url + path) as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def queueing(tmp_path, policies, **settings):
    """The whole process over a store that has a queue of two CPUs, and a kubelet that runs what is let go."""
    store = MemoryStore()
    for obj in queues("2"):
        await store.create(obj)
    kubelet = Kubelet(store)
    runs = asyncio.create_task(kubelet.run())
    async with running(tmp_path, policies, store, **settings) as (_, talk):
        yield store, kubelet, talk
        runs.cancel()
        await asyncio.gather(runs, return_exceptions=True)


def has_ended(kubelet, name):
    """Give what says whether a job was started, and nothing runs any more."""

    async def ended():
        return name in kubelet.starts and not kubelet.running

    return ended

"""The whole process over the store in memory: who may ask it, what it answers, and a job from creation to its end."""

import asyncio
import base64
import json
from contextlib import suppress
from datetime import UTC, datetime

from tests.cluster.small_cluster import job, queues
from tests.daemon.serving import RULES, has_ended, queueing, running
from tests.patience import until
from tests.server.serving import review
from tests.shared import ROOT
from webhook.cluster.api.kinds import LEASE
from webhook.config import QueueMode, queue_settings
from webhook.config import load as load_config
from webhook.policy.queue_rules.configured import PUBLISHED, read_published
from webhook.policy_reload.policies import load
from webhook.store.errors import NotFound
from webhook.store.memory import MemoryStore
from webhook.store.objects import ALL
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure


def test_verdicts_are_for_the_api_server_alone(tmp_path, policies):
    """With authorities for clients a verdict takes a certificate; readiness tells of a file that cannot be used."""
    clients = Folder(tmp_path / "clients")
    ensure(clients, ("clients",), datetime.now(UTC))

    async def go():
        settings = {"client_ca": clients.bundle, "state_listen": "127.0.0.1:0", "mode": QueueMode.NONE}
        async with running(tmp_path, policies, **settings) as (daemon, talk):
            async with talk.session.post(f"{talk.url}/validate", json=review()) as answer:
                refused = answer.status
            clients.bundle.write_text("no authorities")
            assert not daemon.certificate.reload()
            assert not daemon.certificate.reload()
            async with talk.session.get(f"http://127.0.0.1:{daemon.state_port}/readyz?verbose") as answer:
                return refused, answer.status, await answer.text()

    refused, ready, told = asyncio.run(go())
    assert (refused, ready) == (401, 200)
    assert "the new certificate cannot be used" in told
    assert "ca.crt" in told


def test_each_failure_policy_is_evaluated_at_its_own_path(tmp_path, policies):
    """A policy with failurePolicy Ignore denies at `/validate/ignore` and at `/validate`, not at `/validate/fail`."""
    (policies / "policy.yaml").write_text(RULES.replace("spec:\n  match", "spec:\n  failurePolicy: Ignore\n  match"))

    async def go():
        async with running(tmp_path, policies, mode=QueueMode.NONE) as (_, talk):
            paths = ("/validate", "/validate/ignore", "/validate/fail")
            return [(await talk.judge("FORBIDDEN", path))["allowed"] for path in paths]

    assert asyncio.run(go()) == [False, False, True]


def test_shipped_policies_suspend_a_job(tmp_path):
    """With the shipped policies a Job that names a queue is suspended by the patch, over HTTPS."""
    folder = ROOT / "policies"
    assert load([folder]).bundle.policies

    async def go():
        store = MemoryStore()
        for obj in queues("2"):
            await store.create(obj)
        async with running(tmp_path, folder, store, mode=QueueMode.EXTERNAL) as (_, talk):
            obj = job("a")
            del obj["spec"]["suspend"]
            return await talk.ask(review(object=obj), "/mutate")

    answer = asyncio.run(go())
    assert {"op": "add", "path": "/spec/suspend", "value": True} in json.loads(base64.b64decode(answer["patch"]))


CHOSEN = RULES.replace(
    "  matchConstraints:\n", "  matchConstraints:\n    namespaceSelector: {matchLabels: {tier: gold}}\n"
)


class Late(MemoryStore):
    """A cluster whose watch on Namespaces tells nothing."""

    async def watch(self, gvk, since, namespace=None, labels=ALL):
        if gvk.kind == "Namespace":
            await asyncio.Event().wait()
        async for event in super().watch(gvk, since, namespace, labels):
            yield event


def test_a_namespace_that_is_not_in_view_yet_is_read(tmp_path, policies):
    """Its labels decide at once; where it is not there at all the policy fails, by its failurePolicy."""
    (policies / "policy.yaml").write_text(CHOSEN)

    async def go():
        store = Late()
        async with running(tmp_path, policies, store, mode=QueueMode.NONE) as (_, talk):
            for name, tier in (("gold", "gold"), ("lead", "lead")):
                metadata = {"name": name, "labels": {"tier": tier}}
                await store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})

            async def judged(namespace):
                obj = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "FORBIDDEN"}, "spec": {}}
                body = review(object=obj, name="FORBIDDEN", namespace=namespace)
                return (await talk.ask(body)).get("status", {}).get("message", "")

            return [await judged(name) for name in ("gold", "lead", "nowhere")]

    gold, lead, nowhere = asyncio.run(go())
    assert gold.endswith("this name is taken")
    assert lead == ""
    assert nowhere.endswith("failed to configure policy: Namespace nowhere does not exist")


def test_a_job_goes_through_the_whole_process(tmp_path, policies):
    """The gate says where a job stands or why it can never start; a job in the store is admitted and finishes."""

    async def go():
        async with queueing(tmp_path, policies) as (store, kubelet, talk):
            await store.create(job("a"))
            await until(has_ended(kubelet, "a"), "a has ended")
            huge = await talk.ask(review(object=job("huge", cpu="3")))
            kubelet.seconds = None
            await store.create(job("b", cpu="2"))
            waits = {}

            async def full():
                waits.update(await talk.ask(review(object=job("c", cpu="2"))))
                return "warnings" in waits

            await until(full, "the gate warns")
            return huge, waits, await talk.get("/metrics")

    huge, waits, (_, metrics) = asyncio.run(go())
    assert huge["allowed"] is False
    assert "requests 3 cpu of flavor f, the queue can use at most 2" in huge["status"]["message"]
    assert waits["allowed"] is True
    assert 'kueue_admitted_workloads_total{cluster_queue="cq",priority_class="",replica_role="standalone"}' in metrics


def test_a_job_that_no_pod_can_be_made_of_is_refused(tmp_path, policies):
    """A quantity that is none, or a template of the wrong shape, is a refusal that says so, not a failed call."""

    async def go():
        store = MemoryStore()
        for obj in queues("2"):
            await store.create(obj)
        odd = job("odd", cpu="two")
        shapeless = job("shapeless")
        shapeless["spec"]["template"]["spec"]["containers"] = ["c"]
        async with running(tmp_path, policies, store) as (_, talk):
            return [await talk.ask(review(object=obj)) for obj in (odd, shapeless)]

    for answer in asyncio.run(go()):
        assert (answer["allowed"], answer["status"]["code"]) == (False, 422)
        assert "queue team-a/main: cannot make a pod of this job: " in answer["status"]["message"]


SETTINGS = """
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchLabels: {team: a}}
waitForPodsReady: {timeout: 3m, requeuingStrategy: {timestamp: Creation, backoffLimitCount: 2}}
integrations: {frameworks: [batch/job], externalFrameworks: [Foo.v1.example.com], labelKeysToCopy: [team]}
fairSharing: {preemptionStrategies: [LessThanInitialShare]}
admissionFairSharing: {usageHalfLifeTime: 1h, resourceWeights: {cpu: 0.5}}
resources: {transformations: [{input: a.com/x, strategy: Replace, outputs: {cpu: 1500m}}]}
objectRetentionPolicies: {workloads: {afterFinished: 1h}}
metrics: {localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: {team: a}}}}
featureGates: {PriorityBoost: true}
never: [apart]
"""


def test_a_leader_names_what_it_decides_by(tmp_path, policies):
    """On its Lease, for those who decide on copies: the rules, and all of the settings of the queues."""
    (tmp_path / "sluice.yaml").write_text(SETTINGS)
    config, store = load_config(tmp_path / "sluice.yaml", {}, {}), MemoryStore()

    async def named():
        with suppress(NotFound):
            return (await store.get(LEASE, "sluice", "sluice-system"))["metadata"].get("annotations", {}).get(PUBLISHED)

    async def go():
        settings = {"queues": config.queues, "never": config.never, "leader_election": True}
        async with running(tmp_path, policies, store, **settings) as (daemon, _):
            text = await until(named, "the leader names what it decides by")
            return read_published(text), daemon.policies.current.rules.digest

    found, digest = asyncio.run(go())
    assert (found.rules.names, found.digest) == (("kueue-fair", "pods-ready"), digest)
    assert found.queues == queue_settings(config)

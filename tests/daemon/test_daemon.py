"""The whole process over the store in memory: policies in force, a bad set kept out, queues at work, a clean end."""

import asyncio
import base64
import json
import ssl
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from tests.cluster.world import Kubelet, job, queues
from tests.journal.test_command import told
from tests.patience import until
from tests.server.serving import review
from tests.shared import ROOT
from webhook.cluster.api.kinds import WORKLOAD
from webhook.config import Config, QueueMode
from webhook.daemon import Daemon
from webhook.diagnostics import SourceError
from webhook.journal.read import journal_files
from webhook.journal.replay import replay as replay_journal
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.offline.plan.rule_sets import rules_of
from webhook.offline.record.replay import read_recording, replay
from webhook.policy.loading.load_bundle import load_bundle
from webhook.policy.queue_rules.file_rules import FileRules
from webhook.policy.queue_rules.files import chosen
from webhook.policy_reload.policies import load
from webhook.policy_reload.reload import PolicyFiles
from webhook.store.errors import AlreadyExists, Refused
from webhook.store.memory import MemoryStore
from webhook.store.objects import ALL
from webhook.tls.folder import Folder
from webhook.tls.renewal import ensure

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
async def running(tmp_path, policies, store=None, traces=None, **settings):
    certificates = Folder(tmp_path / "certs")
    ensure(certificates, ("localhost", "127.0.0.1"), datetime.now(UTC))
    config = Config(
        policies=(policies,),
        listen="127.0.0.1:0",
        cert_dir=certificates.path,
        reload_seconds=0.05,
        leader_election=False,
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


def test_a_changed_policy_comes_into_force(tmp_path, policies):
    """An edit of a policy file changes the verdicts, without a restart, and the digest that is reported."""

    async def go():
        async with running(tmp_path, policies, mode=QueueMode.NONE) as (daemon, talk):
            before = (await talk.judge("FORBIDDEN"))["allowed"], (await talk.judge("other"))["allowed"]
            digest = daemon.policies.current.bundle.digest
            (policies / "policy.yaml").write_text(RULES.replace("FORBIDDEN", "other"))

            async def changed():
                return daemon.policies.current.bundle.digest != digest

            await until(changed, "the change is in force")
            return before, ((await talk.judge("FORBIDDEN"))["allowed"], (await talk.judge("other"))["allowed"])

    assert asyncio.run(go()) == ((False, True), (True, False))


def test_a_broken_set_of_policies_keeps_the_last_good_one(tmp_path, policies, caplog):
    """With a CEL mistake the old verdicts stay; log, metric and `/readyz?verbose` say so; a mended file comes in."""

    async def go():
        async with running(tmp_path, policies, mode=QueueMode.NONE) as (daemon, talk):
            (policies / "policy.yaml").write_text(RULES.replace("object.metadata.name !=", "object.metadata.name !=="))

            async def refused():
                return bool(daemon.policies.problem)

            await until(refused, "the broken file is told")
            verdict = await talk.judge("FORBIDDEN")
            ready, metrics = await talk.get("/readyz?verbose"), await talk.get("/metrics")
            (policies / "policy.yaml").write_text(RULES.replace("taken", "taken already"))

            async def mended():
                return (await talk.judge("FORBIDDEN"))["status"]["message"].endswith("taken already")

            await until(mended, "the mended file is in force")
            return verdict, ready, metrics[1], daemon.policies.problem

    verdict, ready, metrics, after = asyncio.run(go())
    assert verdict["allowed"] is False
    assert ready[0] == 200
    assert "the changed files have errors and are not used" in ready[1]
    assert "sluice_bundle_last_load_successful 0.0" in metrics
    assert 'sluice_bundle_loads_total{result="failure"} 1.0' in metrics
    assert "policy.yaml:9:" in caplog.text
    assert "^" in caplog.text
    assert after == ""


LIMITED = """\
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limited}
spec:
  paramKind: {apiVersion: example.org/v1, kind: Limit}
  matchConstraints:
    resourceRules:
    - {apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}
  validations:
  - expression: object.metadata.name != params.data.name
    message: the parameter forbids this name
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: limited}
spec:
  policyName: limited
  paramRef: {name: one, parameterNotFoundAction: Allow}
  validationActions: [Deny]
"""
LIMIT = {"apiVersion": "example.org/v1", "kind": "Limit", "metadata": {"name": "one", "namespace": "team-a"}}


class Closed(MemoryStore):
    """A cluster that lets Limits be listed once `allow` is set, and serves them where `served` is."""

    def __init__(self, *, served=True):
        super().__init__()
        self.allow, self.served = False, served

    async def scope(self, gvk):
        return await super().scope(gvk) if gvk.kind != "Limit" or self.served else None

    async def list(self, gvk, namespace=None, labels=ALL):
        if gvk.kind == "Limit" and not self.allow:
            raise Refused("limits is forbidden", 403)
        return await super().list(gvk, namespace, labels)


def test_a_new_set_waits_until_its_parameters_are_listed(tmp_path, policies, monkeypatch):
    """Until then the old one is in force and the replica ready, and `/readyz?verbose` says what is waited for."""
    monkeypatch.setattr("webhook.daemon.PARAMETERS_WAIT", 0.05)

    async def go():
        store = Closed()
        await store.create({**LIMIT, "data": {"name": "taken"}})
        async with running(tmp_path, policies, store, mode=QueueMode.NONE) as (daemon, talk):
            (policies / "policy.yaml").write_text(RULES.replace("FORBIDDEN", "other") + LIMITED)

            async def waits():
                return "forbidden" in daemon.policies.problem

            await until(waits, "the new set waits")
            old = [(await talk.judge(name))["allowed"] for name in ("FORBIDDEN", "other", "taken")]
            ready = await talk.get("/readyz?verbose")
            store.allow = True

            async def swapped():
                return not daemon.policies.problem

            await until(swapped, "the new set is in force")
            return old, ready, [(await talk.judge(name))["allowed"] for name in ("FORBIDDEN", "other", "taken")]

    old, ready, new = asyncio.run(go())
    assert old == [False, True, True]
    assert ready[0] == 200
    assert "the parameters are not listed yet: example.org/v1 Limit (limits is forbidden)" in ready[1]
    assert new == [True, False, False]


def test_a_set_whose_parameters_are_not_served_is_in_force(tmp_path, policies):
    """To wait for a kind that may never come would keep all policies back: the one fails by its failurePolicy."""

    async def go():
        async with running(tmp_path, policies, Closed(served=False), mode=QueueMode.NONE) as (daemon, talk):
            digest = daemon.policies.current.bundle.digest
            (policies / "policy.yaml").write_text(RULES + LIMITED)

            async def changed():
                return daemon.policies.current.bundle.digest != digest

            await until(changed, "the change is in force")
            return await talk.judge("other")

    message = asyncio.run(go())["status"]["message"]
    assert "failed to find resource referenced by paramKind: 'example.org/v1, Kind=Limit'" in message


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


def test_a_broken_set_at_the_start_is_refused_with_its_place(tmp_path, policies):
    """There is no good set to fall back to: the process does not start, and says file, line and column."""
    (policies / "policy.yaml").write_text(RULES.replace("'FORBIDDEN'", "'FORBIDDEN"))
    with pytest.raises(SourceError) as caught:
        PolicyFiles((policies,), lambda new: None)
    assert caught.value.diagnostics[0].place.line == 9
    assert caught.value.diagnostics[0].place.column > 1


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
    assert "requests 3 cpu, ClusterQueue cq can use at most 2" in huge["status"]["message"]
    assert waits["allowed"] is True
    assert 'kueue_admitted_workloads_total{cluster_queue="cq",priority_class="",replica_role="standalone"}' in metrics


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


def test_a_recorded_review_replays(tmp_path, policies):
    """What was recorded while serving replays with the same verdicts, and shows what another policy would change."""
    folder = tmp_path / "recorded"
    text = RULES.replace("spec:\n  match", "spec:\n  failurePolicy: Ignore\n  match")
    (policies / "policy.yaml").write_text(text)

    async def go():
        store = MemoryStore()
        for obj in queues("2"):
            await store.create(obj)
        async with running(tmp_path, policies, store, record_folder=folder) as (_, talk):
            for path in ("/validate", "/validate/ignore", "/validate/fail", "/mutate"):
                await talk.judge("FORBIDDEN", path)
            stopped = job("a")
            stopped["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "nowhere"}
            warned = await talk.ask(review(object=stopped))

            async def written():
                return 'sluice_recorded_reviews_total{result="written"} 5.0' in (await talk.get("/metrics"))[1]

            await until(written, "it is written")
            return warned

    assert asyncio.run(go())["warnings"]
    lines = (folder / "reviews.jsonl").read_bytes().splitlines()
    assert [r.phase for r in read_recording(lines, "")] == [
        "validate",
        "validate/ignore",
        "validate/fail",
        "mutate",
        "validate",
    ]

    def again():
        bundle = load_bundle([policies])
        return replay(read_recording(lines, ""), bundle, FileFacts((), {}), lambda: 0.0, lambda: 0.0)

    assert again().changed == []
    (policies / "policy.yaml").write_text(text.replace("FORBIDDEN", "other"))
    assert [c.recorded.phase for c in again().changed] == ["validate", "validate/ignore"]


def test_a_full_disk_stops_recording_and_nothing_else(tmp_path, policies):
    """Where the folder cannot be made, reviews are answered as ever."""
    (tmp_path / "file").write_text("")

    async def go():
        async with running(tmp_path, policies, mode=QueueMode.NONE, record_folder=tmp_path / "file/in") as (_, talk):
            return [(await talk.judge(name))["allowed"] for name in ("FORBIDDEN", "other")]

    assert asyncio.run(go()) == [False, True]


def test_decisions_are_written_down_and_decided_again(tmp_path, policies):
    """With a folder for it the queues keep a journal: it has the job's admission, and replays to the same."""

    async def go():
        async with queueing(tmp_path, policies, journal_folder=tmp_path / "journal") as (store, kubelet, talk):
            await store.create(job("a"))
            await until(has_ended(kubelet, "a"), "a has ended")
            return (await talk.get("/metrics"))[1]

    assert 'sluice_journal_records_total{result="dropped"} 0.0' in asyncio.run(go())
    (file,) = journal_files([tmp_path / "journal"])
    calls = list(replay_journal(file.records(), rules_of(file.begin.rules)))
    assert [a.cluster_queue for call in calls for a in call.then.admitted] == ["cq"]
    assert all(call.same for call in calls)


def test_a_journal_that_cannot_be_written_stops_nothing(tmp_path, policies):
    """Where the folder cannot be made, jobs are admitted as ever."""
    (tmp_path / "file").write_text("")

    async def go():
        async with queueing(tmp_path, policies, journal_folder=tmp_path / "file/in") as (store, kubelet, _):
            await store.create(job("a"))
            await until(has_ended(kubelet, "a"), "a has ended")
            return list(kubelet.starts)

    assert asyncio.run(go()) == ["a"]


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


def test_rules_are_chosen_by_name(policies):
    """A QueuePolicy is taken by its name, behind those it extends, loaded or shipped; an unknown name is an error."""
    for name, extends in (("base", "[kueue]"), ("top", "[base]")):
        text = f"apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {{name: {name}}}\n"
        (policies / f"{name}.yaml").write_text(text + f"spec: {{extends: {extends}}}\n")
    documents = load_bundle([policies]).queue_policies
    assert [f.name for f in chosen(documents, ["top", "base", "user-caps"])] == ["kueue", "base", "top", "user-caps"]
    with pytest.raises(SourceError, match='did you mean "top"'):
        chosen(documents, ["tap"])


def test_without_a_choice_the_shipped_file_rules(policies):
    """Where no file is chosen, the queues run by the file `kueue`, not by rules written in Python."""
    rules = load([policies]).rules
    assert type(rules) is FileRules
    assert {Path(origin.document.file).parent.name for origin in rules.origins.values()} == {"kueue"}


def test_beside_a_kueue_decisions_are_compared(tmp_path, policies):
    """Mode external with a journal: Kueue starts what the core would have started, and nothing else is written."""
    reserved = told("first", "2", ("QuotaReserved", 0), ("Admitted", 0), admission=True)
    equal = 'sluice_compared_decisions_total{outcome="equal",what="start"} 1.0'

    async def go():
        settings = {"mode": QueueMode.EXTERNAL, "journal_folder": tmp_path / "journal"}
        async with queueing(tmp_path, policies, **settings) as (store, _, talk):

            async def shown(line):
                return line in (await talk.get("/metrics"))[1]

            async def begun():
                return not await shown('sluice_journal_records_total{result="written"} 0.0')

            await until(begun, "the journal has begun")
            created = await store.create(told("first", "2"))
            await store.patch(WORKLOAD, "first", "team-a", {"status": reserved["status"]}, subresource="status")
            await until(lambda: shown(equal), "the start is compared")
            return created, await store.get(WORKLOAD, "first", "team-a")

    created, after = asyncio.run(go())
    assert int(after["metadata"]["resourceVersion"]) == int(created["metadata"]["resourceVersion"]) + 1

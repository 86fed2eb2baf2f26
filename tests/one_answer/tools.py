"""Each tool, asked about a situation by the function behind its command; the served Sluice by its own controller."""

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from tests.cluster.small_cluster import CLOCKS, SmallCluster, small_cluster
from tests.one_answer.situations import ASIDE, NAMESPACE, Situation
from webhook import documents
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.queue_gate import QueueGate
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.admission.wire import answer, parse
from webhook.api.configuration.read import is_configuration, settings_among
from webhook.api.configuration.sections import QueueSettings
from webhook.cluster.api.param_kinds import ParamKinds
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.core.view_gate import view_gate
from webhook.cluster.policy_facts import ViewFacts
from webhook.cluster.workloads.conditions import WAITING
from webhook.documents import Document
from webhook.jobs.normalise import normalise
from webhook.kube.absent import ABSENT
from webhook.kube.condition_types import QUOTA_RESERVED
from webhook.kube.json_patch import Operation, apply
from webhook.kube.typed.defaulted import defaulted
from webhook.offline.dryrun.evaluate import Input, dry_run
from webhook.offline.dryrun.file_facts import FileFacts, known
from webhook.offline.dryrun.file_gate import file_gate
from webhook.offline.dryrun.outcome import ObjectOutcome, ObjectRef
from webhook.offline.dryrun.queues import with_queues
from webhook.offline.dryrun.requests import ResourceScopes, Sender, received, request_for
from webhook.offline.explain.verdict import explain
from webhook.offline.files import Files
from webhook.offline.lint.apply_rules import lint
from webhook.offline.suite.run_case import Result, run_case
from webhook.offline.suite.suite_file import Case
from webhook.policy.queue_rules.configured import configured
from webhook.policy.queue_rules.files import rules_configured
from webhook.policy.request import Request
from webhook.queue.rules import Rules
from webhook.record.recorder import record_of
from webhook.record.replay import Replay, read_recording, replay
from webhook.server.engine import LiveEngine

JSON = dict[str, Any]
USER: Final = "alice@example.com"
SENDER: Final = Sender(user=USER, namespace=NAMESPACE)
NOW: Final = 1_767_225_600.0


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool says of an object. `obj` is how it would be stored, None for one that is refused."""

    allowed: bool
    messages: tuple[str, ...]
    warnings: tuple[str, ...]
    obj: JSON | None


@dataclass(frozen=True, slots=True)
class Decided:
    """What a queue does with an object that is let in: admitted, pending or none, and why it waits."""

    state: str
    message: str = ""


def request_of(situation: Situation) -> Request:
    """The request that an API server sends for the object."""
    scopes = ResourceScopes.of(situation.cluster, MemoryFacts(situation.cluster))
    return request_for(received(situation.obj, scopes, SENDER), scopes, SENDER)


def _input(situation: Situation) -> Input:
    return Input(ObjectRef(situation.obj["kind"], NAMESPACE, situation.obj["metadata"]["name"]), situation.obj)


def _gate(situation: Situation) -> QueueGate | None:
    return file_gate([situation.obj], _around(situation), rules_of(situation), NOW, NAMESPACE)


def _around(situation: Situation) -> tuple[JSON, ...]:
    """What the tools know, as their commands put it together."""
    return known(situation.bundle, [situation.obj], situation.cluster)


def settings_of(situation: Situation) -> QueueSettings:
    """The settings of the queues."""
    return settings_among(situation.cluster) or QueueSettings()


def rules_of(situation: Situation) -> Rules:
    """The rules of the queues, as the settings ask for."""
    return rules_configured((), configured(settings_of(situation)))


def dry_ran(situation: Situation) -> tuple[Told, ObjectOutcome]:
    """`sluice dry-run`."""
    facts = FileFacts(_around(situation), {})
    trial = dry_run([_input(situation)], situation.bundle, facts, SENDER, _gate(situation), lambda: NOW)
    there = known(situation.bundle, situation.cluster)
    (outcome,) = with_queues(trial, there, rules_of(situation), NOW).outcomes
    return _told(outcome), outcome


def explained(situation: Situation) -> Told:
    """`sluice explain`."""
    facts = FileFacts(_around(situation), {})
    outcome, _ = explain(_input(situation), situation.bundle, facts, SENDER, lambda: NOW, _gate(situation))
    return _told(outcome)


def _told(outcome: ObjectOutcome) -> Told:
    return Told(outcome.allowed, outcome.denials, outcome.warnings, outcome.after)


def linted(situation: Situation) -> set[str]:
    """`sluice lint`: the codes of what is wrong with the object."""
    text = "---\n".join(documents.dump(o) for o in (situation.obj, *situation.cluster))
    found = lint(Files(tuple(documents.read(text, "all.yaml")), ("all.yaml",)), datetime.fromtimestamp(NOW, UTC))
    last = len(documents.dump(situation.obj).splitlines())
    return {finding.code for finding in found.findings if finding.place.line <= last}


def in_a_suite(situation: Situation) -> Result:
    """`sluice test`: the policies alone, and what the queue would do with what they let in."""
    spec = {
        "object": situation.obj,
        "namespace": NAMESPACE,
        "cluster": list(situation.cluster),
        "user": {"name": USER, "groups": list(SENDER.groups)},
        "expect": {"queue": {"decision": "none"}},
    }
    document = Document(spec, "suite.yaml")
    return run_case(Case("suite", "case", spec, (), document, Path()), situation.bundle)


def decided(outcome: ObjectOutcome) -> Decided:
    """What `sluice plan` decides about an object that is let in, as `dry-run` shows it."""
    queue = outcome.queue
    if queue is None or queue.state.startswith("bypasses"):
        return Decided("none")
    if queue.state.startswith("admitted"):
        return Decided("admitted")
    return Decided("pending", queue.message)


class _Policies:
    """One set of policies, in force."""

    gate_part = ""

    def __init__(self, situation: Situation) -> None:
        self.current = self
        self.parts = {"": situation.bundle}


def _wire(request: Request) -> bytes:
    body = {**request.attributes, "object": request.object, "oldObject": request.old_object}
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": body})


def _patched(obj: JSON, response: JSON) -> JSON:
    steps = json.loads(base64.b64decode(response.get("patch", "W10=")))
    operations = [Operation(s["op"], s["path"], s.get("value", ABSENT), s.get("from", "")) for s in steps]
    made: JSON = apply(obj, operations)
    return made


@dataclass(frozen=True, slots=True)
class Served:
    """What a running Sluice said, what it then decided about the object, and its records of the reviews."""

    told: Told
    decided: Decided
    records: tuple[bytes, ...]


def served(situation: Situation) -> Served:
    """`sluice serve`: both webhooks over the wire, the gate of its own view, and the controller that queues."""
    return asyncio.run(_served(situation))


async def _served(situation: Situation) -> Served:
    settings = settings_of(situation)
    core = QueueCore(rules_of(situation), settings=settings)
    stored = [defaulted(normalise(o)) for o in situation.cluster if not is_configuration(o)]
    async with small_cluster(*stored, core=core, seconds=None, settings=settings) as w:

        async def in_view() -> bool:
            known = {o["metadata"]["name"] for o in situation.cluster if o["kind"] == "ClusterQueue"}
            return known <= set(core.state.by_queue)

        await w.until(in_view, "the queues are known")
        await w.create(_sentinel("before"))
        await w.until_condition("before", "Admitted")
        records: list[bytes] = []
        params = ParamKinds(w.view)
        params.start()
        params.add(situation.bundle.param_kinds)
        await params.wait(situation.bundle.param_kinds)
        facts = ViewFacts(w.view, params, CLOCKS.monotonic, settings)
        facts.give(situation.bundle.objects)
        gate = view_gate(w.view, core, CLOCKS.milliseconds, settings)
        engine = LiveEngine(_Policies(situation), facts, gate)
        engine.records.append(
            lambda request, verdict, seconds, phase: records.append(
                orjson.dumps(record_of(request, verdict, seconds, phase, NOW))
            )
        )
        told = await _asked(engine, request_of(situation))
        await params.stop()
        queue = Decided("none")
        if told.obj is not None:
            await w.create(told.obj)
            await w.create(_sentinel("after"))
            await w.until_condition("after", "Admitted")
            queue = await _settled(w, told.obj)
        return Served(told, queue, tuple(records))


async def _reviewed(engine: LiveEngine, review: Callable[[Request], Verdict | NeedsFacts], request: Request) -> Verdict:
    """Review, and ask for what is not in memory, as the route of the server does."""
    while isinstance(verdict := review(parse(orjson.loads(_wire(request)))), NeedsFacts):
        await engine.ask(verdict.questions)
    return verdict


async def _asked(engine: LiveEngine, request: Request) -> Told:
    shaped = await _reviewed(engine, engine.mutate, request)
    response = answer("u", shaped)["response"]
    assert request.object is not None
    if not response["allowed"]:
        return Told(False, shaped.denials, shaped.warnings, None)
    obj = _patched(request.object, response)
    judged = await _reviewed(engine, engine.validate, replace(request, object=obj))
    warnings = tuple(dict.fromkeys((*shaped.warnings, *judged.warnings)))
    return Told(judged.allowed, judged.denials, warnings, obj if judged.allowed else None)


def _sentinel(name: str) -> JSON:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    metadata = {"name": name, "namespace": ASIDE, "labels": {"kueue.x-k8s.io/queue-name": "main"}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"suspend": True, "parallelism": 1, "completions": 1, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


async def _settled(w: SmallCluster, obj: JSON) -> Decided:
    """The decision about an object that was created before one that is admitted by now."""
    name = obj["metadata"]["name"]

    async def decided() -> Decided | None:
        status = ((await w.workload(name)) or {}).get("status") or {}
        rows = {row["type"]: row for row in status.get("conditions") or ()}
        if rows.get(QUOTA_RESERVED, {}).get("status") == "True":
            return Decided("admitted")
        return Decided("pending", rows[WAITING]["message"]) if WAITING in rows else None

    if await w.workload(name) is None:
        return Decided("none")
    await w.until(decided, f"{name} is decided about")
    found = await decided()
    assert found is not None
    return found


def replayed(situation: Situation, records: tuple[bytes, ...]) -> Replay:
    """`sluice replay` on what the served Sluice recorded."""
    facts = FileFacts(known(situation.bundle, situation.cluster), {})
    return replay(read_recording(records, "records"), situation.bundle, facts, lambda: 0.0, lambda: NOW)


__all__ = ["Decided", "Rules", "Served", "Told", "decided", "dry_ran", "explained", "in_a_suite", "replayed", "served"]

"""Runs Kueue's own cases and traces, for comparison with the decisions of the real Kueue.

They run on Kueue's defaults where Sluice's differ, and in counted cycles: one head of each queue per cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from webhook.api.configuration.sections import QueueSettings
from webhook.api.snapshot.reader import MALFORMED, Reader, snapshot
from webhook.offline.plan.make_plan import QueuePlan, make_plan
from webhook.offline.plan.output import outcome
from webhook.offline.plan.rule_sets import rules_of
from webhook.queue import explain
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Decisions
from webhook.queue.events import Event, WorkloadChanged, WorkloadGone
from webhook.queue.model import Workload
from webhook.queue.rules import Rules
from webhook.queue.state import State
from webhook.queue.workload_facts import facts_of

Line = Mapping[str, Any]
GATES: Final = {"PrioritizePreemptorWorkloads": False}
"""Feature gates as Kueue has them where our rule files differ."""


def answer_case(case: Line, now: int) -> dict[str, Any]:
    """Decide one cycle over a case's objects. Raises ValueError where it is none."""
    with _reading():
        objects = snapshot(case["objects"], _settings(case))
    return {"id": case["id"], **outcome(make_plan(objects, _rules(case), now, 1))}


def answer_trace(trace: Line, moments: tuple[int, ...]) -> dict[str, Any]:
    """Live through a trace on one state: each step's events, then one cycle at its moment. Raises ValueError."""
    rules = _rules(trace)
    with _reading():
        reader = Reader(trace["objects"], settings=_settings(trace))
        state = State.from_snapshot(reader.snapshot())
    steps = []
    left: dict[str, tuple[str, int]] = {}
    """Why and when workloads were evicted whose work has not ended yet."""
    for step, now in zip(trace["steps"], moments, strict=True):
        with _reading():
            for event in step.get("events") or ():
                _happen(state, reader, event, left)
        made = decide(state, rules, now, cycles=1)
        left.update((key, (why, now)) for key, why in made.gone())
        steps.append(_step(state, made))
    return {"id": trace["id"], "steps": steps}


def _rules(line: Line) -> Rules:
    """Return the rules that a case or a trace names, or the shipped file for its kind of sharing. Raises ValueError."""
    names = _texts(line, "rules") or ("kueue-fair" if line.get("fairSharing") else "kueue",)
    return rules_of(names, {**GATES, **_gates(line)}, _texts(line, "fairSharingStrategies"))


def _settings(line: Line) -> QueueSettings:
    """Return what decides how the objects of a line are read, where no Configuration is among them."""
    return QueueSettings(feature_gates=_gates(line))


def _gates(line: Line) -> dict[str, bool]:
    stated = line.get("featureGates") or {}
    if not isinstance(stated, dict) or not all(isinstance(on, bool) for on in stated.values()):
        raise ValueError("featureGates must be a map from gates to true or false")
    return stated


def _texts(line: Line, name: str) -> tuple[str, ...]:
    found = line.get(name) or []
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ValueError(f"{name} must be a list of strings")
    return tuple(found)


@contextmanager
def _reading() -> Iterator[None]:
    """Raise a ValueError for an object of unexpected types."""
    try:
        yield
    except ValueError:
        raise
    except MALFORMED as error:
        raise ValueError(f"a field has the wrong type: {error!r}") from None


def _step(state: State, made: Decisions) -> dict[str, Any]:
    return outcome(
        QueuePlan(made.admitted, made.preempted, made.evicted, tuple(explain.pending(state)), 1, stable=False)
    )


def _happen(state: State, reader: Reader, event: Mapping[str, Any], left: Mapping[str, tuple[str, int]]) -> None:
    """Apply one event of a trace; work that ended before its eviction did is gone already."""
    ((what, value),) = event.items()
    match what:
        case "apply":
            for change in reader.changed(value):
                state.apply(_with_status(state, change))
        case "finish":
            state.apply(WorkloadGone(value))
        case "delete":
            state.apply(WorkloadGone(f"{value['namespace']}/{value['name']}"))
        case "evicted":
            for key in value:
                if key in state.entries:
                    state.evict(key, *left.get(key, ("", 0)))
        case _:
            raise ValueError(f'"{what}" is not an event; use apply, finish, delete or evicted')


def _with_status(state: State, event: Event) -> Event:
    """Keep the status of a Workload that is applied again, as an API server does."""
    if not isinstance(event, WorkloadChanged) or (entry := state.entries.get(event.workload.key)) is None:
        return event
    stands = facts_of(entry)
    return WorkloadChanged(_merged(event.workload, stands))


def _merged(applied: Workload, stands: Workload) -> Workload:
    return replace(
        applied,
        admission=stands.admission,
        admitted=stands.admitted,
        evicted=stands.evicted,
        queued_at=stands.queued_at,
        checks=stands.checks,
        first=stands.first,
    )

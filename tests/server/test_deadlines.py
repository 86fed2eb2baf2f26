"""A review that computes for too long is interrupted, whatever the cost model says of it."""

import asyncio
import signal
import sys

import pytest
import uvloop

from tests.policy.support import bundle, mutating, request, validating
from tests.server.serving import ScriptedEngine, review, serve
from webhook.admission import pipeline
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.verdict import Verdict
from webhook.cel.errors import Interrupted
from webhook.server import deadlines
from webhook.server.deadlines import start_timer, stop_timer, with_deadline

FREE = "object.spec.l.all(x, x in object.spec.l)"
"""Costs one unit for each element, and as many comparisons as there are pairs."""
LONG = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "ns"},
    "spec": {"l": list(range(100_000))},
}
SHORT = {**LONG, "spec": {"l": [1, 2]}}
MUTATING = mutating(f'{FREE} ? [JSONPatch{{op: "add", path: "/spec/nodeName", value: "n"}}] : []')


@pytest.fixture(autouse=True)
def ring():
    """Ring a hundred times a second of processor time."""
    start_timer(0.01)
    yield
    stop_timer()


def judged(stage, text, obj):
    policies = bundle(text)
    run = with_deadline(lambda wanted: getattr(pipeline, stage)(wanted, policies, MemoryFacts()))
    return run(request(obj))


@pytest.mark.parametrize(
    ("stage", "text"),
    [
        ("validate", validating(FREE)),
        ("validate", validating("variables.v", extra=f"  variables: [{{name: v, expression: '{FREE}'}}]")),
        ("validate", validating("false", extra=f"  matchConditions: [{{name: c, expression: '{FREE}'}}]")),
        ("mutate", MUTATING),
    ],
)
def test_expression_that_goes_on_and_on_fails(stage, text):
    """The stop is an error of the policy, which its failure policy turns into a denial; nothing of it is left."""
    verdict = judged(stage, text, LONG)
    assert not verdict.allowed
    assert "operation interrupted" in verdict.message
    ignoring = text.replace("matchConstraints", "failurePolicy: Ignore\n  matchConstraints")
    assert judged(stage, ignoring, LONG).allowed
    assert judged(stage, text, SHORT).allowed is ("false" not in text)


def test_every_policy_is_interrupted_in_its_turn():
    """The patience is for the whole review: each further policy that takes its time is ended at the next ring."""
    verdict = judged("validate", "".join(validating(FREE, name=f"p{i}") for i in range(5)), LONG)
    assert verdict.message.count("operation interrupted") == 5


def forever(_):
    while True:
        pass


def test_other_work_of_a_review_is_interrupted_too(tmp_path, ring):
    """Where no expression is to blame the answer is a 500, and the server goes on; under uvloop, as it is served."""

    async def go():
        engine = ScriptedEngine(on_mutate=forever, on_validate=lambda _: Verdict(allowed=True))
        async with serve(tmp_path, engine) as served:
            first = await served.post("/mutate", json=review())
            return first, await served.post("/validate", json=review()), served.metrics.failures["interrupted"]

    for run in (asyncio.run, uvloop.run):
        (status, said), (next_status, _), counted = run(go())
        assert (status, next_status, counted) == (500, 200, 1)
        assert "operation interrupted" in said["message"]


class Ending:
    """Its end is where the ring falls."""

    def __del__(self):
        deadlines._ring()


class Failing:
    """Fails at its end for another reason."""

    def __del__(self):
        raise ZeroDivisionError


def test_a_ring_that_cannot_be_raised_is_not_reported(monkeypatch):
    """Where an object ends Python would print it and go on; the next ring ends the expression. CI failed by it once."""
    stop_timer()  # no other ring than that
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    start_timer(3600)
    monkeypatch.setattr(deadlines, "MAX_RINGS", 1)

    def run(_):
        Ending()
        return Verdict(allowed=True)

    assert with_deadline(run)(None).allowed
    with pytest.raises(Interrupted):
        with_deadline(lambda _: deadlines._ring())(None)
    assert not reported
    with_deadline(lambda _: Failing())(None)
    assert [each.exc_type for each in reported] == [ZeroDivisionError]
    stop_timer()


def test_nothing_else_is_interrupted():
    """Between reviews a ring does nothing, however long other work takes."""
    heard = []
    handler = signal.getsignal(signal.SIGVTALRM)
    signal.signal(signal.SIGVTALRM, lambda *given: (heard.append(1), handler(*given)))
    while len(heard) < deadlines.MAX_RINGS + 5:
        sum(range(1000))
    assert with_deadline(lambda _: Verdict(allowed=True))(None).allowed

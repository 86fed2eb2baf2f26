"""`dry-run`, `explain`, `test`, `plan`, `replay` and a served Sluice say the same of the same object."""

import pytest
from hypothesis import HealthCheck, event, given, settings

from tests.one_answer.situations import FOUND, NAMESPACE, Situation, situations
from tests.one_answer.tools import decided, dry_ran, explained, in_a_suite, linted, replayed, served

NEVER = {"QUE020", "QUE021", "QUE022", "QUE027", "QUE028"}
"""What `lint` finds in jobs that are never admitted."""
_BY_QUEUE = f"queue {NAMESPACE}/"


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(situations())
def test_all_tools_say_the_same(situation: Situation) -> None:
    """Verdict, messages, warnings, the stored object and the queue's decision."""
    for told in all_say_the_same(situation):
        event(told)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(situations())
def test_a_suite_says_what_policies_say_and_the_queue_apart(situation: Situation) -> None:
    """`allowed` of a case is the policies' answer; what the gate refuses is pending for ever under `queue`."""
    a_suite_says_the_same(situation)


@pytest.mark.parametrize("name", FOUND)
def test_where_they_differed_once(name: str) -> None:
    """Situations in which two of them said something else."""
    all_say_the_same(FOUND[name])
    a_suite_says_the_same(FOUND[name])


def all_say_the_same(situation: Situation) -> list[str]:
    """Hold the tools that stand for the server against it; return what they say in short."""
    told, outcome = dry_ran(situation)
    assert explained(situation) == told
    live = served(situation)
    assert live.told == told
    assert live.records
    assert replayed(situation, live.records).changed == []
    if told.allowed:
        assert live.decided == decided(outcome)
    if live.decided.state == "admitted":
        assert linted(situation).isdisjoint(NEVER)
    return [f"allowed {told.allowed}", live.decided.state]


def a_suite_says_the_same(situation: Situation) -> None:
    """Hold a case of a suite against `dry-run`."""
    told, outcome = dry_ran(situation)
    result = in_a_suite(situation)
    assert result.verdict is not None
    by_queue = any(message.startswith(_BY_QUEUE) for message in told.messages)
    assert result.verdict.allowed == (told.allowed or by_queue)
    if not result.verdict.allowed:
        assert result.verdict.denials == told.messages
        return
    assert result.queue is not None
    if by_queue:  # none: a Pod that no policy gates names a queue, and is not held by it
        assert result.queue.decision in ("pending", "none")
        return
    assert result.verdict.object == told.obj
    assert set(result.verdict.warnings) <= set(told.warnings)
    assert (result.queue.decision, result.queue.message) == (decided(outcome).state, decided(outcome).message)

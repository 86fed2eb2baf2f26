"""Messages about what waits: quantities as people write them, whatever the core counts in."""

from dataclasses import replace

import pytest

from tests.queue.build import FLAVOR, group, job, queue, running, state
from tests.queue.python_rules import KueueRules
from webhook.api.pending_message import message_of, start_unknown_of
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Pending, PendingPlace, Reason
from webhook.queue.explain import pending
from webhook.queue.forecast import with_start
from webhook.queue.model import Admission, PodSet, PodSetAssignment


@pytest.mark.parametrize(
    "resource, quota, held, asked, words",
    [
        ("cpu", 8000, 3500, 6000, "requests 6 cpu of flavor default, 4500m free"),
        ("memory", 64 * 2**30, 2**30, 2**36, "requests 64Gi memory of flavor default, 63Gi free"),
        ("nvidia.com/gpu", 8, 6, 4, "requests 4 nvidia.com/gpu of flavor default, 2 free"),
        ("cpu", 8000, 0, 9500, "requests 9500m cpu of flavor default, the queue can use at most 8"),
    ],
)
def test_numbers_are_quantities(resource: str, quota: int, held: int, asked: int, words: str) -> None:
    """The real core's message about a real shortage is read as `kubectl` would write the amounts."""
    assignment = PodSetAssignment("main", {resource: FLAVOR}, {resource: held}, 1)
    holder = running("r", "a", pod_sets=(PodSet("main", 1, {resource: held}),))
    holder = replace(holder, admission=Admission("a", (assignment,), 0))
    waits = job("j", "a", pod_sets=(PodSet("main", 1, {resource: asked}),))
    core = state([queue("a", resource_groups=(group((FLAVOR, {resource: quota})),))], [holder, waits])
    decide(core, KueueRules(), 0)
    (told,) = pending(core)
    assert words in message_of(told)
    found = with_start(core, told, 0)
    assert start_unknown_of(found.start_unknown, found.start_blocked) in (message_of(told), "team/r has no run time")


def test_a_rules_own_message_is_left_alone() -> None:
    """What a rule says in its own words comes through unchanged."""
    said = Pending("team/j", "a", PendingPlace.INADMISSIBLE, Reason.DENIED_BY_RULE, "user ann holds 16 of 16")
    assert message_of(said) == "user ann holds 16 of 16"

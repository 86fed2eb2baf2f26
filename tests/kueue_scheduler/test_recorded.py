"""Random clusters that Kueue's own scheduler decided: `make kueue-scheduler` recorded it, and tries others."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.kueue_scheduler.answers import ours, ours_of_trace, steps_of
from tests.kueue_scheduler.cases import case
from tests.kueue_scheduler.recorded import CASES, KEPT, KEPT_TRACES, TRACES

ANSWERS = [json.loads(line) for line in CASES.read_text().splitlines()]
LIVED = [json.loads(line) for line in gzip.decompress(TRACES.read_bytes()).splitlines()]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer["id"])
def test_a_cycle_is_decided_as_kueue_did(answer: dict[str, Any]) -> None:
    """Who got which flavors, who must yield to whom and why, and who waits where."""
    seed = int(answer["id"].removeprefix("random-"))
    assert {"id": answer["id"], **ours(case(seed))} == answer


@pytest.mark.parametrize("trace", LIVED, ids=lambda trace: trace["id"])
def test_a_cluster_that_lives_is_decided_as_kueue_did(trace: dict[str, Any]) -> None:
    """The same of each step, on one state that takes the events between the cycles."""
    assert ours_of_trace(trace) == steps_of(trace)


def test_what_is_recorded_has_decisions_in_it() -> None:
    """Many cycles admit, some preempt."""
    assert (len(ANSWERS), len(LIVED)) == (KEPT, KEPT_TRACES)
    assert sum(bool(answer["admitted"]) for answer in ANSWERS) > KEPT / 3
    assert sum(bool(answer["preempted"]) for answer in ANSWERS) > KEPT / 20
    steps = [step for trace in LIVED for step in steps_of(trace)]
    assert sum(bool(step["admitted"]) for step in steps) > len(steps) / 5
    assert sum(bool(step["preempted"]) for step in steps) > len(steps) / 100

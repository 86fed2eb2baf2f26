"""Random clusters whose cycle Kueue's own scheduler decided: `make kueue-cycles` recorded it, and tries others."""

from __future__ import annotations

import json

import pytest

from tests.kueue_cycle.__main__ import KEPT, RECORDED
from tests.kueue_cycle.answers import ours
from tests.kueue_cycle.cases import case

ANSWERS = [json.loads(line) for line in RECORDED.read_text().splitlines()]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer["id"])
def test_a_cycle_is_decided_as_kueue_did(answer: dict[str, object]) -> None:
    """Who got which flavors, who must yield to whom and why, and who waits where."""
    name, _, seed = str(answer.pop("id")).partition("-")
    assert (name, ours(case(int(seed)))) == ("random", answer)


def test_nearly_every_case_is_recorded() -> None:
    """Those left out differ for a reason that has a name; many admit, and some preempt."""
    assert len(ANSWERS) > 0.97 * KEPT
    assert sum(bool(answer["admitted"]) for answer in ANSWERS) > KEPT / 3
    assert sum(bool(answer["preempted"]) for answer in ANSWERS) > KEPT / 20

"""Our CEL and the API server's own give the same answers to generated expressions.

SLUICE_DIFF_PAIRS says how many (20,000 unless told; 1,000,000 by hand), SLUICE_DIFF_SEED where the seeds begin.
"""

import os
import shutil

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.cel_diff.expressions import batch
from tests.cel_diff.judge import differs
from tests.controlplane.oracle import ask_all
from webhook.cel.answers import answer

SIZE = 1000
PAIRS = int(os.environ.get("SLUICE_DIFF_PAIRS", "20000"))
FIRST = int(os.environ.get("SLUICE_DIFF_SEED", "1"))

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="the oracle is a Go program, and there is no go")


def differences(rows):
    """What differs, a line for each row, with the expression and both answers."""
    lines = []
    for row, theirs in zip(rows, ask_all(rows), strict=True):
        ours = answer(row).answer
        what = differs(ours, theirs)
        if what is not None:
            lines.append(f"{what}: {row['expr']}\n  theirs {theirs}\n  ours   {ours}")
    return lines


@pytest.mark.timeout(max(300, PAIRS // 100))
def test_same_answers_for_kept_seeds():
    """Value, type and stage of error agree on every expression of the kept seeds."""
    for seed in range(FIRST, FIRST + max(PAIRS // SIZE, 1)):
        assert differences(batch(seed, SIZE)) == []


@pytest.mark.timeout(300)
@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(min_value=10**6, max_value=10**9))
def test_same_answers_for_other_seeds(seed):
    """Seeds that Hypothesis picks, the same ones each run, agree too."""
    assert differences(batch(seed, 250)) == []

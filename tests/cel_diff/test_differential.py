"""Our CEL and the API server's own give the same answers to generated rows: expressions, neighbours of rows, mutations.

SLUICE_DIFF_PAIRS says how many (20,000 unless told), SLUICE_DIFF_SEED where the seeds begin. Many more are compared by
hand: `python -m tests.cel_diff 1000000`.
"""

import os
import shutil

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.cel_diff import expressions, mutations, neighbours
from tests.cel_diff.__main__ import chunks
from tests.cel_diff.duel import duel

PAIRS = int(os.environ.get("SLUICE_DIFF_PAIRS", "20000"))
FIRST = int(os.environ.get("SLUICE_DIFF_SEED", "1"))

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="the oracle is a Go program, and there is no go")


def differences(batches):
    """What differs, with the row and both answers."""
    return [str(difference) for _, found in duel(batches) for difference in found]


@pytest.mark.timeout(max(1800, PAIRS // 100))
def test_same_answers_for_kept_seeds():
    """Value, type, cost, stage of error and patched object agree on every row of the kept seeds, in both forms."""
    assert differences(chunks(PAIRS, FIRST)) == []


@settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(min_value=10**6, max_value=10**9))
def test_same_answers_for_other_seeds(seed):
    """Seeds that Hypothesis picks, the same ones each run, agree too."""
    known = neighbours.seeds()
    made = [expressions.batch(seed, 250), neighbours.batch(seed, 50, known), mutations.batch(seed, 50)]
    assert differences(made) == []

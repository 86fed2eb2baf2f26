"""Rows that once differed: our answers are those that the API server gave, the reason why each is kept."""

import json
from pathlib import Path

import pytest

from tests.cel_diff.judge import differs
from tests.cel_diff.ours import answer

TEXT = Path(__file__).with_name("kept.jsonl").read_text(encoding="utf-8")
ROWS = [json.loads(line) for line in TEXT.split("\n") if line]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["expr"][:80])
def test_same_answer(row):
    """Value, type, cost, stage of error, patched object agree, and the fast form gives what the exact one gives."""
    ours = answer({k: v for k, v in row.items() if k != "expect"})
    assert differs(ours, row["expect"]) is None, (ours, row["expect"])
    assert "forms" not in ours

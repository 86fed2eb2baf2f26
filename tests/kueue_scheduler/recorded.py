"""Where Kueue's answers are kept, for the tests without it."""

from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
CASES: Final = HERE / "recorded.jsonl"
"""What a cycle decided in the clusters of the first seeds."""
TRACES: Final = HERE / "traces.jsonl.gz"
"""Whole traces with Kueue's decisions, as `sluice plan --traces` takes them."""
KEPT, KEPT_TRACES = 400, 60

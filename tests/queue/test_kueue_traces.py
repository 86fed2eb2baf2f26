"""Traces of the real Kueue, step by step on one living state: `plan --traces` decides what it decided."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

from tests.shared import shared
from webhook.api.compatibility.differences import DIFFERENCES
from webhook.kube.times import milliseconds
from webhook.offline.plan.batch import answer_trace

Step = dict[str, Any]


def traces() -> Iterator[dict[str, Any]]:
    """All public traces."""
    with gzip.open(shared("kueue/traces/traces.jsonl.gz"), "rt") as lines:
        yield from map(json.loads, lines)


def decided(step: Step) -> tuple[object, ...]:
    """What counts of a step: who got what, who must yield and why, and who waits."""
    admitted = {
        name: (a["clusterQueue"], sorted((p["name"], p["count"], sorted(p["flavors"].items())) for p in a["podSets"]))
        for name, a in step["admitted"].items()
    }
    return admitted, step["preempted"], sorted(step["pending"])


def same(trace: dict[str, Any]) -> bool:
    made = answer_trace(trace, tuple(milliseconds(s["now"]) for s in trace["steps"]))
    return all(decided(a) == decided(s["expect"]) for a, s in zip(made["steps"], trace["steps"], strict=True))


def test_traces_come_out_as_in_kueue() -> None:
    """Each is whole, but for those whose difference is named with its reason."""
    named = {trace for difference in DIFFERENCES for trace in difference.traces}
    assert {trace["id"] for trace in traces() if not same(trace)} <= named

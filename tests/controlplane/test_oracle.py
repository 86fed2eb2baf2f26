"""The oracle gives the answers that the reference tables hold, so ours may be compared with either."""

import json

import pytest

from tests.controlplane.oracle import Oracle, ask_all, bench
from tests.shared import shared

pytestmark = pytest.mark.cluster


def plain(value: object) -> object:
    """The value without `ptr`, a mark of the tables' maker that says nothing about CEL."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k != "ptr"}
    return [plain(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("table", ["k8s-lib-public", "policies-public", "cel-spec"])
def test_the_oracle_repeats_the_reference_tables(table: str) -> None:
    """Value, type, stage and error text agree on every row of a table."""
    lines = shared(f"cel/{table}.jsonl").read_bytes().splitlines()
    rows = [json.loads(line) for line in lines]
    for row, answer in zip(rows, ask_all(rows), strict=True):
        expected = row.get("k8s") or row["expect"]
        keys = [key for key in ("ok", "value", "type", "stage", "error") if key in expected]
        assert {k: answer.get(k) for k in keys} == {k: plain(expected[k]) for k in keys}, row["expr"]


def test_rows_can_be_asked_one_by_one() -> None:
    """A kept process answers each row before the next is sent, with the cost of the evaluation."""
    with Oracle() as oracle:
        row = {"id": "1", "expr": "object.n + 1", "env": "validation", "vars": {"object": {"n": 41}}}
        answer = oracle.ask(row)
        assert answer["value"] == {"t": "int", "v": "42"}
        assert answer["cost"] == 3
        broken = oracle.ask({"id": "2", "expr": "object.n +", "env": "validation"})
        assert broken["stage"] == "compile"
        assert "Syntax error" in broken["error"]


def test_the_bench_measures_the_five_expressions() -> None:
    """E1 to E5 each get a figure with and without cost tracking."""
    container = {"name": "main", "image": "registry.example.com/a:1"}
    figures = bench({"metadata": {}, "spec": {"template": {"spec": {"containers": [container]}}}}, 10)
    assert list(figures) == ["E1", "E2", "E3", "E4", "E5"]
    assert all(row["untracked"] > 0 and row["tracked"] > 0 for row in figures.values())

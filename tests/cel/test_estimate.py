"""The estimate of a cost is cel-go's, least and most: by a table of the API server's answers, and by asking it."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.cel import custom_kinds
from tests.cel_diff.expressions import batch
from tests.controlplane.oracle import ask_all
from tests.shared import shared
from webhook import cel
from webhook.cel.batch import environment
from webhook.cel.check.custom_kinds import cardinality, declare, rule_env
from webhook.cel.compose import compose
from webhook.cel.ranges import UNBOUNDED, Estimate

TABLE = Path(__file__).parent / "cases" / "estimates.jsonl"
ROWS = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
COUNT = int(os.environ.get("SLUICE_ESTIMATES", "1500"))
oracle = pytest.mark.skipif(shutil.which("go") is None, reason="the oracle is a Go program, and there is no go")


def estimated(row):
    """Our answer to a row: least and most; of a custom kind's rule how often it may run, and most; None: refused."""
    if row.get("schema"):
        declared = declare(row["schema"], root=row["root"])
        least = cardinality(declared)
        return [least, cel.compile(row["expr"], rule_env(declared)).estimate.max]
    env = environment(row)
    if row.get("decl") == "vap":
        env, _ = compose(env, row.get("variables") or ())
    try:
        found = cel.compile(row["expr"], env).estimate
    except cel.CompileError:
        return None
    return [found.min, found.max]


def differing(rows):
    """How many rows both sides estimate, and those that they estimate otherwise.

    What only we refuse the API server refuses too, after the check: a constant part of it fails.
    """
    both, wrong = 0, []
    for row, theirs in zip(rows, ask_all([{**row, "ask": "estimate"} for row in rows]), strict=True):
        ours = estimated(row)
        if ours is not None and theirs.get("estimate"):
            both += 1
            if ours != [theirs["estimate"]["min"], theirs["estimate"]["max"]]:
                wrong.append((row["expr"], ours, theirs["estimate"]))
    return both, wrong


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["expr"])
def test_table(row):
    """A row has the least and the most that the API server's own estimator gave."""
    assert estimated(row) == row["estimate"]


@oracle
@pytest.mark.parametrize("file", ["k8s-lib-public.jsonl", "policies-public.jsonl", "cel-spec.jsonl"])
def test_shared_rows(file):
    """Every expression of the shared files that compiles has the API server's estimate."""
    with shared(f"cel/{file}").open(encoding="utf-8") as lines:
        rows = [row for line in lines if line.strip() and not (row := json.loads(line)).get("disable_check")]
    both, wrong = differing(rows[:COUNT])
    assert wrong == []
    assert both > 0.7 * min(len(rows), COUNT)


@oracle
def test_generated_expressions():
    """Expressions made at random have the API server's estimate."""
    both, wrong = differing(batch(20, COUNT))
    assert wrong == []
    assert both > COUNT / 2


@oracle
def test_rules_of_custom_kinds():
    """Validation rules for schemas made at random have the API server's cost and cardinality, sizes and all."""
    both, wrong = differing(custom_kinds.rows(20, COUNT))
    assert wrong == []
    assert both == COUNT


def test_numbers_saturate():
    """Sums and products end at the largest unsigned number, and say so as no bound."""
    most = Estimate(1, UNBOUNDED)
    assert most + most == Estimate(2, UNBOUNDED)
    assert most * Estimate(3, 2) == Estimate(3, UNBOUNDED)
    assert most.scaled(0.1) == Estimate(1, 1_844_674_407_370_955_264)
    assert [str(e) for e in (most, Estimate(2, 2), Estimate(1, 2000))] == ["1..unbounded", "2", "1..2,000"]


def test_estimate_is_kept_by_the_program():
    """A program makes its estimate once."""
    program = cel.compile("1 + 1", cel.validation_env())
    assert program.estimate is program.estimate


def test_unchecked_program_has_no_bound():
    """Without types nothing can be said."""
    assert cel.compile("f(x)", cel.Env(checked=False)).estimate == Estimate(0, UNBOUNDED)

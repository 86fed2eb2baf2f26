"""What the API server's own code makes of mutations: 220 rows, of which ours once answered many differently.

Each row says which fields of the object below change and which go, or that the mutation is refused. The answers come
from the oracle of `tests/controlplane`.
"""

import json
from pathlib import Path

import pytest

from webhook.cel import compile, mutation_env
from webhook.cel.batch import answer
from webhook.cli.eval_mutation import mutation
from webhook.policy.patching.apply_configuration import merged
from webhook.policy.patching.apply_json_patch import patched
from webhook.policy.patching.native_values import MutationError

OBJECT = {
    "i": 42,
    "big": 9223372036854775807,
    "n": None,
    "li": [3, 1],
    "ll": [[1], []],
    "ln": [None, 1],
    "le": [],
    "m": {"a": 1},
    "mn": {"k": None},
    "dur": "1h30m",
}
ROWS = [json.loads(line) for line in (Path(__file__).parent / "cases/mutations.jsonl").read_text().splitlines()]


def expected(row):
    """The object as the API server leaves it, None where it refuses."""
    wanted = row["expect"]
    if wanted.get("refused"):
        return None
    return {key: value for key, value in OBJECT.items() if key not in wanted["removed"]} | wanted["changed"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["expr"])
def test_eval_answers_as_the_api_server(row):
    """`sluice eval` gives the object that the API server gives, digit for digit, or refuses where it refuses."""
    given = {"object": OBJECT}
    outcome = answer({"expr": row["expr"], "env": "mutation", "vars": given})
    assert outcome.answer["ok"] is row["expect"]["ok"]
    if outcome.type is None or not outcome.answer["ok"]:
        return
    done = mutation(outcome.type, outcome.value, OBJECT, given)
    assert done["kind"] == row["expect"]["kind"]
    found = done.get("patched")
    wanted = expected(row)
    assert (found is None) is (wanted is None)
    if found is not None:
        kept = {key: value for key, value in found.items() if key not in ("apiVersion", "kind")}
        assert kept == wanted


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["expr"])
def test_policies_refuse_what_the_api_server_refuses(row):
    """What policies do to an object is what `sluice eval` shows: refused, unchanged or changed in the same places."""
    if not row["expect"]["ok"]:
        return
    values = {"object": OBJECT}
    env = mutation_env()
    value = compile(row["expr"], env).evaluate({name: values.get(name) for name in env.variables})
    change = merged if row["expect"]["kind"] == "ApplyConfiguration" else patched
    wanted = expected(row)
    try:
        found = change(OBJECT, value, (OBJECT,))
    except MutationError:
        assert wanted is None
        return
    assert wanted is not None
    assert set(found) - {"apiVersion", "kind"} == set(wanted)

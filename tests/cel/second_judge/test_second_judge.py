"""Every row of the specification that cel-python supports is answered by it as well; where it differs is listed."""

import json
from collections import Counter

import pytest

from tests.cel.second_judge.judge import NoValue, Unsupported, judged
from tests.cel.second_judge.reference import GROUPS, PAGE, page
from tests.shared import shared
from webhook.cel import batch

LISTED = {row: group.example for group in GROUPS for row in group.rows}
AGREEING = 900
"""So many rows both answer alike, at least: a judge that supports nothing would agree with everything."""


@pytest.fixture(scope="module")
def rows():
    """The rows of the specification, by their ids."""
    with shared("cel/cel-spec.jsonl").open(encoding="utf-8") as lines:
        return {row["id"]: row for row in map(json.loads, lines)}


@pytest.fixture(scope="module")
def compared(rows):
    """What both say of each row that cel-python supports: id -> whether it is the same."""
    return {name: same for name, row in rows.items() if (same := agrees(row)) is not None}


def agrees(row):
    """Whether both give the same value, or both none; None where cel-python does not know what the row is about."""
    try:
        theirs = judged(row)
    except Unsupported:
        return None
    ours = batch.answer(row).answer
    if isinstance(theirs, NoValue) or not ours["ok"]:
        return isinstance(theirs, NoValue) and not ours["ok"]
    return json.dumps(ours["value"], sort_keys=True) == json.dumps(theirs, sort_keys=True)


def test_both_judges_agree_but_for_what_is_listed(compared):
    """Neither a new difference nor a listed one that is gone goes unseen."""
    assert {name for name, same in compared.items() if not same} == set(LISTED)


def test_it_judges_most_of_the_language(compared):
    """What is not supported is left to the API server's answers, but it is not everything."""
    assert sum(compared.values()) >= AGREEING


def test_each_difference_is_shown_by_one_of_its_rows(rows):
    """A row is in one group, and a group's example is the expression of one of its rows."""
    assert [name for name, count in Counter(row for g in GROUPS for row in g.rows).items() if count > 1] == []
    for group in GROUPS:
        assert group.example in {rows[name]["expr"] for name in group.rows}


def test_the_page_says_what_is_listed():
    """docs/reference/cel-python.md is made from the list: `make docs`."""
    assert PAGE.read_text(encoding="utf-8") == page()

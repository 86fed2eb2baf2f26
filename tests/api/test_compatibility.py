"""The table of features is whole, and the page is the table."""

import re
from collections import Counter
from pathlib import Path

import pytest

from webhook.api.compatibility.feature import FeatureState
from webhook.api.compatibility.gates import FIXED, READ, SAME
from webhook.api.compatibility.kueue import KUEUE
from webhook.api.compatibility.page import page
from webhook.api.compatibility.volcano import VOLCANO

ROOT = Path(__file__).parents[2]
GATES = Path(__file__).parent / "kueue-0.20-feature-gates.txt"


def test_the_page_is_the_table():
    """`make docs` wrote it last."""
    assert (ROOT / "docs/compatibility.md").read_text() == page()


def test_every_feature_gate_of_kueue_has_one_row():
    """None is missing, none is there twice; the file of names is that of pkg/features at 0.20."""
    counted = Counter(gate for feature in KUEUE for gate in feature.gates)
    assert set(counted) == set(GATES.read_text().split())
    assert set(counted.values()) == {1}


def test_of_every_gate_it_is_said_what_it_does():
    """It is read, makes no difference, or is fixed: one of these."""
    said = Counter([*READ, *SAME, *FIXED])
    assert set(said) == set(GATES.read_text().split())
    assert set(said.values()) == {1}


RULES = {gate[0].lower() + gate[1:]: gate for gate in READ}
"""How parameters of rule files are named after gates."""


def test_a_gate_that_is_read_is_read_somewhere():
    """In the code, as a variable of a shipped policy, or as a parameter of a rule file; and no other is."""
    table = ROOT / "webhook/api/compatibility"
    code = [p.read_text() for p in (ROOT / "webhook").rglob("*.py") if not p.is_relative_to(table)]
    rules = [p.read_text() for p in (ROOT / "policies").rglob("policy.yaml")]
    text = "\n".join([*code, *rules])
    written = {gate for gate in (*READ, *SAME, *FIXED) if f'"{gate}"' in text or f"name: {gate}\n" in text}
    named = {RULES[name] for name in re.findall(r"parameters\.(\w+)", text) if name in RULES}
    of_features = {feature.ignored_without for feature in KUEUE} - {""}
    assert written | named | of_features == set(READ)


@pytest.mark.parametrize("feature", [*KUEUE, *VOLCANO], ids=lambda f: f.name)
def test_what_is_there_is_shown_by_a_test(feature):
    """A feature that is there, in part or in another way, names a test; each named test exists."""
    assert feature.test or feature.state == FeatureState.NO
    assert (ROOT / feature.test).exists()


def test_names_and_notes_are_plain():
    """No row is there twice, and none breaks the page's table."""
    names = [f.name for f in (*KUEUE, *VOLCANO)]
    assert len(names) == len(set(names))
    assert not [f for f in (*KUEUE, *VOLCANO) if "|" in f.note or not f.note]

"""The reference page of queue rules is what the code says today, and each of its examples gives what it says."""

from pathlib import Path

import pytest

from tests.shared import ROOT
from webhook import cel
from webhook.cel import host
from webhook.cel.types import TIMESTAMP
from webhook.offline.reference.object_fields import TEXTS
from webhook.offline.reference.queue_rules import SETTINGS, page, points
from webhook.offline.reference.rule_examples import COMMON, EXAMPLES
from webhook.offline.reference.rule_values import ARGUMENTS, MODES, OUTCOMES, VARIANTS
from webhook.policy.queue_rules.compile import timestamp
from webhook.policy.queue_rules.settings import ALL
from webhook.queue.rules import HeadOutcome, Mode, Variant

PAGE = Path(ROOT) / "docs" / "reference" / "queue-rules.md"
POINTS = {".".join(point.path): point for point in points()}


def test_the_page_is_current_and_names_every_point():
    """`python -m webhook.offline.reference.queue_rules` writes the page that is there."""
    assert PAGE.read_text() == page() + "\n"
    assert all(f"### {path}\n" in page() for path in POINTS)


@pytest.mark.parametrize("path", POINTS)
def test_the_example_of_each_point_gives_what_it_says(path):
    """It compiles with what the point sees, and gives the value of the point's type that its row has."""
    point, example = POINTS[path], EXAMPLES[path]
    text = f"[{example.expression}]" if point.keys else example.expression
    program = cel.compile(text, cel.Env(variables=point.sees, trusted=True))
    given = {**COMMON, **example.given}
    values = [timestamp(given[n]) if type_ == TIMESTAMP else given[n] for n, type_ in point.sees.items()]
    found = program.call(*values)
    assert (tuple(found) if point.keys else found) == example.gives
    assert point.result is None or program.type == point.result
    assert example.words.endswith(".")


def test_every_value_and_setting_is_explained():
    """All outcomes, variants and modes, every plain argument of a point, every setting."""
    assert (set(OUTCOMES), set(VARIANTS), set(MODES)) == (set(HeadOutcome), set(Variant), set(Mode))
    headings = set(page().splitlines())
    assert all(name in ARGUMENTS or f"### {name}" in headings for p in POINTS.values() for name in p.sees)
    assert {tuple(path.split(".")) for path, _ in SETTINGS} >= set(ALL)


@pytest.mark.parametrize("cls", TEXTS, ids=lambda cls: cls.__name__)
def test_every_field_is_explained(cls):
    """An object has a sentence, each of its fields another; the page names no class of the core."""
    text = TEXTS[cls]
    assert set(text.fields) == set(host.fields(cel.host_type(cls).name))
    assert all(words.endswith(".") for words in (text.summary, *(meaning for meaning, _ in text.fields.values())))
    assert f"`{cls.__name__}`" not in page()

"""Several processes find what one finds, whichever of them dies."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from webhook.offline.files import read_files
from webhook.offline.lint import workers
from webhook.offline.lint.apply_rules import lint

NOW = datetime(2026, 9, 1, tzinfo=UTC)
CASES = Path(__file__).parent / "cases"
NAMES = ("cel/type-quoted-number.yaml", "cel/cost-*", "idempotent/*", "mutations/*", "cel/*", "logic/true-*")
FILES = list(dict.fromkeys(file for name in NAMES for file in sorted(CASES.glob(name))))
"""Of policies with one name the first counts."""


@pytest.fixture(scope="module")
def alone():
    return lint(read_files(FILES), NOW)


@pytest.mark.parametrize("jobs", [2, 3, 50])
def test_what_is_found_does_not_depend_on_the_number_of_processes(alone, jobs):
    """The same findings in the same order, and the same repairs."""
    assert {f.code for f in alone.findings} >= {"CEL016", "CEL022", "MUT002"}
    assert lint(read_files(FILES), NOW, jobs=jobs) == alone


def test_the_share_of_a_process_that_died_is_looked_at(alone, monkeypatch):
    """A worker that ends without a word loses no finding."""
    monkeypatch.setattr(workers, "_work", lambda *_: None)
    assert lint(read_files(FILES), NOW, jobs=3) == alone


@pytest.mark.parametrize(("policies", "jobs", "count"), [(0, 8, 1), (3, 8, 3), (500, 2, 2), (10, None, 1)])
def test_as_many_processes_as_there_is_work_for(policies, jobs, count):
    """No more than there are policies, and one where a few are all."""
    assert workers.process_count(policies, jobs) == count

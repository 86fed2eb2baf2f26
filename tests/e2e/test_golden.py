"""Every manifest of the five articles goes through the real API server; golden files hold it before and after.

`UPDATE_GOLDEN=1` writes the files anew: read the difference before it is committed.
"""

import os
from pathlib import Path

import pytest
import yaml

from tests.controlplane.client import Client
from tests.e2e.articles import Case, run
from tests.e2e.sluice import Sluice
from tests.seeds import ARTICLES, manifests

pytestmark = pytest.mark.cluster

GOLDEN = Path(__file__).with_name("golden")
NUMBERS = [(article, number) for article in ARTICLES for number in range(1, len(manifests(article)) + 1)]


@pytest.fixture(scope="module")
def cases(kube_session: Client, sluice: Sluice) -> dict[tuple[str, int], Case]:
    return {(case.article, case.number): case for case in run(kube_session, sluice)}


@pytest.mark.parametrize(("article", "number"), NUMBERS, ids=[f"{a}-{n:02d}" for a, n in NUMBERS])
def test_the_manifest_comes_out_as_recorded(cases: dict[tuple[str, int], Case], article: str, number: int) -> None:
    """Verdict, warnings and every changed place are those of the golden file."""
    case = cases[article, number]
    path = GOLDEN / f"{case.name}.yaml"
    record = case.record()
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(record, sort_keys=True, allow_unicode=True, width=120), encoding="utf-8")
    assert yaml.safe_load(path.read_text(encoding="utf-8")) == record


def test_no_golden_file_is_left_over() -> None:
    """Every golden file belongs to a manifest."""
    known = {f"{Case(a, n, m).name}.yaml" for a in ARTICLES for n, m in enumerate(manifests(a), 1)}
    assert {str(path.relative_to(GOLDEN)) for path in GOLDEN.glob("*/*.yaml")} == known

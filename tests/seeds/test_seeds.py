"""The restored manifests are the articles' own lines."""

import pytest

from tests.seeds import ARTICLES, HERE, manifests
from tests.shared import shared


@pytest.mark.parametrize("article", ARTICLES)
def test_every_line_is_the_articles(article):
    """A manifest's lines, indentation aside, stand in the article in the same order."""
    (source,) = shared("seeds").glob(f"{article}_*.txt")
    said = iter(line.strip() for line in source.read_text(encoding="utf-8").splitlines())
    (path,) = HERE.glob(f"{article}-*.yaml")
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    missing = [line for line in lines if line not in ("", "---") and line not in said]
    assert missing == []


@pytest.mark.parametrize(("article", "count"), list(zip(ARTICLES, (24, 11, 21, 6, 2), strict=True)))
def test_no_manifest_is_lost(article, count):
    """Each article gives as many manifests as it has `apiVersion` lines at the start of a line."""
    (source,) = shared("seeds").glob(f"{article}_*.txt")
    text = source.read_text(encoding="utf-8")
    assert sum(line.startswith("apiVersion:") for line in text.splitlines()) == count == len(manifests(article))

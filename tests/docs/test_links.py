"""Every link of the documentation leads somewhere, and every page is reached from the navigation."""

import importlib.util
from pathlib import Path

import pytest
import yaml

from tests.docs.markdown import DOCS, anchors, links
from tests.shared import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "certs").glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def hooks():
    spec = importlib.util.spec_from_file_location("mkdocs_hooks", ROOT / ".ci/mkdocs_hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def navigation() -> set[Path]:
    """The pages of the navigation, folders written out."""
    settings = yaml.safe_load((ROOT / ".ci/mkdocs.yml").read_text(encoding="utf-8"))

    def pages(entry):
        if isinstance(entry, str):
            yield DOCS / entry
        for inner in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
            yield from pages(inner)

    return set(pages(hooks().expanded(settings["nav"], DOCS)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page):
    """A link into the repository names a file that is there, and a heading that it has."""
    broken = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.is_relative_to(ROOT) or not target.exists():
            broken.append(f"{link}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            broken.append(f"{link}: no such heading")
    assert not broken


def test_navigation_names_pages():
    """What the navigation names is there."""
    assert not [page for page in navigation() if not page.is_file()]


def test_every_page_is_reached():
    """A page is in the navigation, or in the list of findings, which is."""
    listed = {(DOCS / "findings" / link).resolve() for link in links(DOCS / "findings/README.md")}
    reached = navigation() | listed
    assert not [str(page) for page in DOCS.rglob("*.md") if page not in reached]


def test_the_index_links_every_page():
    """A reader finds each page by its task; findings have a list of their own, decisions a folder."""
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in links(DOCS / "index.md")}
    pages = {page for page in DOCS.rglob("*.md") if page.parent.name not in ("findings", "decisions")}
    assert not sorted(str(page) for page in pages - linked - {DOCS / "index.md"})


@pytest.mark.parametrize(
    ("target", "is_text"),
    [
        ("metrics.md", False),
        ("metrics.md#queues", False),
        ("#queues", False),
        ("https://example.com/x", False),
        ("../examples/gpu-job.yaml", False),
        ("gone.md", False),
        ("../findings", True),
        ("../../policies/queue/kueue/policy.yaml", True),
    ],
)
def test_links_off_the_site_become_text(target, is_text):
    """A folder, or a file outside of the pages, has no page; what does not exist stays a broken link."""
    assert hooks().has_no_page(target, DOCS / "reference/commands.md", DOCS) is is_text

"""The commands of the pages that teach run in their order, and print what the page says."""

import pytest

from tests.docs.console import runs
from tests.docs.markdown import DOCS, blocks
from tests.shared import ROOT

FOLDERS = ("start", "how-to", "zh")
TRANSLATED = {DOCS / "zh/tutorial.md": DOCS / "start/tutorial.md", DOCS / "zh/README.md": ROOT / "README.md"}
PAGES = sorted(
    page
    for folder in FOLDERS
    for page in (DOCS / folder).glob("*.md")
    if page not in TRANSLATED and any(b.language == "console" for b in blocks(page))
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_console(page, tmp_path):
    """Every console block prints what it shows; else read what changed, and run `python -m tests.docs.console PAGE`."""
    assert "\n".join(str(run) for run in runs(page, tmp_path) if not run.agrees) == ""


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_translations_show_the_same(page):
    """A translated page has the blocks of the page that it translates."""
    assert list(blocks(page)) == list(blocks(TRANSLATED[page]))


def test_a_difference_is_seen(tmp_path):
    """A page whose output is not the program's fails; one with `...` in the place of lines does not."""
    page = tmp_path / "page.md"
    page.write_text(
        '```text title="a/x"\none\ntwo\nthree\n```\n\n```console\n$ cd a && cat x\none\n...\n$ cat x\none\n```\n'
    )
    agreed, wrong = runs(page, tmp_path)
    assert agreed.agrees
    assert not wrong.agrees
    assert str(wrong) == "$ cat x\none\ntwo\nthree\n-- the page shows:\none\n"

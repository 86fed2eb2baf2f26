"""The page's files keep its rules: all of it is served from here, none of it reads HTML, and each file is small."""

import re

import pytest

from tests.shared import ROOT
from webhook.queue.decisions import Reason

STATIC = ROOT / "webhook/dashboard/static"
FILES = sorted(path for path in STATIC.rglob("*") if path.is_file())
MOST_LINES = 400


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(STATIC)))
def test_file_keeps_the_rules(path):
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"https?://[^\s\"']+", text)) - {"http://www.w3.org/2000/svg"}
    assert named == set(), "something from elsewhere"
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function", text
    )
    assert len(text.splitlines()) <= MOST_LINES
    assert not re.search(r"\b(TODO|FIXME|XXX)\b", text)


def test_page_has_nothing_inline():
    """The policy of the page allows no script, style or listener in its markup."""
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_reasons_have_words(language):
    """Each reason of the core has a sentence in both languages."""
    text = (STATIC / f"words/{language}.js").read_text(encoding="utf-8")
    assert [reason for reason in Reason if f"{reason.value}:" not in text] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_word_twice(language):
    """A second word of the same name would take the first one's place."""
    keys = re.findall(r"^  (\w+):", (STATIC / f"words/{language}.js").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(key for key in set(keys) if keys.count(key) > 1) == []


def test_every_word_is_used():
    """A word that no file names is gone."""
    sources = "".join(
        path.read_text(encoding="utf-8") for path in FILES if path.suffix == ".js" and path.parent.name != "words"
    )
    english = (STATIC / "words/en.js").read_text(encoding="utf-8")
    keys = re.findall(r"^  (\w+):", english, re.MULTILINE)
    assert [
        key for key in keys if not re.search(rf"words\(\)\.{key}\b|\"{key}\"|\b{key}\b[^;]*= words\(\)", sources)
    ] == []

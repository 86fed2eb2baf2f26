"""A code of a finding means one thing, wherever it comes from: it has one row of the table and one page."""

import ast
import re
from collections import Counter

import pytest
from click.testing import CliRunner

from tests.shared import ROOT
from webhook.cli.commands.policies.lint import lint_command
from webhook.offline.lint.all_rules import BY_CODE, ON_REQUEST, RULES
from webhook.offline.lint.loading import READING
from webhook.offline.lint.pages import pages

CODE = re.compile(r"[A-Z]{3,5}[0-9]{3}")


def codes_of(path):
    """Name the codes that a module has as a text of its own."""
    texts = (node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str) and CODE.fullmatch(text)}


def test_a_code_has_one_row():
    """No two rows of the table share a code, and every code that a module emits has a row."""
    modules = (p for p in (ROOT / "webhook").rglob("*.py") if p.parts[-2:] != ("lint", "loading.py"))
    emitted = {code for module in modules for code in codes_of(module)}
    assert {
        code for code, rows in Counter(r.code for r in (*READING, *RULES, *ON_REQUEST)).items() if rows > 1
    } == set()
    assert BY_CODE.keys() == emitted


def test_a_meaning_has_one_code():
    """No two rows say the same."""
    assert {title for title, rows in Counter(r.title for r in BY_CODE.values()).items() if rows > 1} == set()


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_a_code_is_explained(code):
    """`sluice lint --explain CODE` prints its page, which is in the documentation and in its index."""
    done = CliRunner().invoke(lint_command, ["--explain", code])
    assert done.exit_code == 0, done.output
    page = (ROOT / "docs/findings" / f"{code}.md").read_text("utf-8")
    assert page == pages()[f"{code}.md"]
    assert f"[{code}]({code}.md)" in (ROOT / "docs/findings/README.md").read_text("utf-8")

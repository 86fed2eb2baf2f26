"""Each source file keeps the rules that no linter has."""

import ast
import re

import pytest

from tests.shared import ROOT

SOURCES = sorted((ROOT / "webhook").rglob("*.py"))
FORBIDDEN_NAMES = {"utils", "helpers", "common", "manager", "misc"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_source_file_keeps_the_rules(path):
    """A file has a docstring, a name of the field, no import inside a function and nothing left open."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "no module docstring"
    assert path.stem not in FORBIDDEN_NAMES
    inner = [
        node.lineno
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert inner == [], "imports inside functions"
    assert not re.search(r"\b(TODO|FIXME|XXX)\b|NotImplementedError", text)

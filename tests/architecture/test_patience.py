"""Tests do not fail for being slow: no example has a deadline, whatever the machine is busy with."""

import ast

import pytest
from hypothesis import HealthCheck, settings

from tests.shared import ROOT

TESTS = sorted((ROOT / "tests").rglob("*.py"))


def test_no_example_has_a_deadline():
    """The profile that tests/conftest.py loads has none, and does not mind slow examples."""
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check


@pytest.mark.parametrize("path", TESTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_sets_one(path):
    """`settings(deadline=...)` says None or nothing; whoever names health checks names `too_slow`."""
    calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    for call in calls:
        if isinstance(call.func, ast.Name) and call.func.id == "settings":
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            assert given.get("deadline", "None") == "None", f"line {call.lineno}"
            checks = given.get("suppress_health_check", "list(HealthCheck)")
            assert "list(HealthCheck)" in checks or "too_slow" in checks, f"line {call.lineno}"

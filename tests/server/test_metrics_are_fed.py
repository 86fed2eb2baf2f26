"""Every figure that is declared is fed somewhere: one that stays 0 for ever says something that is not so."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

import webhook
from webhook.admission.verdict import Verdict
from webhook.cluster.queues.metrics import QueueMetrics
from webhook.server.metrics import ServerMetrics

ROOT = Path(webhook.__file__).parent


def attributes(source: str, owner: str) -> set[str]:
    """The attributes that a class gives itself when it is made."""
    (made,) = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef) and n.name == owner)
    (init,) = (n for n in made.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    targets = [t for n in ast.walk(init) for t in getattr(n, "targets", [getattr(n, "target", None)])]
    return {t.attr for t in targets if isinstance(t, ast.Attribute) and t.attr != "_role"}


def fed(source: str) -> set[str]:
    """The attributes that are counted up, set, or asked to do so."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        target = node.func if isinstance(node, ast.Call) else getattr(node, "target", None)
        while isinstance(target, ast.Attribute | ast.Subscript | ast.Call):
            if isinstance(target, ast.Attribute):
                found.add(target.attr)
            target = target.func if isinstance(target, ast.Call) else target.value
    return found


@pytest.mark.parametrize("owner", [ServerMetrics, QueueMetrics])
def test_each_figure_is_fed(owner: type) -> None:
    home = Path(*owner.__module__.split(".")[1:]).with_suffix(".py")
    source = (ROOT / home).read_text()
    declared = attributes(source, owner.__name__)
    assert declared
    feeding = set().union(*(fed(path.read_text()) for path in ROOT.rglob("*.py") if path != ROOT / home))
    in_methods = source.replace(ast.get_source_segment(source, _init(source, owner.__name__)) or "", "pass")
    assert sorted(declared - feeding - fed(in_methods)) == []


def _init(source: str, owner: str) -> ast.FunctionDef:
    (made,) = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef) and n.name == owner)
    (init,) = (n for n in made.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    return init


def test_policies_are_counted_by_name():
    """A denial counts for each policy that made it; what was evaluated counts once a request."""
    registry, metrics = CollectorRegistry(), ServerMetrics()
    registry.register(metrics)
    metrics.judged(Verdict(allowed=True, policies=("a", "b"), warnings=("w",)))
    metrics.judged(Verdict(allowed=False, policies=("a", "b"), denied_by=("b",)))
    found = {
        (name, policy): registry.get_sample_value(f"sluice_policy_{name}_total", {"policy": policy})
        for name in ("evaluations", "denials")
        for policy in ("a", "b")
    }
    assert found == {("evaluations", "a"): 2, ("evaluations", "b"): 2, ("denials", "a"): None, ("denials", "b"): 1}
    assert registry.get_sample_value("sluice_admission_warnings_total") == 1

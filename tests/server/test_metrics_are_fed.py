"""Every figure that is declared is fed somewhere: one that stays 0 for ever says something that is not so."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import webhook
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

"""Every figure that is declared is fed somewhere: one that stays 0 for ever says something that is not so."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry

import webhook
from webhook import cel
from webhook.admission.verdict import Verdict
from webhook.cluster.queues.metrics import QueueMetrics
from webhook.server.metrics import ServerMetrics
from webhook.server.policy_times import TIMED, PolicyTimes

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


def test_one_review_of_some_is_measured_policy_by_policy():
    """What its clauses take is added to their policy, whether it changes objects or judges them."""
    registry, times = CollectorRegistry(), PolicyTimes()
    registry.register(times)
    policy = SimpleNamespace(name="a", mutating=True)
    timers = [timer for _ in range(2 * TIMED) if (timer := times.watch()) is not None]
    for timer in timers:
        timer.saw(policy, "matchConditions", 0, "true")
        timer.saw(policy, "mutations", 0, "changed")
    assert len(timers) == 2
    assert registry.get_sample_value("sluice_policy_duration_seconds_count", {"policy": "a"}) == 2
    measured = times.by_policy["a", True]
    assert 0 < measured.slowest <= measured.seconds
    assert registry.get_sample_value("sluice_policy_duration_seconds_sum", {"policy": "a"}) == measured.seconds


def test_what_the_interpreter_answers_is_counted():
    """An expression that fails is evaluated again, exactly: its cost and its message are the API server's."""
    registry = CollectorRegistry()
    registry.register(PolicyTimes())
    before = registry.get_sample_value("sluice_expressions_interpreted_total")
    program = cel.compile("1 / size(text) == 1", cel.Env({"text": cel.types.STRING}))
    assert program.run({"text": "x"}) is True
    assert registry.get_sample_value("sluice_expressions_interpreted_total") == before
    with pytest.raises(cel.EvalError):
        program.run({"text": ""})
    assert registry.get_sample_value("sluice_expressions_interpreted_total") == before + 1

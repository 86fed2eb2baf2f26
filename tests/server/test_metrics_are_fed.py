"""Every figure that is declared is fed somewhere: one that stays 0 for ever says something that is not so."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry

import webhook
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.pipeline import validate
from webhook.admission.verdict import Verdict
from webhook.cel.limits import CALL_LIMIT, POLICY_LIMIT
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.documents import read
from webhook.kube.gvk import GroupVersionKind, GroupVersionResource
from webhook.policy.bundle import Bundle
from webhook.policy.evaluation.observers import CostObserver, Observer
from webhook.policy.loading.assemble import assemble
from webhook.policy.model import Policy
from webhook.policy.request import Request
from webhook.server.metrics import ServerMetrics
from webhook.server.policy_measures import COUNTED_ONE_IN, TIMED_ONE_IN, PolicyMeasures

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
    registry, times = CollectorRegistry(), PolicyMeasures()
    registry.register(times)
    policy = SimpleNamespace(name="a", mutating=True)
    timers = [timer for _ in range(2 * TIMED_ONE_IN) if (timer := times.watch()) is not None]
    for timer in timers:
        timer.saw(policy, "matchConditions", 0, "true")
        timer.saw(policy, "mutations", 0, "changed")
    assert len(timers) == 2
    assert registry.get_sample_value("sluice_policy_duration_seconds_count", {"policy": "a"}) == 2
    measured = times.times["a", True]
    assert 0 < measured.slowest <= measured.seconds
    assert registry.get_sample_value("sluice_policy_duration_seconds_sum", {"policy": "a"}) == measured.seconds


POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}
  variables: [{name: names, expression: "object.spec.containers.map(c, c.name)"}]
  validations:
  - {expression: "variables.names.all(n, n.size() < 9)"}
  - {expression: "1 / (variables.names.size() - 2) < 9"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
"""


def reviewed(names: str, observer: Observer | None = None, limit: int = POLICY_LIMIT) -> tuple[Policy, Verdict]:
    """The policy within a limit of costs, and its verdict on a Pod with containers of these names."""
    (policy,) = assemble(read(POLICY)).policies
    bundle = Bundle.of([replace(policy, cost_limits=(limit, CALL_LIMIT))])
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": [{"name": n} for n in names]}}
    pods, kind = GroupVersionResource("", "v1", "pods"), GroupVersionKind("", "v1", "Pod")
    verdict = validate(Request("1", kind, pods, "CREATE", pod), bundle, MemoryFacts(), observer=observer)
    assert isinstance(verdict, Verdict)
    return bundle.policies[0], verdict


def test_costs_are_those_that_the_budget_knows():
    """What is counted is just what the policy needs: with that limit it decides, with a unit less it does not."""
    registry, measures = CollectorRegistry(), PolicyMeasures()
    registry.register(measures)
    (observer,) = (made for _ in range(COUNTED_ONE_IN) if isinstance(made := measures.watch(), CostObserver))
    assert reviewed("abc", observer)[1].allowed
    cost = measures.costs["p", False]
    assert registry.get_sample_value("sluice_policy_cost_units_sum", {"policy": "p"}) == cost.units
    assert registry.get_sample_value("sluice_policy_cost_units_count", {"policy": "p"}) == 1
    assert reviewed("abc", limit=cost.units)[1].allowed
    assert "out of cost budget" in reviewed("abc", limit=cost.units - 1)[1].message


def test_what_the_interpreter_answers_is_counted_by_policy():
    """An expression that fails is evaluated again, exactly: its cost and its message are the API server's."""
    registry, found = CollectorRegistry(), []
    registry.register(PolicyMeasures(lambda: found))
    found[:] = reviewed("abc")[:1]
    assert registry.get_sample_value("sluice_policy_expressions_interpreted_total", {"policy": "p"}) == 0
    found[:] = reviewed("ab")[:1]
    assert registry.get_sample_value("sluice_policy_expressions_interpreted_total", {"policy": "p"}) == 1

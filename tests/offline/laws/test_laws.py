"""The laws of queue rules: a rule that breaks one is caught, with a small cluster that `sluice plan` reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import yaml

from tests.offline.running import invoke
from tests.queue.load_rules import load_rules
from webhook.api.types.queuepolicy import Law
from webhook.cli.commands.policies.test import test as run_tests
from webhook.cli.commands.queues.plan import plan
from webhook.offline.laws import checks
from webhook.offline.laws.checks import LAWS
from webhook.offline.laws.search import counterexample
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Decisions
from webhook.queue.rules import Rules
from webhook.queue.state import State

HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: mine}\nspec:\n  extends: [kueue]\n"
BROKEN = [
    ("QuotaKept", "capacity: {available: node.subtree}"),
    ("QuotaKept", "capacity: {available: parent + 100}"),
    ("WorkConserving", "reserve: {when: 'true', for: UntilAdmitted}"),
    ("NoBackAndForth", "preempt: {candidate: \"'WithinQueue'\"}"),
    ("StarvationFree", "recomputeVictims: true"),
]


def test_every_law_of_the_api_is_tried():
    """The names that `laws.keeps` takes are those of the table, each with its sentence."""
    assert set(get_args(Law)) == set(LAWS)
    assert all(law.sentence.endswith(".") for law in LAWS.values())


@pytest.mark.parametrize(("law", "spec"), BROKEN)
def test_a_rule_that_breaks_a_law_is_caught(law, spec):
    """A small cluster is found, the same each time, in which the rules break the law and Kueue's do not."""
    rules = load_rules(HEAD + f"  {spec}\n")
    found = counterexample(law, rules, 100)
    assert found is not None
    assert found == counterexample(law, rules, 100)
    assert LAWS[law].broken(found.objects, rules) == found.why
    assert len([o for o in found.objects if o["kind"] == "Workload"]) <= 6
    if law != "StarvationFree":
        assert LAWS[law].broken(found.objects, rules_named(["kueue"])) == ""


def evicts_one_too_many(state: State, rules: Rules, now: int) -> Decisions:
    """An engine that takes whoever else runs, where it preempts at all."""
    made = decide(state, rules, now)
    others = [
        w for w in state.snapshot().workloads if w.admission and w.key not in {p.workload for p in made.preempted}
    ]
    more = [replace(p, workload=w.key) for p in made.preempted[:1] for w in others[:1]]
    return replace(made, preempted=(*made.preempted, *more))


def forgets_the_last(state: State, rules: Rules, now: int) -> Decisions:
    """An engine for which the order counts in which it was told of the queues."""
    made = decide(state, rules, now)
    last = list(state.cluster_queues)[-1]
    return replace(made, admitted=tuple(a for a in made.admitted if a.cluster_queue != last))


class LooksOnce:
    """An engine that decides for a state the first time it sees it, and never again."""

    def __init__(self) -> None:
        self.seen: list[State] = []

    def __call__(self, state: State, rules: Rules, now: int) -> Decisions:
        """Decide, or decide nothing."""
        if any(state is other for other in self.seen):
            return Decisions()
        self.seen.append(state)
        return decide(state, rules, now)


@pytest.mark.parametrize(
    ("law", "engine"),
    [
        ("MinimalPreemption", evicts_one_too_many),
        ("OrderIndependent", forgets_the_last),
        ("SameAfterRestart", LooksOnce()),
    ],
)
def test_an_engine_that_breaks_a_law_is_caught(law, engine, monkeypatch):
    """What no rule can break is seen where the engine itself is wrong."""
    monkeypatch.setattr(checks, "decide", engine)
    assert counterexample(law, rules_named(["kueue"]), 100) is not None


@pytest.mark.parametrize("file", sorted((Path(__file__).parent / "living").glob("*.yaml")), ids=lambda f: f.stem)
@pytest.mark.parametrize("rules", ["kueue", "kueue-fair"])
def test_a_state_that_lives_decides_like_one_built_anew(file, rules):
    """Clusters in which a living state once decided otherwise."""
    objects = list(yaml.safe_load_all(file.read_text()))
    assert LAWS["SameAfterRestart"].broken(objects, rules_named([rules])) == ""


def test_sluice_test_tells_which_promise_is_broken(tmp_path):
    """Who edits a rule sees the law at its place, and a cluster that `sluice plan` reads; others of the suite go on."""
    (tmp_path / "policy.yaml").write_text(
        HEAD + "  laws: {keeps: [OrderIndependent, QuotaKept]}\n  capacity: {available: node.subtree}\n"
    )
    (tmp_path / "suite.yaml").write_text(
        "apiVersion: sluice.dev/v1alpha1\nkind: Suite\nmetadata: {name: mine}\ncases:\n"
        "- name: a Pod\n  object: {apiVersion: v1, kind: Pod, metadata: {name: p}}\n  expect: {matched: false}\n"
    )
    done = invoke(run_tests, str(tmp_path))
    assert done.exit_code == 1, done.stdout
    assert "2 passed, 1 failed" in done.stdout
    assert "policy.yaml:6:36 RUL010 QuotaKept does not hold: " in done.stdout
    file = tmp_path / "cluster.yaml"
    file.write_text(done.stdout[done.stdout.index("---\n") : done.stdout.rindex("\n\n")])
    assert {o["kind"] for o in yaml.safe_load_all(file.read_text())} >= {"ClusterQueue", "Workload"}
    planned = invoke(plan, "-f", str(file), "--rules", str(tmp_path / "policy.yaml"))
    assert planned.exit_code == 0, planned.stderr
    assert "team/job-" in planned.stdout
    skipped = invoke(run_tests, str(tmp_path), "--examples", "0")
    assert (skipped.exit_code, "1 passed, 0 failed, 2 skipped" in skipped.stdout) == (0, True)


def test_a_law_is_tried_once_where_several_suites_load_its_file(tmp_path):
    """Two suites over one rule file: its law is a case of the first."""
    (tmp_path / "policy.yaml").write_text(HEAD + "  laws: {keeps: [QuotaKept]}\n")
    for name in ("a", "b"):
        (tmp_path / f"{name}.suite.yaml").write_text(
            f"apiVersion: sluice.dev/v1alpha1\nkind: Suite\nmetadata: {{name: {name}}}\ncases:\n"
            "- name: a Pod\n  object: {apiVersion: v1, kind: Pod, metadata: {name: p}}\n  expect: {matched: false}\n"
        )
    done = invoke(run_tests, str(tmp_path))
    assert "3 passed, 0 failed" in done.stdout
    assert done.stdout.count("law QuotaKept") == 1

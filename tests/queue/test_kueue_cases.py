"""Kueue's own decisions: one cycle from a cold start, by the rule files and by the same in Python."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.queue.python_rules import KueueRules
from tests.shared import shared
from webhook.api.snapshot.reader import snapshot
from webhook.kube.times import milliseconds
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.decide import decide
from webhook.queue.explain import pending
from webhook.queue.rules import Rules
from webhook.queue.state import State

SETTINGS = {
    "PartialAdmission": ("partialAdmission", "partial"),
    "RecomputeAssignmentUponPreemptionTargetsOverlap": ("recomputeVictims", "recompute"),
}
DEFAULTS = {"PrioritizePreemptorWorkloads": False}
"""Kueue's, where ours are others."""
PARAMETERS = {
    "PrioritizePreemptorWorkloads": ("prioritizePreemptorWorkloads", "preemptors_first"),
    "PrioritySortingWithinCohort": ("prioritySortingWithinCohort", "by_priority"),
    "FlavorFungibility": ("flavorFungibility", "fungible"),
    "FairSharingPrioritizeNonBorrowing": ("fairSharingPrioritizeNonBorrowing", "nominal_first"),
    "FairSharingPreemptWithinNominal": ("fairSharingPreemptWithinNominal", "within_nominal"),
}


def from_files(case: dict[str, Any]) -> Rules:
    """The shipped rule file that a case asks for, with its feature gates."""
    gates, fair = {**DEFAULTS, **case.get("featureGates", {})}, case.get("fairSharing")
    settings: dict[str, Any] = {name: gates[g] for g, (name, _) in SETTINGS.items() if g in gates}
    if case.get("fairSharingStrategies"):
        settings["fairSharing"] = {"enabled": True, "strategies": case["fairSharingStrategies"]}
    parameters = {name: gates[g] for g, (name, _) in PARAMETERS.items() if g in gates}
    return rules_named(["kueue-fair" if fair else "kueue"], parameters, settings)


def in_python(case: dict[str, Any]) -> Rules:
    """The same rules in Python."""
    gates = {**DEFAULTS, **case.get("featureGates", {})}
    given: dict[str, Any] = {a: gates[g] for g, (_, a) in {**SETTINGS, **PARAMETERS}.items() if g in gates}
    if case.get("fairSharingStrategies"):
        given["strategies"] = tuple(case["fairSharingStrategies"])
    return KueueRules(fair=bool(case.get("fairSharing")), **given)


def answer(case: dict[str, Any], rules: Rules) -> dict[str, Any]:
    """Decide one cycle, in the words of the cases."""
    state = State.from_snapshot(snapshot(case["objects"]))
    decisions = decide(state, rules, milliseconds(case["now"]), cycles=1)
    return {
        "admitted": {
            a.workload: (a.cluster_queue, a.admitted, [(p.name, p.count, dict(p.flavors)) for p in a.pod_sets])
            for a in decisions.admitted
        },
        "preempted": {p.workload: p.reason.value for p in decisions.preempted},
        "preemptedBy": {p.workload: p.preemptor for p in decisions.preempted},
        "pending": {p.workload: (p.place.value, p.reason.value) for p in pending(state)},
    }


def expected(case: dict[str, Any]) -> dict[str, Any]:
    """What the real Kueue did."""
    want = case["expect"]
    return {
        "admitted": {
            name: (
                a["clusterQueue"],
                a["state"] == "Admitted",
                [(p["name"], p["count"], p.get("flavors") or {}) for p in a["podSets"]],
            )
            for name, a in want["admitted"].items()
        },
        "preempted": want["preempted"],
        "preemptedBy": want.get("preemptedBy") or {},
        "pending": {n: (d["queue"], d["reason"]) for n, d in want["pendingDetail"].items()},
    }


@pytest.mark.parametrize("rules_of", [from_files, in_python], ids=["files", "python"])
def test_the_cases_of_kueue(rules_of: Any) -> None:
    """Each case comes out as in Kueue: admitted with flavors, victims with reasons, who waits, where and why."""
    wrong = []
    for file in sorted(shared("kueue/cases").glob("*.json")):
        case = json.loads(file.read_text())
        if answer(case, rules_of(case)) != expected(case):
            wrong.append(case["id"])
    assert wrong == []

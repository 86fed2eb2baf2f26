"""Whether pods suit a flavor's nodes: taints and node affinity, read as the scheduler does, on the flavor's labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from webhook.queue.model import Flavor, PodSet, Requirement, Selector, Taint, Toleration
from webhook.queue.rules import Match

KEEPS_OUT = ("NoSchedule", "NoExecute")


def match(pod_set: PodSet, flavor: Flavor) -> Match:
    """Match a pod set with a flavor: the first taint that neither of them tolerates, and the node affinity."""
    tolerations = (*pod_set.tolerations, *flavor.tolerations)
    taint = next((t for t in flavor.node_taints if t.effect in KEEPS_OUT and not tolerated(t, tolerations)), None)
    untolerated = f"{taint.key}={taint.value}:{taint.effect}" if taint else ""
    return Match(flavor, untolerated, suits(pod_set, flavor.node_labels))


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Return whether any toleration tolerates a taint (core/v1 Toleration)."""
    return any(_tolerates(t, taint) for t in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    if not toleration.key:
        return False
    if toleration.operator in ("Gt", "Lt"):
        return _compares(toleration.operator, taint.value, toleration.value)
    return toleration.value == taint.value


def suits(pod_set: PodSet, labels: Mapping[str, str]) -> bool:
    """Return whether node selector and required node affinity allow nodes with a flavor's labels.

    Only the flavor's own label keys are looked at; a term that has no other key left allows everything.
    """
    for key, value in pod_set.node_selector.items():
        if key in labels and labels[key] != value:
            return False
    if not pod_set.affinity:
        return True
    for term in pod_set.affinity:
        known = [r for r in term.match_expressions if r.key in labels]
        if all(holds(r, labels) for r in known):
            return True
    return any(not any(r.key in labels for r in term.match_expressions) for term in pod_set.affinity)


def selects(selector: Selector | None, labels: Mapping[str, str]) -> bool:
    """Return whether a selector selects an object with these labels; None selects nothing."""
    return selector is not None and all(holds(r, labels) for r in selector.match_expressions)


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Return whether labels meet one requirement; one with an unknown operator is never met."""
    present = requirement.key in labels
    match requirement.operator:
        case "In":
            return present and labels[requirement.key] in requirement.values
        case "NotIn":
            return not present or labels[requirement.key] not in requirement.values
        case "Exists":
            return present
        case "DoesNotExist":
            return not present
        case "Gt" | "Lt":
            one = len(requirement.values) == 1
            return present and one and _compares(requirement.operator, labels[requirement.key], requirement.values[0])
    return False


def _compares(operator: str, have: str, want: str) -> bool:
    try:
        return int(have) > int(want) if operator == "Gt" else int(have) < int(want)
    except ValueError:
        return False

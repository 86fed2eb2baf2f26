"""What Kueue and Sluice answer about a case, in one form; and the differences that are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.kube.times import milliseconds
from webhook.offline.plan.batch import answer_case, answer_trace

Case = Mapping[str, Any]
Answer = dict[str, Any]
NO_LONGER_FITS: Final = "Workload no longer fits after processing another workload"


def ours(case: Case) -> Answer:
    """Decide a case as `sluice plan --batch` does."""
    return decided(answer_case(case, milliseconds(case["now"])))


def decided(answer: Mapping[str, Any]) -> Answer:
    """What is compared: who got what, who must yield to whom and why, who waits where."""
    return {
        "admitted": {
            name: [a["clusterQueue"], a["state"], [[p["name"], p["count"], p["flavors"] or {}] for p in a["podSets"]]]
            for name, a in sorted(answer["admitted"].items())
        },
        "preempted": {n: [reason, answer["preemptedBy"].get(n)] for n, reason in sorted(answer["preempted"].items())},
        "pending": {name: row["queue"] for name, row in sorted(answer["pendingDetail"].items())},
    }


def known(case: Case, mine: Answer, theirs: Mapping[str, Any]) -> str:
    """Name the difference between our answer and Kueue's, as Kueue gave it; "" if it has no name.

    All but the last are rows of `docs/compatibility.md`.
    """
    kueues = decided(theirs)
    queues = [o["spec"] for o in case["objects"] if o["kind"] == "ClusterQueue"]
    lost = any(row["message"] == NO_LONGER_FITS for row in theirs["pendingDetail"].values())
    if lost and any(queue["flavorFungibility"].get("preference") for queue in queues):
        return "preference of flavors"
    covered = {name for queue in queues for group in queue["resourceGroups"] for name in group["coveredResources"]}
    if "pods" in covered and (lost or mine["preempted"] != kueues["preempted"]):
        return "pods of a preemptor"
    if mine["admitted"] != kueues["admitted"] and _of_pods(mine) == _of_pods(kueues):
        return "the flavor of a pod set of no pods"
    if (mine["admitted"], mine["preempted"]) == (kueues["admitted"], kueues["preempted"]):
        if not case.get("featureGates", {}).get("FlavorFungibility", True):
            return "without FlavorFungibility nothing is parked"
        apart = [name for name, place in mine["pending"].items() if place != theirs["pendingDetail"][name]["queue"]]
        if not any(theirs["pendingDetail"][name]["message"] for name in apart):
            return "parked unseen: alike by what they request and where, or by how their pods are written"
    return ""


def _of_pods(answer: Answer) -> Answer:
    """An answer without the pod sets of no pods, and what depends on their flavors: checks."""
    admitted = {name: [queue, [p for p in sets if p[1]]] for name, (queue, _, sets) in answer["admitted"].items()}
    return answer | {"admitted": admitted}


def ours_of_trace(trace: Case) -> list[Answer]:
    """Live through a trace as `sluice plan --traces` does."""
    moments = tuple(milliseconds(step["now"]) for step in trace["steps"])
    return [_step(step) for step in answer_trace(trace, moments)["steps"]]


def steps_of(trace: Case) -> list[Answer]:
    """What Kueue decided in each step."""
    return [_step(step["expect"]) for step in trace["steps"]]


def _step(answer: Mapping[str, Any]) -> Answer:
    """What is compared of a step: not the places, where equal workloads are parked one by one or together."""
    made = decided(answer)
    return {**made, "pending": sorted(made["pending"])}

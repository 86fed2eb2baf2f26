"""The admission that is written into a Workload's status."""

import pytest

from webhook.api import amounts
from webhook.cluster.workloads.conditions import admitted
from webhook.kube.conditions import find
from webhook.queue.decisions import Admitted
from webhook.queue.model import PodSetAssignment


def test_empty_maps_are_left_out():
    """Clients in Go write none back: a status that they update has the admission that it had."""
    pods = (PodSetAssignment("main", {}, {}, 1), PodSetAssignment("more", {"cpu": "f"}, {"cpu": 2000}, 2))
    workload = {"metadata": {"name": "w", "namespace": "n"}, "spec": {}}
    made = admitted(workload, Admitted("n/w", "cq", pods), None, amounts.text, "2026-01-01T00:00:00Z")
    assert made["admission"]["podSetAssignments"] == [
        {"name": "main", "count": 1},
        {"name": "more", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "2"}, "count": 2},
    ]


@pytest.mark.parametrize(("status", "reason"), [("True", "Started"), ("False", "WaitForRecovery")])
def test_pods_of_an_earlier_run_are_not_those_that_are_waited_for(status, reason):
    """Else a job that was preempted and is admitted again at once is out of time to recover, or counts as ready."""
    earlier = {"type": "PodsReady", "status": status, "reason": reason, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    workload = {"metadata": {"name": "w", "namespace": "n"}, "spec": {}, "status": {"conditions": [earlier]}}
    made = admitted(workload, Admitted("n/w", "cq", ()), None, amounts.text, "2026-01-02T00:00:00Z")
    told = find({"status": made}, "PodsReady")
    assert (told["status"], told["reason"]) == ("False", "WaitForStart")


def test_pods_that_nobody_looks_at_have_no_condition():
    workload = {"metadata": {"name": "w", "namespace": "n"}, "spec": {}}
    made = admitted(workload, Admitted("n/w", "cq", ()), None, amounts.text, "2026-01-02T00:00:00Z")
    assert find({"status": made}, "PodsReady") is None

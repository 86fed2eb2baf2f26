"""The admission that is written into a Workload's status."""

from webhook.api import amounts
from webhook.cluster.workloads.conditions import admitted
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

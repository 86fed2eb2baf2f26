"""What the view keeps of objects."""

from copy import deepcopy

from tests.dashboard.serving import workload
from webhook.cluster.api.indexes import TRIMS
from webhook.store.objects import merge

ADMISSION = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "f"}}]}


def test_what_workloads_have_alike_is_kept_once():
    """Pod sets and admissions that are equal are one object; what was given stays as it is."""
    one, two = (merge(workload(name), {"status": {"admission": ADMISSION}}) for name in ("one", "two"))
    before = deepcopy(one)
    keep = TRIMS["kueue.x-k8s.io", "Workload"]
    first, second = keep(one), keep(two)
    assert first == one == before
    assert second == two
    assert first["spec"]["podSets"] is second["spec"]["podSets"]
    assert first["status"]["admission"] is second["status"]["admission"]


def test_a_workload_without_pod_sets_is_kept_as_it_is():
    """A malformed one must not stop the watch."""
    for odd in ({"spec": None}, {"spec": {}, "status": []}, {}):
        assert TRIMS["kueue.x-k8s.io", "Workload"](odd) == odd

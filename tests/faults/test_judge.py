"""What the judge of the fault tests says after a gap: it sees a list of what is there, not what came first."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.client import Response
from tests.faults.judge import JOBS, QUEUES, WORKLOADS, Judge
from tests.patience import wait

JSON = dict[str, Any]
RESOURCES = [{"name": "cpu", "nominalQuota": "4"}]
QUEUE = {
    "metadata": {"name": "q"},
    "spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": RESOURCES}]}]},
}


def workload(name: str, *conditions: str) -> JSON:
    """A Workload of 4 CPUs, as much as there is."""
    pods = {"name": "main", "resourceUsage": {"cpu": "4"}}
    rows = [{"type": each, "status": "True"} for each in conditions]
    status = {"conditions": rows, "admission": {"clusterQueue": "q", "podSetAssignments": [pods]}}
    return {"metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "1"}, "status": status}


def job(name: str, *conditions: str, suspend: bool = False) -> JSON:
    """A Job of 4 CPUs."""
    pods = {"spec": {"containers": [{"resources": {"requests": {"cpu": "4"}}}]}}
    rows = [{"type": each, "status": "True"} for each in conditions]
    metadata = {"name": name, "namespace": "n", "uid": name, "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {"suspend": suspend, "template": pods}, "status": {"conditions": rows}}


class Plane:
    """An API server that has forgotten what its watches ask for, once, and gives two lists of a kind."""

    def __init__(self, path: str, first: list[JSON], then: list[JSON]) -> None:
        self.client, self._path, self._lists = self, path, {QUEUES: [[QUEUE]], path: [first, then]}
        self._forgotten = False

    def client_for(self, user: str) -> "Plane":
        return self

    def request(self, method: str, path: str) -> Response:
        lists = self._lists.get(path) or [[]]
        items = lists.pop(0) if len(lists) > 1 else lists[0]
        return Response(200, {"metadata": {"resourceVersion": "1"}, "items": items})

    def watch(self, path: str, since: str, seconds: int) -> Iterator[JSON]:
        if path == self._path and not self._forgotten:
            self._forgotten = True
            yield {"type": "ERROR", "object": {}}
        time.sleep(0.01)

    def close(self) -> None:
        """Nothing is open."""


HOLDS, ENDED = ("QuotaReserved",), ("QuotaReserved", "Finished")


@pytest.mark.parametrize(
    ("path", "first", "then", "broken"),
    [
        (WORKLOADS, [workload("b", *HOLDS)], [workload("a", *HOLDS), workload("b", *ENDED)], []),
        (WORKLOADS, [workload("b", *HOLDS)], [workload("a", *HOLDS), workload("b", *HOLDS)],
         ["Workloads hold 8000m of 4000m CPU in q"]),
        (JOBS, [job("b")], [job("a"), job("b", "Complete")], []),
        (JOBS, [job("b")], [job("a"), job("b")], ["Jobs hold 8000m of 4000m CPU in all"]),
        (JOBS, [job("b"), job("c", suspend=True)], [job("b", suspend=True), job("c")], []),
    ],
)  # fmt: skip
def test_a_list_after_a_gap_is_one_moment(path: str, first: list[JSON], then: list[JSON], broken: list[str]) -> None:
    """Who follows another in the same quota may come first in a list: only all of it says what is held."""
    judge = Judge(Plane(path, first, then))  # type: ignore[arg-type]
    wait(lambda: judge.gaps, "the judge has listed again")
    judge.close()
    assert judge.broken == broken

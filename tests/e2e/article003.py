"""Article 003 as an experiment: two teams, one ClusterQueue of 6 CPU, Jobs of 3x1 and 3x2 CPU arriving in turn."""

import copy
import time
from dataclasses import dataclass
from typing import Any

from tests.controlplane.client import Client
from tests.e2e.sluice import managed
from tests.seeds import manifests

JSON = dict[str, Any]
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
CPUS = 6


@dataclass(frozen=True, slots=True)
class Setting:
    """The article's objects under names of their own: one ClusterQueue, two teams with a LocalQueue each."""

    prefix: str
    strategy: str

    @property
    def teams(self) -> tuple[str, str]:
        """The two namespaces."""
        return f"{self.prefix}-a", f"{self.prefix}-b"

    def create(self, client: Client) -> None:
        """Create namespaces, flavor and queues: the article's manifests, as v1beta1."""
        for team in self.teams:
            client.apply(managed(team))
        for document in manifests("003"):
            if document["kind"] != "Job":
                client.apply(self._renamed(document))

    def job(self, team: int, seconds: float) -> JSON:
        """The article's Job of a team, without `suspend`; its pods run for some seconds, one up to a second longer.

        So they end apart, and what the ended ones held is given on before the Job is over.
        """
        jobs = [d for d in manifests("003") if d["kind"] == "Job"]
        job = self._renamed(jobs[team])
        del job["spec"]["suspend"]
        job["spec"]["template"]["metadata"] = {
            "annotations": {"sluice.dev/run-seconds": str(seconds), "sluice.dev/run-seconds-at-most": str(seconds + 1)}
        }
        return job

    def _renamed(self, document: JSON) -> JSON:
        made = copy.deepcopy(document)
        meta = made["metadata"]
        if "namespace" in meta:
            meta["namespace"] = meta["namespace"].replace("team", self.prefix)
        if made["kind"] == "ResourceFlavor":
            meta["name"] = self.prefix
        if made["kind"] == "ClusterQueue":
            meta["name"] = self.prefix
            made["spec"]["resourceGroups"][0]["flavors"][0]["name"] = self.prefix
            made["spec"]["queueingStrategy"] = self.strategy
        if made["kind"] == "LocalQueue":
            made["spec"]["clusterQueue"] = self.prefix
        return made


def submit(client: Client, settings: list[Setting], each: int, seconds: float, pause: float) -> list[JSON]:
    """Let `each` Jobs of either team arrive in turn in every setting; give the Jobs as the API server answered."""
    made = []
    for _ in range(each):
        for team in (0, 1):
            made += [client.create(setting.job(team, seconds)) for setting in settings]
            time.sleep(pause)
    return made

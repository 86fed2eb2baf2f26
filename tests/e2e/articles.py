"""Sends the manifests of the five articles to the API server, without Sluice and with it.

Objects that others depend on (queues, quotas, limits, priority classes) are created for real and taken away after
their article; everything else is sent as a dry run.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.controlplane.client import Client
from tests.e2e.compare import normalised, unequal
from tests.e2e.sluice import Sluice, managed
from tests.patience import wait
from tests.seeds import ARTICLES, HERE, manifests
from webhook.documents import read

JSON = dict[str, Any]
REAL = frozenset(
    {"Namespace", "ClusterQueue", "LocalQueue", "ResourceFlavor", "PriorityClass", "LimitRange", "ResourceQuota"}
)


PODS, JOBS = "/api/v1/namespaces/default/pods", "/apis/batch/v1/namespaces/default/jobs"
_SPEC: JSON = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
POD: JSON = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": _SPEC}
JOB: JSON = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "probe"},
    "spec": {"template": {"spec": _SPEC}},
}


@dataclass(slots=True)
class Case:
    """One manifest, and what the API server answered: (status, body, warnings)."""

    article: str
    number: int
    manifest: JSON
    without: tuple[int, JSON, list[str]] | None = None
    with_sluice: tuple[int, JSON, list[str]] | None = None
    made: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """`003/05-Job-sample-job-team-a`, for the golden file."""
        meta = self.manifest.get("metadata", {})
        name = (meta.get("name") or meta.get("generateName", "")).rstrip("-")
        return f"{self.article}/{self.number:02d}-{self.manifest['kind']}" + (f"-{name}" if name else "")

    def record(self) -> JSON:
        """The golden file's content: before, verdict, warnings, and what Sluice changed or why it was refused."""
        assert self.without is not None
        assert self.with_sluice is not None
        status, body, _ = self.without
        before = normalised(body) if status < 300 else {"refused": body.get("message")}
        status, after, warnings = self.with_sluice
        answer: JSON = {"without Sluice": before}
        if status >= 300:
            answer["refused"] = {"code": status, "message": after.get("message")}
        elif "refused" in before:
            answer["with Sluice"] = normalised(after)
        else:
            changes = unequal(before, normalised(after))
            answer["changed"] = {path: {"from": first, "to": second} for path, first, second in changes}
        if warnings:
            answer["warnings"] = sorted(warnings)
        return answer


def run(client: Client, sluice: Sluice) -> list[Case]:
    """Both passes over all articles. Sluice is registered afterwards, as it was before."""
    prepare(client)
    cases = [Case(a, n, m) for a in ARTICLES for n, m in enumerate(manifests(a), 1)]
    for registered in (False, True):
        switch(client, sluice, registered)
        for article in ARTICLES:
            _send_article(client, [c for c in cases if c.article == article], registered)
    return cases


def prepare(client: Client) -> None:
    """The namespaces and queues that the articles take for granted."""
    for document in read((HERE / "queues.yaml").read_text(encoding="utf-8"), "queues.yaml"):
        client.apply(document.value)
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}})


def switch(client: Client, sluice: Sluice, on: bool) -> None:
    """Register or unregister, and wait until the API server has noticed."""
    client.apply(managed("probe"))
    (sluice.register if on else sluice.unregister)()
    labels = {"kueue.x-k8s.io/queue-name": "none"}
    job = {**JOB, "metadata": {"name": "probe", "namespace": "probe", "labels": labels}}

    def noticed() -> bool:
        response = client.request("POST", "/apis/batch/v1/namespaces/probe/jobs?dryRun=All", job)
        shaped = response.status >= 400 or response.body.get("spec", {}).get("suspend") is True
        return shaped is on

    sluice.plane.wait("the API server knows of the change", noticed)


def _send_article(client: Client, cases: list[Case], registered: bool) -> None:
    made = []
    for case in cases:
        manifest = {**case.manifest, "metadata": dict(case.manifest.get("metadata", {}))}
        real = manifest["kind"] in REAL
        try:
            path = client.path_of(manifest, collection=True)
        except KeyError:
            body = {"message": f"no kind {manifest['kind']} in {manifest['apiVersion']}", "metadata": {}}
            answer: tuple[int, JSON, list[str]] = (404, body, [])
        else:
            response = client.request("POST", path + ("" if real else "?dryRun=All"), manifest)
            answer = (response.status, response.body, list(response.warnings))
            if real and response.status < 300:
                made.append(client.path_of(response.body))
                _settle(client, response.body, registered)
        if registered:
            case.with_sluice = answer
        else:
            case.without = answer
    for path in reversed(made):
        client.delete(path)
    for case in cases:
        if case.manifest["kind"] == "LimitRange":
            wait(lambda: not any(_defaulted(client, registered)), "no limits are set any more")


def _settle(client: Client, obj: JSON, registered: bool) -> None:
    """Wait until all who admit have seen the object: quotas are counted, queues have conditions, limits are set."""
    path = client.path_of(obj)
    awaited = {"ResourceQuota": "hard", "ClusterQueue": "conditions", "LocalQueue": "conditions"}.get(obj["kind"])
    wait(lambda: awaited is None or client.get(path).get("status", {}).get(awaited), f"{path} has {awaited}")
    if obj["kind"] == "PriorityClass":
        pod = {**POD, "spec": {**POD["spec"], "priorityClassName": obj["metadata"]["name"]}}
        wait(lambda: client.request("POST", f"{PODS}?dryRun=All", pod).status < 300, f"{path} is known")
    if obj["kind"] == "LimitRange":
        wait(lambda: all(_defaulted(client, registered)), "limits are set")
    time.sleep(0.25)


def _defaulted(client: Client, registered: bool) -> Iterator[bool]:
    """Whether containers get limits that they do not name: those of a Pod, and with Sluice those of a Job."""
    pod = client.request("POST", f"{PODS}?dryRun=All", POD).body
    yield bool("spec" in pod and pod["spec"]["containers"][0].get("resources"))
    if registered:
        job = client.request("POST", f"{JOBS}?dryRun=All", JOB).body
        yield bool("spec" in job and job["spec"]["template"]["spec"]["containers"][0].get("resources"))

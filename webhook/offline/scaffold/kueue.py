"""A repository that replaces a cluster's Kueue: its objects, settings and policies, with a suite for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from webhook.documents import Document, dump
from webhook.jobs.read_job import QUEUE
from webhook.offline.importing.imported import ImportNote, Object
from webhook.offline.importing.kueue import CONFIGURATION, KueueSetup
from webhook.offline.reports.junit import CaseOutcome
from webhook.offline.scaffold import Scaffolded, files
from webhook.offline.scaffold.wheel import Wheel
from webhook.offline.suite.run_case import run_case
from webhook.offline.suite.suite_file import GROUP, Case
from webhook.policy.loading.load_bundle import load_bundle
from webhook.policy.loading.shipped import located
from webhook.policy.queue_rules.files import rules_among

SAMPLES: Final = ("cluster/", "jobs/", "policies/")
"""Paths of the scaffold whose files are examples: the cluster's own are written instead."""
SUITE: Final = "policies/queues/suite.yaml"
JOB: Final = "jobs/example.yaml"
FEW: Final = 50
"""Cases that are written at most: one for each LocalQueue, the first ones by name."""
SCHEMA_LINE: Final = "# yaml-language-server: $schema=../.sluice/schema.json\n"


def repository_files(setup: KueueSetup, ci: str, wheel: Wheel | None = None) -> tuple[Scaffolded, ...]:
    """Return the files of the repository, sorted by path. Raises SourceError where the policies cannot be loaded."""
    kept = [file for file in files(ci, wheel) if not file.path.startswith(SAMPLES)]
    texts = {file.path: file.data for file in kept}
    for path, objects in setup.files.items():
        head = "" if path == CONFIGURATION else SCHEMA_LINE
        texts[path] = (head + "---\n".join(map(dump, objects))).encode()
    texts[".sluice.yaml"] = _configuration(setup).encode()
    texts["README.md"] += _readme(setup).encode()
    texts[SUITE] = dump(_suite(setup)).encode()
    if cases := list(_cases(setup)):
        probe, namespace = cases[0]["object"], cases[0]["namespace"]
        texts[JOB] = dump({**probe, "metadata": {**probe["metadata"], "namespace": namespace}}).encode()
    return tuple(Scaffolded(path, data) for path, data in sorted(texts.items()))


def _configuration(setup: KueueSetup) -> str:
    """Return `.sluice.yaml`: what the commands and `sluice serve` take into force."""
    policies = "".join(f"- {name}\n" for name in ("policies", *setup.policies))
    kueue = f"# Features of the queues, in the form of Kueue's Configuration.\nkueueConfig: {CONFIGURATION}\n"
    return (
        "# Policies and queue rules in force, created from a cluster's Kueue. Every command reads this file, and so\n"
        "# does `sluice serve --config .sluice.yaml`. Paths are relative to this folder. The shipped policies do what\n"
        "# Kueue's webhooks do with jobs.\n"
        f"policies:\n{policies}queueRules:\n- {setup.rules}\n{kueue if CONFIGURATION in setup.files else ''}"
    )


def _readme(setup: KueueSetup) -> str:
    return "\n".join(["", "## Created from Kueue", "", *_contents(setup), "", *_differences(setup.told)]) + "\n"


def _contents(setup: KueueSetup) -> Iterator[str]:
    yield "| file | objects |"
    yield "|---|---|"
    for path, objects in setup.files.items():
        kinds = dict.fromkeys(obj["kind"] for obj in objects)
        counted = ", ".join(f"{sum(obj['kind'] == kind for obj in objects)} {kind}" for kind in kinds)
        yield f"| `{path}` | {counted} |"


def _differences(told: Sequence[ImportNote]) -> Iterator[str]:
    yield "To see what the queues would decide about the cluster's jobs and Workloads:"
    yield ""
    yield "    kubectl get -A -o yaml jobs,workloads > state.yaml   # and other kinds of jobs"
    yield "    sluice plan -f cluster -f state.yaml"
    if told:
        yield ""
        yield "Differences from Kueue:"
        yield ""
        yield from (f"- {note.what}: {note.why}" for note in told)


def _suite(setup: KueueSetup) -> Object:
    """Return a suite with a case for each LocalQueue: a small job that names it is held, and what the queue says.

    Where no LocalQueue can be asked yet, its case is a job without one.
    """
    bundle = load_bundle([located(name) for name in setup.policies])
    rules = rules_among((), (setup.rules,))
    suite: Object = {"apiVersion": GROUP, "kind": "Suite", "metadata": {"name": "queues"}}
    suite["policies"] = list(setup.policies)
    suite["cluster"] = [f"../../{path}" for path in setup.files if path != CONFIGURATION]
    cases = []
    for spec in _cases(setup):
        given = {**spec, "cluster": setup.objects, "expect": {"queue": {"decision": "admitted"}}}
        case = Case("queues", spec["name"], given, (), Document(None, SUITE), Path())
        result = run_case(case, bundle, None, lambda _: rules)
        found = result.queue
        if found is not None and found.decision != "none" and result.outcome is not CaseOutcome.ERROR:
            told = {"decision": found.decision, **({"queue": found.queue} if found.queue else {})}
            cases.append({**spec, "expect": {"contains": {"spec": {"suspend": True}}, "queue": told}})
    return {**suite, "cases": cases or [_without_queue()]}


def _without_queue() -> Object:
    """Return the case of a suite that has no other, so that the folder of policies is there, and has a test."""
    job = _job({"name": "probe"}, {"cpu": "1"})
    return {"name": "a Job without a queue is allowed", "object": job, "expect": {"allowed": True}}


def _cases(setup: KueueSetup) -> Iterator[dict[str, Any]]:
    """Yield a case for each of the first LocalQueues, without its expectation."""
    queues = {obj["metadata"]["name"]: obj for obj in setup.objects if obj["kind"] == "ClusterQueue"}
    for door in [obj for obj in setup.objects if obj["kind"] == "LocalQueue"][:FEW]:
        yield _case(door, queues.get((door.get("spec") or {}).get("clusterQueue")))


def _case(door: Object, queue: Object | None) -> dict[str, Any]:
    """Return a case without its expectation: one pod that asks for one unit of what the ClusterQueue covers first."""
    namespace, name = door["metadata"]["namespace"], door["metadata"]["name"]
    groups = ((queue or {}).get("spec") or {}).get("resourceGroups") or ()
    resources = {resource: "1" for group in groups[:1] for resource in (group.get("coveredResources") or ())[:1]}
    job = _job({"name": "probe", "labels": {QUEUE: name}}, resources)
    return {"name": f"a small Job in {namespace}/{name}", "namespace": namespace, "object": job}


def _job(metadata: Object, resources: Object) -> Object:
    asked = {"requests": resources, "limits": dict(resources)}
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example", "resources": asked}]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": pod}}}

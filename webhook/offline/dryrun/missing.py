"""Objects that a verdict depends on and that the files lack: namespaces, params and queues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webhook.jobs.read_job import read_job
from webhook.kube.well_known import MANAGED
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.offline.dryrun.outcome import ObjectOutcome
from webhook.policy.bundle import Bundle

Object = dict[str, Any]


def selects_namespaces(bundle: Bundle) -> bool:
    """Return whether a policy or a binding chooses by the labels of namespaces."""
    bound = (binding.match for policy in bundle.policies for binding in policy.bindings)
    matches = (*(policy.match for policy in bundle.policies), *bound)
    return any(match is not None and match.namespace_selector for match in matches)


def missing_facts(facts: FileFacts, bundle: Bundle) -> Iterator[str]:
    """Name the namespaces whose labels decide, and the parameters, that were asked for and are not known."""
    if not facts.labelled and selects_namespaces(bundle):
        yield from (f"Namespace {name}" for name in sorted(facts.unknown_namespaces))
    yield from sorted(facts.unknown_params)


def missing_queues(outcomes: Iterable[ObjectOutcome]) -> Iterator[str]:
    """Name the LocalQueues of jobs that are let in: for files in which no queue is known at all."""
    for outcome in outcomes:
        job = read_job(outcome.after) if outcome.allowed and outcome.after is not None else None
        if job is not None and job.kind.held and job.queue:
            yield f"LocalQueue {outcome.ref.namespace}/{job.queue}"


def has_opted_in(namespace: Object) -> bool:
    """Return whether a Namespace has the label by which, by default, the API server asks Sluice about its objects."""
    name, value = MANAGED
    return ((namespace.get("metadata") or {}).get("labels") or {}).get(name) == value


def unmanaged(names: Iterable[str]) -> str:
    """Return a note on namespaces that have not opted in, and what that means."""
    label = "=".join(MANAGED)
    return f"by default, Sluice is not called for objects in namespaces without the label {label}: {', '.join(names)}"


def told(missing: Iterable[str]) -> str:
    """Return what is missing, and the ways out."""
    names = ", ".join(dict.fromkeys(missing))
    return f"required objects are missing: {names}; add them with -c FILE, or use --allow-missing"

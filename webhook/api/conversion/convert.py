"""Converts objects of kueue.x-k8s.io between v1beta1 and v1beta2.

Pure: the arguments are not changed. A round trip from v1beta2 through v1beta1 loses nothing; what only v1beta1 has
(deprecated lists and values) is converted or left out, as in Kueue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from webhook.api.conversion.topology_assignments import domains_of, slices_of
from webhook.api.crds.kinds import KINDS, OLD, STORED
from webhook.kube.well_known import KUEUE

Fields = dict[str, Any]
REVIEW: Final = "apiextensions.k8s.io/v1"
VERSIONED: Final = frozenset(k.kind for k in KINDS if k.group == KUEUE)
FIRST: Final = "v1alpha1"
"""The version of Cohorts before v1beta1, which no CRD serves."""
OLD_WORDS: Final = {("whenCanBorrow", "Borrow"), ("whenCanPreempt", "Preempt")}
SOURCES: Final = {
    "kueue.x-k8s.io/workloadpriorityclass": (KUEUE, "WorkloadPriorityClass"),
    "scheduling.k8s.io/priorityclass": ("scheduling.k8s.io", "PriorityClass"),
}
SOURCE_OF: Final = {ref: source for source, ref in SOURCES.items()}


class ConversionError(ValueError):
    """An object has no form in the version that was asked for."""


def convert(objects: Iterable[Mapping[str, Any]], desired: str) -> list[Fields]:
    """Return each object in the API version `desired` (`kueue.x-k8s.io/v1beta1` or `/v1beta2`).

    Lists (`kind: ClusterQueueList`) are converted with their items. Raises ConversionError for a kind or a version
    that is not known.
    """
    if desired not in (f"{KUEUE}/{STORED}", f"{KUEUE}/{OLD}"):
        raise ConversionError(f'no conversion to "{desired}"')
    return [_one(obj, desired) for obj in objects]


def as_stored(obj: Fields) -> Fields:
    """Return an object of an older version in the stored one, of v1alpha1 a Cohort; others stay.

    Raises ConversionError.
    """
    kind, version = obj.get("kind"), obj.get("apiVersion")
    if version == f"{KUEUE}/{OLD}" and str(kind) in VERSIONED:
        return _one(obj, f"{KUEUE}/{STORED}")
    if version == f"{KUEUE}/{FIRST}" and kind == "Cohort":
        spec = obj.get("spec")
        if isinstance(spec, Mapping):
            spec = {("parentName" if field == "parent" else field): value for field, value in spec.items()}
        return {**obj, "apiVersion": f"{KUEUE}/{STORED}", "spec": spec}
    return obj


def conversion_review(review: Mapping[str, Any]) -> Fields:
    """Answer a ConversionReview (apiextensions.k8s.io/v1): all objects converted, or none and the reason."""
    request = review.get("request") or {}
    objects = request.get("objects") or []
    response: Fields = {"uid": request.get("uid") or ""}
    try:
        if not isinstance(objects, list):
            raise ConversionError("the objects to convert must be a list")
        response["convertedObjects"] = convert(objects, str(request.get("desiredAPIVersion")))
        response["result"] = {"status": "Success"}
    except ConversionError as error:
        response["convertedObjects"] = []
        response["result"] = {"status": "Failure", "message": str(error)}
    return {"apiVersion": REVIEW, "kind": "ConversionReview", "response": response}


def _one(obj: Mapping[str, Any], desired: str) -> Fields:
    if not isinstance(obj, Mapping):
        raise ConversionError("an object must be a map")
    current, kind = obj.get("apiVersion"), str(obj.get("kind"))
    if current not in (f"{KUEUE}/{STORED}", f"{KUEUE}/{OLD}") or kind.removesuffix("List") not in VERSIONED:
        raise ConversionError(f'no conversion of {kind} "{current}" to "{desired}"')
    made = {**obj, "apiVersion": desired}
    if kind not in VERSIONED:
        made["items"] = [_one(item, desired) for item in _items(obj, str(current), kind.removesuffix("List"))]
        return made
    if current == desired:
        return made
    table = TO_NEW if desired.endswith(STORED) else TO_OLD
    for part in ("spec", "status"):
        if isinstance(obj.get(part), Mapping) and (step := table.get((kind, part))):
            made[part] = _stepped(step, obj[part], f"{kind} {part}")
    return made


def _items(listed: Mapping[str, Any], version: str, kind: str) -> list[Fields]:
    """Return a list's items, which may leave out what the list says of them."""
    items = listed.get("items") or ()
    if not isinstance(items, Sequence) or not all(isinstance(item, Mapping) for item in items):
        raise ConversionError(f"the items of {kind}List must be a list of maps")
    return [{"apiVersion": version, "kind": kind, **item} for item in items]


def _stepped(step: Callable[[Fields], Fields], fields: Mapping[str, Any], what: str) -> Fields:
    try:
        return step(dict(fields))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ConversionError(f"{what} is malformed: {error!r}") from error


def _renamed(fields: Fields, old: str, new: str) -> Fields:
    return {new if name == old else name: value for name, value in fields.items()}


def _queue_to_new(spec: Fields) -> Fields:
    spec = _renamed(spec, "cohort", "cohortName")
    if fungibility := spec.get("flavorFungibility"):
        spec["flavorFungibility"] = {
            name: "MayStopSearch" if (name, word) in OLD_WORDS else word for name, word in fungibility.items()
        }
    checks = spec.pop("admissionChecks", None)
    if checks:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in checks]}
    return spec


def _queue_to_old(spec: Fields) -> Fields:
    return _renamed(spec, "cohortName", "cohort")


def _queue_status_to_new(status: Fields) -> Fields:
    """Leave out the positions of old. What a queue used stays: the API server converts it at any write in v1beta1."""
    status.pop("pendingWorkloadsStatus", None)
    return status


def _local_status_to_new(status: Fields) -> Fields:
    status.pop("flavors", None)
    return _renamed(status, "flavorUsage", "flavorsUsage")


def _local_status_to_old(status: Fields) -> Fields:
    return _renamed(status, "flavorsUsage", "flavorUsage")


def _workload_to_new(spec: Fields) -> Fields:
    name, source = spec.pop("priorityClassName", ""), spec.pop("priorityClassSource", "")
    if name and (ref := SOURCES.get(source)):
        spec["priorityClassRef"] = {"group": ref[0], "kind": ref[1], "name": name}
    return spec


def _workload_to_old(spec: Fields) -> Fields:
    if ref := spec.pop("priorityClassRef", None):
        spec["priorityClassName"] = ref.get("name", "")
        spec["priorityClassSource"] = SOURCE_OF.get((ref.get("group", ""), ref.get("kind", "")), "")
    return spec


def _workload_status(status: Fields, old: str, new: str, assignment: Callable[[Mapping[str, Any]], Fields]) -> Fields:
    """Rename the time that was run, and convert the places of each pod set: both versions keep all else."""
    status = _renamed(status, old, new)
    admission = status.get("admission")
    if admission and admission.get("podSetAssignments"):
        assigned = [
            {**p, "topologyAssignment": assignment(p["topologyAssignment"])} if p.get("topologyAssignment") else p
            for p in admission["podSetAssignments"]
        ]
        status["admission"] = {**admission, "podSetAssignments": assigned}
    return status


MISSPELT: Final = "accumulatedPastExexcutionTimeSeconds"
SPELT: Final = "accumulatedPastExecutionTimeSeconds"


def _workload_status_to_new(status: Fields) -> Fields:
    return _workload_status(status, MISSPELT, SPELT, slices_of)


def _workload_status_to_old(status: Fields) -> Fields:
    return _workload_status(status, SPELT, MISSPELT, domains_of)


def _check_to_new(spec: Fields) -> Fields:
    spec.pop("retryDelayMinutes", None)
    return spec


def _cluster_to_new(spec: Fields) -> Fields:
    """Put both ways of reaching a cluster under `clusterSource`; an empty location is none."""
    found = {name: spec.pop(name, None) or {} for name in ("kubeConfig", "clusterProfileRef")}
    source = {name: value for name, value in found.items() if value.get("location") or value.get("name")}
    return {**spec, "clusterSource": source} if source else spec


def _cluster_to_old(spec: Fields) -> Fields:
    return {"kubeConfig": {"location": "", "locationType": "Secret"}, **(spec.pop("clusterSource", None) or {}), **spec}


Steps = Mapping[tuple[str, str], Callable[[Fields], Fields]]
TO_NEW: Final[Steps] = {
    ("ClusterQueue", "spec"): _queue_to_new,
    ("ClusterQueue", "status"): _queue_status_to_new,
    ("LocalQueue", "status"): _local_status_to_new,
    ("Workload", "spec"): _workload_to_new,
    ("Workload", "status"): _workload_status_to_new,
    ("AdmissionCheck", "spec"): _check_to_new,
    ("MultiKueueCluster", "spec"): _cluster_to_new,
}
"""(kind, part) -> the step from v1beta1; parts that are not there are the same in both versions."""
TO_OLD: Final[Steps] = {
    ("ClusterQueue", "spec"): _queue_to_old,
    ("LocalQueue", "status"): _local_status_to_old,
    ("Workload", "spec"): _workload_to_old,
    ("Workload", "status"): _workload_status_to_old,
    ("MultiKueueCluster", "spec"): _cluster_to_old,
}

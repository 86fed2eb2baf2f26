"""Converts a cluster's Kueue to files of a repository: its queues, its Configuration, and policies that replace it.

Objects are copied in their stored version, without fields that the cluster sets. What Sluice does not support is
reported; the Configuration keeps Kueue's form, because `serve` and `plan` read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.api.compatibility import unsupported
from webhook.api.configuration.read import KIND, VERSIONS, effective, of_queues, within
from webhook.api.configuration.sections import QueueSettings
from webhook.api.conversion.convert import ConversionError, as_stored
from webhook.api.crds.kinds import OLD, STORED
from webhook.diagnostics import SourceError
from webhook.documents import Document
from webhook.kube.well_known import KUEUE
from webhook.offline.importing.imported import Fate, ImportNote, Object
from webhook.offline.importing.kueue_values import wrong_values
from webhook.policy.queue_rules.configured import FAIR
from webhook.policy.queue_rules.configured import KUEUE as CLASSIC

FOLDER: Final = "cluster"
CONFIGURATION: Final = f"{FOLDER}/kueue.yaml"
FILES: Final = {
    "ResourceFlavor": "flavors",
    "Topology": "flavors",
    "Cohort": "queues",
    "ClusterQueue": "queues",
    "LocalQueue": "local-queues",
    "AdmissionCheck": "checks",
    "ProvisioningRequestConfig": "checks",
    "MultiKueueConfig": "checks",
    "MultiKueueCluster": "checks",
    "WorkloadPriorityClass": "priorities",
    "PriorityClass": "priorities",
    "RuntimeClass": "runtime-classes",
    "Namespace": "namespaces",
    "LimitRange": "limit-ranges",
}
"""Kinds that go over, and the file of each, in the order in which they are written."""
GROUPS: Final = {
    "PriorityClass": "scheduling.k8s.io",
    "RuntimeClass": "node.k8s.io",
    "Namespace": "",
    "LimitRange": "",
}
"""The groups of the kinds that are not Kueue's."""
OF_NAMESPACES: Final = ("LocalQueue", "LimitRange")
DEFAULT_NAMESPACE: Final = "default"
BUILT_IN: Final = "system-"
"""The first letters of PriorityClasses that each cluster has."""
POLICIES: Final = (
    "queue-name",
    "priority-class",
    "suspend-jobs",
    "valid-jobs",
    "stays-queued",
    "frozen-while-admitted",
)
"""The shipped policies that do what Kueue's webhooks do with jobs."""
OF_PODS: Final = ("suspend-pods", "valid-pods")
OF_SERVING: Final = "suspend-serving"
"""Those for plain pods, and for the kinds whose pods are queued."""
_METADATA: Final = ("name", "namespace", "labels", "annotations")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class KueueSetup:
    """What a repository is written from: objects by file, the rules and policies by name, and what is told."""

    files: Mapping[str, tuple[Object, ...]]
    settings: QueueSettings | None
    told: tuple[ImportNote, ...]

    @property
    def objects(self) -> list[Object]:
        """All objects but the Configuration."""
        return [obj for file, objects in self.files.items() if file != CONFIGURATION for obj in objects]

    @property
    def rules(self) -> str:
        """The queue rules that decide as this Kueue does; the Configuration adds those of its features."""
        return FAIR if self.settings is not None and self.settings.fair_sharing is not None else CLASSIC

    @property
    def policies(self) -> tuple[str, ...]:
        """The references of the shipped policies that stand in for Kueue's webhooks."""
        integrations = None if self.settings is None else self.settings.integrations
        named = None if integrations is None else " ".join(integrations.frameworks)
        serving = named is None or any(kind in named for kind in ("deployment", "statefulset", "leaderworkerset"))
        pods = serving or "pod" in str(named)
        chosen = (*POLICIES, *(OF_PODS if pods else ()), *((OF_SERVING,) if serving else ()))
        return tuple(f"sluice.dev/{name}" for name in chosen)


def from_kueue(given: Iterable[Document]) -> KueueSetup:
    """Read a set-up: objects of Kueue, its ConfigMap or Configuration; other objects are passed over.

    The last Configuration counts, one in a ConfigMap where no other is, as for all commands (`settings_among`).
    Raises SourceError where a field of the Configuration is wrong, or a value that no cluster stores.
    """
    kept: dict[tuple[str, str, str], tuple[Document, Object]] = {}
    settings, configuration = None, None
    told: list[ImportNote] = []
    read = [(within(whole), whole) for whole in given]
    for document in (*(d for inside, _ in read for d in inside), *(whole for inside, whole in read if not inside)):
        if document.at(("kind",)) == KIND and document.at(("apiVersion",)) in VERSIONS:
            settings, reading = of_queues(document)
            if reading.findings:
                raise SourceError(reading.findings)
            configuration = effective(document.value)
            told += [ImportNote(d.place, Fate.LEFT_OUT, KIND, d.message) for d in reading.told]
        elif (obj := _cleaned(document, told)) is not None:
            kept[obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]] = document, obj
    wanted = {namespace for kind, namespace, _ in kept if kind == "LocalQueue"}
    kept = {key: value for key, value in kept.items() if (space := _space(*key)) is None or space in wanted}
    if wrong := list(wrong_values(document for document, _ in kept.values())):
        raise SourceError(wrong)
    for document, obj in kept.values():
        told += _unsupported(document, obj)
    files = _by_file(obj for _, obj in kept.values())
    if configuration is not None:
        files[CONFIGURATION] = (configuration,)
    return KueueSetup(files, settings, tuple(sorted(set(told))))


def _space(kind: str, namespace: str, name: str) -> str | None:
    """Return the namespace that an object is about; None for one that is there for all."""
    return name if kind == "Namespace" else namespace if kind == "LimitRange" else None


def _by_file(objects: Iterable[Object]) -> dict[str, tuple[Object, ...]]:
    order = list(FILES)
    found: dict[str, list[Object]] = {}
    for obj in sorted(objects, key=lambda o: (order.index(o["kind"]), _key(o))):
        found.setdefault(f"{FOLDER}/{FILES[obj['kind']]}.yaml", []).append(obj)
    return {file: tuple(values) for file, values in found.items()}


def _key(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _cleaned(document: Document, told: list[ImportNote]) -> Object | None:
    """Return an object that goes over as it is written to a file; None for any other. Raises SourceError."""
    value, kind = document.value, document.at(("kind",))
    group, _, version = str(document.at(("apiVersion",)) or "").rpartition("/")
    name = document.at(("metadata", "name"))
    if not isinstance(kind, str) or kind not in FILES or group != GROUPS.get(kind, KUEUE) or not isinstance(name, str):
        return None
    if kind == "PriorityClass" and name.startswith(BUILT_IN):
        return None
    if group == KUEUE:
        try:
            value = as_stored(value)
        except (ConversionError, TypeError, AttributeError, ValueError, LookupError) as error:
            if wrong := list(wrong_values([document])):
                raise SourceError(wrong) from None
            told.append(ImportNote(document.place(), Fate.LEFT_OUT, f"{kind} {name}", str(error)))
            return None
        if value["apiVersion"] != f"{KUEUE}/{STORED}":
            why = f"version {version} is not read, only {STORED} and {OLD}"
            told.append(ImportNote(document.place(("apiVersion",)), Fate.LEFT_OUT, f"{kind} {name}", why))
            return None
    metadata = _metadata(value["metadata"])
    if kind in OF_NAMESPACES:  # as `plan` reads it: a file may leave the namespace to `kubectl apply -n`
        metadata = {"namespace": DEFAULT_NAMESPACE, **metadata}
    head = {"apiVersion": value["apiVersion"], "kind": kind, "metadata": metadata}
    inner = {key: item for key, item in value.items() if key not in (*head, "status")}
    return head if kind == "Namespace" else {**head, **inner}


def _metadata(metadata: Mapping[str, Any]) -> Object:
    kept = {key: metadata[key] for key in _METADATA if metadata.get(key)}
    annotations = {key: value for key, value in kept.pop("annotations", {}).items() if key != _LAST_APPLIED}
    return {**kept, **({"annotations": annotations} if annotations else {})}


def _unsupported(document: Document, obj: Object) -> Iterator[ImportNote]:
    """Yield what an object requests that Sluice does not do: converted, it admits nothing until that is removed."""
    what = " ".join((obj["kind"], "/".join(filter(None, _key(obj)))))
    for path, feature in unsupported.asked(obj["kind"], obj):
        why = f"{unsupported.written(path)} uses {feature.name}, which is not supported: {feature.note}"
        yield ImportNote(document.place(path, key=True), Fate.DIFFERS, what, why)
    if "status" in document.value and (document.at(("status", "fairSharing")) or {}).get("admissionFairSharingStatus"):
        why = "its recent usage is in its status, which is not imported"
        yield ImportNote(document.place(("status", "fairSharing")), Fate.DIFFERS, what, why)

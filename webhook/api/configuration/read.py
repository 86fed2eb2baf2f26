"""Reads Kueue's Configuration: which fields Sluice supports, and the setting that each becomes.

v1beta1 and v1beta2 differ only in their defaults, and in v1beta1's `enable`, instead of which v1beta2 has the section.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final

from webhook import documents
from webhook.api.compatibility.feature import FeatureState
from webhook.api.compatibility.gates import FIXED, SAME
from webhook.api.compatibility.kueue import KUEUE
from webhook.api.configuration import field_readers
from webhook.api.configuration.field_readers import Read, Reading, Table
from webhook.api.configuration.process_fields import PROCESS_FIELDS
from webhook.api.configuration.sections import (
    FRAMEWORKS,
    MINUTE,
    SYSTEM,
    AdmissionFairSharing,
    FairSharingSection,
    Integrations,
    LocalQueueMetrics,
    Metrics,
    QueueSettings,
    QuotaCheckStrategy,
    RequeuingStrategy,
    RequeuingTimestamp,
    ResourceSettings,
    Retention,
    Transformation,
    WaitForPodsReady,
)
from webhook.diagnostics import Diagnostic, SourceError
from webhook.documents import Document, Path
from webhook.jobs.kinds import KINDS
from webhook.kube import quantity
from webhook.kube.selectors import compile_selector
from webhook.kube.well_known import NAMESPACE_NAME

GROUP: Final = "config.kueue.x-k8s.io"
KIND: Final = "Configuration"
CONFIG_MAP: Final = "ConfigMap"
KEY: Final = "controller_manager_config.yaml"
"""Where Kueue's ConfigMap has the Configuration; other projects have theirs under the same key."""
V1BETA1: Final = f"{GROUP}/v1beta1"
VERSIONS: Final = (V1BETA1, f"{GROUP}/v1beta2")
NO_WAITING: Final = "DisableWaitForPodsReady"
"""The gate that turns waitForPodsReady off whatever the section says."""
STRATEGIES: Final = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
_SETS: Final = (STRATEGIES[:1], STRATEGIES[1:], STRATEGIES)
"""The lists of strategies that Kueue takes."""
_GATES: Final = {gate: feature for feature in KUEUE for gate in feature.gates}
_FRAMEWORKS: Final = tuple(
    row.framework for row in KINDS if row.held or row.group in ("apps", "leaderworkerset.x-k8s.io")
)


def _record(made: type[Any], table: Table) -> Read:
    """Return a reader of a section that becomes one value."""

    def read(reader: Reading, value: Any, path: Path) -> Any:
        return made(**reader.fields(value, path, table))

    return read


def _enabled(made: type[Any], table: Table, **when_enabled: Any) -> Read:
    """Return a reader of a section that v1beta1 switches on by `enable`; `when_enabled` are its defaults there."""
    switch: Table = {"enable": ("enable", field_readers.boolean), **table}

    def read(reader: Reading, value: Any, path: Path) -> Any:
        fields = reader.fields(value, path, switch)
        old, on = "enable" in fields, fields.pop("enable", True)
        return made(**{**(when_enabled if old else {}), **fields}) if on else None

    return read


def _transformation(reader: Reading, value: Any, path: Path) -> Transformation:
    fields = reader.fields(value, path, _TRANSFORMATION)
    if "source" not in fields:
        raise ValueError("requires input")
    return Transformation(**fields)


def _kept(reader: Reading, value: Any, path: Path) -> bool:
    strategy: str = field_readers.one_of("Retain", "Replace")(reader, value, path)
    return strategy == "Retain"


def _amount(reader: Reading, value: Any, path: Path) -> int:
    return quantity.parse(value).nanos


def _weight(reader: Reading, value: Any, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError("must be a number, 0 or greater")
    return float(value)


def _gates(reader: Reading, value: Any, path: Path) -> Mapping[str, bool]:
    gates: dict[str, bool] = field_readers.by_name(field_readers.boolean)(reader, value, path)
    for gate, on in gates.items():
        feature = _GATES.get(gate)
        if feature is None:
            reader.unused((*path, gate), "no feature of Sluice has this gate")
        elif on and feature.state is FeatureState.NO and not FIXED.get(gate, gate in SAME):
            reader.unused((*path, gate), f"{feature.name} is not supported: {feature.note}")
        elif FIXED.get(gate, on) is not on:
            reader.unused((*path, gate), f"it is always {'off' if on else 'on'} ({feature.name})")
    return gates


def _sampling(reader: Reading, value: Any, path: Path) -> int:
    """Read a sampling interval; 0 is the default, as in Kueue."""
    return field_readers.duration(reader, value, path) or AdmissionFairSharing().usage_sampling_interval


def _timeout(reader: Reading, value: Any, path: Path) -> int:
    """Read the time-out of pods; 0 is the default, as in Kueue."""
    return field_readers.duration(reader, value, path) or WaitForPodsReady().timeout


def _frameworks(reader: Reading, value: Any, path: Path) -> tuple[str, ...]:
    """Read the frameworks; none are the default, as in Kueue."""
    frameworks: tuple[str, ...] = field_readers.items(field_readers.one_of(*_FRAMEWORKS))(reader, value, path)
    if len(set(frameworks)) < len(frameworks):
        raise ValueError("duplicate framework")
    return frameworks or FRAMEWORKS


def _external(reader: Reading, value: Any, path: Path) -> tuple[str, str]:
    kind, _, rest = field_readers.text(reader, value, path).partition(".")
    version, _, group = rest.partition(".")
    if not (kind and version and group):
        raise ValueError(f"{value!r} is not a kind, version and group, such as Foo.v1.example.com")
    return group, kind


def _strategies(reader: Reading, value: Any, path: Path) -> tuple[str, ...]:
    strategies: tuple[str, ...] = field_readers.items(field_readers.one_of(*STRATEGIES))(reader, value, path)
    if len(strategies) == len(value) and strategies not in _SETS:
        raise ValueError(f"must be one of {', '.join(str(list(each)) for each in _SETS)}")
    return strategies


def _selector(reader: Reading, value: Any, path: Path) -> Mapping[str, Any]:
    """Read the selector of the namespaces of jobs, which may not take in the API server's own."""
    selector = field_readers.selector(reader, value, path)
    if compile_selector(selector)({NAMESPACE_NAME: SYSTEM}):
        raise ValueError(f"must not match the namespace {SYSTEM}")
    return selector


def _transformations(reader: Reading, value: Any, path: Path) -> tuple[Transformation, ...]:
    transformations: tuple[Transformation, ...] = field_readers.items(_transformation)(reader, value, path)
    inputs = [each.source for each in transformations]
    if twice := sorted({name for name in inputs if inputs.count(name) > 1}):
        raise ValueError(f"duplicate input {', '.join(twice)}")
    return transformations


def _resources(reader: Reading, value: Any, path: Path) -> ResourceSettings:
    resources = ResourceSettings(**reader.fields(value, path, _RESOURCES))
    if resources.exclude_resource_prefixes and resources.quota_check_strategy is QuotaCheckStrategy.IGNORE:
        raise ValueError("excludeResourcePrefixes is not allowed when quotaCheckStrategy is IgnoreUndeclared")
    return resources


def _local_queue_metrics(reader: Reading, value: Any, path: Path) -> LocalQueueMetrics:
    """Read which LocalQueues have metrics: none, where the section does not enable them."""
    return LocalQueueMetrics(**{"enable": False, **reader.fields(value, path, _LOCAL_QUEUE_METRICS)})


_REQUEUING: Final[Table] = {
    "timestamp": ("timestamp", lambda *at: RequeuingTimestamp(field_readers.one_of(*RequeuingTimestamp)(*at))),
    "backoffBaseSeconds": ("backoff_base_seconds", field_readers.whole),
    "backoffLimitCount": ("backoff_limit_count", field_readers.whole),
    "backoffMaxSeconds": ("backoff_max_seconds", field_readers.whole),
}
_WAITING: Final[Table] = {
    "timeout": ("timeout", _timeout),
    "blockAdmission": ("block_admission", field_readers.boolean),
    "recoveryTimeout": ("recovery_timeout", field_readers.duration),
    "requeuingStrategy": ("requeuing", _record(RequeuingStrategy, _REQUEUING)),
}
_INTEGRATIONS: Final[Table] = {
    "frameworks": ("frameworks", _frameworks),
    "externalFrameworks": ("external_frameworks", field_readers.items(_external)),
    "labelKeysToCopy": ("label_keys_to_copy", field_readers.texts),
    "podOptions": ("", field_readers.not_used("set managedJobsNamespaceSelector")),
}
_FAIR: Final[Table] = {"preemptionStrategies": ("preemption_strategies", _strategies)}
_HISTORY: Final[Table] = {
    "usageHalfLifeTime": ("usage_half_life_time", field_readers.duration),
    "usageSamplingInterval": ("usage_sampling_interval", _sampling),
    "resourceWeights": ("resource_weights", field_readers.by_name(_weight)),
}
_TRANSFORMATION: Final[Table] = {
    "input": ("source", field_readers.text),
    "strategy": ("keep", _kept),
    "multiplyBy": ("multiply_by", field_readers.text),
    "outputs": ("outputs", field_readers.by_name(_amount)),
}
_RESOURCES: Final[Table] = {
    "excludeResourcePrefixes": ("exclude_resource_prefixes", field_readers.texts),
    "transformations": ("transformations", _transformations),
    "quotaCheckStrategy": (
        "quota_check_strategy",
        lambda *at: QuotaCheckStrategy(field_readers.one_of(*QuotaCheckStrategy)(*at)),
    ),
    "deviceClassMappings": ("", field_readers.not_used("quota does not count claimed devices")),
}
_LOCAL_QUEUE_METRICS: Final[Table] = {
    "enable": ("enable", field_readers.boolean),
    "localQueueSelector": ("selector", field_readers.selector),
}
_METRICS: Final[Table] = {
    "localQueueMetrics": ("local_queues", _local_queue_metrics),
    "bindAddress": ("", field_readers.not_used("set stateListen of Sluice")),
    "enableClusterQueueResources": ("", field_readers.not_used("metrics of resources are always served")),
    "customLabels": ("", field_readers.not_used("metrics have no labels of your own")),
}
_RETENTION: Final[Table] = {
    "afterFinished": ("after_finished", field_readers.duration),
    "afterDeactivatedByKueue": ("after_deactivated", field_readers.duration),
}


def _retention(reader: Reading, value: Any, path: Path) -> Retention:
    inner: Table = {"workloads": ("workloads", _record(Retention, _RETENTION))}
    retention: Retention = reader.fields(value, path, inner).get("workloads", Retention())
    return retention


SECTIONS: Final[Table] = {
    "waitForPodsReady": ("wait_for_pods_ready", _enabled(WaitForPodsReady, _WAITING, block_admission=True)),
    "manageJobsWithoutQueueName": ("manage_jobs_without_queue_name", field_readers.boolean),
    "managedJobsNamespaceSelector": ("managed_jobs_namespace_selector", _selector),
    "integrations": ("integrations", _record(Integrations, _INTEGRATIONS)),
    "fairSharing": ("fair_sharing", _enabled(FairSharingSection, _FAIR)),
    "admissionFairSharing": ("admission_fair_sharing", _record(AdmissionFairSharing, _HISTORY)),
    "resources": ("resources", _resources),
    "objectRetentionPolicies": ("retention", _retention),
    "metrics": ("metrics", _record(Metrics, _METRICS)),
    "featureGates": ("feature_gates", _gates),
}
"""What Sluice's own configuration has as well, in the same form."""
_CONFIGURATION: Final[Table] = {
    "apiVersion": ("", field_readers.one_of(*VERSIONS)),
    "kind": ("", field_readers.one_of(KIND)),
    "metadata": ("", lambda *at: None),
    "namespace": ("namespace", field_readers.text),
    "multiKueue": ("", field_readers.not_used("jobs run in their own cluster")),
    **{field: ("", field_readers.not_used(why)) for field, why in PROCESS_FIELDS.items()},
    **SECTIONS,
}


def from_configuration(document: Document) -> tuple[QueueSettings, Reading]:
    """Read a Configuration of Kueue, with Kueue's defaults; what is wrong or without effect is in the reading."""
    reader = Reading(document, strict=False)
    fields = reader.fields(document.value, (), _CONFIGURATION)
    if document.at(("apiVersion",)) == V1BETA1:
        _as_v1beta1(document, fields)
    else:
        fields.setdefault("wait_for_pods_ready", WaitForPodsReady())
    if fields.get("feature_gates", {}).get(NO_WAITING):
        fields["wait_for_pods_ready"] = None
    fields.setdefault("integrations", Integrations())
    return QueueSettings(**fields, of_kueue=True), reader


def _as_v1beta1(document: Document, fields: dict[str, Any]) -> None:
    """Leave out the sections that do not say that they are on; pods have five minutes where nothing else is said."""
    for section, attribute in (("waitForPodsReady", "wait_for_pods_ready"), ("fairSharing", "fair_sharing")):
        if document.at((section, "enable")) is not True:
            fields.pop(attribute, None)
    waiting = fields.get("wait_for_pods_ready")
    if waiting is not None and document.at(("waitForPodsReady", "timeout")) is None:
        fields["wait_for_pods_ready"] = replace(waiting, timeout=5 * MINUTE)


def of_queues(document: Document) -> tuple[QueueSettings, Reading]:
    """Read a Configuration as `from_configuration` does, but for the fields of how Kueue runs as a process."""
    value = {field: item for field, item in document.value.items() if field not in PROCESS_FIELDS}
    return from_configuration(replace(document, value=value))


def effective(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a Configuration has an effect on the queues of Sluice."""
    kept = ("apiVersion", "kind", "namespace", *SECTIONS)
    return {field: value[field] for field in kept if value.get(field) is not None}


def settings_among(objects: Iterable[Mapping[str, Any]]) -> QueueSettings | None:
    """Return the settings of the last Configuration among objects; None where there is none.

    One in a ConfigMap counts where no other is.
    """
    found = [(is_configuration(obj), inner) for obj in objects if (inner := configuration_in(obj)) is not None]
    last = [inner for _, inner in sorted(found, key=itemgetter(0))][-1:]
    return configuration_of(last[0]) if last else None


def configuration_in(obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the Configuration that an object is, or has in it; None of others, and of a text that is no YAML."""
    if is_configuration(obj):
        return obj
    if obj.get("kind") != CONFIG_MAP:
        return None
    try:
        found = [d.value for d in within(Document(obj, ""))]
    except SourceError:  # the reader of the file tells
        return None
    return next((value for value in found if isinstance(value, dict) and is_configuration(value)), None)


def within(document: Document) -> list[Document]:
    """Return the documents that Kueue's ConfigMap has in it; none of other objects. Raises SourceError."""
    text = document.at(("data", KEY))
    if document.at(("kind",)) != CONFIG_MAP or not isinstance(text, str) or GROUP not in text:
        return []
    return documents.read(text, f"{document.file} ({KEY})")


def is_configuration(obj: Mapping[str, Any]) -> bool:
    """Return whether an object is a Configuration of Kueue."""
    return obj.get("kind") == KIND and obj.get("apiVersion") in VERSIONS


def mistakes_in(document: Document) -> list[Diagnostic]:
    """Return what is wrong or without effect in a Configuration, or in that of a ConfigMap; nothing of other objects.

    How Kueue runs as a process is not told: nobody expects it here. Raises SourceError where the text is no YAML.
    """
    found = [d for d in (document, *within(document)) if isinstance(d.value, dict) and is_configuration(d.value)]
    return [told for _, reading in map(of_queues, found) for told in (*reading.findings, *reading.told)]


def configuration_of(value: Mapping[str, Any]) -> QueueSettings:
    """Read a Configuration among other objects: what is wrong in it is left out. `mistakes_in` tells."""
    return from_configuration(Document(dict(value), KIND))[0]

"""Random situations: a job of any kind, the queues of a cluster, and the policies in force."""

import copy
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st

from tests.policy.support import mutating, validating
from tests.shared import ROOT
from webhook import documents
from webhook.jobs.describe import QUEUE
from webhook.offline.lint.trial.samples import SampleObject, samples
from webhook.policy.bundle import Bundle
from webhook.policy.loading.assemble import assemble

JSON = dict[str, Any]
NAMESPACE: Final = "team-a"
ASIDE: Final = "aside"
"""A namespace whose queue is always there, and takes the jobs by which a test sees how far a controller is."""
KUEUE: Final = "kueue.x-k8s.io/v1beta2"
_ANY: Final = "[{apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*']}]"
_POD: Final = "{sluice.dev/expand: pod-templates}"
SHIPPED: Final = ("gpu-defaults", "gpu-integer", "gpu-tolerations", "queue-name", "suspend-jobs", "suspend-pods")
WRITTEN: Final = (
    validating("has(object.metadata.labels)", _ANY, name="v"),
    validating("!object.metadata.name.startsWith('full')", _ANY, actions="[Warn]", name="w"),
    validating("object.spec.size() < 2", _ANY, name="x"),
    validating("object.nonsense.size() > 0", _ANY, name="fails"),
    mutating("Object{metadata: Object.metadata{labels: {'team': 'a'}}}", _ANY, apply=True, name="m"),
    mutating("[JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}]", _ANY, name="n"),
    mutating("[JSONPatch{op: 'add', path: '/metadata/annotations/a', value: 'b'}]", _ANY, name="o"),
    mutating("[JSONPatch{op: 'add', path: '/spec/none', value: 1}]", _ANY, name="p"),
    mutating("[JSONPatch{op: 'add', path: '/metadata/labels', value: null}]", _ANY, name="q"),
)
"""Policies that refuse, warn, fail, and change what others look at."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is asked about (`obj`), what is there (`cluster`), and by which policies."""

    obj: JSON
    cluster: tuple[JSON, ...]
    shipped: tuple[str, ...]
    written: tuple[str, ...]

    @property
    def bundle(self) -> Bundle:
        """The policies in force."""
        return _bundle(self.shipped, self.written)


@cache
def _bundle(shipped: tuple[str, ...], written: tuple[str, ...]) -> Bundle:
    files = [ROOT / "policies" / name / "policy.yaml" for name in shipped]
    read = [one for file in files for one in documents.read(file.read_text(encoding="utf-8"), str(file))]
    return assemble([*read, *(one for text in written for one in documents.read(text, "written.yaml"))])


def _queues(draw: st.DrawFn) -> tuple[JSON, ...]:
    """A namespace, a flavor, one or two ClusterQueues with their LocalQueues; now and then one of them is missing."""
    gpus = draw(st.sampled_from(("0", "1", "2", "8")))
    spec: JSON = {"namespaceSelector": {}, "resourceGroups": [_group(draw(st.sampled_from(("1", "6", "100"))), gpus)]}
    if draw(st.integers(0, 9)) == 0:
        spec["stopPolicy"] = "Hold"
    found = [
        {"apiVersion": "v1", "kind": "Namespace",
         "metadata": {"name": NAMESPACE, "labels": {"sluice.dev/managed": "true"}}},
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}},
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": spec},
        _door("default", "cq"),
        _door("other", draw(st.sampled_from(("cq", "nowhere")))),
    ]  # fmt: skip
    return (*(obj for obj in found if obj["kind"] == "Namespace" or draw(st.integers(0, 11))), *_aside())


def _aside() -> list[JSON]:
    spec: JSON = {"namespaceSelector": {}, "resourceGroups": [_group("100", "0")]}
    spec["resourceGroups"][0]["flavors"][0]["name"] = ASIDE
    metadata = {"name": "main", "namespace": ASIDE}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ASIDE}},
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": ASIDE}, "spec": {}},
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": ASIDE}, "spec": spec},
        {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": ASIDE}},
    ]


def _group(cpu: str, gpus: str) -> JSON:
    quotas = {"cpu": cpu, "memory": "1000Gi", "nvidia.com/gpu": gpus, "pods": "100"}
    resources = [{"name": name, "nominalQuota": quota} for name, quota in quotas.items()]
    return {"coveredResources": list(quotas), "flavors": [{"name": "f", "resources": resources}]}


def _door(name: str, queue: str) -> JSON:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": queue}}


def _object(draw: st.DrawFn, sample: SampleObject) -> JSON:
    obj = copy.deepcopy(sample.obj)
    gpus = draw(st.sampled_from(('"1"', '"2"', '"16"', '"0.5"')))
    text = documents.dump(obj).replace("nvidia.com/gpu: '1'", f"nvidia.com/gpu: {gpus}")
    made: JSON = documents.read(text, "object.yaml")[0].value
    queue = draw(st.sampled_from((None, "default", "other", "missing")))
    labels = {**(made["metadata"].get("labels") or {})}
    labels.pop(QUEUE, None)
    if queue is not None:
        labels[QUEUE] = queue
    made["metadata"]["labels"] = draw(st.sampled_from((labels, labels or None)))
    return made


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Any of them."""
    obj = _object(draw, draw(st.sampled_from(samples())))
    shipped = draw(st.lists(st.sampled_from(SHIPPED), unique=True, max_size=4).map(sorted).map(tuple))
    written = draw(st.lists(st.sampled_from(WRITTEN), unique=True, max_size=3).map(sorted).map(tuple))
    return Situation(obj, _queues(draw), shipped, written)

"""Random situations: a job of any kind, the queues of a cluster, and the policies in force."""

import copy
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st

from tests.policy.support import mutating, validating
from tests.shared import ROOT
from webhook import documents
from webhook.jobs.read_job import QUEUE
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


def _with_params(expression: str, ref: str, name: str, kind: str = "ConfigMap") -> str:
    """Return a validating policy with parameters, and its binding."""
    text = validating(expression, _ANY, name=name).replace(
        "spec:\n", f"spec:\n  paramKind: {{apiVersion: v1, kind: {kind}}}\n"
    )
    return text.replace("validationActions:", f"paramRef: {ref}, validationActions:")


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
    _with_params("params.data.x == '1'", "{name: p, parameterNotFoundAction: Deny}", "r"),
    _with_params("params.data.x == '1'", "{selector: {matchLabels: {use: it}}, parameterNotFoundAction: Allow}", "s"),
    _with_params(
        "params.spec.limits.all(l, has(l.defaultRequest))",
        "{selector: {}, parameterNotFoundAction: Allow}",
        "t",
        "LimitRange",
    ),
)
"""Policies that refuse, warn, fail, and change what others look at."""


def config_map(x: str, **metadata: Any) -> JSON:
    """A parameter."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p", "labels": {"use": "it"}, **metadata},
            "data": {"x": x}}  # fmt: skip


def configuration(**sections: Any) -> JSON:
    """A Configuration of Kueue, as its file has it: without metadata."""
    return {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **sections}


LIMITS: Final[JSON] = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "l", "namespace": NAMESPACE},
    "spec": {"limits": [{"type": "Container", "max": {"cpu": 8}}]},
}
DEFINITION: Final[JSON] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgetry.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"kind": "Gadget", "plural": "gadgetry"},
        "versions": [{"name": "v1", "served": True, "storage": True}],
    },
}
GADGET: Final[JSON] = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {}}
PARAMS: Final = (config_map("1", namespace=NAMESPACE), config_map("2", namespace=NAMESPACE), LIMITS)
"""Objects of the cluster that policies have as parameters."""
BESIDE: Final = (config_map("1"), config_map("2"), config_map("2", namespace=NAMESPACE))
"""The same in the files of policies, where a namespace may be left out.

No LimitRange: the tools take it for one that is in the cluster too, and fill in what its plugin would.
"""
SETTINGS: Final = (
    configuration(),
    configuration(resources={"excludeResourcePrefixes": ["nvidia.com"]}),
    configuration(resources={"transformations": [
        {"input": "nvidia.com/gpu", "strategy": "Replace", "outputs": {"cpu": "2"}}]}),
    configuration(integrations={"frameworks": ["batch/job"]}),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Situation:
    """What is asked about (`obj`), what is there (`cluster`), and by which policies.

    `beside` are objects in the files of the policies.
    """

    obj: JSON
    cluster: tuple[JSON, ...]
    shipped: tuple[str, ...]
    written: tuple[str, ...]
    beside: tuple[JSON, ...] = ()

    @property
    def bundle(self) -> Bundle:
        """The policies in force."""
        return _bundle(self.shipped, (*self.written, *map(documents.dump, self.beside)))


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
    obj = draw(st.just(GADGET)) if draw(st.integers(0, 19)) == 0 else _object(draw, draw(st.sampled_from(samples())))
    shipped = draw(st.lists(st.sampled_from(SHIPPED), unique=True, max_size=4).map(sorted).map(tuple))
    written = draw(st.lists(st.sampled_from(WRITTEN), unique=True, max_size=3).map(sorted).map(tuple))
    beside = draw(st.lists(st.sampled_from(BESIDE), max_size=2, unique_by=str).map(tuple))
    others = draw(st.lists(st.sampled_from((*PARAMS, *SETTINGS)), max_size=2, unique_by=lambda o: o["kind"]))
    return Situation(obj, (*_queues(draw), *others, DEFINITION), shipped, written, beside)


def _a_job(kind: str = "Job") -> JSON:
    """A full sample of a kind, in the queue `default`."""
    return copy.deepcopy(next(s.obj for s in samples() if s.obj["kind"] == kind and s.title.startswith("a full")))


def _cluster(gpus: str = "8", *others: JSON) -> tuple[JSON, ...]:
    group = _group("100", gpus)
    if gpus == "none":
        group = {
            "coveredResources": [name for name in group["coveredResources"] if name != "nvidia.com/gpu"],
            "flavors": [{"name": "f", "resources": [
                r for r in group["flavors"][0]["resources"] if r["name"] != "nvidia.com/gpu"]}],
        }  # fmt: skip
    spec = {"namespaceSelector": {}, "resourceGroups": [group]}
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}},
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": spec},
        _door("default", "cq"),
        *others,
        *_aside(),
    )


_BY_NAME: Final = (WRITTEN[9],)
FOUND: Final = {
    "a parameter in the files, and another one in the cluster": Situation(
        _a_job(), _cluster("8", PARAMS[0]), (), _BY_NAME, (BESIDE[2],)
    ),
    "a parameter without a namespace in the files": Situation(
        _a_job(), _cluster("8", PARAMS[0]), (), _BY_NAME, (BESIDE[1],)
    ),
    "a parameter twice in the files": Situation(_a_job(), _cluster(), (), _BY_NAME, (BESIDE[1], BESIDE[0])),
    "a LimitRange in the files, without its defaults": Situation(_a_job(), _cluster(), (), (WRITTEN[11],), (LIMITS,)),
    "a custom kind with its own plural, in no namespace": Situation(
        GADGET, _cluster("8", DEFINITION), (), (validating("request.resource.resource == 'gadgetry'", _ANY, name="u"),)
    ),
    "a resource that quota leaves out": Situation(_a_job(), _cluster("none", SETTINGS[1]), (), ()),
    "a resource that counts as another": Situation(_a_job(), _cluster("none", SETTINGS[2]), (), ()),
    "a kind that the settings leave out": Situation(_a_job("PyTorchJob"), _cluster("8", SETTINGS[3]), (), ()),
    "a job without a queue, where such wait too": Situation(
        {**_a_job(), "metadata": {"name": "unnamed", "namespace": NAMESPACE}},
        _cluster("8", configuration(manageJobsWithoutQueueName=True)),
        ("suspend-jobs",),
        (),
    ),
    "a Namespace, whose request names it as its namespace": Situation(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-b"}},
        _cluster(),
        (),
        (validating("request.namespace == 'team-b'", _ANY, name="y"),),
    ),
}
"""Where two of them differed once."""

"""Random jobs of every kind, and random clusters around them: what the laws of the policies are tried on."""

from typing import Any

from hypothesis import strategies as st

from webhook.jobs.job import JobKind
from webhook.jobs.kinds import KINDS

JSON = dict[str, Any]
QUEUE = "kueue.x-k8s.io/queue-name"
GPUS = ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "amd.com/gpu", "gpu.intel.com/i915")
COUNTS = st.sampled_from([0, 1, 2, 8, 0.5, -1, "1", "2", "500m", "1e0", "0", "-1", "4k"])
SIZES = st.sampled_from([1, "1", "500m", "2.5", "1Gi", "0", "16Gi", 0.1])
AMOUNTS = st.dictionaries(st.sampled_from(GPUS), COUNTS, max_size=2) | st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage", *GPUS[:1]]), SIZES, max_size=3
)
WORDS = st.sampled_from(["a", "main", "queue-1", "default", "team-a"])


@st.composite
def resources(draw: st.DrawFn) -> JSON:
    """Limits and requests: none, one of them, both alike, or both by chance."""
    limits = draw(AMOUNTS)
    requests = draw(st.just(limits) | AMOUNTS | st.just({}))
    return {name: value for name, value in (("limits", limits), ("requests", requests)) if value or draw(st.booleans())}


@st.composite
def containers(draw: st.DrawFn, least: int, most: int, prefix: str) -> list[JSON]:
    """Containers with names of their own; an init container may be a side car."""
    made = []
    for i in range(draw(st.integers(least, most))):
        one: JSON = {"name": f"{prefix}{i}", "image": "registry.example/x:1"}
        if draw(st.booleans()):
            one["resources"] = draw(resources())
        if prefix == "init" and draw(st.booleans()):
            one["restartPolicy"] = "Always"
        made.append(one)
    return made


TOLERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from([*GPUS, "dedicated"]),
        "operator": st.sampled_from(["Exists", "Equal"]),
        "effect": st.sampled_from(["NoSchedule", "NoExecute"]),
        "value": WORDS,
    },
)


@st.composite
def pod_specs(draw: st.DrawFn) -> JSON:
    """The spec of a pod."""
    spec: JSON = {"containers": draw(containers(1, 3, "c")), "restartPolicy": "Never"}
    if draw(st.booleans()):
        spec["initContainers"] = draw(containers(0, 2, "init"))
    if draw(st.booleans()):
        spec["tolerations"] = draw(st.lists(TOLERATIONS, max_size=3))
    return spec


@st.composite
def metadata(draw: st.DrawFn) -> JSON:
    """Labels and annotations, those of a queue among them."""
    made: JSON = {"name": draw(WORDS), "namespace": "team-a"}
    for name in ("labels", "annotations"):
        if draw(st.booleans()):
            made[name] = draw(st.dictionaries(st.sampled_from([QUEUE, "app", "x.y/z"]), WORDS, max_size=2))
    return made


def _put(node: JSON, path: tuple[str, ...], draw: st.DrawFn) -> None:
    """Put pod templates where the path says: one, or for each role or group of it one or two."""
    step, *rest = path
    if not rest:
        node.setdefault(step, {})["spec"] = draw(pod_specs())
    elif rest[0] == "*":
        for role in draw(st.sampled_from([["Worker"], ["Master", "Worker"], ["Launcher", "Worker"]])):
            child = node.setdefault(step, {}).setdefault(role, {"replicas": draw(st.integers(0, 3))})
            _put(child, tuple(rest[1:]), draw)
    elif rest[0] == "[]":
        groups = node.setdefault(step, [{"name": "g0"}, {"name": "g1"}][: draw(st.integers(1, 2))])
        for group in groups:
            group.setdefault("replicas", draw(st.integers(0, 3)))
            _put(group, tuple(rest[1:]), draw)
    else:
        _put(node.setdefault(step, {}), tuple(rest), draw)


SHAPED = [k for k in KINDS if k.templates and all(t.made is None for t in k.templates)]


@st.composite
def jobs(draw: st.DrawFn, kinds: list[JobKind] | None = None) -> JSON:
    """An object of a job kind with pod templates, or a Pod."""
    kind = draw(st.sampled_from(kinds or SHAPED))
    obj: JSON = {"apiVersion": kind.gvk.api_version, "kind": kind.kind, "metadata": draw(metadata())}
    for template in kind.templates:
        if template.path:
            _put(obj, template.path, draw)
        else:
            obj["spec"] = draw(pod_specs())
    path = kind.suspend_path
    if path and draw(st.booleans()):
        node = obj
        for step in path[:-1]:
            node = node.setdefault(step, {})
        node[path[-1]] = draw(st.booleans())
    return obj


@st.composite
def clusters(draw: st.DrawFn) -> list[JSON]:
    """What policies look at: the Namespace with its labels and default queue, a LimitRange, a GPU default, a queue."""
    labels = {"sluice.dev/managed": "true"} if draw(st.booleans()) else {}
    notes = draw(st.dictionaries(st.just("sluice.dev/default-queue"), WORDS, max_size=1))
    made: list[JSON] = [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "team-a", "labels": labels, "annotations": notes},
        }
    ]
    if draw(st.booleans()):
        item = {"type": draw(st.sampled_from(["Container", "Pod"]))}
        for field in ("default", "defaultRequest", "min", "max"):
            if draw(st.booleans()):
                names = st.sampled_from(["cpu", "memory", GPUS[0]])
                item[field] = draw(st.dictionaries(names, st.sampled_from(["1", "2", "500m", "4"]), max_size=2))
        where = {"name": "limits", "namespace": "team-a"}
        made.append({"apiVersion": "v1", "kind": "LimitRange", "metadata": where, "spec": {"limits": [item]}})
    if draw(st.booleans()):
        data = {"resource": draw(st.sampled_from(GPUS)), "count": draw(st.sampled_from(["1", "2"]))}
        where = {"name": "sluice-gpu-defaults", "namespace": "team-a"}
        made.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": where, "data": data})
    if draw(st.booleans()):
        where = {"name": "default", "namespace": "team-a"}
        made.append({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": where,
                     "spec": {"clusterQueue": "all"}})  # fmt: skip
    return made

"""Pod templates made up for kinds without any: a TrainJob has only resources, a SparkApplication only cores."""

from __future__ import annotations

from typing import Any, Final

from webhook.jobs.job import Nodes
from webhook.kube.quantity import QuantityError, parse

_SUBMITTER: Final = "ray-job-submitter"
_OF_SUBMITTER: Final = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}}
_OF_CLEANUP: Final = {"cpu": "200m", "memory": "256Mi"}
_FAULT_TOLERANT: Final = "ray.io/ft-enabled"
_OF_AUTOSCALER: Final = {field: {"cpu": "500m", "memory": "512Mi"} for field in ("limits", "requests")}
"""KubeRay's default resources of its autoscaler container."""


def of_trainer(trainer: Any) -> dict[str, Any]:
    """Return a template for a TrainJob's `spec.trainer`: one container with its resourcesPerNode.

    The rest of the pods is defined by the TrainingRuntime that the job refers to, not in the object.
    """
    resources = trainer.get("resourcesPerNode") if isinstance(trainer, dict) else None
    return _template("node", resources if isinstance(resources, dict) else {})


def of_spark_role(role: Any) -> dict[str, Any]:
    """Return a template for a SparkApplication's driver or executor: a container with cores, memory and GPU.

    Memory is converted from the JVM's notation (`512m` are MiB) to Kubernetes'. Node selectors are included.
    """
    if not isinstance(role, dict):
        return _template("spark", {})
    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    if (cores := role.get("coreRequest") or role.get("cores")) is not None:
        requests["cpu"] = str(cores)
    if role.get("coreLimit") is not None:
        limits["cpu"] = str(role["coreLimit"])
    if isinstance(role.get("memory"), str):
        requests["memory"] = limits["memory"] = jvm_memory(role["memory"])
    gpu = role.get("gpu")
    if isinstance(gpu, dict) and isinstance(gpu.get("name"), str) and gpu.get("quantity") is not None:
        requests[gpu["name"]] = limits[gpu["name"]] = str(gpu["quantity"])
    template = _template("spark", {"requests": requests, "limits": limits})
    for part, names in (("metadata", ("labels", "annotations")), ("spec", ("nodeSelector", "tolerations"))):
        template[part] |= {name: role[name] for name in names if role.get(name)}
    return template


def spark_roles(app: dict[str, Any]) -> dict[str, Any]:
    """Return a SparkApplication with its common node selector moved into driver and executor; it may not have both."""
    spec = app.get("spec")
    shared = spec.get("nodeSelector") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(shared, dict):
        return app
    roles = {name: spec[name] for name in ("driver", "executor") if isinstance(spec.get(name), dict)}
    placed = {
        name: {**role, "nodeSelector": {**shared, **(_dict(role.get("nodeSelector")))}} for name, role in roles.items()
    }
    rest = {name: value for name, value in spec.items() if name != "nodeSelector"}
    return {**app, "spec": {**rest, **placed}}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def of_ray_submitter(job: Any) -> dict[str, Any] | None:
    """Return KubeRay's default pod that submits a RayJob, with its requests.

    None if no pod submits, or the job creates no cluster. The image is that of the cluster's head, as in KubeRay.
    """
    value = job.get("spec") if isinstance(job, dict) else None
    spec = value if isinstance(value, dict) else {}
    cluster = spec.get("rayClusterSpec")
    if not isinstance(cluster, dict) or spec.get("submissionMode", "K8sJobMode") != "K8sJobMode":
        return None
    head: Any = cluster
    for step in ("headGroupSpec", "template", "spec", "containers"):
        head = head.get(step) if isinstance(head, dict) else None
    image = head[0].get("image") if isinstance(head, list) and head and isinstance(head[0], dict) else None
    container = {"name": _SUBMITTER, **({"image": image} if image else {}), "resources": _OF_SUBMITTER}
    return {"spec": {"containers": [container], "restartPolicy": "Never"}}


def of_ray_head(nodes: Nodes, template: dict[str, Any]) -> dict[str, Any]:
    """Return a head's template with the containers that KubeRay adds: autoscaler, and submitter in SidecarMode.

    If Redis holds the cluster's state, a cleanup pod replaces the head at its end, so the head requests at least as
    much.
    """
    job, cluster, added = nodes[0], nodes[-2], []
    if cluster.get("enableInTreeAutoscaling") is True:
        options = cluster.get("autoscalerOptions")
        own = options.get("resources") if isinstance(options, dict) else None
        added.append({"name": "autoscaler", "resources": own if isinstance(own, dict) else _OF_AUTOSCALER})
    if job.get("kind") == "RayJob" and job["spec"].get("submissionMode") == "SidecarMode":
        added.append({"name": _SUBMITTER, "resources": _OF_SUBMITTER})
    spec, own = template["spec"], _list(template["spec"].get("containers"))
    head = [_at_least(each, _OF_CLEANUP) for each in own[:1]] if _tolerates_faults(job, cluster) else own[:1]
    if not added and head == own[:1]:
        return template
    return {**template, "spec": {**spec, "containers": [*head, *own[1:], *added]}}


def _tolerates_faults(job: Any, cluster: Any) -> bool:
    """Return whether the state of a Ray cluster outlives its head, by the object's annotation or options."""
    annotations = _dict(_dict(job.get("metadata")).get("annotations"))
    marked = str(annotations.get(_FAULT_TOLERANT)).lower() == "true"
    return marked or cluster.get("gcsFaultToleranceOptions") is not None


def _at_least(container: Any, least: dict[str, str]) -> Any:
    """Return a container with requests of at least `least`."""
    resources = _dict(_dict(container).get("resources"))
    requests = {**_dict(resources.get("limits")), **_dict(resources.get("requests"))}
    small = {name: value for name, value in least.items() if _nanos(requests.get(name, 0)) < parse(value).nanos}
    if not isinstance(container, dict) or not small:
        return container
    return {**container, "resources": {**resources, "requests": {**_dict(resources.get("requests")), **small}}}


def _nanos(value: Any) -> int:
    try:
        return parse(value).nanos
    except QuantityError:
        return 0


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def jvm_memory(text: str) -> str:
    """Convert `512m` or `4g` of the JVM to `512Mi` or `4Gi`; other units are kept."""
    unit = {"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti"}.get(text[-1:].lower())
    return text[:-1] + unit if unit and text[:-1].isdecimal() else text


def _template(name: str, resources: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {}, "spec": {"containers": [{"name": name, "resources": resources}]}}

"""Nodes for the test cluster: plain ones and ones with GPUs, whose kubelet kwok plays."""

from typing import Any

from tests.controlplane.client import Client


def node(name: str, capacity: dict[str, str] | None = None, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """A Node manifest; `capacity` adds to or replaces 16 cpu, 64Gi and 110 pods."""
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110", **(capacity or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def gpu_node(name: str, gpus: int = 8, resource: str = "nvidia.com/gpu", product: str = "A100") -> dict[str, Any]:
    """A Node manifest with `gpus` of `resource`, tainted the way GPU pools are."""
    made = node(name, {resource: str(gpus), "cpu": "96", "memory": "768Gi"}, {f"{resource}.product": product})
    made["spec"] = {"taints": [{"key": resource, "value": "present", "effect": "NoSchedule"}]}
    return made


def is_ready(obj: dict[str, Any]) -> bool:
    """Whether the node is ready and the not-ready taint, which every new node carries, is gone."""
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in obj["status"].get("conditions", []))
    taints = obj.get("spec", {}).get("taints", [])
    return ready and not any(t["key"].startswith("node.kubernetes.io/") for t in taints)


def add(client: Client, *nodes: dict[str, Any]) -> None:
    """Create nodes that are not there yet."""
    for obj in nodes:
        if client.request("GET", f"/api/v1/nodes/{obj['metadata']['name']}").status == 404:
            client.create(obj)

"""What LimitRanges and default classes do to a new object: a real API server and Sluice beside the same objects."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.kube.typed.random_objects import Maker
from tests.kube.typed.recording import differences, recording
from webhook.admission.memory_facts import MemoryFacts
from webhook.kube.gvk import GroupVersionKind
from webhook.offline.dryrun.requests import listed_in

COUNT = 400
KINDS = (
    GroupVersionKind("", "v1", "Pod"),
    GroupVersionKind("", "v1", "PersistentVolumeClaim"),
    GroupVersionKind("networking.k8s.io", "v1", "Ingress"),
)
CLUSTER = """
apiVersion: v1
kind: LimitRange
metadata: {name: containers, namespace: default}
spec:
  limits:
  - type: Container
    default: {cpu: "2", memory: 1Gi}
    defaultRequest: {cpu: 500m}
    min: {nvidia.com/gpu: "0"}
    max: {hugepages-2Mi: 4Mi, memory: 2Gi}
  - {type: Pod, max: {cpu: "100"}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: elsewhere, namespace: kube-system}
spec: {limits: [{type: Container, default: {cpu: "7"}}]}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: example.com/fast
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: slow}
provisioner: example.com/slow
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: public, annotations: {ingressclass.kubernetes.io/is-default-class: "true"}}
spec: {controller: example.com/public}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: ordinary}
value: 7
globalDefault: true
preemptionPolicy: Never
"""

pytestmark = pytest.mark.cluster


@contextmanager
def stored(client: Client, objects: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The objects in the server, as it keeps them."""
    made = [client.create(obj) for obj in objects]
    try:
        yield made
    finally:
        for obj in objects:
            client.delete(client.path_of(obj))


def test_new_objects_get_what_the_servers_plugins_give_them(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Random Pods, claims and Ingresses, half of them without a class; limits where containers leave them out."""
    chance = random.Random(8)
    maker, objects = Maker(chance), list(yaml.safe_load_all(CLUSTER))
    listed = listed_in(MemoryFacts(objects))
    found: list[str] = []
    compared = 0
    with stored(control_plane.client, objects), recording(control_plane, tmp_path) as recorder:
        control_plane.wait("the server knows them", lambda: _known(recorder.received(_pod("probe"))))
        for number in range(COUNT):
            obj = maker.object(KINDS[number % len(KINDS)], True)
            for field in ("storageClassName", "ingressClassName"):
                if isinstance(spec := obj.get("spec"), dict) and chance.random() < 0.5:
                    spec.pop(field, None)
            theirs = recorder.received(obj)
            if not isinstance(theirs, str):
                compared += 1
                found += [f"{place}: server {a!r}, ours {b!r}" for place, a, b in differences(obj, theirs, listed)]
    assert found == []
    assert compared > COUNT // 2


def _pod(name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def _known(pod: Any) -> bool:
    return isinstance(pod, dict) and "annotations" in pod["metadata"] and pod["spec"].get("priority") == 7

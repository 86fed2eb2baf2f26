"""What the articles promise of GPUs, on a custom kind that the API server itself knows nothing of."""

from typing import Any

import pytest

from tests.controlplane.client import ApiError, Client, Response
from tests.e2e.articles import prepare
from tests.e2e.sluice import Sluice

pytestmark = pytest.mark.cluster

JSON = dict[str, Any]
PATH = "/apis/kubeflow.org/v1/namespaces/ai-team/pytorchjobs?dryRun=All"


@pytest.fixture(autouse=True)
def _namespaces(kube: Client, sluice: Sluice) -> None:
    prepare(kube)


def pytorch(resources: JSON) -> JSON:
    container = {"name": "pytorch", "image": "pytorch/pytorch:2", "resources": resources}
    worker = {"replicas": 2, "restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    meta = {"name": "train", "annotations": {"kueue.x-k8s.io/queue-name": "ai-local-queue"}}
    spec = {"pytorchReplicaSpecs": {"Worker": worker}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": meta, "spec": spec}


def created(kube: Client, resources: JSON) -> Response:
    response = kube.request("POST", PATH, pytorch(resources))
    if response.status >= 400:
        raise ApiError(response)
    return response


def resources_of(response: Response) -> JSON:
    template = response.body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    return dict(template["spec"]["containers"][0]["resources"])


@pytest.mark.parametrize("amount", [0.5, "0.5", "500m", "1500m"])
def test_part_of_a_gpu_is_refused_with_the_way_out(kube: Client, amount: object) -> None:
    """Half a GPU is refused wherever it is written; the message names the amount and what to write."""
    with pytest.raises(ApiError) as caught:
        created(kube, {"limits": {"nvidia.com/gpu": amount}})
    assert "nvidia.com/gpu" in caught.value.message
    assert "whole" in caught.value.message


def test_request_and_limit_that_differ_are_refused(kube: Client) -> None:
    """A GPU cannot be overcommitted; the message names both amounts."""
    with pytest.raises(ApiError) as caught:
        created(kube, {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "1"}})
    assert "nvidia.com/gpu" in caught.value.message
    assert "1" in caught.value.message
    assert "2" in caught.value.message


def test_a_request_without_a_limit_gets_the_limit_and_a_warning(kube: Client) -> None:
    """limit = request is written, and kubectl shows why."""
    response = created(kube, {"requests": {"nvidia.com/gpu": "2"}})
    assert str(resources_of(response)["limits"]["nvidia.com/gpu"]) == "2"
    assert any("without a limit" in text for text in response.warnings)


def test_gpu_counts_may_be_yaml_numbers(kube: Client) -> None:
    """A number on a custom kind stays what it is, and the job is shaped like any other."""
    response = created(kube, {"limits": {"nvidia.com/gpu": 1}, "requests": {"nvidia.com/gpu": 1}})
    template = response.body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    assert str(resources_of(response)["limits"]["nvidia.com/gpu"]) == "1"
    assert any(t["key"] == "nvidia.com/gpu" for t in template["spec"]["tolerations"])
    assert response.body["spec"]["runPolicy"]["suspend"] is True


def test_kube_system_is_left_alone(kube: Client) -> None:
    """No request in kube-system ever reaches Sluice: half a GPU passes there on a custom kind."""
    response = kube.request(
        "POST", PATH.replace("ai-team", "kube-system"), pytorch({"limits": {"nvidia.com/gpu": 0.5}})
    )
    assert response.status == 201
    assert "runPolicy" not in response.body["spec"]

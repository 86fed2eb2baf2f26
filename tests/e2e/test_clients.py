"""Who gets verdicts: the API server, by the certificate that it was told to show; nobody else."""

import json
import ssl
import urllib.request
from urllib.error import HTTPError

import pytest

from tests.controlplane.client import ApiError
from tests.e2e.articles import prepare
from tests.e2e.test_gpu_rules import created
from tests.server.serving import review

pytestmark = pytest.mark.cluster


def ask(sluice, path, body):
    """Ask as any pod could."""
    request = urllib.request.Request(sluice.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    trust = ssl.create_default_context(cafile=str(sluice.authority))
    try:
        with urllib.request.urlopen(request, context=trust) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_a_pod_gets_no_verdict_and_the_api_server_does(kube, sluice):
    """The same Sluice that judges what goes through the API server refuses whoever shows no certificate."""
    prepare(kube)
    with pytest.raises(ApiError, match="whole"):
        created(kube, {"limits": {"nvidia.com/gpu": "0.5"}})
    status, told = ask(sluice, "/mutate", review())
    assert (status, told["kind"]) == (401, "Status")
    assert "client certificate" in told["message"]


def test_conversions_are_for_everybody(kube, sluice):
    """The API server shows no certificate for conversions: a queue can be read in the other version."""
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "of-clients"}}
    kube.apply(flavor)
    path = "/apis/kueue.x-k8s.io/v1beta1/resourceflavors/of-clients"
    assert kube.call("GET", path)["apiVersion"] == "kueue.x-k8s.io/v1beta1"
    kube.delete(path)

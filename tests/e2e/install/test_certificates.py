"""Certificates of an installation are replaced while it is asked all the time."""

import base64
import contextlib

import pytest

from tests.controlplane.metrics import failed_calls
from tests.e2e.install.reviews import Reviews
from tests.e2e.node import NAMESPACE
from tests.e2e.release import Release
from tests.patience import wait
from webhook.certificates.rotation import authorities

pytestmark = pytest.mark.cluster
CREATORS = 4
"""Who create objects at once."""


def test_certificates_are_rotated_under_load(release: Release) -> None:
    """A new authority is asked for while objects are reviewed all the time: no review fails, the old one is dropped.

    Failures are counted by who creates objects and by the API server, which also counts those that it ignores.
    """
    client = release.client
    old, before = release.secret()["data"], failed_calls(client)
    with contextlib.ExitStack() as stack:
        creators = [stack.enter_context(Reviews(client, "rotated")) for _ in range(CREATORS)]
        path = f"/api/v1/namespaces/{NAMESPACE}/secrets/sluice-tls"
        client.merge(path, {"metadata": {"annotations": {"sluice.dev/rotate": "now"}}})
        wait(lambda: rotated(release, old), "the old authority is trusted no more")
    assert [error for each in creators for error in each.failed] == []
    assert failed_calls(client) == before
    assert min(each.made for each in creators) > 5
    assert release.secret()["data"]["tls.crt"] != old["tls.crt"]
    assert release.refusals() == []


def rotated(release: Release, old: dict) -> bool:
    data = release.secret()["data"]
    bundle = base64.b64decode(data["ca.crt"])
    everywhere = {hook["clientConfig"]["caBundle"] for hook in release.webhooks()} == {data["ca.crt"]}
    return data["ca.crt"] != old["ca.crt"] and len(authorities(bundle)) == 1 and everywhere

"""Random objects of every built-in kind: what a real API server hands to a webhook is what Sluice makes of the file."""

import random
from pathlib import Path

import pytest

from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.kube.typed.random_objects import KINDS, Maker
from tests.kube.typed.recording import differences, recording
from webhook.kube.schemas import built_in_scopes
from webhook.kube.scope import Scope

COUNT = 2000
_REFUSED = 20
"""So many of them the server may refuse before it asks the webhook; today it refuses none."""

pytestmark = pytest.mark.cluster


def test_what_the_webhook_gets_is_what_we_read(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Objects with fields left out, nulls, empty lists and maps, unknown fields, quantities as numbers."""
    maker = Maker(random.Random(14))
    found: list[str] = []
    refused: list[str] = []
    with recording(control_plane, tmp_path) as recorder:
        for number in range(COUNT):
            obj = maker.object(*KINDS[number % len(KINDS)])
            theirs = recorder.received(obj)
            if isinstance(theirs, str):
                refused.append(theirs)
            else:
                found += [f"{place}: server {a!r}, ours {b!r}" for place, a, b in differences(obj, theirs)]
    assert found == []
    assert len(refused) < _REFUSED, refused[:3]


def test_every_built_in_kind_is_in_the_scope_that_the_server_says(kube: Client) -> None:
    """Whether the objects of a kind are in namespaces: ours beside discovery, for all kinds and served versions."""
    for (group, kind), served in built_in_scopes().items():
        for version in served.versions:
            path = kube.path(f"{group}/{version}" if group else version, kind, "team-a")
            assert ("/namespaces/team-a/" in path) == (served.scope is Scope.NAMESPACED), path

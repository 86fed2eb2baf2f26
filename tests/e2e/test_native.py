"""The engine says what the API server's own engine says: 700 pairs of policy and object, in one API server."""

from collections.abc import Iterator

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.e2e.compare import unequal
from tests.e2e.hooks import Hooks
from tests.e2e.native import Comparison, Outcome
from tests.native.cases import Policy, objects, policies

pytestmark = pytest.mark.cluster

POLICIES = policies()
OBJECTS = objects()


@pytest.fixture(scope="module")
def comparison(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    folder = tmp_path_factory.mktemp("native")
    with Hooks(folder) as hooks:
        made = Comparison(control_plane, POLICIES, hooks, folder)
        yield made
        made.remove()


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.name)
def test_sluice_agrees_with_the_native_engine(comparison: Comparison, policy: Policy) -> None:
    """Verdict, status code, message, warnings and the mutated object are the same for every object."""
    differences = []
    for obj in OBJECTS:
        native, ours = comparison.run(policy, obj)
        differences += [f"{obj['kind']} {obj['metadata']['name']}: {line}" for line in difference(native, ours)]
    assert not differences, "\n".join(differences)


def test_there_are_enough_pairs() -> None:
    """The comparison is worth its name: hundreds of pairs, and policies that allow as well as refuse."""
    assert len(POLICIES) * len(OBJECTS) >= 300


def difference(native: Outcome, ours: Outcome) -> Iterator[str]:
    """What differs between the two sides, a line each."""
    if native.allowed != ours.allowed:
        yield f"native {'allows' if native.allowed else 'refuses: ' + native.message}, ours {ours.message or 'allows'}"
        return
    if native.code != ours.code:
        yield f"status {native.code}, ours {ours.code} ({native.message} | {ours.message})"
    if native.message not in ours.message:
        yield f"message {native.message!r}, ours {ours.message!r}"
    if native.warnings != ours.warnings:
        yield f"warnings {sorted(native.warnings)}, ours {sorted(ours.warnings)}"
    for path, first, second in unequal(native.object, ours.object):
        yield f"object at {path}: {first!r}, ours {second!r}"

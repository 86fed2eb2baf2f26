"""The engine says what the API server's own engine says: 700 pairs of policy and object, in one API server."""

from collections.abc import Iterator

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.e2e.compare import unequal
from tests.e2e.hooks import Hooks
from tests.e2e.native import Comparison, Outcome
from tests.e2e.sluice import Sluice
from tests.native.cases import JSON, Policy, changes, changing, library, objects, policies, shipped

pytestmark = pytest.mark.cluster

POLICIES = policies()
CHANGING = changing()
SHIPPED = shipped()
LIBRARY = library()
OBJECTS = objects()


@pytest.fixture(scope="module")
def comparison(
    control_plane: ControlPlane, sluice: Sluice, watched_params: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Comparison]:
    """Everything installed on both sides; `sluice` is there for its CRDs, and has no say in these namespaces."""
    folder = tmp_path_factory.mktemp("native")
    with Hooks(folder) as hooks:
        made = Comparison(
            control_plane, [*POLICIES, *CHANGING, *SHIPPED, *(policy for policy, _ in LIBRARY)], hooks, folder
        )
        try:
            made.start()
            yield made
        finally:
            made.remove()


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.name)
def test_sluice_agrees_with_the_native_engine(comparison: Comparison, policy: Policy) -> None:
    """Verdict, status code, message, warnings and the mutated object are the same for every object."""
    compare(comparison, policy, OBJECTS)


@pytest.mark.parametrize("policy", SHIPPED, ids=lambda p: p.name)
def test_shipped_policies_mean_the_same_natively(comparison: Comparison, policy: Policy) -> None:
    """The files are portable: natively they do what they do here, but for what annotations add (job templates)."""
    compare(comparison, policy, [obj for obj in OBJECTS if obj["kind"] == "Pod" or not policy.expanded])


@pytest.mark.parametrize(("policy", "sent"), LIBRARY, ids=[policy.name for policy, _ in LIBRARY])
def test_the_library_means_the_same_natively(comparison: Comparison, policy: Policy, sent: list[JSON]) -> None:
    """So are the policies of the library, for the objects of their own suites."""
    compare(comparison, policy, sent)


@pytest.mark.parametrize("policy", CHANGING, ids=lambda p: p.name)
def test_updates_and_deletions_agree(comparison: Comparison, policy: Policy) -> None:
    """The same with oldObject, without object, and for a subresource."""
    comparison.assert_loaded(policy)
    existing, requests = changes()
    comparison.exists(policy, existing)
    differences = []
    for request in requests:
        outcomes = comparison.change(policy, existing, request)
        differences += [f"{request['name']}: {line}" for line in difference(*outcomes)]
    assert not differences, "\n".join(differences)


def compare(comparison: Comparison, policy: Policy, sent: list[dict]) -> None:
    """Fail with every difference over all objects."""
    comparison.assert_loaded(policy)
    differences = []
    for obj in sent:
        outcomes = comparison.run(policy, obj)
        differences += [f"{obj['kind']} {obj['metadata']['name']}: {line}" for line in difference(*outcomes)]
    assert not differences, "\n".join(differences)


def test_there_are_enough_pairs() -> None:
    """The comparison is worth its name: hundreds of pairs of at least 60 policies."""
    assert len(POLICIES) >= 60
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
    if not native.warnings <= ours.warnings:
        yield f"warnings {sorted(native.warnings)}, ours {sorted(ours.warnings)}"
    for path, first, second in unequal(native.object, ours.object):
        yield f"object at {path}: {first!r}, ours {second!r}"

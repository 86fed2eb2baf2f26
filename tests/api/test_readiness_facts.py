"""Since when pods are not ready, as the settings and the conditions of a Workload say."""

import pytest

from webhook.api.configuration.sections import QueueSettings, WaitForPodsReady
from webhook.api.snapshot.reader import Reader

START, ADMITTED, LOST = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"
AT = {START: 1_767_225_600_999, ADMITTED: 1_767_229_200_999, LOST: 1_767_232_800_999}
WAITS, WAITS_NOT = QueueSettings(wait_for_pods_ready=WaitForPodsReady()), QueueSettings()


def ready(status, reason, at):
    return {"type": "PodsReady", "status": status, "reason": reason, "lastTransitionTime": at}


@pytest.mark.parametrize(
    ("settings", "admitted", "condition", "expected"),
    [
        (WAITS_NOT, True, None, (False, None, False)),
        (WAITS, True, None, (False, ADMITTED, False)),
        (WAITS, False, None, (False, None, False)),
        (WAITS, True, ready("False", "WaitForStart", START), (False, ADMITTED, False)),
        (WAITS_NOT, True, ready("False", "WaitForStart", START), (False, ADMITTED, False)),
        (WAITS, True, ready("True", "Started", LOST), (True, None, False)),
        (WAITS, True, ready("False", "WaitForRecovery", LOST), (False, LOST, True)),
    ],
)
def test_since_when_pods_are_not_ready(settings, admitted, condition, expected):
    """Since the admission, and after a loss since that; without the condition only where workloads wait for pods."""
    rows = [{"type": kind, "status": "True", "lastTransitionTime": ADMITTED} for kind in ("QuotaReserved", "Admitted")]
    obj = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "n"},
        "spec": {"queueName": "a"},
        "status": {
            "conditions": [*(rows if admitted else rows[:1]), *([condition] if condition else [])],
            "admission": {"clusterQueue": "a", "podSetAssignments": []},
        },
    }
    (found,) = Reader([obj], settings=settings).snapshot().workloads
    assert (found.pods_ready, found.unready_since, found.recovers) == (
        expected[0], AT[expected[1]] if expected[1] else 0, expected[2],
    )  # fmt: skip

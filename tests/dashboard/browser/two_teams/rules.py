"""The policies in force, and a simulated day."""

import msgspec

from tests.dashboard.browser.two_teams.queues import GPU, HOUR, MINUTE, now
from webhook.dashboard.model.policies import (
    ExceptionRow,
    PoliciesView,
    PolicyRow,
    ReloadChange,
    ReloadRow,
    RuleFileRow,
)
from webhook.dashboard.model.simulation import SeriesPoint, SimulatedSeries, SimulationView, TraceView


def policies() -> PoliciesView:
    """Four policies, one with a mode, an exception that ends and one that did."""
    at = now()
    names = [
        ("gpu-defaults", True, "enforce", 48_210, 0, 3_112, 41, 980),
        ("queue-name", True, "enforce", 48_210, 0, 12_044, 28, 410),
        ("gpu-integer", False, "enforce", 51_870, 214, 0, 19, 302),
        ("team-limits", False, "warn", 51_870, 37, 0, 55, 2_870),
    ]
    rows = (
        PolicyRow(
            name,
            mutating,
            f"{name}/policy.yaml",
            1,
            f"sha256:{name.encode().hex():0<64}",
            "Fail",
            mode,
            seen,
            denied,
            changed,
            seen // 16,
            mean,
            slow,
        )
        for name, mutating, mode, seen, denied, changed, mean, slow in names
    )
    exceptions = (
        ExceptionRow(
            "demo-week",
            ("gpu-integer",),
            "shared GPUs for the open day",
            at + 50 * HOUR,
            "exceptions/demo.yaml",
            3,
            ("demo",),
        ),
        ExceptionRow(
            "old-trainer",
            ("team-limits", "gpu-defaults"),
            "moves to the new image",
            at - 90 * HOUR,
            "exceptions/old.yaml",
            9,
        ),
    )
    reload = ReloadRow(
        at - 3 * HOUR,
        "sha256:41cc9e0d1a7f",
        (
            ReloadChange("changed", "ValidatingAdmissionPolicy", "gpu-integer", "gpu-integer/policy.yaml", 1),
            ReloadChange("added", "ValidatingAdmissionPolicy", "team-limits", "team-limits/policy.yaml", 1),
        ),
    )
    return PoliciesView(
        "sha256:9f86d081884c",
        at - 3 * HOUR,
        at - 30 * HOUR,
        64,
        tuple(rows),
        (RuleFileRow("kueue"), RuleFileRow("time-window", "policies/queue/night/policy.yaml")),
        exceptions,
        reload,
    )


def trace() -> TraceView:
    """A day of jobs."""
    at = now()
    return TraceView("journal", 412, at - 24 * HOUR, at, False, ("backfill", "fifo", "kueue", "time-window"))


def simulation(query: dict[str, str]) -> SimulationView:
    """A day of jobs: more quota, shorter waits."""
    at = now()

    def points(most: int, drain: int) -> tuple[SeriesPoint, ...]:
        busy = [max(0.0, 1 - abs(step - 48) / drain) for step in range(96)]
        return tuple(
            SeriesPoint(step * 15 * MINUTE, {GPU: min(most, round(30 * b))}, max(0, round(30 * b) - most))
            for step, b in enumerate(busy)
        )

    today = SimulatedSeries(
        "today",
        412,
        412,
        0,
        41 * MINUTE,
        18 * MINUTE,
        2 * HOUR,
        5 * HOUR,
        12,
        3 * HOUR,
        24 * HOUR,
        0.82,
        {GPU: 0.71},
        {"serving": 2 * MINUTE, "vision": 58 * MINUTE},
        points(16, 46),
    )
    quota = int(query.get("quota") or 16)
    other = msgspec.structs.replace(
        today,
        name=f"{quota} {GPU}",
        wait_mean=12 * MINUTE,
        wait_median=4 * MINUTE,
        wait_p90=39 * MINUTE,
        preemptions=3,
        fairness=0.9,
        utilisation={GPU: 0.58},
        waits={"serving": 3 * MINUTE, "vision": 14 * MINUTE},
        points=points(quota, 40),
    )
    return SimulationView("journal", at - 24 * HOUR, at, today, other, ({GPU: 16}, {GPU: quota}), took=820)

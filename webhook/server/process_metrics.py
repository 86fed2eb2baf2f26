"""Figures of the process: the policies in force, the end of the certificate, the memory that it may use."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

_LIMITS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a container finds its limit: cgroups of version 2 and 1."""
_NO_LIMIT: Final = 1 << 60
"""More bytes than any machine has: version 1 writes such a number where there is no limit."""


def memory_limit() -> int | None:
    """Return the bytes that the process may use, None where nothing limits it."""
    for path in _LIMITS:
        with contextlib.suppress(OSError, ValueError):
            found = int(path.read_text(encoding="ascii"))
            return found if found < _NO_LIMIT else None
    return None


@dataclass(frozen=True, slots=True)
class ProcessState:
    """What there is to report, as it stands when it is asked for. `expires` is in seconds since the epoch."""

    digest: str
    policies: int
    loads: dict[str, int]
    last_load_good: bool
    expires: float
    recorded: dict[str, int] | None = None
    journal: dict[str, int] | None = None
    registration_differs: bool | None = None
    memory_limit: int | None = field(default_factory=memory_limit)


class ProcessMetrics(Collector):
    """Reports the state that `look` gives."""

    def __init__(self, look: Callable[[], ProcessState]) -> None:
        self._look = look

    def collect(self) -> Iterator[Metric]:
        """Yield all families, for a registry."""
        state = self._look()
        info = GaugeMetricFamily("sluice_bundle_info", "1 for the policy bundle in force.", labels=["digest"])
        info.add_metric([state.digest], 1)
        yield info
        yield GaugeMetricFamily("sluice_bundle_policies", "Number of policies in force.", value=state.policies)
        loads = CounterMetricFamily("sluice_bundle_loads", "Loads of policy files.", labels=["result"])
        for result, count in sorted(state.loads.items()):
            loads.add_metric([result], count)
        yield loads
        yield GaugeMetricFamily(
            "sluice_bundle_last_load_successful",
            "0 if the last load of changed files failed.",
            value=int(state.last_load_good),
        )
        for name, text, counts in (
            ("sluice_recorded_reviews", "Reviews selected for recording.", state.recorded),
            ("sluice_journal_records", "Records of the journal.", state.journal),
        ):
            if counts is not None:
                family = CounterMetricFamily(name, text, labels=["result"])
                for result, count in sorted(counts.items()):
                    family.add_metric([result], count)
                yield family
        if state.registration_differs is not None:
            yield GaugeMetricFamily(
                "sluice_registration_differs",
                "1 if the webhooks registered are not those that the policies in force need.",
                value=int(state.registration_differs),
            )
        if state.memory_limit is not None:
            yield GaugeMetricFamily(
                "sluice_memory_limit_bytes", "Memory limit of the container.", value=state.memory_limit
            )
        yield GaugeMetricFamily(
            "sluice_certificate_expiry_timestamp_seconds",
            "Expiry of the served certificate, in seconds since 1970.",
            value=state.expires,
        )

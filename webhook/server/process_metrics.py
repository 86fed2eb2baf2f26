"""Figures of the process: which policies are in force, and until when the certificate is good."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


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


class ProcessMetrics(Collector):
    """Reports the state that `look` gives."""

    def __init__(self, look: Callable[[], ProcessState]) -> None:
        self._look = look

    def collect(self) -> Iterator[Metric]:
        """Give all families, for a registry."""
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
        yield GaugeMetricFamily(
            "sluice_certificate_expiry_timestamp_seconds",
            "Expiry of the served certificate, in seconds since 1970.",
            value=state.expires,
        )

"""Counts the writes of this replica to the API server, whether it leads or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

_WORDS = "Writes to the API server; those with the result unavailable may have been carried out."


class WriteMetrics(Collector):
    """Exports the write counts of a client, by (resource, verb, result)."""

    def __init__(self, writes: Mapping[tuple[str, str, str], int]) -> None:
        self._writes = writes

    def collect(self) -> Iterator[Metric]:
        """Yield the metric family, for a registry."""
        family = CounterMetricFamily("sluice_writes", _WORDS, labels=["resource", "verb", "result"])
        for labels, count in sorted(dict(self._writes).items()):
            family.add_metric(labels, count)
        yield family

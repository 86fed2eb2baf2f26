"""Metrics of the API server, or of any other text in Prometheus' format, as samples."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.controlplane.client import Client

_SAMPLE = re.compile(r"^(?P<name>\w+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Sample:
    """One line."""

    name: str
    labels: dict[str, str]
    value: float


def samples(text: str, *names: str) -> Iterator[Sample]:
    """The samples of these names."""
    for match in _SAMPLE.finditer(text):
        if match["name"] in names:
            yield Sample(match["name"], dict(_LABEL.findall(match["labels"] or "")), float(match["value"]))


def metrics_of(client: Client) -> str:
    """The API server's own metrics."""
    raw, _, _ = client.exchange("GET", "/metrics", None, {"Accept": "text/plain"})
    return raw.decode()


FAILURES = {
    "apiserver_admission_webhook_rejection_count": ("error_type", "no_error"),
    "apiserver_admission_webhook_fail_open_count": ("", ""),
    "apiserver_crd_conversion_webhook_duration_seconds_count": ("succeeded", "true"),
}
"""Counters of calls of webhooks: the label by which one is not a failure, and its value there."""


def failed_calls(client: Client) -> dict[str, float]:
    """How often a call of an admission or conversion webhook failed, by the API server's count; whatever came of it.

    That is more than clients see: a failure that is ignored lets the request pass.
    """
    counts = dict.fromkeys(FAILURES, 0.0)
    for sample in samples(metrics_of(client), *FAILURES):
        label, fine = FAILURES[sample.name]
        if not label or sample.labels[label] != fine:
            counts[sample.name] += sample.value
    return counts

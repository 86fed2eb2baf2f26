"""Why the jobs of a namespace are not started here: it has not opted in, or the settings do not select it. Pure.

Their Workloads wait: quota that was given to one would be held by a job that nobody starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from webhook.api.configuration.managed import managed
from webhook.api.configuration.sections import QueueSettings

Labels = Mapping[str, str]
LeftAlone = Callable[[str, Labels], str]
"""Name and labels of a namespace -> why its jobs are not started, "" if they are."""


def left_alone(wanted: Labels, settings: QueueSettings | None) -> LeftAlone:
    """Give what says it of a namespace; `wanted` are the labels of those that opted in."""
    selected = managed(settings).selected
    how = ",".join(f"{name}={value}" for name, value in wanted.items())

    def why(name: str, labels: Labels) -> str:
        if any(labels.get(key) != value for key, value in wanted.items()):
            return f"namespace {name} is not managed by Sluice; add the label {how} to the namespace"
        if selected is not None and not selected(labels):
            return f"namespace {name} is not selected by managedJobsNamespaceSelector; change its labels or the setting"
        return ""

    return why

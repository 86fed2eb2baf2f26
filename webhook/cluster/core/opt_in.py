"""Whether jobs of a namespace are managed: it must have opted in and be selected by the settings. Pure.

Workloads in other namespaces wait: their jobs would hold quota and never be started.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from webhook.api.configuration.managed import managed
from webhook.api.configuration.sections import QueueSettings

Labels = Mapping[str, str]
LeftAlone = Callable[[str, Labels], str]
"""Name and labels of a namespace -> the reason why its jobs are not started, "" if they are."""


def left_alone(wanted: Labels, settings: QueueSettings | None) -> LeftAlone:
    """Return the check of a namespace; `wanted` are the labels with which namespaces opt in."""
    selected, left_out = managed(settings).selected, settings.left_out if settings is not None else ()
    how = ",".join(f"{name}={value}" for name, value in wanted.items())

    def why(name: str, labels: Labels) -> str:
        if any(labels.get(key) != value for key, value in wanted.items()):
            return f"namespace {name} is not managed by Sluice; add the label {how} to the namespace"
        if name in left_out:
            return f"namespace {name} is excluded by the setting `never`"
        if selected is not None and not selected(labels):
            return f"namespace {name} is not selected by managedJobsNamespaceSelector; change its labels or the setting"
        return ""

    return why

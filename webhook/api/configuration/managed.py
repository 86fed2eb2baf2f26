"""Which jobs the queues manage, by the settings: jobs of the integrated kinds, in the selected namespaces. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.api.configuration.sections import QueueSettings
from webhook.jobs.job import Job
from webhook.jobs.pod_parents import framework_of
from webhook.jobs.read_job import read_job
from webhook.kube.selectors import compile_selector

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Managed:
    """The frameworks (`integrations` of a Configuration; None: all), and which namespaces, by their labels."""

    frameworks: frozenset[str] | None = None
    selected: Callable[[Labels], bool] | None = None

    def holds(self, obj: dict[str, Any], described: Job, namespace: Labels) -> bool:
        """Return whether the queues hold an object, described as a job, in a namespace with these labels."""
        if self.frameworks is not None and framework_of(obj, described) not in self.frameworks:
            return False
        return self.selected is None or self.selected(namespace)

    def may_hold(self, obj: dict[str, Any], namespace: Callable[[], Labels]) -> bool:
        """Return the same for any object; of what is no job it is True. `namespace` gives labels, where they matter."""
        if self == ALL or (described := read_job(obj)) is None:
            return True
        return self.holds(obj, described, {} if self.selected is None else namespace())


ALL: Final = Managed()


def managed(settings: QueueSettings | None) -> Managed:
    """Read it from settings; without any, everything is held."""
    if settings is None:
        return ALL
    unnamed, selector = settings.manage_jobs_without_queue_name, settings.managed_jobs_namespace_selector
    narrowed = unnamed or selector is not None or bool(settings.left_out)
    kinds = settings.integrations
    return Managed(
        None if kinds is None else frozenset(kinds.frameworks),
        compile_selector(settings.namespace_selector()) if narrowed else None,
    )

"""Which Workloads belong to which job: the one that it is to have, and those that are too many. Reads the view."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.api.configuration.sections import QueueSettings
from webhook.api.snapshot.workload import ARRIVAL
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.api.view import View
from webhook.cluster.jobs.managed import IS_GROUP, OF_GROUP, JobKey, key_of_group, key_of_lost, key_of_owner
from webhook.cluster.pace import CHUNK
from webhook.jobs.elastic import annotation, is_elastic
from webhook.jobs.read_job import prebuilt_of
from webhook.kube.condition_types import FINISHED, QUOTA_RESERVED
from webhook.kube.conditions import holds
from webhook.store.objects import Object, key_of


class JobWorkloads:
    """Finds the Workloads of jobs; remembers by name the jobs that wait for a Workload to come."""

    def __init__(self, view: View, settings: QueueSettings) -> None:
        """Take what is in view. An annotation may name the Workload of a job, as a label does, unless a gate is off."""
        self._view = view
        self._annotated = settings.enabled("WorkloadIdentifierAnnotations", default=True)
        self._waiting: dict[tuple[str, str], dict[JobKey, None]] = {}
        self._most = CHUNK

    def job_of(self, workload: Object) -> JobKey | None:
        """Return the job that a Workload belongs to, or that waits for it; None where there is none and was none."""
        if annotation(workload, IS_GROUP) == "true":
            return key_of_group(*key_of(workload))
        return key_of_owner(workload) or next(iter(self._waiting_for(workload)), None) or key_of_lost(workload)

    def jobs_of(self, workload: Object) -> Iterator[JobKey]:
        """Return the job that a Workload belongs to, and all that wait for it."""
        if (owner := self.job_of(workload)) is not None:
            yield owner
        yield from self._waiting_for(workload)

    def _waiting_for(self, workload: Object) -> tuple[JobKey, ...]:
        """Return the jobs that name a Workload and do not have it: it was not there, or is another's as yet."""
        self._forget_gone(key_of(workload))
        return tuple(self._waiting.get(key_of(workload), ()))

    def _wait(self, key: JobKey, name: str) -> None:
        """Remember that a job waits; names whose jobs are gone are forgotten before they are half of all."""
        self._waiting.setdefault((key.namespace, name), {})[key] = None
        if len(self._waiting) > self._most:
            for waited in list(self._waiting):
                self._forget_gone(waited)
            self._most = 2 * len(self._waiting) + CHUNK

    def _forget_gone(self, name: tuple[str, str]) -> None:
        """Forget the jobs that are gone among those that wait for a Workload."""
        gone = [key for key in self._waiting.get(name, ()) if self._view.by_uid(key.uid, (key.gvk,)) is None]
        for key in gone:
            self._wait_no_more(key, name)

    def _wait_no_more(self, key: JobKey, name: tuple[str, str]) -> None:
        keys = self._waiting.get(name, {})
        keys.pop(key, None)
        if not keys:
            self._waiting.pop(name, None)

    def of(self, key: JobKey) -> list[Object]:
        """Return the Workloads that name the job as their controller, the oldest first."""
        found = self._view.informer(WORKLOAD).of(key.namespace, key.uid)
        return sorted((w for w in found if (owner := key_of_owner(w)) is not None and owner.uid == key.uid), key=_age)

    def hold_quota(self, key: JobKey) -> bool:
        """Return whether a Workload of the job has quota: the job waits to start, or others wait for its end."""
        informer = self._view.informer(WORKLOAD)
        group = informer.get(key.name, key.namespace) if key.uid == OF_GROUP else None
        found = informer.of(key.namespace, key.uid) if group is None else (group,)
        return any(holds(w, QUOTA_RESERVED) and not holds(w, FINISHED) for w in found)

    def choose(self, key: JobKey, job: Object) -> tuple[Object | None, tuple[Object, ...]]:
        """Return the Workload of a job, and those that it has besides and that have not ended.

        An elastic job has several, none of which is too many; `slices.py` tells which is which.
        It is the one that the job names, even if it had another before; else the one of our name; else the oldest,
        which an older Kueue has named.
        """
        name, mine = self.named(job), self.of(key)
        if name:
            other = () if is_elastic(job) else (w for w in mine if key_of(w)[1] != name and not holds(w, FINISHED))
            return self._prebuilt(key, name), tuple(other)
        if is_elastic(job):
            return None, ()
        own = next((w for w in mine if key_of(w)[1] == key.workload), mine[0] if mine else None)
        return own, tuple(w for w in mine if w is not own and not holds(w, FINISHED))

    def named(self, job: Object) -> str | None:
        """Return the name of the Workload that a job says it has."""
        return prebuilt_of(job, annotated=self._annotated)

    def _prebuilt(self, key: JobKey, name: str) -> Object | None:
        """Return the Workload that a job names, unless it is another's; one that is not there yet is waited for."""
        found = self._view.informer(WORKLOAD).get(name, key.namespace)
        owner = key_of_owner(found) if found is not None else None
        if found is None or (owner is not None and owner.uid != key.uid):
            self._wait(key, name)
            return None
        self._wait_no_more(key, (key.namespace, name))
        return found


def _age(workload: Object) -> tuple[str, int, str]:
    """Order by creation; within one second by the version that the job had then."""
    metadata = workload["metadata"]
    version = str((metadata.get("annotations") or {}).get(ARRIVAL) or "").rpartition(" ")[2]
    return str(metadata.get("creationTimestamp") or ""), int(version) if version.isdecimal() else 0, metadata["name"]

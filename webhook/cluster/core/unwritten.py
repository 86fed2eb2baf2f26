"""Decisions of the core that the objects may not say: their writes are in flight, have failed, or are not seen yet."""

from __future__ import annotations

from webhook.cluster.core.writes_in_flight import WritesInFlight
from webhook.queue.decisions import Decisions
from webhook.queue.events import Event, WorkloadChanged


class Unwritten:
    """What was decided and is not known to be written, by the keys of Workloads."""

    __slots__ = ("_admitted", "_decided", "in_flight")

    def __init__(self) -> None:
        self.in_flight = WritesInFlight()
        self._decided: set[str] = set()
        self._admitted: set[str] = set()

    def add(self, made: Decisions) -> set[str]:
        """Note decisions; return the keys of their Workloads."""
        decided = {each.workload for part in (made.admitted, made.preempted, made.evicted, made.ready) for each in part}
        self._decided |= decided
        self._admitted.update(each.workload for each in made.admitted)
        return decided

    def keeps_back(self, key: str) -> bool:
        """Return whether a change of a Workload must wait, as it is being written; it is looked at again after that."""
        if key not in self.in_flight.keys:
            return False
        self._decided.add(key)
        self.in_flight.outdated.add(key)
        return True

    def is_taken_back(self, key: str, event: Event) -> bool:
        """Return whether the first that is heard of a Workload since its admission says that this was not written."""
        if key not in self._admitted:
            return False
        self._admitted.remove(key)
        return not (isinstance(event, WorkloadChanged) and event.workload.admission is not None)

    def take(self) -> set[str]:
        """Return, and forget, the keys to set to what their objects say: not those that are still being written."""
        ended = self._decided.difference(self.in_flight.keys)
        self._decided -= ended
        return ended

    def forget_admissions(self) -> None:
        """Take no admission back from now on: other rules decide, and what the former ones charged stays charged."""
        self._admitted.clear()

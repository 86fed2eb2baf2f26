"""Decisions of the core that the objects may not say: their writes are in flight, have failed, or are not seen yet."""

from __future__ import annotations

from collections.abc import Sequence

from webhook.cluster.core.writes_in_flight import WritesInFlight
from webhook.queue.decisions import Decisions
from webhook.queue.events import Event, WorkloadChanged


class Unwritten:
    """What was decided and is not known to be written, by the keys of Workloads."""

    __slots__ = ("_admitted", "_decided", "_waiting_for", "in_flight")

    def __init__(self) -> None:
        self.in_flight = WritesInFlight()
        self._decided: set[str] = set()
        self._admitted: set[str] = set()
        self._waiting_for: dict[str, set[str]] = {}
        """The Workloads whose writes a change of another waits for: an elastic job's old one for the one in its place,
        whose admission counts the difference only as long as the old one is there."""

    def add(self, made: Decisions) -> set[str]:
        """Note decisions; return the keys of their Workloads."""
        decided = {each.workload for part in (made.admitted, made.preempted, made.evicted, made.ready) for each in part}
        self._decided |= decided
        self._admitted.update(each.workload for each in made.admitted)
        return decided

    def keeps_back(self, keys: Sequence[str]) -> bool:
        """Return whether one change of these Workloads must wait, as one of them is being written, or waits for that.

        They are looked at again after that.
        """
        written = {each for key in keys for each in self._written(key)}
        if not written:
            return False
        self._decided.update(keys)
        self.in_flight.outdated.update(written.intersection(keys))
        for key in keys:
            if key not in self.in_flight.keys:
                self._waiting_for[key] = written
        return True

    def _written(self, key: str) -> set[str]:
        """Return which Workloads are being written that a change of this one waits for."""
        return self.in_flight.keys.intersection((key, *self._waiting_for.get(key, ())))

    def is_taken_back(self, key: str, event: Event) -> bool:
        """Return whether the first that is heard of a Workload since its admission says that this was not written."""
        if key not in self._admitted:
            return False
        self._admitted.remove(key)
        return not (isinstance(event, WorkloadChanged) and event.workload.admission is not None)

    def take(self) -> Sequence[str]:
        """Return, and forget, the keys to set to what their objects say: not those that are still being written.

        What waited for another is before it: what it gives back is free before that one takes it.
        """
        ended = [key for key in self._decided if not self._written(key)]
        self._decided.difference_update(ended)
        ended.sort(key=lambda key: key not in self._waiting_for)
        for key in ended:
            self._waiting_for.pop(key, None)
        return ended

    def forget_admissions(self) -> None:
        """Take no admission back from now on: other rules decide, and what the former ones charged stays charged."""
        self._admitted.clear()

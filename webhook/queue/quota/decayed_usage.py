"""Decayed usage of LocalQueues and ClusterQueues, as in Kueue's admission fair sharing.

At each sampling point (a multiple of the rules' interval) current usage is averaged into the decayed usage; between
sampling points only admissions add to it. So a meter's value and time, by user, are all that a restart must keep.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from webhook.queue.model import History
from webhook.queue.rules import Rules

Part = tuple[str, str]
"""A user, "" where none is named, and a resource."""
NEGLIGIBLE = 1e-9


@dataclass(slots=True)
class Meter:
    """Decayed usage by user and resource at a sampling point, and what is held now.

    Without a queue of its name it has no decayed usage: there is no status to keep it in.
    """

    at: int = 0
    past: dict[Part, float] = field(default_factory=dict)
    held: dict[Part, int] = field(default_factory=dict)
    defined: bool = False
    _total: float | None = None

    def sample(self, now: int, rules: Rules) -> None:
        """Bring the decayed usage up to the last sampling point."""
        point = sampled_at(now, rules)
        if point <= self.at or not self.defined:
            return
        kept = faded(point - self.at, rules)
        new = 1.0 - kept
        mixed = {
            part: self.past.get(part, 0.0) * kept + self.held.get(part, 0) * new for part in {**self.past, **self.held}
        }
        self.past = {part: value for part, value in mixed.items() if value > NEGLIGIBLE}
        self.at, self._total = point, None

    def as_of(self, now: int, rules: Rules) -> Meter:
        """Return a copy brought up to a time, for readers."""
        copy = replace(self, past=dict(self.past))
        copy.sample(now, rules)
        return copy

    def charge(self, amounts: Mapping[Part, int], weight: float) -> None:
        """Count amounts at once, as if they had been held for a while; a negative weight takes that back.

        What has no queue any more would never fade.
        """
        if not self.defined:
            return
        for part, amount in amounts.items():
            value = self.past.get(part, 0.0) + weight * amount
            if value > NEGLIGIBLE:
                self.past[part] = value
            else:
                self.past.pop(part, None)
        self._total = None

    def hold(self, amounts: Mapping[Part, int], sign: int) -> None:
        """Count amounts as held from now on, or no longer with a `sign` of -1."""
        for part, amount in amounts.items():
            left = self.held.get(part, 0) + sign * amount
            if left:
                self.held[part] = left
            else:
                self.held.pop(part, None)

    def users(self) -> set[str]:
        """Return whose usage is counted, decayed or held."""
        return {user for user, _ in (*self.past, *self.held)}

    def total(self, weights: Mapping[str, float]) -> float:
        """Return the weighted decayed usage of all users; cpu counts in whole cores."""
        if self._total is None:
            past = sorted(self.past.items())
            self._total = sum(weights.get(r, 1.0) * v / (1000 if r == "cpu" else 1) for (_, r), v in past)
        return self._total

    def by_resource(self, user: str | None = None) -> dict[str, float]:
        """Sum the decayed usage of all users, or of one."""
        sums: dict[str, float] = {}
        for (who, resource), value in sorted(self.past.items()):
            if user is None or who == user:
                sums[resource] = sums.get(resource, 0.0) + value
        return sums

    def history(self) -> History:
        """Return the decayed usage in the form that a status keeps."""
        users: dict[str, dict[str, float]] = {}
        for (user, resource), value in sorted(self.past.items()):
            users.setdefault(user, {})[resource] = value
        return History(self.at, self.by_resource(), users)

    def take(self, kept: History) -> None:
        """Continue from the history in a status; usage without a user belongs to no user."""
        known = {(user, r): value for user, usage in kept.users.items() for r, value in usage.items()}
        sums: dict[str, float] = {}
        for (_, resource), value in sorted(known.items()):
            sums[resource] = sums.get(resource, 0.0) + value
        for resource, value in kept.usage.items():
            if (rest := value - sums.get(resource, 0.0)) > NEGLIGIBLE:
                known["", resource] = known.get(("", resource), 0.0) + rest
        self.at, self.past, self.defined, self._total = kept.at, known, True, None


def sampled_at(now: int, rules: Rules) -> int:
    """Return the last sampling point (milliseconds)."""
    every = max(1, rules.sampling)
    return now // every * every


def faded(lasted: int, rules: Rules) -> float:
    """Return the fraction of decayed usage that is left after a time (milliseconds), if nothing is held."""
    return 0.5 ** (lasted / rules.half_life) if rules.half_life else float(not lasted)


def admission_part(rules: Rules) -> float:
    """Return the fraction of an admission's usage that counts at once: that of one sampling interval."""
    return 1.0 - faded(rules.sampling, rules)


class Meters:
    """The meters of all LocalQueues (`namespace/name`), or of all ClusterQueues, by name."""

    __slots__ = ("by_name", "by_user")

    def __init__(self) -> None:
        self.by_name: dict[str, Meter] = {}
        self.by_user: dict[str, set[str]] = {}

    def define(self, name: str, kept: History, now: int, rules: Rules) -> None:
        """Add a queue with the history from its status."""
        meter = self.by_name.setdefault(name, Meter())
        before = meter.users()
        meter.take(kept if kept.at or kept.usage else History(sampled_at(now, rules)))
        for user, _ in meter.past:
            self.by_user.setdefault(user, set()).add(name)
        self._forget(name, before)

    def drop(self, name: str) -> None:
        """Remove a queue; what is held there stays counted."""
        if (meter := self.by_name.get(name)) is not None:
            before = meter.users()
            meter.past, meter.defined, meter._total = {}, False, None
            self._forget(name, before)

    def _forget(self, name: str, before: Iterable[str]) -> None:
        """Forget the users who were counted in a queue and are not now, and a queue that is gone once nobody is."""
        meter = self.by_name[name]
        left = meter.users()
        for user in set(before) - left:
            names = self.by_user.get(user, set())
            names.discard(name)
            if not names:
                self.by_user.pop(user, None)
        if not left and not meter.defined:
            del self.by_name[name]

    def sampled(self, name: str, now: int, rules: Rules) -> Meter | None:
        """Return the meter of a queue, brought up to the last sampling point; None if there is none."""
        meter = self.by_name.get(name)
        if meter is not None and meter.defined and meter.at < sampled_at(now, rules):
            before = meter.users()
            meter.sample(now, rules)
            self._forget(name, before)
        return meter

    def charge(self, name: str, amounts: Mapping[Part, int], weight: float, now: int, rules: Rules) -> None:
        """Count amounts in a queue at once (`Meter.charge`)."""
        if (meter := self.sampled(name, now, rules)) is not None:
            meter.charge(amounts, weight)
            self._forget_parts(name, meter, amounts)

    def hold(self, name: str, amounts: Mapping[Part, int], sign: int, now: int, rules: Rules) -> None:
        """Count what is held in a queue."""
        meter = self.sampled(name, now, rules) or self.by_name.setdefault(name, Meter(sampled_at(now, rules)))
        meter.hold(amounts, sign)
        for user, _ in amounts:
            self.by_user.setdefault(user, set()).add(name)
        self._forget_parts(name, meter, amounts)

    def _forget_parts(self, name: str, meter: Meter, amounts: Iterable[Part]) -> None:
        """Forget who was counted by these parts alone; others are not looked at, as a queue may have many users."""
        if not all(part in meter.held or part in meter.past for part in amounts) or not (meter.defined or meter.held):
            self._forget(name, [user for user, _ in amounts])

    def read(self, names: Iterable[str], user: str | None, now: int, rules: Rules) -> dict[str, float]:
        """Sum the decayed usage of some queues, of all users or of one."""
        sums: dict[str, float] = {}
        for name in sorted(names):
            if (meter := self.sampled(name, now, rules)) is None:
                continue
            for resource, value in meter.by_resource(user).items():
                sums[resource] = sums.get(resource, 0.0) + value
        return sums

    def begin(self, now: int, before: Rules | None) -> None:
        """Reset what is held, and keep decayed usage, brought up to date by the previous rules."""
        self.by_name = {name: meter for name, meter in self.by_name.items() if meter.defined}
        self.by_user = {}
        for name, meter in self.by_name.items():
            if before is not None:
                meter.sample(now, before)
            meter.held, meter._total = {}, None
            for user, _ in meter.past:
                self.by_user.setdefault(user, set()).add(name)

"""What became of each object that `sluice run` sent: when it was sent, when it started, when it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from webhook.cli.demo.api_server import CreateOutcome
from webhook.jobs.read_job import read_job
from webhook.store.objects import Object, uid_of


@dataclass(slots=True)
class Life:
    """When an object was sent, started and finished, in seconds of the run."""

    outcome: CreateOutcome
    sent: float
    started: float | None = None
    finished: float | None = None

    @property
    def queue(self) -> str:
        """The queue that holds the job; empty where none does."""
        job = read_job(self.outcome.obj) if self.outcome.stored else None
        return job.queue or "" if job is not None and job.suspended is not None else ""

    @property
    def runs(self) -> bool:
        """Whether it started and has not ended."""
        return self.started is not None and self.finished is None


@dataclass(slots=True)
class JobLives:
    """All objects sent, by their uid."""

    clock: Callable[[], float] = monotonic
    begun: float = field(default_factory=monotonic)
    by_uid: dict[str, Life] = field(default_factory=dict)

    def sent(self, outcome: CreateOutcome) -> None:
        """Note one create."""
        self.by_uid[uid_of(outcome.obj)] = Life(outcome, self.clock() - self.begun)

    def told(self, what: str, job: Object) -> None:
        """Note what the kubelet says: `started`, `stopped` (it waits again) or `finished`."""
        if (life := self.by_uid.get(uid_of(job))) is None:
            return
        if what == "finished":
            life.finished = self.clock() - self.begun
        else:
            life.started = self.clock() - self.begun if what == "started" else None

    def all(self) -> list[Life]:
        """Return the jobs in the order in which they were sent."""
        return list(self.by_uid.values())

    def running(self) -> bool:
        """Return whether a job runs."""
        return any(life.runs for life in self.by_uid.values())

    def marks(self) -> list[tuple[float | None, float | None]]:
        """Return the live line that is shown while jobs run."""
        return [(life.started, life.finished) for life in self.by_uid.values()]

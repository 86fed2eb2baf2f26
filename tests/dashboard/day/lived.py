"""Lives a day: a daemon over the store in memory, a clock that goes from event to event, jobs that run their time."""

import heapq
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any
from unittest import mock

import yaml

from tests.cluster.small_cluster import JOB
from tests.patience import until
from webhook.cli.demo import api_server
from webhook.cli.demo.api_server import Front, front
from webhook.cluster.api.kinds import WORKLOAD
from webhook.cluster.controller import Clocks
from webhook.config import Config, PageMode
from webhook.daemon import Daemon
from webhook.policy.loading.shipped import located
from webhook.store.memory import MemoryStore
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure

FOLDER = Path(__file__).parent
SHIPPED = ("gpu-defaults", "gpu-integer", "gpu-tolerations", "job-user", "queue-name", "suspend-jobs", "valid-jobs")
NOW = datetime.now(UTC).replace(hour=15, minute=30, second=0, microsecond=0)
"""The end of the day."""
GPU = "nvidia.com/gpu"
REVIEWS = 640
RELOADED = -190
"""The minute in which the policies change."""


@dataclass(frozen=True, order=True)
class Came:
    """A job that comes so many minutes before the end (negative), of pods with some GPUs each; it runs for `runs`.

    `told` says whether it says so itself.
    """

    minute: int
    namespace: str
    name: str
    gpus: str
    pods: int
    runs: int
    user: str
    told: bool = True

    def job(self) -> dict[str, Any]:
        """Its Job."""
        told = {"sluice.dev/run-time-seconds": str(60 * self.runs)} if self.told else {}
        container = {"name": "main", "image": "registry.example.com/train:1",
                     "resources": {"requests": {"cpu": "4"}, "limits": {GPU: self.gpus}}}  # fmt: skip
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        metadata = {"name": self.name, "namespace": self.namespace, "annotations": told,
                    "labels": {"kueue.x-k8s.io/queue-name": "main"}}  # fmt: skip
        spec = {"parallelism": self.pods, "completions": self.pods, "template": template}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


END = (
    Came(-75, "serving", "batch-scoring", "2", 3, 300, "mei"),
    Came(-70, "vision", "segment-7b", "8", 2, 165, "ada"),
    Came(-60, "speech", "asr-1", "4", 1, 90, "lin"),
    Came(-52, "vision", "augment", "4", 1, 120, "grace"),
    Came(-42, "speech", "asr-2", "4", 1, 150, "lin"),
    Came(-30, "vision", "depth", "8", 1, 60, "ada"),
    Came(-20, "vision", "tail", "1", 2, 90, "grace", told=False),
    Came(-12, "vision", "whole", "8", 2, 60, "ada"),
    Came(-5, "speech", "tts", "8", 1, 45, "lin"),
)
"""How the day ends: `asr-2` takes back what `augment` borrowed, `tail` borrows from serving, and three others wait."""


def day() -> Iterator[Came]:
    """Some seventy jobs of the day before, more of them in the afternoon; and a few that ask for half a GPU."""
    chance, teams = Random(3), (("vision", "segment", ("ada", "grace")), ("speech", "asr", ("lin", "tom")))
    for number in range(64):
        minute = -1440 + number * 20 + chance.randrange(18)
        if minute > -150:
            return
        namespace, stem, users = teams[chance.random() < 0.35]
        gpus, pods = chance.choice(((1, 1), (2, 1), (4, 1), (4, 2), (8, 1), (8, 1), (8, 2)))
        runs = min(chance.choice((20, 40, 60, 90, 140)), -80 - minute)
        yield Came(minute, namespace, f"{stem}-{number:02}", str(gpus), pods, runs, chance.choice(users))
        if number % 16 == 5:
            yield Came(minute + 1, namespace, f"half-{number}", "500m", 1, 10, users[0])


@dataclass
class Lived:
    """The daemon while the day goes by, and what runs: the end of each job by its namespace and name."""

    daemon: Daemon
    store: MemoryStore
    front: Front
    clock: list[datetime]
    policies: Path
    runs: dict[tuple[str, str], int] = field(default_factory=dict)
    ends: dict[tuple[str, str], int] = field(default_factory=dict)

    async def live(self, coming: list[Came]) -> None:
        """Let the jobs come and end, each in its minute, until the day is over."""
        heapq.heapify(coming)
        while coming or any(end <= 0 for end in self.ends.values()):
            ending = min(self.ends.values(), default=1)
            if coming and coming[0].minute <= ending:
                await self._at(coming[0].minute)
                await self._come(heapq.heappop(coming))
            else:
                await self._at(ending)
                for key in [key for key, end in self.ends.items() if end == ending]:
                    await self._end(key)
            await self._settle()
        await self._at(0)

    async def reviewed(self, times: int) -> None:
        """Let a job be reviewed so often without creating it, so that policies have times."""
        job = END[0].job()
        resources = job["spec"]["template"]["spec"]["containers"][0]["resources"]
        resources["requests"] |= resources["limits"]
        for _ in range(times):
            for path in ("mutate", "validate", "validate"):
                await self.front._review(path, self.front._received(job, "vision"))

    async def _at(self, minute: int) -> None:
        before, self.clock[0] = self.clock[0], NOW + timedelta(minutes=minute)
        if before < NOW + timedelta(minutes=RELOADED) <= self.clock[0]:
            await self._reload()

    async def _come(self, came: Came) -> None:
        self.runs[came.namespace, came.name] = came.runs
        user = {"username": f"{came.user}@example.com", "groups": ["system:authenticated"]}
        with mock.patch.object(api_server, "USER", user):
            await self.front.create(came.job())

    async def _end(self, key: tuple[str, str]) -> None:
        del self.ends[key]
        done = [{"type": "Complete", "status": "True", "message": "Job finished successfully"}]
        await self.store.patch(JOB, key[1], key[0], {"status": {"conditions": done}}, subresource="status")

    async def _settle(self) -> None:
        """Wait until the daemon has nothing to do; what it let go runs from now on."""
        seen: tuple[Any, ...] = ()

        async def quiet() -> bool:
            nonlocal seen
            before, seen = seen, (self.daemon.core.revision, (await self.store.list(JOB)).version)
            return before == seen and await self._decided()

        await until(quiet, "the daemon is at rest", 0.1)
        now = round((self.clock[0] - NOW).total_seconds() / 60)
        for job in (await self.store.list(JOB)).items:
            key = job["metadata"]["namespace"], job["metadata"]["name"]
            if job["spec"]["suspend"]:
                self.ends.pop(key, None)
            elif not (job.get("status") or {}).get("conditions"):
                self.ends.setdefault(key, now + self.runs[key])

    async def _decided(self) -> bool:
        """Say whether each Workload says what the core decided, and what its job did about it."""
        jobs = {(job["metadata"]["uid"]): job for job in (await self.store.list(JOB)).items}
        found = (await self.store.list(WORKLOAD)).items
        told = {w["metadata"]["ownerReferences"][0]["uid"]: _conditions(w) for w in found}
        return told.keys() == jobs.keys() and all(_agree(jobs[uid], rows) for uid, rows in told.items())

    async def _reload(self) -> None:
        before = self.daemon.policies.current.bundle.digest
        text = (FOLDER / "policies.yaml").read_text().replace("at most 8 GPUs;", "at most 8 GPUs, a whole machine;")
        (self.policies / "team-limits/policy.yaml").write_text(text + (FOLDER / "more.yaml").read_text())

        async def reloaded() -> bool:
            return self.daemon.policies.current.bundle.digest != before

        await until(reloaded, "the policies are in force")


def _conditions(workload: dict[str, Any]) -> dict[str, str]:
    return {row["type"]: row["status"] for row in (workload.get("status") or {}).get("conditions") or ()}


def _agree(job: dict[str, Any], rows: dict[str, str]) -> bool:
    """Say whether a Workload is at rest: it runs, it waits and says why, or it has finished with its job."""
    done = bool((job.get("status") or {}).get("conditions"))
    if done or rows.get("Finished") == "True":
        return done and rows.get("Finished") == "True"
    if rows.get("QuotaReserved") == "True":
        return rows.get("Evicted") != "True" and not job["spec"]["suspend"]
    return job["spec"]["suspend"] and "sluice.dev/Waiting" in rows


@asynccontextmanager
async def lived(folder: Path, *, whole: bool):
    """Give the address of the page behind a day, or behind its end alone. The clock stands still then."""
    clock = [NOW + timedelta(minutes=-1441 if whole else -80)]
    policies = folder / "policies"
    for name in ("team-limits", "exceptions"):
        (policies / name).mkdir(parents=True)
    (policies / "team-limits/policy.yaml").write_text((FOLDER / "policies.yaml").read_text())
    (policies / "exceptions/open-day.yaml").write_text((FOLDER / "exceptions.yaml").read_text())
    certificates = Folder(folder / "certs")
    ensure(certificates, ("localhost", "127.0.0.1"), datetime.now(UTC))
    shipped = tuple(located(f"sluice.dev/{name}") for name in SHIPPED)
    config = Config(
        policies=(*shipped, policies), listen="127.0.0.1:0", cert_dir=certificates.path, reload_seconds=0.05,
        leader_election=False, ui=PageMode.READ_ONLY, ui_listen="127.0.0.1:0", journal_folder=folder / "journal",
    )  # fmt: skip
    store = MemoryStore(now=lambda: clock[0])
    for obj in yaml.safe_load_all((FOLDER / "queues.yaml").read_text()):
        await store.create(obj)
    daemon = Daemon(config, store, Clocks(lambda: clock[0], monotonic))
    await daemon.start()
    try:
        async with front(store, f"https://127.0.0.1:{daemon.port}", certificates.bundle) as way:
            way._now = lambda: clock[0]
            made = Lived(daemon, store, way, clock, policies)
            await made.reviewed(REVIEWS if whole else 1)
            await made.live([*(day() if whole else ()), *END])
            yield f"http://127.0.0.1:{daemon.ui_port}/ui/"
    finally:
        await daemon.stop()

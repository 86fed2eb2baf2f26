"""What keeps the page of `sluice run` alive: the two jobs of article 003 arrive again and again, and run a while."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import cycle
from typing import Final

from webhook.api.snapshot.workload_times import RUN_TIME
from webhook.api.state_of_workload import PENDING, workload_state
from webhook.cli.demo.api_server import Front
from webhook.cli.demo.kubelet import RUN_SECONDS
from webhook.cluster.api.kinds import WORKLOAD
from webhook.store.objects import Object, ObjectStore, merge

ARTICLE: Final = "003-kueue-two-teams"
ARRIVAL_SECONDS: Final = 3.0
"""Seconds between two jobs."""
RUNS: Final = 20
"""Seconds that each runs, and says that it will: so there are estimates."""
MAX_PENDING: Final = 6
"""Jobs that wait at a time; more would wait for ever."""


def jobs_of(article: Iterable[Object]) -> list[Object]:
    """Return the article's jobs with their run time."""
    said = {"metadata": {"annotations": {RUN_SECONDS: str(RUNS), RUN_TIME: str(RUNS)}}}
    return [merge(obj, said) for obj in article if obj["kind"] == "Job"]


async def arrive(front: Front, store: ObjectStore, jobs: Iterable[Object]) -> None:
    """Send the jobs in turn, until cancelled."""
    for job in cycle(jobs):
        states = [workload_state(workload)[0] for workload in (await store.list(WORKLOAD)).items]
        if states.count(PENDING) < MAX_PENDING:
            await front.create(job)
        await asyncio.sleep(ARRIVAL_SECONDS)

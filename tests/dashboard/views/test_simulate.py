"""The jobs that ran, run again: when they came decides what rules that look at the clock say of them."""

from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO

from tests.queue.build import job, queue, snapshot
from webhook.dashboard.views.simulate import run
from webhook.dashboard.web.simulation_worker import SimulationTask, pieces
from webhook.dashboard.web.simulation_worker import read as read_task
from webhook.documents import read
from webhook.policy.queue_rules.configured import Configured
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.model import Requeueing
from webhook.simulate.generate import generate
from webhook.simulate.trace import Arrival

QUEUE = "cohorts: [{queues: [{quota: {nvidia.com/gpu: 99}, workloads: []}]}]"
HOUR = 3_600_000


def test_jobs_arrive_at_the_hour_at_which_they_came():
    """Two large jobs of a Monday, at noon and at nine in the evening, by the rules `time-window`."""
    noon = int(datetime(2026, 11, 23, 12, tzinfo=UTC).timestamp() * 1000)
    arrivals = [
        Arrival(noon + hours * HOUR, HOUR, "default", "cohort-0-queue-0", name, {"nvidia.com/gpu": 65})
        for name, hours in (("noon", 0), ("evening", 9))
    ]
    rules = rules_named(["kueue", "time-window"])
    series = run("today", generate(read(QUEUE)[0]).snapshot, rules, arrivals, "", lambda jobs: None)
    assert (series.wait_max, series.end) == (8 * HOUR, 10 * HOUR)
    assert [point.at for point in series.points] == [0, 8 * HOUR, 9 * HOUR, 10 * HOUR]


def test_a_process_of_its_own_gets_every_fact():
    """Lists go in pieces, and what evicted workloads are ordered by with them."""
    facts = replace(snapshot([queue("a", 1)], [job("w", "a")]), requeueing=Requeueing((), ("Fairness",)))
    task = SimulationTask(facts, (), (), (Configured(), Configured()), None, "", ("today", "other"))
    assert read_task(BytesIO(b"".join(pieces(task)))) == task

"""What the page shows of the past where a journal is written: points of a queue, a life, and the jobs to run again."""

import asyncio

from tests.cluster.small_cluster import job
from tests.daemon.serving import policies  # noqa: F401 - a fixture
from tests.dashboard.serving import reading
from webhook.dashboard.past.journal import read_past


def test_the_past_comes_from_the_journal(tmp_path, policies):  # noqa: F811
    """Both jobs ran one after the other: so says each life, so does the history, and a simulation runs them again."""
    folder = tmp_path / "journal"

    async def go():
        async with reading(tmp_path, policies, seconds=0.2, journal_folder=folder) as page:
            for name in ("one", "two"):
                await page.store.create(job(name, cpu="2"))
            paths = [f"/ui/api/workloads/team-a/{name}?kind=Job" for name in ("one", "two")]
            states = [await page.when(path, lambda w: w["workload"]["state"] == "Finished") for path in paths]
            await page.when("/ui/api/queues/cq", lambda q: q["running"]["total"] == 0)
            session = await page.answer("/ui/api/session")
            return states, session

    states, session = asyncio.run(go())
    assert session["history"] == "journal"
    assert {view["source"] for view in states} == {"journal"}
    past = read_past(folder, lambda: True)
    assert not past.partial
    assert sorted(past.queues) == ["cq"]
    held = [dict(point.reserved).get(("f", "cpu"), 0) for point in past.queues["cq"]]
    assert max(held) <= 2000
    assert held[-1] == 0
    assert past.queues["cq"][-1].pending == past.queues["cq"][-1].reserving == 0
    assert sum(point.started for point in past.queues["cq"]) == 2
    lives = {key.rpartition("/")[2]: [event.what for event in events] for key, events in past.lives.items()}
    assert len(lives) == 2
    for words in lives.values():
        assert words == ["queued", "admitted", "finished"]
    assert [arrival.requests for arrival in past.arrivals] == [{"cpu": 2000}] * 2
    came = sorted(view["workload"]["created"] for view in states)
    assert all(0 <= at - arrival.at < 60_000 for at, arrival in zip(came, past.arrivals, strict=True))
    assert read_past(folder, lambda: False).partial

"""Events: one for each thing that happens to an object, and a count where it happens again and again."""

import asyncio
from datetime import UTC, datetime, timedelta

from tests.patience import until
from webhook.cluster.api import event_recorder
from webhook.cluster.api.event_recorder import EVENT, NEW_SERIES_AFTER, EventRecorder
from webhook.store.memory import MemoryStore

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HIGH = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "high", "namespace": "team-a", "uid": "1"},
}


def written(notes, expected):
    """What is stored when `notes` have led to the `expected` counts.

    A note is what is told, how long after noon, and the version that the object has then, where that matters.
    """

    async def go():
        store, now = MemoryStore(), [NOON]
        recorder = EventRecorder(store, lambda: now[0])
        recorder.start()

        async def counts():
            return sorted(e["count"] for e in (await store.list(EVENT)).items)

        for number, (note, later, *version) in enumerate(notes):
            now[0] = NOON + later
            about = {**HIGH, "metadata": {**HIGH["metadata"], "resourceVersion": (*version, "7")[0]}}
            recorder.tell(about, "PreemptedWorkload", note)
            if number == 0:
                await until(lambda: _are(counts, [1]), "the first is written")

        await until(lambda: _are(counts, expected), f"the counts are {expected}")
        await recorder.stop()
        return (await store.list(EVENT)).items

    return asyncio.run(go())


async def _are(counts, expected):
    return await counts() == expected


SOON = timedelta(seconds=5)


def test_what_happens_again_within_a_minute_is_counted():
    """The note stays that of the first time, the time is that of the last."""
    (event,) = written([("took a", SOON), ("took b", SOON), ("took c", 2 * SOON)], [3])
    assert event["message"] == "took a"
    assert (event["firstTimestamp"], event["lastTimestamp"]) == ("2026-01-01T12:00:05Z", "2026-01-01T12:00:10Z")


def test_the_same_sentence_is_told_once():
    (event,) = written([("took a", SOON), ("took a", 2 * SOON), ("took b", 3 * SOON)], [2])
    assert event["lastTimestamp"] == "2026-01-01T12:00:15Z"


def test_after_a_minute_there_is_a_new_event():
    rows = written([("took a", SOON), ("took b", SOON + NEW_SERIES_AFTER)], [1, 1])
    assert {row["message"] for row in rows} == {"took a", "took b"}


def test_an_object_that_has_changed_has_a_new_event():
    """Two Workloads of a job are deleted, the job is edited between: who waits for the second Event finds it."""
    rows = written([("took a", SOON, "7"), ("took b", SOON, "8"), ("took b", SOON, "9")], [1, 1])
    assert {row["message"] for row in rows} == {"took a", "took b"}


def test_one_that_is_dropped_is_told_when_it_happens_again(monkeypatch):
    """It is not taken for one that was written."""
    monkeypatch.setattr(event_recorder, "MAX_WAITING_EVENTS", 3)

    async def go():
        store = MemoryStore()
        recorder = EventRecorder(store, lambda: NOON)
        for number in range(3):
            recorder.tell(HIGH, f"Reason{number}", "a")
        recorder.tell(HIGH, "OneTooMany", "a")
        recorder.start()

        async def reasons():
            return {event["reason"] for event in (await store.list(EVENT)).items}

        async def all_but_one():
            return len(await reasons()) == 3

        await until(all_but_one, "what fitted is written")
        dropped = "OneTooMany" not in await reasons()
        recorder.tell(HIGH, "OneTooMany", "a")

        async def told():
            return "OneTooMany" in await reasons()

        await until(told, "it is written")
        await recorder.stop()
        return dropped

    assert asyncio.run(go())

"""What the running process writes down of its reviews and decisions, and what becomes of it when it cannot."""

import asyncio

from tests.cluster.small_cluster import job, queues
from tests.daemon.serving import RULES, has_ended, queueing, running
from tests.journal.test_command import told
from tests.patience import until
from tests.server.serving import review
from webhook.cluster.api.kinds import WORKLOAD
from webhook.config import QueueMode
from webhook.journal.heading import UserNames
from webhook.journal.read import journal_files
from webhook.journal.replay import replay as replay_journal
from webhook.journal.users import KEY_FILE, read_key
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.offline.plan.rule_sets import rules_of
from webhook.policy.loading.load_bundle import load_bundle
from webhook.record.replay import read_recording, replay
from webhook.store.memory import MemoryStore


def test_a_recorded_review_replays(tmp_path, policies):
    """What was recorded while serving replays with the same verdicts, and shows what another policy would change."""
    folder = tmp_path / "recorded"
    text = RULES.replace("spec:\n  match", "spec:\n  failurePolicy: Ignore\n  match")
    (policies / "policy.yaml").write_text(text)

    async def go():
        store = MemoryStore()
        for obj in queues("2"):
            await store.create(obj)
        async with running(tmp_path, policies, store, record_folder=folder) as (_, talk):
            for path in ("/validate", "/validate/ignore", "/validate/fail", "/mutate"):
                await talk.judge("FORBIDDEN", path)
            stopped = job("a")
            stopped["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "nowhere"}
            warned = await talk.ask(review(object=stopped))

            async def written():
                return 'sluice_recorded_reviews_total{result="written"} 5.0' in (await talk.get("/metrics"))[1]

            await until(written, "it is written")
            return warned

    assert asyncio.run(go())["warnings"]
    lines = (folder / "reviews.jsonl").read_bytes().splitlines()
    assert [r.phase for r in read_recording(lines, "")] == [
        "validate",
        "validate/ignore",
        "validate/fail",
        "mutate",
        "validate",
    ]

    def again():
        bundle = load_bundle([policies])
        return replay(read_recording(lines, ""), bundle, FileFacts((), {}), lambda: 0.0, lambda: 0.0)

    assert again().changed == []
    (policies / "policy.yaml").write_text(text.replace("FORBIDDEN", "other"))
    assert [c.recorded.phase for c in again().changed] == ["validate", "validate/ignore"]


def test_a_full_disk_stops_recording_and_nothing_else(tmp_path, policies):
    """Where the folder cannot be made, reviews are answered as ever."""
    (tmp_path / "file").write_text("")

    async def go():
        async with running(tmp_path, policies, mode=QueueMode.NONE, record_folder=tmp_path / "file/in") as (_, talk):
            return [(await talk.judge(name))["allowed"] for name in ("FORBIDDEN", "other")]

    assert asyncio.run(go()) == [False, True]


def test_decisions_are_written_down_and_decided_again(tmp_path, policies):
    """With a folder for it the queues keep a journal: it has the job's admission, no user, and replays to the same."""

    async def go():
        settings = {"journal_folder": tmp_path / "journal", "journal_users": UserNames.HASH}
        async with queueing(tmp_path, policies, **settings) as (store, kubelet, talk):
            await store.create(job("a"))
            await until(has_ended(kubelet, "a"), "a has ended")
            return (await talk.get("/metrics"))[1]

    assert 'sluice_journal_records_total{result="dropped"} 0.0' in asyncio.run(go())
    (file,) = journal_files([tmp_path / "journal"], [])
    assert (file.begin.users, len(read_key(tmp_path / "journal" / KEY_FILE))) == ("hash", 64)
    calls = list(replay_journal(file.records(), rules_of(file.begin.rules)))
    assert [a.cluster_queue for call in calls for a in call.then.admitted] == ["cq"]
    assert all(call.same for call in calls)


def test_a_journal_that_cannot_be_written_stops_nothing(tmp_path, policies):
    """Where the folder cannot be made, jobs are admitted as ever."""
    (tmp_path / "file").write_text("")

    async def go():
        async with queueing(tmp_path, policies, journal_folder=tmp_path / "file/in") as (store, kubelet, _):
            await store.create(job("a"))
            await until(has_ended(kubelet, "a"), "a has ended")
            return list(kubelet.starts)

    assert asyncio.run(go()) == ["a"]


def test_beside_a_kueue_decisions_are_compared(tmp_path, policies):
    """Mode external with a journal: Kueue starts what the core would have started, and nothing else is written."""
    reserved = told("first", "2", ("QuotaReserved", 0), ("Admitted", 0), admission=True)
    equal = 'sluice_compared_decisions_total{outcome="equal",what="start"} 1.0'

    async def go():
        settings = {"mode": QueueMode.EXTERNAL, "journal_folder": tmp_path / "journal"}
        async with queueing(tmp_path, policies, **settings) as (store, _, talk):

            async def shown(line):
                return line in (await talk.get("/metrics"))[1]

            async def begun():
                return not await shown('sluice_journal_records_total{result="written"} 0.0')

            await until(begun, "the journal has begun")
            created = await store.create(told("first", "2"))
            await store.patch(WORKLOAD, "first", "team-a", {"status": reserved["status"]}, subresource="status")
            await until(lambda: shown(equal), "the start is compared")
            return created, await store.get(WORKLOAD, "first", "team-a")

    created, after = asyncio.run(go())
    assert int(after["metadata"]["resourceVersion"]) == int(created["metadata"]["resourceVersion"]) + 1

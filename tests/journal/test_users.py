"""User names in a journal: hashed with a key, the same everywhere, and nothing else of it changes."""

import os
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.journal.test_journal import BUDGET, MONDAY, MOVES, Queues, everything
from tests.queue.living import USERS, clusters, rule_names
from webhook.journal.read import journal_files
from webhook.journal.records import Begin, Decided
from webhook.journal.replay import replay
from webhook.journal.users import KEY_FILE, UserHashes, key_in, read_key
from webhook.journal.writer import JournalWriter
from webhook.queue.decisions import Evicted, Reason
from webhook.queue.events import DefinitionChanged, WorkloadChanged, WorkloadGone
from webhook.queue.memory import Attempt, Memory
from webhook.queue.model import History, LocalQueue, Snapshot, Workload
from webhook.queue.pending.queue import HeadVerdict
from webhook.queue.rules import HeadOutcome

ALICE = "alice@example.com"
KEY = b"0123456789abcdef"
HASHED = UserHashes(Path(), KEY).hashed(ALICE)
OF_ALICE = Workload(
    "team-a", "train", user=ALICE, labels={"owner": ALICE}, annotations={"sluice.dev/user": ALICE, "a": "b"}
)
EXAMPLES = int(os.environ.get("SLUICE_EXAMPLES", "40"))


class HashedQueues(Queues):
    """A living state whose journal hashes user names."""

    def writer_of(self, folder: Path) -> JournalWriter:
        return JournalWriter(folder, users=UserHashes(folder))


@settings(max_examples=EXAMPLES)
@given(data=st.data(), world=clusters(), names=rule_names())
def test_a_journal_of_hashes_replays_to_the_same_decisions(data, world, names):
    """Rules that count by user, or compare users, decide what they did; no name is on the disk."""
    with tempfile.TemporaryDirectory() as folder:
        queues = HashedQueues(Path(folder), world, names)
        with closing(queues.writer):
            queues.decide()
            for what in data.draw(st.lists(st.sampled_from(MOVES), min_size=10, max_size=40)):
                queues.move(what, data)
            queues.decide()
        files = journal_files([Path(folder)], [])
        again = [call for file in files for call in replay(file.records(), queues.rules)]
        users = {r.workload.user for file in files for r in file.records() if isinstance(r, WorkloadChanged)}
    assert [call.then for call in again if not call.same] == []
    assert sum(call.then.count for call in again) == queues.decisions
    assert users.isdisjoint(set(USERS) - {""})


def begin(**fields) -> Begin:
    values = {"snapshot": Snapshot(), "memory": Memory(), **fields}
    return Begin(MONDAY, "me", 1, ("kueue",), {}, {}, "sha256:0", BUDGET, **values)


def test_a_user_is_hashed_wherever_the_journal_has_it():
    """The workload's field, labels and annotations of that name, histories, and what rules said of the workload."""
    queue = LocalQueue("team-a", "main", "cq", history=History(1, {"cpu": 2.0}, {ALICE: {"cpu": 2.0}}))
    verdict = HeadVerdict(Reason.DENIED_BY_RULE, HeadOutcome.DENIED, f"{ALICE} has 3 jobs")
    memory = Memory(attempts={OF_ALICE.key: Attempt(verdict, None)}, denied={OF_ALICE.key: verdict, "x/y": verdict})
    made = UserHashes(Path(), KEY).record(
        begin(snapshot=Snapshot(workloads=(OF_ALICE,), local_queues=(queue,)), memory=memory)
    )
    (workload,) = made.snapshot.workloads
    assert (workload.user, dict(workload.labels)) == (HASHED, {"owner": HASHED})
    assert dict(workload.annotations) == {"sluice.dev/user": HASHED, "a": "b"}
    assert dict(made.snapshot.local_queues[0].history.users) == {HASHED: {"cpu": 2.0}}
    assert made.memory.attempts[OF_ALICE.key].verdict.message == f"{HASHED} has 3 jobs"
    assert made.memory.denied[OF_ALICE.key].message == f"{HASHED} has 3 jobs"
    assert made.users == "hash"


def test_later_records_are_hashed_too():
    """A workload that comes, its eviction with a message of a rule, and a history that is told again."""
    hashes = UserHashes(Path(), KEY)
    hashes.record(begin())
    changed = hashes.record(WorkloadChanged(OF_ALICE))
    assert changed.workload.user == HASHED
    evicted = Evicted(OF_ALICE.key, "cq", "TooLong", f"the hour of {ALICE} is over, not of {ALICE}.org")
    (made,) = hashes.record(Decided(MONDAY, evicted=(evicted,))).evicted
    assert made.message == f"the hour of {HASHED} is over, not of {HASHED}.org"
    hashes.record(WorkloadGone(OF_ALICE.key))
    (made,) = hashes.record(Decided(MONDAY, evicted=(evicted,))).evicted
    assert made.message == evicted.message
    queue = LocalQueue("team-a", "main", "cq", history=History(users={ALICE: {}}))
    assert dict(hashes.record(DefinitionChanged(queue)).definition.history.users) == {HASHED: {}}


def written(folder: Path, key: bytes = b"") -> str:
    """The user of a workload in the journal of a folder."""
    writer = JournalWriter(folder, users=UserHashes(folder, key))
    writer.begin(begin())
    writer.add(WorkloadChanged(OF_ALICE))
    writer.close()
    (user,) = {record.workload.user for record in everything(folder) if isinstance(record, WorkloadChanged)}
    return user


def test_a_folder_has_a_key_of_its_own(tmp_path):
    """The key is made for its owner alone, and used again; another folder has another one."""
    first = written(tmp_path / "a")
    assert (tmp_path / "a" / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert written(tmp_path / "a") == first
    assert written(tmp_path / "b") != first


def test_replicas_with_one_key_have_the_same_hashes(tmp_path):
    """The key of a file is used, and none is made."""
    (tmp_path / "key").write_bytes(KEY + b"\n")
    key = read_key(tmp_path / "key")
    assert written(tmp_path / "a", key) == written(tmp_path / "b", key) == HASHED
    assert not (tmp_path / "a" / KEY_FILE).exists()


def test_a_key_that_can_be_guessed_is_refused(tmp_path):
    """Under 16 bytes; a journal whose own key is that has a gap, and says why."""
    (tmp_path / KEY_FILE).write_text("short")
    with pytest.raises(ValueError, match="has 5 bytes; a key has at least 16"):
        read_key(tmp_path / KEY_FILE)
    writer = JournalWriter(tmp_path, users=UserHashes(tmp_path))
    writer.begin(begin())
    writer.close()
    assert "a key has at least 16" in writer.failure
    assert writer.counts()["written"] == 0


def test_a_key_that_a_full_disk_did_not_take_is_made_again(tmp_path, monkeypatch):
    """An empty file of a key would end the journal for ever, whatever room there is later."""

    def full_disk(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("secrets.token_hex", full_disk)
        with pytest.raises(OSError, match="No space"):
            key_in(tmp_path)
    assert len(key_in(tmp_path)) == 64

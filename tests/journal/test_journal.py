"""What was written down is decided again, whatever happened: by the shipped rules, from files begun midway."""

import gzip
import os
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.queue.build import NS, job, queue, snapshot
from tests.queue.living import HOUR, MINUTE, SECOND, arrivals, clusters, edited_queue, rule_names, rules_of
from tests.queue.python_rules import KueueRules
from webhook.diagnostics import SourceError
from webhook.journal import writer as writer_module
from webhook.journal.heading import Decider
from webhook.journal.journal import Journal
from webhook.journal.read import journal_files, readable
from webhook.journal.records import Begin, Decided, line_of, record_of
from webhook.journal.replay import replay
from webhook.journal.writer import SUFFIX, JournalLimits, JournalWriter
from webhook.policy.queue_rules.configured import Configured
from webhook.queue.cycle.decide import decide
from webhook.queue.events import DefinitionChanged, Event, WorkloadChanged, WorkloadEvicted, WorkloadGone
from webhook.queue.memory import Attempt, Memory, ParkedClass
from webhook.queue.model import Snapshot
from webhook.queue.state import State

MONDAY = 1_700_000_000_000
BUDGET = 7
"""Small, so that cycles end in the middle."""
EXAMPLES = int(os.environ.get("SLUICE_EXAMPLES", "40"))
MOVES = ("arrive", "arrive", "arrive", "gone", "edit", "decide", "decide", "decide", "evict", "end", "wait")


class Queues:
    """A living state with its journal."""

    def __init__(self, folder: Path, world: Snapshot, names: tuple[str, tuple[str, ...]]) -> None:
        self.rules, self.state, self.now, self.decisions = rules_of(*names), State.from_snapshot(world), MONDAY, 0
        self.writer = self.writer_of(folder)
        self.journal = Journal(self.writer, lambda: Decider("me", 1, Configured(), "sha256:0"), BUDGET)

    def writer_of(self, folder: Path) -> JournalWriter:
        return JournalWriter(folder)

    def tell(self, event: Event) -> None:
        self.state.apply(event)
        self.journal.event(event)

    def decide(self) -> None:
        self.journal.round(self.state, self.rules, self.now)
        made = decide(self.state, self.rules, self.now, budget=BUDGET)
        self.journal.decided(self.now, made)
        self.decisions += len(made.admitted) + len(made.preempted) + len(made.evicted) + len(made.ready)

    def move(self, what: str, data: st.DataObject) -> None:
        self.now += SECOND
        known = sorted(self.state.entries)
        if what == "arrive":
            self.tell(WorkloadChanged(data.draw(arrivals(self.now))))
        elif what == "edit":
            queue = data.draw(st.sampled_from(sorted(self.state.cluster_queues)))
            self.tell(DefinitionChanged(data.draw(edited_queue(self.state.cluster_queues[queue]))))
        elif what == "gone" and known:
            self.tell(WorkloadGone(data.draw(st.sampled_from(known))))
        elif what == "evict":
            for key, entry in sorted(self.state.entries.items()):
                if entry.victim is not None and entry.victim.evicted:
                    self.tell(WorkloadEvicted(key, self.now, self.now + MINUTE))
        elif what == "end":
            self.journal.end()
        elif what == "wait":
            self.now += HOUR
        else:
            self.decide()


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=EXAMPLES)
@given(data=st.data(), world=clusters(), names=rule_names())
def test_a_journal_replays_to_the_same_decisions(data, world, names):
    """Every call decides what it did, from whichever file one begins."""
    with tempfile.TemporaryDirectory() as folder:
        queues = Queues(Path(folder), world, names)
        with closing(queues.writer):
            queues.decide()
            for what in data.draw(st.lists(st.sampled_from(MOVES), min_size=10, max_size=60)):
                queues.move(what, data)
            queues.decide()
        again = [call for file in journal_files([Path(folder)], []) for call in replay(file.records(), queues.rules)]
    assert [call.then for call in again if not call.same] == []
    assert sum(call.then.count for call in again) == queues.decisions
    assert queues.writer.counts()["dropped"] == 0


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=30)
@given(data=st.data())
def test_a_record_is_read_as_it_was_written(data):
    """Workloads with all their fields."""
    record = WorkloadChanged(data.draw(arrivals(MONDAY)))
    assert record_of(line_of(record)) == record


PARKED = ParkedClass(None, ((0, 1),), False, False, False, False)
CONTRADICTIONS = {
    "ClusterQueue q": Memory(generations={"q": 1}),
    "ClusterQueue r": Memory(unsettled=frozenset({"r"})),
    "the pending workload team/a": Memory(attempts={"team/a": Attempt(None, None)}),
    "the pending workload team/b": Memory(parked={"team/b": PARKED}),
    "the pending workload team/c": Memory(woken={"team/c": PARKED}),
    "the pending workload team/d": Memory(denied={"team/d": None}),
}


@pytest.mark.parametrize("about", CONTRADICTIONS)
def test_a_memory_of_what_is_not_there_is_told(about):
    """Somebody has edited the file: a replay would end in the middle."""
    line = line_of(replace(begin(), memory=CONTRADICTIONS[about]))
    with pytest.raises(ValueError, match=f"^the memory is about {about}, which the snapshot does not contain$"):
        record_of(line)


@pytest.mark.parametrize(
    "record",
    [{"gone": "ClusterQueue", "key": ["q"]}, {"gone": "Workload", "key": None}],
)
def test_a_name_that_is_no_text_is_told(record):
    with pytest.raises(ValueError, match="Expected `str`"):
        record_of(msgspec.json.encode(record))


def begin(at: int = MONDAY, epoch: int = 1, lease: str = "") -> Begin:
    return Begin(at, "me", epoch, ("kueue",), {}, {}, "sha256:0", BUDGET, Snapshot(), Memory(), lease=lease)


def test_files_go_by_the_leaders_epoch(tmp_path):
    """Two replicas write folders of their own; the reader puts them in the order in which they led.

    An uninstall deletes the lease, not the journal: with the next one, epochs begin anew.
    """
    january, june = "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z"
    led = (
        ("a", MONDAY, 1, january),
        ("b", MONDAY - HOUR, 2, january),
        ("a", MONDAY + HOUR, 3, january),
        ("b", MONDAY + 200 * 24 * HOUR, 1, june),
    )
    for name, at, epoch, lease in led:
        writer = JournalWriter(tmp_path / name)
        writer.begin(begin(at, epoch, lease))
        writer.close()
    found = journal_files([tmp_path / "a", tmp_path / "b"], [])
    assert [(file.begin.epoch, file.path.parent.name) for file in found] == [(1, "a"), (2, "b"), (3, "a"), (1, "b")]


def test_a_new_day_and_other_rules_begin_a_file(tmp_path):
    """A file is due at first, after midnight, and when it was ended."""
    writer = JournalWriter(tmp_path)
    assert writer.due(MONDAY)
    writer.begin(begin())
    assert not writer.due(MONDAY + SECOND)
    assert writer.due(MONDAY + 24 * HOUR)
    writer.end()
    assert writer.due(MONDAY + SECOND)
    writer.close()


@pytest.mark.parametrize(
    "events",
    [
        [DefinitionChanged(queue("a", 1, "all"))],
        [WorkloadGone(f"{NS}/{name}") for name in "abc"],
    ],
    ids=["its queues are edited", "its heads are gone"],
)
def test_a_cycle_that_nobody_ends_does_not_stop_the_journal(tmp_path, events):
    """The budget ran out in the middle of a cycle, and what it was about is not there any more: a new day begins."""
    world = snapshot([queue(name, 0, "all") for name in "abc"], [job(name, name) for name in "abc"])
    state, rules, writer = State.from_snapshot(world), KueueRules(), JournalWriter(tmp_path)
    journal = Journal(writer, lambda: Decider("me", 1, Configured(), "sha256:0"), 1)
    journal.round(state, rules, MONDAY)
    decide(state, rules, MONDAY, budget=1)
    assert state.suspended
    for event in events:
        state.apply(event)
    while not decide(state, rules, MONDAY, budget=9).complete:
        pass
    journal.round(state, rules, MONDAY + 24 * HOUR)
    writer.close()
    assert len(journal_files([tmp_path], [])) == 2


def test_a_file_is_full_while_records_keep_coming(tmp_path, monkeypatch):
    """A record every millisecond leaves no second of rest, and the file's bound holds all the same."""
    monkeypatch.setattr(writer_module, "FLUSH_SECONDS", 0.05)
    writer = JournalWriter(tmp_path, JournalLimits(total_bytes=8))
    writer.begin(begin())
    for number in range(2000):
        writer.add(WorkloadGone(str(number)))
        if writer.due(MONDAY):
            break
        time.sleep(0.001)
    full = writer.due(MONDAY)
    writer.close()
    assert full


def test_a_file_of_many_workloads_is_not_full_at_its_first_record(tmp_path, monkeypatch, caplog):
    """The facts alone are more than an eighth of the limit: each round would begin a file, and write them again."""
    monkeypatch.setattr(writer_module, "FLUSH_SECONDS", 0.01)
    world = snapshot([queue("a", 1)], [job(f"job-{number}", "a") for number in range(1000)])
    with closing(JournalWriter(tmp_path, JournalLimits(total_bytes=8000))) as writer:
        writer.begin(replace(begin(), snapshot=world))
        for number in range(20):
            writer.add(WorkloadGone(str(number)))
            time.sleep(0.02)
            assert not writer.due(MONDAY)
        for number in range(20_000):
            writer.add(WorkloadGone(f"{number * 7919 % 20_011}"))
        for _ in range(500):
            if writer.due(MONDAY):
                break
            time.sleep(0.02)
        assert writer.due(MONDAY)
    assert "MiB: set journalMegabytes to 1 or more" in caplog.text


def test_the_oldest_files_go_first(tmp_path):
    """Of files that are too large together, or too old, the newest stay."""
    for name in ("2026-01-01", "2026-01-02", "2026-01-03"):
        (tmp_path / f"{name}{SUFFIX}").write_bytes(b"x" * 400)
    writer = JournalWriter(tmp_path, JournalLimits(total_bytes=1000))
    writer.begin(begin())
    writer.close()
    assert [path.name[:10] for path in sorted(tmp_path.iterdir())] == ["2023-11-14", "2026-01-02", "2026-01-03"]


def test_a_disk_that_fails_ends_the_file_and_is_tried_again(tmp_path, monkeypatch):
    """What comes meanwhile is counted as lost; a minute later another file begins, and it can be replayed."""
    clock = [MONDAY / 1000]
    writer = JournalWriter(tmp_path, clock=lambda: clock[0])
    monkeypatch.setattr(writer, "_open", full_disk)
    writer.begin(begin())
    writer.add(Decided(MONDAY))
    while not writer.failure:
        pass
    assert not writer.due(MONDAY)
    while writer.counts()["dropped"] < 2:
        pass
    writer.add(WorkloadGone("a"), Decided(MONDAY + 1))
    assert writer.counts()["dropped"] == 4
    assert writer.due(MONDAY - HOUR), "the clock was put back"
    monkeypatch.undo()
    assert writer.due(MONDAY + MINUTE)
    writer.begin(begin(MONDAY + MINUTE))
    writer.add(Decided(MONDAY + MINUTE))
    writer.close()
    (file,) = journal_files([tmp_path], [])
    assert [type(record) for record in file.records()] == [Begin, Decided]
    assert writer.counts()["written"] == 2
    assert writer.counts()["dropped"] >= 1


def test_what_comes_between_two_files_is_not_lost(tmp_path):
    """No disk failed: this replica does not lead, or its rules change, and the next file begins with all facts."""
    writer = JournalWriter(tmp_path)
    writer.begin(begin())
    writer.end()
    writer.add(Decided(MONDAY))
    writer.close()
    assert writer.counts() == {"written": 1, "dropped": 0}


def full_disk(record):
    raise OSError(28, "No space left on device")


class Unwritten(gzip.GzipFile):
    """A file of which nothing reaches the disk."""

    def flush(self, *_):
        full_disk(None)


class Interrupted(JournalWriter):
    """The event loop adds a record whenever its thread has noted a part of an error."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name in ("_began", "_gap") and threading.current_thread().name == "journal":
            self.add(Decided(MONDAY))


def test_what_is_added_while_an_error_is_noted_is_counted(tmp_path, monkeypatch):
    """Records come from the event loop while the thread finds that the disk is full."""
    monkeypatch.setattr(Interrupted, "_open", lambda _, record: full_disk(record))
    writer = Interrupted(tmp_path)
    writer.begin(begin())
    while writer._began is not None:
        pass
    writer.close()
    assert writer.counts() == {"written": 0, "dropped": 3}


def test_a_full_disk_leaves_no_empty_files(tmp_path, monkeypatch):
    """Another file is begun each minute: in a week there would be ten thousand."""
    monkeypatch.setattr(writer_module, "FLUSH_SECONDS", 0.01)
    monkeypatch.setattr(writer_module.gzip, "GzipFile", Unwritten)
    writer = JournalWriter(tmp_path)
    writer.begin(begin())
    while not writer.failure:
        pass
    writer.close()
    assert list(tmp_path.iterdir()) == []
    assert writer.counts() == {"written": 0, "dropped": 1}


def test_what_a_killed_writer_left_can_be_read(tmp_path):
    """The compressed stream has no end: all that reached the disk is there."""
    path = tmp_path / f"killed{SUFFIX}"
    stream = gzip.GzipFile(path, "wb")
    stream.write(line_of(begin()) + line_of(Decided(MONDAY)) + line_of(Decided(MONDAY + 1))[:-5])
    stream.flush()
    (file,) = journal_files([path], [])
    assert [type(record) for record in file.records()] == [Begin, Decided]
    stream.close()


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (b"not a record\n", ":1: error[JRN001]: JSON is malformed"),
        (line_of(Decided(MONDAY)), ":1: error[JRN001]: a journal must start with a begin record"),
        (b'{"begin": 9}\n', "format 9 of the journal is unknown; this Sluice reads format 2"),
        (line_of(begin()) + b'{"gone": "Pod", "key": "a"}\n', ":2: error[JRN001]: the field 'Pod' is missing"),
        (line_of(begin()) + b'{"decided": "soon"}\n', ":2: error[JRN001]: Expected `int`, got `str`"),
    ],
)
def test_a_wrong_line_is_told_at_its_place(tmp_path, lines, told):
    """File and line, never a traceback."""
    path = tmp_path / f"wrong{SUFFIX}"
    path.write_bytes(gzip.compress(lines))
    with pytest.raises(SourceError) as caught:
        everything(path)
    assert told in str(caught.value)


def everything(path):
    """All records of a file."""
    wrong = []
    records = list(readable(journal_files([path], wrong), wrong))
    if wrong:
        raise SourceError(wrong)
    return records


def test_what_a_full_disk_took_is_counted(tmp_path, monkeypatch):
    """Records are compressed first and reach the disk a second later: where that fails they are lost, and told so."""
    monkeypatch.setattr(gzip.GzipFile, "flush", full_disk)
    writer = JournalWriter(tmp_path)
    writer.begin(begin())
    writer.add(Decided(MONDAY))
    while not writer.failure:
        pass
    writer.close()
    assert writer.counts() == {"written": 0, "dropped": 2}


@pytest.mark.parametrize("then", ["another file", "the end"])
def test_what_does_not_reach_the_disk_when_a_file_is_closed_is_counted(tmp_path, monkeypatch, caplog, then):
    """The disk is full within the second before the next flush; the file that begins then is not touched by it."""
    fails, flush = [], gzip.GzipFile.flush
    monkeypatch.setattr(writer_module, "FLUSH_SECONDS", 1000.0)
    monkeypatch.setattr(gzip.GzipFile, "flush", lambda *args: full_disk(fails.pop()) if fails else flush(*args))
    with closing(JournalWriter(tmp_path)) as writer:
        writer.begin(begin())
        writer.add(*[Decided(MONDAY + number) for number in range(50)])
        while writer.counts()["written"] < 51:
            pass
        fails.append("once")
        if then == "another file":
            writer.begin(begin(MONDAY + MINUTE))
            writer.add(Decided(MONDAY + MINUTE))
    assert writer.counts() == {"written": 3 if then == "another file" else 1, "dropped": 50}
    assert caplog.text.count("the journal has a gap: No space left on device") == 1


def test_what_was_to_reach_the_disk_with_a_record_that_failed_is_counted(tmp_path, monkeypatch):
    """The records before it were in the same buffer."""
    monkeypatch.setattr(writer_module, "FLUSH_SECONDS", 1000.0)
    with closing(JournalWriter(tmp_path)) as writer:
        writer.begin(begin())
        writer.add(*[Decided(MONDAY + number) for number in range(50)])
        while writer.counts()["written"] < 51:
            pass
        monkeypatch.setattr(gzip.GzipFile, "write", lambda _, line: full_disk(line))
        writer.add(Decided(MONDAY + MINUTE))
    assert writer.counts() == {"written": 1, "dropped": 51}

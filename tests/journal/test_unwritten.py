"""An admission that could not be written is in the journal, and a replay charges as little as the leader did."""

from contextlib import closing

from tests.journal.test_journal import Queues
from tests.queue.build import NS, job, queue, snapshot
from webhook.journal.read import journal_files
from webhook.journal.records import line_of, record_of
from webhook.journal.replay import replay
from webhook.queue.events import AdmissionUnwritten


def test_the_record_is_read_as_it_was_written():
    record = AdmissionUnwritten("team/a")
    assert record_of(line_of(record)) == record


def test_a_replay_charges_it_as_little(tmp_path):
    """A file that begins after the decision knows what to take back too."""
    world = snapshot([queue("a", 4)], [job("j", "a", 1)])
    queues = Queues(tmp_path, world, ("kueue", ("gpu-budget",)))
    with closing(queues.writer):
        queues.decide()
        queues.journal.end()
        queues.decide()
        queues.tell(AdmissionUnwritten(f"{NS}/j"))
        queues.decide()
    files = list(journal_files([tmp_path], []))
    assert len(files) == 2
    for file in files:
        *_, last = replay(file.records(), queues.rules)
    assert last.same
    assert [each.workload for each in last.then.admitted] == [f"{NS}/j"]
    assert last.state.snapshot() == queues.state.snapshot()

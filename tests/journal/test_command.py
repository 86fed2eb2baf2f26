"""`sluice journal`: a Monday of two jobs on two CPUs, written by the queue core itself, then asked."""

import gzip
import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cluster.core.test_revision import workload
from tests.cluster.small_cluster import queues
from webhook.cli.group import cli
from webhook.cluster.core.queue_core import HEADS_PER_CALL, QueueCore
from webhook.journal.heading import Decider
from webhook.journal.journal import Journal
from webhook.journal.users import UserHashes
from webhook.journal.writer import JournalWriter
from webhook.offline.plan.rule_sets import rules_of
from webhook.policy.queue_rules.configured import Configured

MONDAY = int(datetime(2026, 1, 5, 12, tzinfo=UTC).timestamp() * 1000)
MINUTE = 60_000
JOBS = (("job", "3a90e"), ("pytorchjob", "77777"))


def stamp(minutes):
    return datetime.fromtimestamp(MONDAY / 1000 + minutes * 60, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def told(name, cpu, *conditions, admission=None):
    """A Workload with conditions that became true so many minutes after noon."""
    made = workload(name, cpu)
    made["metadata"]["creationTimestamp"] = stamp(0)
    rows = [
        {"type": type_, "status": "True", "reason": type_, "message": "", "lastTransitionTime": stamp(at)}
        for type_, at in conditions
    ]
    assigned = {"name": "main", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": cpu}}
    held = {"admission": {"clusterQueue": "cq", "podSetAssignments": [assigned]}} if admission else {}
    return {**made, "status": {"conditions": rows, **held}}


@pytest.fixture
def journal(tmp_path):
    """The first job runs from noon to ten past, the second waits for it."""
    writer = JournalWriter(tmp_path / "journal")
    decider = Decider("replica-1", 1, Configured(), "sha256:0")
    core = QueueCore(rules_of(["kueue"]), journal=Journal(writer, lambda: decider, HEADS_PER_CALL))
    for obj in queues("2"):
        core.heard(None, obj)
    core.decide(MONDAY)
    core.heard(None, told("first", "2"))
    core.decide(MONDAY + 1_000)
    core.heard(None, told("first", "2", ("QuotaReserved", 0), ("Admitted", 0), admission=True))
    core.heard(None, told("second", "1"))
    core.decide(MONDAY + MINUTE)
    core.heard(None, told("first", "2", ("QuotaReserved", 0), ("Admitted", 0), ("Finished", 10)))
    core.decide(MONDAY + 10 * MINUTE)
    writer.close()
    return str(tmp_path / "journal")


def sluice(*arguments):
    return CliRunner().invoke(cli, ["journal", *arguments])


def test_show_tells_what_happened_in_order(journal):
    """Arrivals with what they ask, decisions with what they got, ends."""
    done = sluice("show", journal)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        "2026-01-05T12:00:00Z  began  leader replica-1, rules kueue; 0 pending, 0 with quota reserved",
        "2026-01-05T12:00:01Z  arrived  team-a/first  main  2 cpu",
        "2026-01-05T12:00:01Z  admitted  team-a/first  cq  2 cpu (f)",
        "2026-01-05T12:01:00Z  arrived  team-a/second  main  1 cpu",
        "2026-01-05T12:10:00Z  finished  team-a/first  main",
        "2026-01-05T12:10:00Z  admitted  team-a/second  cq  1 cpu (f)",
    ]


@pytest.mark.parametrize("hashes", [None, UserHashes(Path(), b"a key of 16 bytes")])
def test_show_names_users_or_their_hashes(tmp_path, hashes):
    """Who asked stands with the arrival; the line of the file says that names are hashed."""
    writer = JournalWriter(tmp_path, users=hashes)
    core = QueueCore(
        rules_of(["kueue"]), journal=Journal(writer, lambda: Decider("me", 1, Configured(), ""), HEADS_PER_CALL)
    )
    for obj in queues("2"):
        core.heard(None, obj)
    core.decide(MONDAY)
    made = told("first", "2")
    made["metadata"]["annotations"] = {"sluice.dev/user": "alice"}
    core.heard(None, made)
    core.decide(MONDAY + 1_000)
    writer.close()
    began, arrived, *_ = sluice("show", str(tmp_path)).stdout.splitlines()
    assert began.endswith("; user names hashed") == bool(hashes)
    assert arrived.endswith(f"2 cpu, user {hashes.hashed('alice') if hashes else 'alice'}")


def test_show_of_one_workload_and_time(journal):
    """Only what is asked for, as JSON too; nothing is code 3."""
    done = sluice("show", journal, "--workload", "team-a/second", "--since", "2026-01-05T12:05:00Z", "-o", "json")
    (line,) = map(json.loads, done.stdout.splitlines())
    assert line == {
        "time": "2026-01-05T12:10:00Z",
        "what": "admitted",
        "workload": "team-a/second",
        "queue": "cq",
        "detail": "1 cpu (f)",
    }
    assert sluice("show", journal, "--workload", "team-a/nobody").exit_code == 3


@pytest.mark.parametrize(
    ("name", "minutes", "said"),
    [
        (
            "team-a/second",
            5,
            "team-a/second is pending in cq, position 1: WaitingForQuota\n"
            "requests 1 cpu of flavor f, 0 free; no workload can be preempted for it\n"
            "  team-a/first holds 2 cpu of f",
        ),
        ("team-a/first", 5, "team-a/first has held quota in cq since 2026-01-05T12:00:00Z"),
        ("team-a/second", 11, "team-a/second has held quota in cq since 2026-01-05T12:10:00Z"),
        ("team-a/second", 0, "team-a/second is not known at 2026-01-05T12:00:00Z"),
    ],
)
def test_why_did_my_job_not_start(journal, name, minutes, said):
    """The core is brought to where it stood then, and explains."""
    done = sluice("show", journal, "--workload", name, "--at", stamp(minutes))
    assert (done.exit_code, done.stdout) == (0, f"{said}\n")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("team-a/train-7", ["job-train-7-3a90e", "pytorchjob-train-7-77777"]),
        ("team-a/job-train-7-3a90e", ["job-train-7-3a90e"]),
        ("team-a/7", []),
        ("team-a/train", []),
        ("team-b/train-7", []),
    ],
)
def test_a_workload_is_found_by_the_name_of_its_job(tmp_path, asked, found):
    """A Workload is named after its job; a job of another kind, or deleted and made again, may have the same name."""
    with closing(JournalWriter(tmp_path)) as writer:
        decider = Decider("replica-1", 1, Configured(), "sha256:0")
        core = QueueCore(rules_of(["kueue"]), journal=Journal(writer, lambda: decider, HEADS_PER_CALL))
        for obj in (*queues("2"), *(told(f"{kind}-train-7-{end}", "5") for kind, end in JOBS)):
            core.heard(None, obj)
        core.decide(MONDAY)
        core.heard(None, told("job-train-8-3a90e", "5"))
        core.decide(MONDAY + MINUTE)
        for kind, end in JOBS:
            core.heard(told(f"{kind}-train-7-{end}", "5"), None)
        core.decide(MONDAY + 2 * MINUTE)
    shown = sluice("show", str(tmp_path), "--workload", asked).stdout.splitlines()
    assert sorted({line.split()[2].removeprefix("team-a/") for line in shown}) == found
    (then, *_) = sluice("show", str(tmp_path), "--workload", asked, "--at", stamp(1)).stdout.splitlines()
    assert then.split()[0].removeprefix("team-a/") in (found or [asked.removeprefix("team-a/")])


def test_a_time_after_the_journals_end_is_answered_as_of_its_end(journal):
    """The answer says so; not where the journal goes on, were it only by one round."""
    ends = "note: the journal ends at 2026-01-05T12:10:00Z; this is the state then\n"
    for minutes, said in ((0, ""), (5, ""), (9, ""), (10, ""), (11, ends)):
        done = sluice("show", journal, "--workload", "team-a/second", "--at", stamp(minutes))
        assert (done.exit_code, done.stderr) == (0, said)
    refused = sluice("show", journal, "--workload", "team-a/second", "--at", "2026-01-05T12:05:00")
    assert (refused.exit_code, "has no offset from UTC" in refused.stderr) == (2, True)


def test_why_then_is_json_where_asked(journal):
    """The same facts as in the lines."""
    done = sluice("show", journal, "--workload", "team-a/second", "--at", stamp(5), "-o", "json")
    assert json.loads(done.stdout) == {
        "time": "2026-01-05T12:05:00Z",
        "workload": "team-a/second",
        "state": "Pending",
        "clusterQueue": "cq",
        "position": 1,
        "reason": "WaitingForQuota",
        "message": "requests 1 cpu of flavor f, 0 free; no workload can be preempted for it",
        "holders": [{"workload": "team-a/first", "amount": "2", "resource": "cpu", "flavor": "f"}],
    }


def test_export_is_a_trace_for_simulate(journal, tmp_path):
    """The job that ended, with its time; `sluice simulate` runs it."""
    done = sluice("export", journal)
    assert done.stderr == "sluice journal export: the trace begins at 2026-01-05T12:00:00Z; see simulate --begin\n"
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {
            "time": "0ms",
            "run": "599000ms",
            "namespace": "team-a",
            "queue": "main",
            "name": "first",
            "priority": 0,
            "count": 1,
            "requests": {"cpu": "2"},
        }
    ]
    (tmp_path / "trace.jsonl").write_text(done.stdout)
    (tmp_path / "queues.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": queues("2")}))
    ran = CliRunner().invoke(cli, ["simulate", str(tmp_path / "trace.jsonl"), "-f", str(tmp_path / "queues.json")])
    assert ran.exit_code == 0, ran.output


def test_replay_decides_the_same(journal):
    """By the rules of the journal every decision is made again; a rule that denies everybody shows who is not in."""
    done = sluice("replay", journal)
    assert (done.exit_code, done.stdout) == (0, "2 decisions in 4 rounds of 1 file: all the same\n")


def test_replay_by_other_rules_tells_what_differs(journal, tmp_path):
    """Each round that differs, with what was decided and what would be."""
    rule = tmp_path / "closed.yaml"
    rule.write_text(
        "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: closed}\n"
        "spec: {extends: [kueue], admit: [{expression: 'false', reason: Closed}]}\n"
    )
    done = sluice("replay", journal, "--rules", str(rule))
    assert done.exit_code == 1
    assert "2026-01-05T12:00:01Z\n  - admitted team-a/first in cq\n" in done.stdout
    assert "2 decisions in 4 rounds of 1 file: 2 rounds differ\n" in done.stdout


def test_what_cannot_be_read_is_told(journal, tmp_path):
    """A folder without a journal is code 3, a file that is none and a time before the journal are code 2."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("hello")
    assert sluice("show", str(tmp_path / "empty")).exit_code == 3
    assert str(sluice("show", str(tmp_path / "text")).exception) == (
        f"{tmp_path}/text: error[FILE001]: cannot be read: Not a gzipped file\n"
        "    = name the folder of a journal, or one of its files: NAME.jsonl.gz"
    )
    early = sluice("show", journal, "--workload", "team-a/first", "--at", "2026-01-01T00:00:00Z")
    assert early.exit_code == 2
    assert "the journal begins at 2026-01-05T12:00:00Z" in early.output
    assert "--at requires --workload" in sluice("show", journal, "--at", stamp(5)).output


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("now", "noon"),
        ("cycle", None),
        ("generations", ["cq"]),
        ("attempts", 1),
        ("denied", [None]),
        ("unsettled", [1]),
    ],
)
def test_a_memory_of_the_wrong_types_is_told_at_its_line(journal, name, value):
    """The first record of a file that somebody edited ends no command in a traceback."""
    (file,) = Path(journal).iterdir()
    first, *rest = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    begin = json.loads(first)
    begin["memory"][name] = value
    file.write_bytes(gzip.compress(json.dumps(begin).encode() + b"\n" + b"".join(rest)))
    done = sluice("replay", journal)
    assert f"{file}:1: error[JRN001]: " in str(done.exception)


def test_a_file_that_is_named_twice_is_read_once(journal):
    """A folder and a file in it: what happened is told once."""
    (file,) = Path(journal).iterdir()
    assert sluice("show", journal, str(file), journal).stdout == sluice("show", journal).stdout


def test_a_line_of_brackets_is_no_record(tmp_path):
    """It is told at its line, however deep it is nested."""
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"[" * 100_000 + b"\n"))
    assert "a.jsonl.gz:1: error[JRN001]: nested too deeply" in str(sluice("show", str(tmp_path)).exception)

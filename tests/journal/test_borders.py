"""What happens where one file of a journal ends and the next begins, and admissions that could not be written.

Of each day: the lines of `sluice journal show` without the date, and the run times that `export` gives, in minutes.
"""

import json

import pytest

from tests.journal.days import MIDNIGHT, OTHER, RELOAD, TAKEOVER, finished, gone, held, live
from tests.journal.test_command import sluice, told

BEGUN = (0,)
FIRST = (1, told("first", "2"))
RUNS = (2, held("first", "2", 1))
SECOND = told("second", "1")
DAYS = {
    "a job ends as a day begins": (
        [BEGUN, FIRST, RUNS, (MIDNIGHT + 1, finished("first", "2", MIDNIGHT + 1), SECOND)],
        [
            "00:01 began leader replica-1, rules kueue; 1 pending, 0 with quota reserved",
            "00:01 finished team-a/first main",
            "00:01 arrived team-a/second main 1 cpu",
            "00:01 admitted team-a/second cq 1 cpu (f)",
        ],
        {"first": MIDNIGHT},
    ),
    "a job ends while the rules change": (
        [BEGUN, FIRST, RUNS, RELOAD, (10, finished("first", "2", 10), SECOND)],
        [
            "12:10 began leader replica-1, rules kueue; 1 pending, 0 with quota reserved",
            "12:10 finished team-a/first main",
            "12:10 arrived team-a/second main 1 cpu",
            "12:10 admitted team-a/second cq 1 cpu (f)",
        ],
        {"first": 9},
    ),
    "the leader dies": (
        # The last that it did is not in its journal: it admitted the second, and the third was deleted.
        [
            BEGUN, (1, told("first", "1")), (2, held("first", "1", 1), told("third", "5")), TAKEOVER,
            (60, finished("first", "1", 60), held("second", "1", 59)), (90, finished("second", "1", 90, 59)),
        ],
        [
            "13:00 began leader replica-2, rules kueue; 0 pending, 1 with quota reserved",
            "13:00 deleted team-a/third main",
            "13:00 finished team-a/first main",
            "13:00 arrived team-a/second main 1 cpu",
            "13:00 admitted team-a/second cq 1 cpu (f)",
            "13:30 finished team-a/second main",
        ],
        {"first": 59, "second": 31},
    ),
    "many jobs are deleted between two leaders": (
        [BEGUN, (1, *(told(name, "5") for name in "hbfdgaec")), TAKEOVER, (60,)],
        [
            "13:00 began leader replica-2, rules kueue; 0 pending, 0 with quota reserved",
            *(f"13:00 deleted team-a/{name} main" for name in "abcdefgh"),
        ],
        {},
    ),
    "the journal of another cluster follows": (
        [
            BEGUN, FIRST, RUNS, (3, told("third", "5")), OTHER, (60, held("first", "1", 59), SECOND),
            (90, finished("first", "1", 90, 59), held("second", "1", 60)),
        ],
        [
            "12:03 arrived team-a/third main 5 cpu",
            "13:00 began leader replica-2, rules kueue; 1 pending, 1 with quota reserved",
            "13:00 admitted team-a/second cq 1 cpu (f)",
            "13:30 finished team-a/first main",
        ],
        {"first": 31},
    ),
    "a job that runs on is not told again": (
        [BEGUN, FIRST, RUNS, RELOAD, (10,), (20, finished("first", "2", 20))],
        [
            "12:10 began leader replica-1, rules kueue; 0 pending, 1 with quota reserved",
            "12:20 finished team-a/first main",
        ],
        {"first": 19},
    ),
    "an admission is not written, the next one is": (
        [BEGUN, FIRST, (60, told("first", "2")), (61, held("first", "2", 60)), (70, finished("first", "2", 70, 60))],
        [
            "13:00 unwritten team-a/first",
            "13:00 admitted team-a/first cq 2 cpu (f)",
            "13:10 finished team-a/first main",
        ],
        {"first": 10},
    ),
    "an admission is not written, and the job deleted": (
        [BEGUN, FIRST, (20, told("first", "9")), (30, gone(told("first", "9")))],
        ["12:20 unwritten team-a/first", "12:30 deleted team-a/first main"],
        {},
    ),
    "the clock is put back while a job runs": (
        [BEGUN, (61, told("first", "2")), (62, held("first", "2", 61)), (20, finished("first", "2", 20, 61))],
        ["12:20 finished team-a/first main"],
        {},
    ),
    "the clock is put back before a job ends, and a file begins": (
        [BEGUN, FIRST, RUNS, (60,), RELOAD, (13,), (20, finished("first", "2", 20))],
        ["12:20 finished team-a/first main"],
        {"first": 19},
    ),
}  # fmt: skip


@pytest.mark.parametrize("day", DAYS)
def test_a_border_loses_nothing(tmp_path, day):
    """Each job comes, starts and ends once; its run time is the time that it held quota."""
    steps, lines, runs = DAYS[day]
    live(tmp_path, *steps)
    folders = sorted(map(str, tmp_path.iterdir()))
    shown = [f"{line[11:16]} {' '.join(line[22:].split())}" for line in sluice("show", *folders).stdout.splitlines()]
    assert shown[-len(lines) :] == lines
    exported = map(json.loads, sluice("export", *folders).stdout.splitlines())
    assert {row["name"]: int(row["run"].removesuffix("ms")) / 60_000 for row in exported} == runs

"""Traces in their three forms, and queues with a trace from a generator file."""

import pytest

from tests.offline.running import invoke
from webhook.cli import exits
from webhook.cli.commands.queues.simulate import simulate
from webhook.diagnostics import SourceError
from webhook.documents import read
from webhook.queue.model import WEIGHT
from webhook.simulate.generate import generate
from webhook.simulate.trace import milliseconds, read_trace

GENERATOR = """
cohorts:
- name: org
  count: 2
  queues:
  - name: team
    count: 3
    weight: 2
    quota: {cpu: {nominal: 20, borrowingLimit: "100"}}
    preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}
    workloads:
    - {class: small, count: 4, every: 100ms, run: 200ms, priority: 50, requests: {cpu: 500m}}
    - {class: large, count: 1, start: 1s, run: 1s, requests: {cpu: 20}}
"""


QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]
"""


@pytest.mark.parametrize("text, expected", [("200ms", 200), ("1.5s", 1500), (3, 3000), ("2m", 120_000), ("1h", 3.6e6)])
def test_times_are_read_with_their_unit(text, expected):
    """A number alone is seconds, as in the standard workload format."""
    assert milliseconds(text) == expected


def test_a_csv_trace_is_read_in_order_of_arrival_with_resources_as_columns():
    """Columns that are no fields of a job are resources; cpu counts in milli-units."""
    text = "time,queue,run,cpu,nvidia.com/gpu,class\n5,b,60,500m,,x\n1,a,2m,2,8,y\n"
    first, second = read_trace(text, "t.csv")
    assert (first.at, first.queue, first.run, dict(first.requests)) == (
        1000,
        "a",
        120_000,
        {"cpu": 2000, "nvidia.com/gpu": 8},
    )
    assert (second.group, dict(second.requests)) == ("x", {"cpu": 500})


def test_json_lines_give_the_same_as_csv():
    """Both forms have the same fields; JSON may put resources under `requests`."""
    as_csv = read_trace("time,queue,run,count,memory\n1,a,2,3,1Gi\n", "t.csv")
    as_json = read_trace('{"time": 1, "queue": "a", "run": 2, "count": 3, "requests": {"memory": "1Gi"}}\n', "t.jsonl")
    assert [(a.at, a.run, a.count, a.requests) for a in as_csv] == [(a.at, a.run, a.count, a.requests) for a in as_json]


def test_the_standard_workload_format_is_read_and_jobs_that_never_ran_are_left_out():
    """Comment lines, a job with unknown request (the allocated processors count), and a cancelled job."""
    ran, never = "1 10 0 60 4 -1 -1 -1 -1 2048 1 7 1 -1 3 -1 -1 -1", "2 11 0 -1 4 -1 -1 4 -1 -1 5 7 1 -1 3 -1 -1 -1"
    text = f"; Version: 2\n{ran}\n{never}\n"
    (job,) = read_trace(text, "log.swf")
    assert (job.at, job.run, job.queue, job.count, job.user) == (10_000, 60_000, "q3", 4, "u7")
    assert job.requests == {"cpu": 1000, "memory": 2048 * 1024}


def test_every_bad_line_is_told_with_its_number():
    """All mistakes of a trace come at once."""
    with pytest.raises(SourceError) as error:
        read_trace('{"time": 1}\nnope\n{"time": "soon", "queue": "a", "run": 1}\n', "t.jsonl")
    assert [(d.code, d.place.line) for d in error.value.diagnostics] == [
        ("TRACE001", 1),
        ("TRACE001", 2),
        ("TRACE001", 3),
    ]
    assert "no queue, run" in error.value.diagnostics[0].message


def test_a_generator_file_makes_cohorts_queues_and_arrivals():
    """Two cohorts of three queues, each with its classes of work, in order of arrival."""
    made = generate(read(GENERATOR)[0])
    assert len(made.snapshot.cohorts) == 2
    assert len(made.snapshot.cluster_queues) == 6
    queue = made.snapshot.cluster_queues[0]
    assert (queue.name, queue.cohort_name, queue.weight) == ("org-0-team-0", "org-0", 2 * WEIGHT)
    quota = queue.resource_groups[0].flavors[0].resources["cpu"]
    assert (quota.nominal_quota, quota.borrowing_limit, quota.lending_limit) == (20_000, 100_000, None)
    assert len(made.arrivals) == 6 * 5
    assert [a.at for a in made.arrivals] == sorted(a.at for a in made.arrivals)


def test_mistakes_in_a_generator_file_have_a_place_and_a_hint():
    """A misspelt field, a bad quantity and a bad time, each at its line and column."""
    text = GENERATOR.replace("every", "evry").replace("500m", "half").replace("run: 1s", "run: long")
    with pytest.raises(SourceError) as error:
        generate(read(text, "g.yaml")[0])
    messages = error.value.render()
    assert 'did you mean "every"?' in messages
    assert '"half" is not a quantity' in messages
    assert "g.yaml:12:" in messages


@pytest.mark.parametrize(
    ("row", "code", "said"),
    [
        ("0,cohort-0-queue-9,1,1", "TRACE002", "1 job uses queue default/cohort-0-queue-9, which does not exist"),
        ("0,a,1,1", "TRACE003", "1 job uses resource gpus, for which ClusterQueue a has no quota"),
    ],
)
def test_what_the_queues_do_not_have_is_an_error(tmp_path, row, code, said):
    """A job in a queue that is not there, or that asks for what has no quota, is a mistake and no wait of -1 ms."""
    (tmp_path / "t.csv").write_text(f"time,queue,run,gpus\n{row}\n")
    (tmp_path / "q.yaml").write_text(QUEUES)
    done = invoke(simulate, str(tmp_path / "t.csv"), "-f", str(tmp_path / "q.yaml"))
    assert (done.exit_code, code in done.stderr, said in done.stderr) == (exits.BAD_INPUT, True, True)


SPACE = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {team: a}}\n"


@pytest.mark.parametrize(
    ("selector", "spaces", "jobs", "said"),
    [
        ("{matchLabels: {team: a}}", "", 3, "3 jobs are in namespace default, which ClusterQueue a does not select"),
        ("{matchLabels: {team: a}}", "", 1, "1 job is in namespace default, which ClusterQueue a does not select"),
        ("null", SPACE, 1, "1 job is in namespace default"),
        ("{matchLabels: {team: a}}", SPACE, 1, ""),
        ("{matchExpressions: [{key: team, operator: DoesNotExist}]}", "", 1, ""),
        ("{}", "", 1, ""),
    ],
)
def test_a_namespace_that_the_queue_does_not_select_is_an_error(tmp_path, selector, spaces, jobs, said):
    """Its jobs would never start: the report had no waits and perfect fairness."""
    (tmp_path / "t.csv").write_text("time,queue,run,cpu\n" + "0,a,1,1\n" * jobs)
    (tmp_path / "q.yaml").write_text(QUEUES.replace("Selector: {}", f"Selector: {selector}") + spaces)
    done = invoke(simulate, str(tmp_path / "t.csv"), "-f", str(tmp_path / "q.yaml"))
    assert (done.exit_code, said in done.stderr) == (exits.BAD_INPUT if said else exits.PASSED, True)
    assert ("TRACE005" in done.stderr) == bool(said)


@pytest.mark.parametrize(
    ("file", "text", "place", "said"),
    [
        (
            "t.csv",
            "time,queue,run,team\n1,a,2,a\n",
            "2:7",
            'column "team": "a" is not a quantity; every column that is',
        ),
        ("t.csv", 'time,queue,run\n1,"a, b",soon\n', "2:10", 'column "run": "soon" is not a duration'),
        ("t.csv", "time,queue,run\n1,a,2,3\n", "2:1", "more fields than columns"),
        ("t.csv", "time,queue,run,cpu\n1,a,2,-4\n", "2:7", 'column "cpu": "-4" is less than 0'),
        (
            "t.jsonl",
            '{"time": 1, "queue": "a", "run": 2, "count": 2.5}',
            "1:46",
            'column "count": "2.5" is not a whole',
        ),
        (
            "t.jsonl",
            '{"time": 1, "queue": "a", "run": 2, "priority": 2147483648}',
            "1:49",
            'column "priority": "2147483648" is not a whole number from -2,147,483,648 to 2,147,483,647',
        ),
        (
            "t.jsonl",
            '{"time": 1, "queue": "a", "run": 2, "requests": {"cpu": "x"}}',
            "1:57",
            'column "cpu": "x" is not',
        ),
        ("t.jsonl", '{"time": 1, "queue": ["a"], "run": 2}', "1:22", 'column "queue": ["a"] is neither a string nor a'),
        ("t.jsonl", '{"time": 1, "queue": "a", "run": true}', "1:34", 'column "run": true is neither a string nor'),
        (
            "t.jsonl",
            '{"time": 1, "queue": "a", "run": 2, "requests": {"cpu": null}}',
            "1:57",
            'column "cpu": null is neither a string nor a number',
        ),
        ("t.jsonl", '{"time": 1, "queue": "a", "run": 2, "requests": 3}', "1:49", 'column "requests": must be a map'),
        ("t.swf", f"1 10 0 60 x{' 1' * 13}", "1:11", 'column "5": "x" is not a number'),
    ],
)
def test_a_bad_value_is_shown_in_its_column(file, text, place, said):
    """The file, the line and the column, and what is expected there."""
    with pytest.raises(SourceError) as error:
        read_trace(text, file)
    (found,) = error.value.diagnostics
    assert str(found.place) == f"{file}:{place}"
    assert found.message.startswith(said)


@pytest.mark.parametrize(
    ("name", "text", "line", "told"),
    [
        ("t.csv", "time,queue,run,cpu\n0,q,60,1\rx\n", 2, "not CSV: a line has a carriage return inside it"),
        ("t.csv", "time,queue,run\r0,q,60\r", 1, "not CSV: a line has a carriage return inside it"),
        (
            "t.csv",
            'time,queue,run\n0,q,60\n0,"q,60\n' + "0,q,60\n" * 20_000,
            3,
            "not CSV: field larger than field limit",
        ),
        ("t.csv", "time,queue,run,cpu,cpu\n0,q,60,1,2\n", 1, 'column "cpu": there is another column of this name'),
        ("t.csv", f"time,queue,run\n{'9' * 400},q,60\n", 2, '"999999999999..." is too large'),
        ("t.csv", f"time,queue,run\n{'9' * 400}d,q,60\n", 2, "is not a duration"),
        ("t.csv", f"time,queue,run,cpu\n0,q,60,{'9' * 400}\n", 2, '"999999999999..." is too large'),
        ("t.jsonl", f'{{"time": {"9" * 5000}}}\n', 1, "a number is too long"),
        ("t.jsonl", "[" * 100_000 + "\n", 1, "nested too deeply"),
        ("t.swf", "1 inf 0 60 inf -1 -1 inf -1 -1 1 7 1 -1 3 -1 -1 -1\n", 1, '"inf" is not a number'),
        ("t.swf", "1 10 0 60 nan -1 -1 nan -1 -1 1 7 1 -1 3 -1 -1 -1\n", 1, '"nan" is not a number'),
    ],
    ids=lambda v: v[:40] if isinstance(v, str) else None,
)
def test_what_no_number_can_hold_is_told_at_its_line(name, text, line, told):
    """A quote that is not closed, ends of lines of an old Mac, numbers of hundreds of digits: words, no traceback."""
    with pytest.raises(SourceError) as error:
        read_trace(text, name)
    first = error.value.diagnostics[0]
    assert (first.code, first.place.line) == ("TRACE001", line)
    assert told in first.message


@pytest.mark.parametrize(
    ("queue", "told"),
    [
        ("quota: [cpu]", "quota must be a map"),
        ("quota: {cpu: 1}, weight: heavy", '"heavy" is not a number from 0 to 1,000,000'),
        ("quota: {cpu: 1}, weight: ", '"None" is not a number from 0 to 1,000,000'),
        ("quota: {cpu: 1}, strategy: FIFO", '"FIFO" is not one of BestEffortFIFO, StrictFIFO'),
        ("quota: {cpu: 1}, preemption: Any", "preemption must be a map"),
        ("quota: {cpu: 1}, preemption: {reclaimWithinCohort: any}", '"any" is not one of Never, LowerPriority, Any'),
        ("quota: {cpu: 1}, name: [a]", "name must be a string"),
        (f"quota: {{cpu: '{'9' * 400}'}}", '"999999999999..." is too large'),
        ("quota: {cpu: 1}, workloads: [{run: 1s, requests: 1}]", "requests must be a map"),
        ("quota: {cpu: 1}, workloads: [{run: 1s, pods: 0}]", "a job has at least one pod"),
        ("quota: {cpu: 1}, workloads: [{run: 1s, count: -1}]", '"-1" is not a whole number from 0 to 1,000,000'),
    ],
)
def test_a_wrong_value_of_a_generator_file_is_told_at_its_place(queue, told):
    """Each field has its type and its words, as in the objects of Kubernetes that it stands for."""
    text = f"cohorts:\n- queues:\n  - {{{queue}{', workloads: []' if 'workloads' not in queue else ''}}}\n"
    with pytest.raises(SourceError) as error:
        generate(read(text)[0])
    first = error.value.diagnostics[0]
    assert (first.code, first.place.line, first.message) == ("TRACE004", 3, told)
    assert first.place.column > 5


def test_a_class_in_brackets_is_shown_as_it_is(tmp_path):
    """`[gpu]` is no mark-up, and `[/gpu]` no end of one."""
    (tmp_path / "t.csv").write_text("time,queue,run,cpu,class\n0,a,60,1,[gpu]\n0,a,60,1,[/gpu]\n")
    (tmp_path / "q.yaml").write_text(QUEUES)
    done = invoke(simulate, str(tmp_path / "t.csv"), "-f", str(tmp_path / "q.yaml"))
    assert done.exit_code == exits.PASSED
    assert "[gpu]" in done.stdout
    assert "[/gpu]" in done.stdout

"""The simulation: what becomes of work, and the numbers and the picture made of it."""

import xml.etree.ElementTree as ET

import pytest

from tests.queue.load_rules import load_rules
from tests.queue.python_rules import KueueRules
from webhook.documents import read
from webhook.simulate.generate import generate
from webhook.simulate.plot import plot, seconds
from webhook.simulate.simulation import Arrival, simulate
from webhook.simulate.summary import jain, percentile, summarise

RULES = KueueRules()
TWO = """
cohorts:
- name: org
  queues:
  - name: a
    quota: {cpu: 4}
    preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}
    workloads: [{class: low, count: 3, every: 1s, run: 10s, priority: 1, requests: {cpu: 4}}]
  - name: b
    quota: {cpu: 4}
    preemption: {reclaimWithinCohort: Any}
    workloads: [{class: late, count: 2, start: 5s, run: 10s, priority: 1, requests: {cpu: 4}}]
"""


def run(text=TWO, rules=RULES):
    made = generate(read(text)[0])
    return simulate(made.snapshot, made.arrivals, rules, "kueue")


def test_work_borrows_is_reclaimed_and_starts_again():
    """Queue a fills both quotas, b takes its own back after 5 s, and the evicted job runs its whole time again."""
    outcome = run()
    assert {j.arrival.name: j.finished for j in outcome.jobs} == {
        "org-0-a-0-low-0": 10_000,
        "org-0-a-0-low-1": 20_000,
        "org-0-a-0-low-2": 30_000,
        "org-0-b-0-late-0": 15_000,
        "org-0-b-0-late-1": 25_000,
    }
    summary = summarise(outcome)
    assert (summary.total.preemptions, summary.total.lost, summary.makespan) == (1, 4000, 30_000)
    assert summary.utilisation["cpu"] == pytest.approx((5 * 10 + 4) * 4 / (8 * 30))


def test_waits_and_percentiles_are_those_of_the_schedule():
    """Three equal jobs through a queue of one: they wait 0, 10 and 20 seconds."""
    text = "cohorts: [{queues: [{quota: {cpu: 1}, workloads: [{class: x, count: 3, run: 10s, requests: {cpu: 1}}]}]}]"
    (row,) = summarise(run(text)).rows
    assert (row.jobs, row.wait_mean, row.wait_median, row.wait_max) == (3, 10_000, 10_000, 20_000)


@pytest.mark.parametrize("start", ["0s", "5s"])
def test_what_can_never_start_is_counted_and_ends_nothing(start):
    """A job above all quota waits for ever; the simulation ends all the same, and used nothing."""
    work = f"{{class: x, start: {start}, run: 10s, requests: {{cpu: 2}}}}"
    text = f"cohorts: [{{queues: [{{quota: {{cpu: 1}}, workloads: [{work}]}}]}}]"
    summary = summarise(run(text))
    assert (summary.never_started, summary.total.finished) == (1, 0)
    assert (summary.makespan, str(summary.utilisation["cpu"])) == (0, "0.0")


def test_the_picture_shows_what_waits_after_the_last_job_ended():
    """A job that runs for 10 s, and one that never starts: it is pending up to the right edge."""
    work = "[{class: x, run: 10s, requests: {cpu: 1}}, {class: y, start: 5s, run: 1s, requests: {cpu: 2}}]"
    text = f"cohorts: [{{queues: [{{quota: {{cpu: 1}}, workloads: {work}}}]}}]"
    long = text.replace("10s", "20s")
    for texts in ([text, long], [text.replace("run: 10s", "run: 1s"), text]):
        root = ET.fromstring(plot([run(t) for t in texts]))
        lines = [p.get("d") for p in root.iter("{http://www.w3.org/2000/svg}path") if p.get("fill") == "none"]
        assert [d.split()[-1] for d in lines] == ["L430.0,0.0"] * 2


@pytest.mark.parametrize(("rule", "starts"), [("now.getHours() >= 8", 8 * 3_600_000), ("now.getHours() > 24", -1)])
def test_what_waits_for_a_time_starts_then_or_never(rule, starts):
    """The clock goes on to the hour at which a rule lets work in; where there is none, the simulation ends."""
    head = "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: test}\nspec:\n  admit:\n"
    outcome = run(rules=load_rules(head + f'    - {{expression: "{rule}", reason: Closed}}\n'))
    assert min(job.started for job in outcome.jobs) == starts


def test_the_same_input_gives_the_same_outcome_and_the_same_picture():
    """Nothing in a simulation is random, whatever the order of the arrivals of one time."""
    made = generate(read(TWO)[0])
    first = simulate(made.snapshot, made.arrivals, RULES, "kueue")
    second = simulate(made.snapshot, made.arrivals, RULES, "kueue")
    assert first.jobs == second.jobs
    assert plot([first]) == plot([second])


def test_a_trace_may_name_a_cluster_queue_and_repeat_a_name():
    """Without a LocalQueue of that name the ClusterQueue itself is meant; equal names are told apart."""
    made = generate(read(TWO)[0])
    names = ["same", "same", "same-3", "same"]
    outcome = simulate(made.snapshot, [Arrival(0, 1000, "lab", "org-0-a-0", n, {"cpu": 1000}) for n in names], RULES)
    assert [j.finished for j in outcome.jobs] == [1000] * 4
    assert [j.arrival.name for j in outcome.jobs] == ["same", "same-1", "same-3", "same-3-3"]


@pytest.mark.parametrize(
    ("waits", "part", "value"), [([], 0.5, 0), ([7], 0.5, 7), ([1, 9], 0.5, 1), (range(1, 11), 0.9, 9)]
)
def test_percentiles_are_nearest_rank(waits, part, value):
    """The smallest wait that so large a part of the jobs did not exceed."""
    assert percentile(waits, part) == value


def test_rules_read_the_clock_of_the_trace():
    """A rule for the evening holds a job that comes at noon for eight hours; times count from the trace's start."""
    rules = load_rules(
        "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: test}\n"
        'spec: {admit: [{expression: "now.getHours() >= 20", reason: Closed}]}\n'
    )
    made, hour = generate(read(TWO)[0]), 3_600_000
    outcome = simulate(made.snapshot, made.arrivals[:1], rules, begun=(20_000 * 24 + 12) * hour)
    assert [(j.started, j.waited, j.finished) for j in outcome.jobs] == [(8 * hour, 8 * hour, 8 * hour + 10_000)]
    assert (outcome.samples[0].at, outcome.end) == (0, 8 * hour + 10_000)


@pytest.mark.parametrize("values, index", [([1, 1, 1, 1], 1.0), ([1, 0, 0, 0], 0.25), ([], 1.0), ([0, 0], 1.0)])
def test_jains_index(values, index):
    """1 for equal shares, 1/n where one has everything."""
    assert jain(values) == index


def test_the_picture_is_well_formed_and_has_a_column_for_each_rule_set():
    """Two outcomes beside each other; names of queues are escaped."""
    outcome = run(TWO.replace("name: org", "name: 'a<b'"))
    root = ET.fromstring(plot([outcome, outcome]))
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("kueue") == 2
    assert "a<b-0-a-0" in texts


def test_queues_without_a_colour_are_drawn_together_and_long_names_do_not_overlap():
    """Ten queues use the whole quota: eight have colours, two are grey, and each has a line of the legend."""
    queue = (
        f"{{name: {'a-long-name-' * 4}, count: 10, quota: {{cpu: 1}}, workloads: [{{run: 9s, requests: {{cpu: 1}}}}]}}"
    )
    root = ET.fromstring(plot([run(f"cohorts: [{{queues: [{queue}]}}]")]))
    name = "{http://www.w3.org/2000/svg}"
    areas = [p.get("d") for p in root.iter(f"{name}path") if p.get("fill") != "none"]
    assert (len(areas), areas[-1].startswith("M0.0,0.0 ")) == (9, True)
    keys = list(root)[-1].findall(f"{name}text")
    assert (keys[-1].text, len({key.get("y") for key in keys})) == ("2 other queues", 9)


def test_times_are_told_in_the_unit_that_reads_best():
    """From milliseconds to hours."""
    assert [seconds(n) for n in (250, 1000, 90_000, 600_000, 7_200_000)] == [
        "250 ms",
        "1.0 s",
        "90.0 s",
        "10.0 min",
        "2.0 h",
    ]

"""The shipped `backfill` rules end the starvation of big jobs; without them a stream of small ones starves it."""

from webhook.documents import read
from webhook.offline.plan.rule_sets import rules_of
from webhook.simulate.generate import generate
from webhook.simulate.simulation import simulate

STREAM = """
cohorts:
- name: lab
  queues:
  - name: team
    quota: {nvidia.com/gpu: 8}
    workloads:
    - {class: small, count: 200, every: 10s, run: 65s, requests: {nvidia.com/gpu: 1}}
    - {class: big, count: 1, start: 100s, run: 60s, requests: {nvidia.com/gpu: 8}}
"""


def big_started(*rules):
    made = generate(read(STREAM)[0])
    outcome = simulate(made.snapshot, made.arrivals, rules_of(rules))
    (job,) = (j for j in outcome.jobs if j.arrival.group == "big")
    assert all(j.finished >= 0 for j in outcome.jobs)
    return job.started


def test_a_big_job_starts_when_what_ran_before_it_has_ended():
    """The big job arrives at 100 s, when seven small ones run; the last of them ends within 65 s."""
    assert 100_000 < big_started("kueue", "backfill") <= 170_000


def test_without_the_rules_it_waits_for_the_end_of_the_stream():
    """Under BestEffortFIFO alone every small job that arrives takes the next free GPU."""
    assert big_started("kueue") > 1_000_000

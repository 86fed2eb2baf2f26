"""What a job is told when it is created, and what rules know of it in the cluster."""

import asyncio

from tests.cluster.small_cluster import CLOCKS, JOB, job, queues, small_cluster
from tests.queue.load_rules import load_rules
from webhook.cluster.core.queue_core import QueueCore
from webhook.cluster.core.view_gate import view_gate
from webhook.jobs.read_job import read_job
from webhook.policy.queue_rules.files import rules_named
from webhook.store.objects import merge

CLAIMS = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
ONE_EACH = """apiVersion: sluice.dev/v1alpha1
kind: QueuePolicy
metadata: {name: one-each}
spec:
  extends: [kueue]
  admit:
    - expression: facts.userWorkloads < 1
      reason: UserCap
      messageExpression: "'user ' + workload.user + ' runs a job'"
"""


def test_what_is_not_supported_is_said_at_once():
    """`kubectl apply` warns with the reason that the Workload will wait for."""
    wanted = merge(job("a"), {"spec": {"template": {"spec": {"resourceClaims": CLAIMS}}}})

    async def go():
        core = QueueCore(rules_named(["kueue"]))
        async with small_cluster(*queues("1"), core=core, seconds=None) as w:
            await w.create(job("busy"))
            await w.until_condition("busy", "Admitted")
            answer = view_gate(w.view, core, CLOCKS.milliseconds).ask(read_job(wanted), wanted, "team-a", False)
            await w.create(wanted)
            return answer, await w.until_waits("a", "Misconfigured")

    answer, message = asyncio.run(go())
    assert answer.allowed
    [warning] = answer.warnings
    assert "spec.podSets[0].template.spec.resourceClaims uses dynamic resource allocation" in warning
    assert message in warning


def test_what_is_left_to_borrow_is_told():
    """Of what is free, the part that would be borrowed; and that nothing is, where the others hold it."""
    *around, mine, door = queues("2", cohortName="all")
    both = [*around, mine, door]
    both += [merge(mine, {"metadata": {"name": "other"}})]
    both += [merge(door, {"metadata": {"name": "other"}, "spec": {"clusterQueue": "other"}})]

    async def go(*busy):
        core = QueueCore(rules_named(["kueue"]))
        async with small_cluster(*both, core=core, seconds=None) as w:
            for name, made in busy:
                await w.create(made)
                await w.until_condition(name, "Admitted")
            answer = view_gate(w.view, core, CLOCKS.milliseconds).ask(
                read_job(job("a", cpu="4")), job("a", cpu="4"), "team-a", False
            )
            return answer.warnings[0].partition(", ")[2]

    mine_runs = "mine", job("mine", cpu="1")
    labels = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}}
    other_runs = "others", merge(job("others", cpu="2"), labels)
    assert asyncio.run(go(mine_runs)) == "requests 4 cpu, 3 free, 2 of it to borrow"
    assert asyncio.run(go(mine_runs, other_runs)) == "requests 4 cpu, 1 free, no quota left to borrow"


def test_what_can_never_be_admitted_may_wait():
    """Refused with its numbers by default; where that is not wanted, let in with the same words."""
    wanted = job("a", cpu="5")

    async def go(refuses):
        core = QueueCore(rules_named(["kueue"]))
        async with small_cluster(*queues("1"), core=core, seconds=None) as w:
            await w.create(job("busy"))
            await w.until_condition("busy", "Admitted")
            gate = view_gate(w.view, core, CLOCKS.milliseconds, refuses=refuses)
            return gate.ask(read_job(wanted), wanted, "team-a", False)

    denied, warned = asyncio.run(go(True)), asyncio.run(go(False))
    assert not denied.allowed
    assert "this job can never be admitted: requests 5" in denied.message
    assert (warned.allowed, warned.warnings) == (True, (denied.message,))


def test_a_cap_by_user_holds_in_the_cluster():
    """The annotation of a job reaches the rule: a second job of one user waits, another user's starts."""

    def of(user, name):
        return merge(job(name), {"metadata": {"annotations": {"sluice.dev/user": user}}})

    async def go():
        async with small_cluster(*queues("9"), core=QueueCore(load_rules(ONE_EACH)), seconds=None) as w:
            await w.create(of("ann", "a"))
            await w.until_condition("a", "Admitted")
            await w.create(of("ann", "b"), of("bob", "c"))
            await w.until_condition("c", "Admitted")
            return await w.until_waits("b", "DeniedByRule")

    assert asyncio.run(go()) == "user ann runs a job"


def test_a_job_starts_when_it_asks_no_more_for_what_is_not_there():
    """The way out that the reason names works: the field is taken away, and the Workload follows."""
    key = "kueue.x-k8s.io/podset-required-topology"

    def asking(value):
        return {"spec": {"template": {"metadata": {"annotations": {key: value}}}}}

    async def go():
        async with small_cluster(*queues("1"), seconds=None) as w:
            await w.create(merge(job("a"), asking("rack")))
            await w.until_condition("a", "QuotaReserved", "False")
            await w.store.patch(JOB, "a", "team-a", asking(None))
            return await w.until_condition("a", "Admitted")

    (pods,) = asyncio.run(go())["spec"]["podSets"]
    assert key not in pods["template"].get("metadata", {}).get("annotations", {})

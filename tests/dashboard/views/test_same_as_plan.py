"""What the page says of quota, order and reasons is what `plan` says of the same objects, in random clusters."""

from dataclasses import replace
from time import monotonic
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queue.random_clusters import definitions, workloads
from webhook.api.pending_message import message_of
from webhook.cluster.api.view import View
from webhook.cluster.pace import at_once, in_order
from webhook.cluster.queues.counts import WorkloadCounts
from webhook.dashboard.model.queues import QueueHistory
from webhook.dashboard.sources import Sources
from webhook.dashboard.views.cluster import amounts_in, cluster_view
from webhook.dashboard.views.queue import QueuePast, Wanted, queue_view
from webhook.dashboard.views.rows import Named
from webhook.dashboard.views.what_if import Deadline, WorkloadChange, changed, facts_around, outlook
from webhook.offline.plan.make_plan import make_plan
from webhook.policy.queue_rules.configured import Configured
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.cycle.until_stable import decide_until_stable
from webhook.queue.explain import explain
from webhook.queue.forecast import with_start
from webhook.queue.model import ClusterQueue, LocalQueue, Snapshot, Workload
from webhook.queue.state import State
from webhook.store.memory import MemoryStore

RULES = {names: rules_named(names.split("+")) for names in ("kueue", "fifo", "kueue-fair", "kueue+user-caps")}
NOW = 1_000_000
NO_PAST = QueuePast(QueueHistory("memory", 0))


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Snapshot, str]:
    """A cluster before anything was decided, and the rules that do."""
    return replace(draw(definitions()), workloads=tuple(draw(workloads()))), draw(st.sampled_from(list(RULES)))


def bound(snapshot, rules):
    """The core's state before it decides."""
    state = State.from_snapshot(snapshot)
    state.bind(rules, NOW)
    return state


def at_rest(snapshot, rules):
    """What the page reads, where the core has come to rest over these facts."""
    state = State.from_snapshot(snapshot)
    decide_until_stable(state, rules, NOW)
    core = SimpleNamespace(state=state, revision=1, rules=rules)
    view = View(MemoryStore(), ())
    counts, rules_in_force = WorkloadCounts(), Configured()
    return Sources(core, view, counts, None, rules_in_force, lambda: NOW, lambda: True, lambda: True, "test")


@settings(max_examples=40)
@given(clusters())
def test_order_and_reasons(cluster):
    """The lists of every queue are those of the plan: who, at which position, why, in which words, until when."""
    snapshot, names = cluster
    sources, plan = at_rest(snapshot, RULES[names]), make_plan(snapshot, RULES[names], NOW)
    planned = {}
    for told in plan.pending:
        row = (told.workload, told.position, told.place, told.reason, message_of(told), told.start or 0)
        if told.position:
            planned.setdefault(told.cluster_queue, []).append(row)
    for queue in snapshot.cluster_queues:
        view = at_once(queue_view(sources, queue.name, Wanted(limit=500), lambda _: True, NO_PAST))
        shown = [
            (f"{row.namespace}/{row.name}", row.position, row.place, row.reason, row.message, row.start)
            for row in view.waiting.rows
        ]
        assert shown == planned.get(queue.name, [])


@settings(max_examples=40)
@given(clusters())
def test_quota(cluster):
    """Reserved is what admissions use; what is lent is idle, and no more than what is borrowed."""
    snapshot, names = cluster
    sources = at_rest(snapshot, RULES[names])
    state, held = sources.state, {}
    for entry in state.entries.values():
        for pods in entry.admission.pod_set_assignments if entry.admission is not None else ():
            for resource, flavor in pods.flavors.items():
                key = entry.admission.cluster_queue, flavor, resource
                held[key] = held.get(key, 0) + pods.resource_usage.get(resource, 0)
    view = at_once(cluster_view(sources))
    for node in view.nodes:
        for cell in node.cells:
            column = view.columns[cell.column]
            if node.kind == "queue":
                assert cell.reserved == held.get((node.name, column.flavor, column.resource), 0)
                assert cell.borrowed == max(0, cell.reserved - cell.nominal)
                assert 0 <= cell.lent <= max(0, cell.nominal - cell.reserved)
            assert min(cell.borrowed, cell.lent) == 0
    for tree in state.trees:
        amounts = amounts_in(tree)
        for node in tree.nodes:
            members = (*node.children, *node.queues)
            for column in range(tree.width if members else 0):
                cells = [tree.cells[member.base + column] for member in members]
                borrowed = sum(max(0, tree.usage[cell.at] - cell.subtree) for cell in cells)
                lent = sum(amounts.lent.get(cell.at, 0) for cell in cells)
                assert lent <= borrowed + amounts.lent.get(node.base + column, 0)


@settings(max_examples=40)
@given(clusters(), st.data())
def test_what_if_nothing_were_otherwise(cluster, data):
    """A what-if without a wish is the plan: of the trees that have a part in it, where rules look at no others."""
    snapshot, names = cluster
    rules, workload = RULES[names], data.draw(st.sampled_from(snapshot.workloads))
    plan = make_plan(snapshot, rules, NOW)
    doors = {(q.namespace, q.name): q.cluster_queue for q in snapshot.local_queues}
    part = facts_around(bound(snapshot, rules), {doors.get((workload.namespace, workload.queue_name), "")})
    deadline = Deadline(monotonic, float("inf"))
    found = outlook(
        part, rules, NOW, changed(workload, WorkloadChange()), deadline, Named(lambda _: "", lambda _: True)
    )
    told = next((p for p in plan.pending if p.workload == workload.key), None)
    held = [a for a in plan.admitted if a.workload == workload.key]
    if told is None:
        assert found.admitted
        assert found.cluster_queue == held[-1].cluster_queue
    else:
        rest = at_rest(snapshot, rules).state
        start = with_start(rest, explain(rest, workload.key), NOW).start
        expected = (told.cluster_queue, told.position, told.reason, message_of(told), start or 0)
        assert (found.cluster_queue, found.position, found.reason, found.message, found.start) == expected


def test_a_what_if_takes_its_own_tree_only():
    """Of other trees neither queues nor workloads are copied; a queue without a cohort is a tree."""
    queues = tuple(
        ClusterQueue(name, cohort_name=cohort) for name, cohort in (("a", "x"), ("b", "x"), ("c", "y"), ("d", ""))
    )
    doors = tuple(LocalQueue("team", f"to-{queue.name}", queue.name) for queue in queues)
    jobs = tuple(Workload(name=queue.name, namespace="team", queue_name=f"to-{queue.name}") for queue in queues)
    whole = Snapshot(cluster_queues=queues, local_queues=doors, workloads=jobs)
    for wanted, left in (({"a"}, ["a", "b"]), ({"d"}, ["d"]), ({"a", "c"}, ["a", "b", "c"]), ({""}, [])):
        part = facts_around(bound(whole, RULES["kueue"]), wanted)
        assert [queue.name for queue in part.cluster_queues] == left
        assert [job.name for job in part.workloads] == left


@given(st.lists(st.integers(0, 50), max_size=3000))
def test_sorting_in_steps(numbers):
    """Sorting in steps is sorting."""
    assert at_once(in_order(numbers, lambda number: number)) == sorted(numbers)

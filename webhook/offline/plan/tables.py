"""A plan as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rich.table import Table

from webhook.api.amounts import assigned, text
from webhook.offline.plan.make_plan import QueuePlan
from webhook.offline.plan.output import moment
from webhook.offline.reports.terminal import plain_table
from webhook.queue.decisions import Admitted, Pending, Shortage

MOST_ROWS: Final = 200
"""So many pending workloads are shown; nobody reads more, and a terminal takes minutes for them."""


def tables(plan: QueuePlan, jobs: Mapping[str, str]) -> Iterator[Table]:
    """Yield the tables that have rows: admitted, preempted, evicted, pending."""
    if plan.admitted:
        yield _admitted(plan, jobs)
    if plan.preempted:
        table = plain_table("preempted", "Workload", "ClusterQueue", "Why", "For")
        for p in plan.preempted:
            table.add_row(_name(p.workload, jobs), p.cluster_queue, p.reason.value, _name(p.preemptor, jobs))
        yield table
    if plan.evicted:
        table = plain_table("evicted", "Workload", "ClusterQueue", "Why")
        for e in plan.evicted:
            table.add_row(_name(e.workload, jobs), e.cluster_queue, e.reason)
        yield table
    if plan.pending:
        yield _pending(plan, jobs)


def summary(plan: QueuePlan) -> str:
    """Return in one line what was decided."""
    cycles = f"{plan.cycles} cycle{'s' if plan.cycles != 1 else ''}"
    counts = f"{len(plan.admitted)} admitted, {len(plan.preempted)} preempted, {len(plan.pending)} pending"
    return f"{counts}, after {cycles}{'' if plan.stable else '; not stable yet'}"


def _admitted(plan: QueuePlan, jobs: Mapping[str, str]) -> Table:
    table = plain_table("admitted", "Workload", "ClusterQueue", "Pods", "Assigned", "")
    for a in plan.admitted:
        pods = ", ".join(f"{p.name} x{p.count}" for p in a.pod_sets)
        table.add_row(_name(a.workload, jobs), a.cluster_queue, pods, assigned(a.pod_sets), _notes(a))
    return table


def _notes(admitted: Admitted) -> str:
    notes = ["borrowing"] if admitted.borrowing else []
    return ", ".join([*notes, *([] if admitted.admitted else ["checks pending"])])


def _pending(plan: QueuePlan, jobs: Mapping[str, str]) -> Table:
    table = plain_table("pending", "#", "Workload", "ClusterQueue", "Queue", "Reason", "Why")
    rows = sorted(plan.pending, key=lambda p: (p.cluster_queue, p.position or 10**9, p.workload))
    if len(rows) > MOST_ROWS:
        rows.sort(key=lambda p: p.position or 10**9)  # the first of every queue, rather than all of the first queue
        table.caption, table.caption_justify = (
            f"{len(rows) - MOST_ROWS:,} more not shown; use -o json to list all",
            "left",
        )
    for p in rows[:MOST_ROWS]:
        position = str(p.position) if p.position else "-"
        table.add_row(position, _name(p.workload, jobs), p.cluster_queue, p.place.value, p.reason.value, _why(p, jobs))
    return table


def _why(pending: Pending, jobs: Mapping[str, str]) -> str:
    """Return the numbers where there are any, else the message; and when it could start, where that is known."""
    lines = [_short(s, jobs) for s in pending.shortages] or [pending.message]
    if pending.start is not None:
        lines.append(f"earliest start {moment(pending.start)}")
    return "\n".join(line for line in lines if line)


def _short(s: Shortage, jobs: Mapping[str, str]) -> str:
    if s.note:
        return ": ".join(filter(None, (s.pod_set, s.flavor, s.note)))
    line = (
        f"{s.pod_set}: requests {text(s.resource, s.asked)} {s.resource} of {s.flavor}, {text(s.resource, s.free)} free"
    )
    line += f" (at most {text(s.resource, s.most)})" if s.asked > s.most else ""
    held = ", ".join(f"{_name(h.workload, jobs)} {text(s.resource, h.amount)}" for h in s.holders[:3])
    more = f" and {len(s.holders) - 3} more" if len(s.holders) > 3 else ""
    return line + (f"; held by {held}{more}" if held else "")


def _name(workload: str, jobs: Mapping[str, str]) -> str:
    return jobs.get(workload, workload)

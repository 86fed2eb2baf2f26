"""The clause of the rules that keeps a workload waiting now: which question it answers, and where it is written."""

from __future__ import annotations

from typing import Final

from webhook.dashboard.model.workloads import RuleClause
from webhook.documents import Path
from webhook.policy.queue_rules.compile import Origin
from webhook.policy.queue_rules.file_rules import FileRules
from webhook.policy.queue_rules.points import POINTS
from webhook.queue.cycle.nominate import facts
from webhook.queue.decisions import Pending, Reason
from webhook.queue.pending.queue import Entry
from webhook.queue.rules import Rules
from webhook.queue.state import State

_POINTS: Final = {
    Reason.WAITING_FOR_QUOTA: "available",
    Reason.EXCEEDS_MAX_QUOTA: "most",
    Reason.NO_MATCHING_FLAVOR: "eligible",
    Reason.WAITING_FOR_PREEMPTED: "candidate",
    Reason.BEHIND_HEAD: "strict",
    Reason.NOT_CONSIDERED: "order",
    Reason.BACKOFF: "requeue",
}
"""The method of the rule point that an answer came from; `admit` has a condition of its own."""
_PATHS: Final[dict[str, Path]] = {point.method: ("spec", *point.path) for point in POINTS}


def clause_of(state: State, entry: Entry, told: Pending) -> RuleClause | None:
    """Give the clause that decides about a pending workload; None where no rule is asked."""
    rules = state.rules
    if not isinstance(rules, FileRules):
        return None
    if told.reason in (Reason.DENIED_BY_RULE, Reason.WAITING_FOR_PODS_READY):
        return _denial(state, entry, rules)
    method = _POINTS.get(told.reason)
    return None if method is None else _point(rules, method)


def _denial(state: State, entry: Entry, rules: FileRules) -> RuleClause | None:
    """Ask the conditions of `admit` again, and give the first that does not hold."""
    queue = entry.pending_queue
    if queue is None:
        return None
    values = (entry.workload, queue.queue, facts(state, entry, queue), state.changes.now)
    for condition in rules.conditions:
        compiled = condition.expression
        try:
            holds = compiled.call(*values) is True
        except rules.failures:
            holds = False
        if not holds:
            return _written("admit", compiled.origin, compiled.origin.path_at(0))
    return None


def _point(rules: Rules, method: str) -> RuleClause | None:
    assert isinstance(rules, FileRules)
    path = _PATHS[method]
    for origin in rules.origins.values():
        if origin.path_at(0)[: len(path)] == path:
            return _written(".".join(map(str, path[1:])), origin, path)
    return None


def _written(point: str, origin: Origin, path: Path) -> RuleClause:
    document = origin.document
    value = document.at(path)
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value).strip()
    name = str(document.at(("metadata", "name")))
    return RuleClause(name, point, text, document.file, document.place(path).line)

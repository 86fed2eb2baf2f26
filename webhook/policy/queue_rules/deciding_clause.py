"""The clause of the rules that keeps a workload waiting now: which question it answers, where it stands, its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path as FilePath
from typing import Any, Final

import msgspec

from webhook.api.amounts import text
from webhook.cel import Program
from webhook.cel.trace import TracedPart, trace, worked_out
from webhook.cel.types import TIMESTAMP
from webhook.documents import Path
from webhook.policy.loading.shipped import FOLDERS
from webhook.policy.queue_rules.compile import Origin, timestamp
from webhook.policy.queue_rules.file_rules import FileRules
from webhook.policy.queue_rules.points import POINTS
from webhook.queue.cycle.nominate import facts
from webhook.queue.decisions import Pending, Reason, Shortage
from webhook.queue.pending.queue import Entry, PendingQueue
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
LONGEST: Final = 80
"""Characters of a value that is told."""
NO_LIMIT: Final = -1
"""What the rules see where a quota has no limit."""


class ClauseValues(msgspec.Struct, frozen=True, rename="camel"):
    """What a clause saw and gave: `parts` are pieces of its text with their values, amounts in numbers of the core.

    `node` is the queue or cohort that it was asked about, where it was one. `worked` is the clause with its values, of
    a choice the branch that was taken: `24 - 20`.
    """

    parts: tuple[tuple[str, str], ...]
    result: str
    node: str = ""
    worked: str = ""


class RuleClause(msgspec.Struct, frozen=True, rename="camel"):
    """The rule that keeps a workload pending: the name of its file, where it is written, its text and its values.

    `point` is the question of the queue it answers (`admit`, `strict`, ...). On the page `file` is a path below the
    folder of the policies. What asks cohorts too has values for each node, from the root down.
    """

    rule: str
    point: str
    text: str = ""
    file: str = ""
    line: int = 0
    values: tuple[ClauseValues, ...] = ()


def clause_of(state: State, entry: Entry, told: Pending) -> RuleClause | None:
    """Return the clause that decides about a pending workload, with its values; None where no rule is asked."""
    rules, queue = state.rules, entry.pending_queue
    if not isinstance(rules, FileRules):
        return None
    if told.reason in (Reason.DENIED_BY_RULE, Reason.WAITING_FOR_PODS_READY):
        return None if queue is None else _denial(state, rules, entry, queue)
    method = _POINTS.get(told.reason)
    found = None if method is None else _written_at(rules, method)
    if found is None or method is None:
        return None
    program, origin = found
    values = () if queue is None else tuple(_values(program, method, queue, told))
    return _clause(".".join(map(str, _PATHS[method][1:])), _PATHS[method], origin, values)


def _denial(state: State, rules: FileRules, entry: Entry, queue: PendingQueue) -> RuleClause | None:
    """Ask the conditions of `admit` again, and give the first that does not hold."""
    values = (entry.workload, queue.queue, facts(state, entry.workload, queue), state.changes.now)
    for condition in rules.conditions:
        compiled = condition.expression
        try:
            holds = compiled.call(*values) is True
        except rules.failures:
            holds = False
        if not holds:
            seen = traced(compiled.program, (*values, *compiled.constants))
            return _clause("admit", compiled.origin.path_at(0), compiled.origin, (seen,))
    return None


def _values(program: Program, method: str, queue: PendingQueue, told: Pending) -> Iterator[ClauseValues]:
    """Yield what a point saw and gave, of the root first; nothing where it is asked about many things."""
    head = queue.head()
    if len(program.names) != len(_sees(method)):
        return  # it reads parameters, which only its call knows
    if method == "strict" and head is not None:
        yield traced(program, (head.workload, queue.queue))
    elif method in ("available", "most") and (lack := _lacking(told.shortages)) is not None:
        tree, above = queue.node.tree, 0
        column = tree.columns[lack.flavor, lack.resource]
        for node in reversed(queue.node.path):
            cell = tree.cells[node.base + column]
            given = (cell, tree.usage[cell.at], above) if method == "available" else (cell, above)
            seen = traced(program, given, node.name, partial(text, lack.resource))
            yield seen if node.parent is None else _with_parent(seen, text(lack.resource, above))
            above = tree.available(cell.at, tree.usage) if method == "available" else cell.most


def _clause(point: str, path: Path, origin: Origin, values: tuple[ClauseValues, ...]) -> RuleClause:
    document = origin.document
    value = document.at(path)
    written = ", ".join(map(str, value)) if isinstance(value, list) else str(value).strip()
    name = str(document.at(("metadata", "name")))
    return RuleClause(name, point, written, document.file, document.place(path).line, values)


def below(file: str, folders: Iterable[FilePath]) -> str:
    """Give a file's path as it is below the folder that it was loaded from, or comes in; itself where it is in none."""
    path = FilePath(file)
    for folder in (*FOLDERS, *folders):
        if path.is_relative_to(folder):
            inside = path.relative_to(folder)
            return inside.as_posix() if len(inside.parts) > 1 else f"{folder.name}/{path.name}"
    return file


def traced(program: Program, values: tuple[Any, ...], node: str = "", say: Callable[[int], str] = str) -> ClauseValues:
    """Evaluate once more, and give the values of the smallest parts that have one that can be told.

    `say` writes amounts.
    """
    types = program.env.variables.values()
    given = tuple(timestamp(v) if t == TIMESTAMP else v for t, v in zip(types, values, strict=True))
    root = trace(program, given)
    parts = {program.text[part.start : part.end]: _told(part, say) for part in _smallest(root) if part is not root}
    worked, result = worked_out(program.text, root, partial(_told, say=say)), _told(root, say)
    return ClauseValues(tuple(parts.items()), result, node, worked if worked != result else "")


def _with_parent(seen: ClauseValues, parent: str) -> ClauseValues:
    """Add what the node above has free: of a choice between values a trace tells only what it depends on."""
    return msgspec.structs.replace(seen, parts=tuple({**dict(seen.parts), "parent": parent}.items()))


def _smallest(part: TracedPart) -> Iterator[TracedPart]:
    inner = [found for below in part.parts for found in _smallest(below)]
    if inner:
        yield from inner
    elif _told(part):
        yield part


def _told(part: TracedPart, say: Callable[[int], str] = str) -> str:
    """Return the last value of a part as text; empty where it is an object, a list, or too long."""
    match part.values[-1] if part.values else None:
        case bool(value):
            return str(value).lower()
        case int(value):
            return str(value) if value == NO_LIMIT else say(value)
        case float(value):
            return str(value)
        case str(value) if len(value) <= LONGEST:
            return f'"{value}"'
    return ""


def _lacking(shortages: Iterable[Shortage]) -> Shortage | None:
    return next((s for s in shortages if not s.note and s.asked > min(s.free, s.most)), None)


def _sees(method: str) -> tuple[str, ...]:
    return next(tuple(point.sees) for point in POINTS if point.method == method)


def _written_at(rules: FileRules, method: str) -> tuple[Program, Origin] | None:
    """Find the program of a rule point, and where it is written."""
    path = _PATHS[method]
    found = ((p, origin) for p, origin in rules.origins.items() if origin.path_at(0)[: len(path)] == path)
    return next(found, None)

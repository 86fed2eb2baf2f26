"""The rule points of a QueuePolicy: where each stands in `spec`, what its expression sees, and what it must give.

One row a point; `load.py` compiles them, `sluice lint` and the reference page read the same table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from webhook.cel import host_type
from webhook.cel.types import BOOL, DOUBLE, INT, STRING, TIMESTAMP, Type, list_of
from webhook.documents import Path
from webhook.queue.model import ClusterQueue, LocalQueue, PodSet, Workload
from webhook.queue.quota.cell import Cell
from webhook.queue.rules import Contest, Found, Match, Option, Placement, Reach, Shares, UsageFacts, Victim

WORKLOAD: Final = host_type(Workload)
QUEUE: Final = host_type(ClusterQueue)
NODE: Final = host_type(Cell)
FACTS: Final = host_type(UsageFacts)
VICTIM: Final = host_type(Victim)


@dataclass(frozen=True, slots=True)
class Point:
    """One rule point. `keys`: a list of expressions, sort keys in order; `result` None is any type that sorts."""

    path: tuple[str, ...]
    method: str
    sees: Mapping[str, Type]
    result: Type | None
    keys: bool = False


def _keys(path: str, method: str, **sees: Type) -> Point:
    return Point(tuple(path.split(".")), method, sees, None, keys=True)


def _one(path: str, method: str, result: Type, **sees: Type) -> Point:
    return Point(tuple(path.split(".")), method, sees, result)


POINTS: Final = (
    _keys("order", "order", workload=WORKLOAD, queue=QUEUE, now=TIMESTAMP, usage=DOUBLE),
    _keys("across", "across", workload=WORKLOAD, queue=QUEUE, placement=host_type(Placement), facts=FACTS),
    _keys("tournament", "tournament", workload=WORKLOAD, queue=QUEUE, contest=host_type(Contest), facts=FACTS),
    _one("strict", "strict", BOOL, workload=WORKLOAD, queue=QUEUE),
    _one("reserve.when", "reserves", BOOL, workload=WORKLOAD, queue=QUEUE, outcome=STRING),
    _one("reserve.amount", "reserved", INT, node=NODE, usage=INT, asked=INT, borrow=INT),
    _one("reserve.yields", "yields", BOOL, workload=WORKLOAD, begins=INT, at=INT),
    _one("park", "park", BOOL, workload=WORKLOAD, queue=QUEUE, outcome=STRING),
    _one("capacity.guaranteed", "guaranteed", INT, node=NODE),
    _one("capacity.available", "available", INT, node=NODE, usage=INT, parent=INT),
    _one("capacity.most", "most", INT, node=NODE, parent=INT),
    _one("capacity.borrows", "borrows", BOOL, node=NODE, usage=INT),
    _one("flavor.eligible", "eligible", BOOL, podSet=host_type(PodSet), match=host_type(Match), queue=QUEUE),
    _keys("flavor.preference", "preference", option=host_type(Option), queue=QUEUE),
    _one("flavor.stop", "stop", BOOL, option=host_type(Option), queue=QUEUE),
    _one("flavor.mayPreempt", "may_preempt", BOOL, node=NODE, asked=INT, queue=QUEUE, belowRoot=BOOL),
    _one("preempt.reach", "reach", BOOL, queue=QUEUE, reach=host_type(Reach)),
    _one(
        "preempt.candidate",
        "candidate",
        STRING,
        victim=VICTIM,
        workload=WORKLOAD,
        queue=QUEUE,
        advantage=BOOL,
        now=TIMESTAMP,
    ),
    _keys("preempt.order", "victim_order", victim=VICTIM, workload=WORKLOAD, queue=QUEUE, variant=STRING, usage=DOUBLE),
    _one("preempt.attempts", "attempts", list_of(BOOL), queue=QUEUE, found=host_type(Found)),
    _one("preempt.whileBorrowing", "while_borrowing", BOOL, variant=STRING),
    _one("preempt.entitled", "entitled", BOOL, node=NODE, usage=INT),
    _one("share.ratio", "ratio", DOUBLE, borrowed=INT, lendable=INT),
    _one("share.value", "share", DOUBLE, ratio=DOUBLE, weight=INT, borrowing=BOOL),
    _one("requeue", "requeue", INT, workload=WORKLOAD, at=INT),
)
"""Every point but `admit`, `evict` and `preempt.allowed`, which have a name or a message beside each expression."""

FAIR: Final = frozenset({"tournament", "entitled"})
"""Methods of the points that only fair sharing asks."""
ADMIT: Final[Mapping[str, Type]] = {
    "workload": WORKLOAD,
    "queue": QUEUE,
    "facts": FACTS,
    "now": TIMESTAMP,
}
EVICT: Final[Mapping[str, Type]] = {
    "workload": WORKLOAD,
    "queue": QUEUE,
    "localQueue": host_type(LocalQueue),
    "now": TIMESTAMP,
}
ALLOWED: Final[Mapping[str, Type]] = {"shares": host_type(Shares)}


def seen_at(path: Path) -> Mapping[str, Type] | None:
    """Return what the expression at a path of a QueuePolicy sees; None where there is no rule point."""
    match path:
        case ("spec", "admit", *_):
            return ADMIT
        case ("spec", "evict", *_):
            return EVICT
        case ("spec", "preempt", "allowed", *_):
            return ALLOWED
    return next((point.sees for point in POINTS if path[1 : 1 + len(point.path)] == point.path), None)

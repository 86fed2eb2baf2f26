"""Messages for pending workloads: the core's own, or a sentence made of its numbers, as quantities.

`message_of` and `start_unknown_of` are for users; `condition_of` is the message of the condition `QuotaReserved`, in
Kueue's wording, which its clients parse.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from webhook.api import amounts
from webhook.api.shortage_sentence import NO_VICTIMS, sentence_of
from webhook.queue.decisions import Pending, Reason, Shortage
from webhook.queue.rules import HeadOutcome

EVALUATED: Final = "Workload is pending evaluation in the scheduling queue"
_NOT_YET: Final = frozenset({Reason.NOT_CONSIDERED, Reason.BEHIND_HEAD, Reason.BACKOFF, Reason.CHECKS_PENDING})
"""Reasons that Kueue does not tell apart."""
_SAY_IT_ALL: Final = frozenset({"NoLongerFits", "Overlap", "Deferred"})
"""Outcomes whose message tells everything: at that time, flavors were found."""


def message_of(pending: Pending) -> str:
    """Return why a workload waits: the core's message if it has one, else a sentence made of the shortages."""
    if pending.message:
        return pending.message
    unmended = NO_VICTIMS if pending.outcome == HeadOutcome.NO_CANDIDATES else ""
    return "; ".join(filter(None, (sentence_of(pending.shortages), unmended)))


def start_unknown_of(unknown: str, blocked: Pending | None) -> str:
    """Return why there is no estimated start, of a `Start` or a `Pending`; empty where there is one."""
    return unknown if blocked is None else message_of(blocked) or blocked.reason.value


def condition_of(pending: Pending) -> tuple[str, str]:
    """Return reason and message of the condition `QuotaReserved` of a workload that waits in a queue."""
    if pending.reason in _NOT_YET:
        return Reason.NOT_CONSIDERED.value, EVALUATED
    told = "" if pending.outcome in _SAY_IT_ALL else _assignment(pending.shortages)
    if told and pending.reason is Reason.WAITING_FOR_PREEMPTED:
        told = f"{told}. {pending.message}"
    return pending.reason.value, told or message_of(pending) or pending.reason.value


def _assignment(shortages: tuple[Shortage, ...]) -> str:
    """Return which flavors could not be assigned, pod set by pod set."""
    by_pod_set: dict[str, set[str]] = {}
    for shortage in shortages:
        by_pod_set.setdefault(shortage.pod_set, set()).add(shortage.note or _lack(shortage))
    told = (f"couldn't assign flavors to pod set {name}: {', '.join(sorted(r))}" for name, r in by_pod_set.items())
    return "; ".join(told)


def _lack(shortage: Shortage) -> str:
    text = partial(amounts.text, shortage.resource)
    where = f"{shortage.resource} in flavor {shortage.flavor}"
    if shortage.asked > shortage.most:
        here = f"previously considered podsets requests ({text(shortage.beside)}) + current podset request"
        asked = text(shortage.asked - shortage.beside)
        return f"insufficient quota for {where}, {here} ({asked}) > maximum capacity ({text(shortage.most)})"
    return f"insufficient unused quota for {where}, {text(shortage.asked - shortage.free)} more needed"

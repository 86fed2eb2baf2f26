"""What a workload lacks, as a sentence for users; the page has its Chinese form."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from webhook.api import amounts
from webhook.queue.decisions import Shortage

NO_VICTIMS: Final = "no workload can be preempted for it"


def sentence_of(shortages: Iterable[Shortage]) -> str:
    """Return what is short, in quantities: `6` or `1500m` for thousandths of a CPU, `64Gi` for bytes."""
    return "; ".join(filter(None, map(_short, shortages)))


def _short(shortage: Shortage) -> str:
    if shortage.note:
        return shortage.note
    if shortage.asked <= min(shortage.free, shortage.most):
        return ""
    text = partial(amounts.text, shortage.resource)
    asked, most, free = text(shortage.asked), text(shortage.most), text(max(0, shortage.free))
    if shortage.asked > shortage.most:
        return f"requests {asked} {shortage.resource} of flavor {shortage.flavor}, the queue can use at most {most}"
    return f"requests {asked} {shortage.resource} of flavor {shortage.flavor}, {free} free"

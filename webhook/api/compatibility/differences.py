"""Where Sluice decides otherwise than Kueue on purpose: what, why, and what gives Kueue's answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. `setting` gives Kueue's answer; `traces` are the shared traces that show it."""

    what: str
    why: str
    setting: str
    traces: tuple[str, ...] = ()


DIFFERENCES: Final = (
    Difference(
        "who waits for victims comes first between queues, not only in its own",
        "in Kueue another queue may take what the victims free, and the same jobs are evicted once more",
        "`parameters: {prioritizePreemptorWorkloads: false}` over `kueue`; `plan --batch` and `--trace` have it",
    ),
    Difference(
        "a look that can only repeat what is known takes no turn of its queue",
        "the next job in the queue starts now and not a cycle later; what was parked is tried when a number that "
        "it failed on came within reach",
        "`plan --cycles N`, `--batch` and `--trace` count Kueue's cycles, and every retry takes its turn",
    ),
    Difference(
        "under fair sharing a queue whose head was admitted sends its next one into the same cycle",
        "with one head of each queue per cycle, weights hardly count where nobody is preempted",
        "`plan --cycles N`, `--batch` and `--trace` take one head of each queue",
    ),
    Difference(
        "a ClusterQueue's changed status retries nothing (Kueue's cohort echo)",
        "in trees of two levels and more Kueue passes every new count through the Cohorts, and tries all that is "
        "parked again; nothing was freed by it",
        "`plan --cycles N`, `--batch` and `--trace` hear the echo",
    ),
    Difference(
        "a preemptor that was found not to fit loses its place at the head of its queue",
        "Kueue says so too, and forgets to: the job stays before work of higher priority until another one preempts",
        "none: a mistake of Kueue's",
        ("trace-a2-00076",),
    ),
    Difference(
        "with `flavorFungibility.preference` a flavor on which one resource needs a preemption counts as that",
        "Kueue may nominate it as fitting; the job then fails its second check in every cycle, though another flavor "
        "is free or its victims are there (PreemptionOverBorrowing)",
        "none: a mistake of Kueue's",
        ("trace-a1-00034", "trace-a3-00037"),
    ),
)

"""Which decisions are being written: kept by who writes, read by the core."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class WritesInFlight:
    """Workloads, by their keys (`namespace/name`), whose decision is being written."""

    keys: set[str] = field(default_factory=set)
    """Those whose write has no outcome yet: until they are removed here, the decision counts, not the object."""
    outdated: set[str] = field(default_factory=set)
    """Those to decide anew when their write has ended: the decision was made from an older object.

    So is what was heard of the Workload meanwhile, even if it is the write itself: a watch may be faster than the
    answer. Not for what the API server refuses: that would be tried again without a pause.
    """

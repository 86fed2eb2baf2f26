"""Who took a workload's place: read from the message of its condition `Preempted`, which names it by a uid."""

from __future__ import annotations

import re
from typing import Final

_MESSAGE: Final = re.compile(
    r"Preempted to accommodate a workload \(UID: (?P<uid>[^,)]+), JobUID: [^)]*\) due to [^;]*"
    r"(; preemptor path: (?P<path>[^;]*); preemptee path: .*)?"
)


def preemptor_in(message: str) -> tuple[str, str] | None:
    """Return the uid of the preemptor's Workload and the name of its ClusterQueue; None where the message names none.

    Either is empty where it is not known. The message is Kueue's, which Sluice writes too.
    """
    found = _MESSAGE.fullmatch(message)
    if found is None:
        return None
    uid, path = found["uid"], found["path"] or ""
    return ("" if uid == "UNKNOWN" else uid), path.rpartition("/")[2] if path.startswith("/") else ""

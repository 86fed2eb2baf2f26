"""Times as the API writes them (`metav1.Time`): RFC 3339 in UTC, in whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime


def time_text(moment: datetime) -> str:
    """Return a time as a field of an object has it; a fraction of a second is cut off."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"

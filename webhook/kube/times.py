"""Times as the API writes them (`metav1.Time`): RFC 3339 in UTC, in whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime


def time_text(moment: datetime) -> str:
    """Return a time as a field of an object has it; a fraction of a second is cut off."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def milliseconds(time: object) -> int:
    """Read a time, RFC 3339 or a datetime, as milliseconds since the epoch; 0 for none. Raises ValueError."""
    if not time:
        return 0
    moment = time if isinstance(time, datetime) else datetime.fromisoformat(str(time).replace("Z", "+00:00"))
    return round(moment.timestamp() * 1000)

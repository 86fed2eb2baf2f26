"""Parses and formats durations in settings, rules and traces: `90s`, `5m`, `1h30m`, `7d`."""

from __future__ import annotations

import re
from typing import Final

from webhook.cel.lib.times import parse_duration

DAY_MS: Final = 86_400_000
_DAYS: Final = re.compile(r"(?:([0-9]{1,12}(?:\.[0-9]{1,12})?)d)?(.*)", re.DOTALL)


def duration_ms(text: object) -> int:
    """Read a duration as Go writes it, after a number of days; in milliseconds. Raises ValueError on anything else."""
    found = _DAYS.fullmatch(text.strip()) if isinstance(text, str) else None
    days, rest = found.groups() if found is not None else (None, "")
    parsed = parse_duration(rest or ("0" if days else ""))
    if parsed is None or parsed.nanos < 0:
        raise ValueError(f'"{text}" is not a duration such as 90s, 5m, 1h30m or 7d')
    return round(float(days or 0) * DAY_MS) + parsed.nanos // 1_000_000

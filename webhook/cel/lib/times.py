"""Timestamps and durations: reading and writing them as Go's package time does, and their getters.

Time zones come from the zoneinfo database; `+05:30` is an offset. Arithmetic on times is the operators'.
"""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from webhook.cel.errors import CelError
from webhook.cel.function_types import Function, Overload
from webhook.cel.lib import costs
from webhook.cel.lib.go.strconv import plain, quote
from webhook.cel.lib.rows import library, member
from webhook.cel.types import DURATION, INT, STRING, TIMESTAMP
from webhook.cel.values import SECONDS_MAX, SECONDS_MIN, Duration, Timestamp

OVERFLOW: Final = "timestamp overflow"
_SECOND: Final = 10**9
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")
_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()


def parse_duration(text: str) -> Duration | None:
    """Read a duration such as `1h30m5.5s`, None if it is none or does not fit an int64 (time.ParseDuration)."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return Duration(0)
    total, position = 0, 0
    while position < len(rest):
        part = _PART.match(rest, position)
        nanos = _part_nanos(part) if part else None
        if part is None or nanos is None:
            return None
        total += nanos
        if total > 2**63:
            return None
        position = part.end()
    negative = text[:1] == "-"
    if not rest or (total == 2**63 and not negative):
        return None
    return Duration(-total if negative else total)


def _part_nanos(part: re.Match[str]) -> int | None:
    whole, fraction, unit = part.group(1), part.group(2) or "", _UNITS.get(part.group(3))
    if unit is None or not (whole or fraction):
        return None
    if len(whole.lstrip("0")) > 19 or int(whole or 0) > 2**63 // unit:
        return None
    nanos = int(whole or 0) * unit
    digits, scale = _fraction(fraction)
    if digits > 0:
        nanos += int(float(digits) * (float(unit) / scale))
    return nanos if nanos <= 2**63 else None


def _fraction(text: str) -> tuple[int, float]:
    """The leading digits that fit an int64, and ten to their number."""
    value, scale = 0, 1.0
    for digit in text:
        if value > (2**63 - 1) // 10 or value * 10 + int(digit) > 2**63:
            break
        value, scale = value * 10 + int(digit), scale * 10
    return value, scale


def duration_text(duration: Duration) -> str:
    """A duration in seconds, e.g. `5405.5s`."""
    return f"{plain(_as_float(duration.nanos, _SECOND))}s"


def _as_float(nanos: int, unit: int) -> float:
    """Whole units plus the rest as a double, with the rounding of Go's Duration.Hours and its sisters."""
    whole, rest = divmod(abs(nanos), unit)
    if nanos < 0:
        return float(-whole) + float(-rest) / unit
    return float(whole) + float(rest) / unit


def parse_timestamp(text: str) -> Timestamp | None:
    """Read an RFC 3339 time as Go does (also `T1:00:00Z`, a comma before the fraction, offsets up to `+24:60`).

    None if it is none. Raises CelError where it is before year 1 or after year 9999 in UTC.
    """
    match = _RFC3339.fullmatch(text)
    if match is None or not text.isascii():
        return None
    year, month, day, hour, minute, second = (int(match.group(index)) for index in range(1, 7))
    if not valid_date(year, month, day) or hour > 23 or minute > 59 or second > 59:
        return None
    offset = _offset(match.group(8))
    if offset is None:
        return None
    seconds = days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
    if not SECONDS_MIN <= seconds <= SECONDS_MAX:
        raise CelError(OVERFLOW)
    return Timestamp(seconds, int((match.group(7) or "0")[:9].ljust(9, "0")), offset)


def _offset(text: str) -> int | None:
    if text == "Z":
        return 0
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 24 or minutes > 60:
        return None
    seconds = (hours * 60 + minutes) * 60
    return -seconds if text[0] == "-" else seconds


def valid_date(year: int, month: int, day: int) -> bool:
    """Whether the Gregorian calendar has this day (year 0 counts, as in Go)."""
    if not 1 <= month <= 12:
        return False
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= _DAYS[month - 1] + leap


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a date in any year."""
    shift = 0 if 1 <= year <= 9999 else (400 if year < 1 else -400)
    return datetime.date(year + shift, month, day).toordinal() - _EPOCH - shift // 400 * 146097


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01, in any year near 1 to 9999."""
    ordinal, shift = days + _EPOCH, 0
    if ordinal < 1:
        shift = 1
    elif ordinal > datetime.date.max.toordinal():
        shift = -1
    date = datetime.date.fromordinal(ordinal + shift * 146097)
    return date.year - shift * 400, date.month, date.day


def timestamp_text(time: Timestamp) -> str:
    """A time in RFC 3339 with as many places as it needs, in the offset that it was written with."""
    local = time.seconds + time.zone
    year, month, day = civil_from_days(local // 86400)
    clock = local % 86400
    fraction = f".{time.nanos:09d}".rstrip("0") if time.nanos else ""
    zone = "Z"
    if time.zone:
        minutes = abs(time.zone) // 60
        zone = f"{'-' if time.zone < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
    return (
        f"{year:04d}-{month:02d}-{day:02d}T{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}{fraction}{zone}"
    )


def local_seconds(time: Timestamp, zone: str = "UTC") -> int:
    """The seconds that a clock in the zone shows, counted from 1970; CelError for a zone that does not exist."""
    if ":" in zone:
        return time.seconds + _numeric_zone(zone)
    if zone in ("", "UTC", "Local"):
        return time.seconds
    place = _load_zone(zone)
    moment = min(max(time.seconds, SECONDS_MIN + 2 * 86400), SECONDS_MAX - 2 * 86400)
    instant = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=moment)
    offset = instant.astimezone(place).utcoffset()
    return time.seconds + (int(offset.total_seconds()) if offset is not None else 0)


def _numeric_zone(zone: str) -> int:
    hours, _, minutes = zone.partition(":")
    minute = _atoi(minutes) if _atoi(hours) is not None else None
    hour = _atoi(hours)
    if hour is None or minute is None:
        wrong = hours if hour is None else minutes
        raise CelError(f"strconv.Atoi: parsing {quote(wrong)}: invalid syntax")
    offset = hour * 60 - minute if zone[0] == "-" else hour * 60 + minute
    return max(min(offset * 60, 10**11), -(10**11))


def _atoi(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None


@lru_cache(maxsize=256)
def _load_zone(name: str) -> zoneinfo.ZoneInfo:
    if ".." in name or name[0] in "/\\":
        raise CelError("time: invalid location name")
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise CelError(f"unknown time zone {name}") from None


def _date(time: Timestamp, zone: str) -> tuple[int, int, int]:
    return civil_from_days(local_seconds(time, zone) // 86400)


def full_year(time: Timestamp, zone: str = "UTC") -> int:
    """The year."""
    return _date(time, zone)[0]


def month(time: Timestamp, zone: str = "UTC") -> int:
    """The month, January is 0."""
    return _date(time, zone)[1] - 1


def date(time: Timestamp, zone: str = "UTC") -> int:
    """The day of the month from 1."""
    return _date(time, zone)[2]


def day_of_month(time: Timestamp, zone: str = "UTC") -> int:
    """The day of the month from 0."""
    return _date(time, zone)[2] - 1


def day_of_week(time: Timestamp, zone: str = "UTC") -> int:
    """The day of the week, Sunday is 0."""
    return (local_seconds(time, zone) // 86400 + 4) % 7


def day_of_year(time: Timestamp, zone: str = "UTC") -> int:
    """The day of the year from 0."""
    days = local_seconds(time, zone) // 86400
    return days - days_from_civil(civil_from_days(days)[0], 1, 1)


def hours(time: Timestamp, zone: str = "UTC") -> int:
    """The hour of the day."""
    return local_seconds(time, zone) % 86400 // 3600


def minutes(time: Timestamp, zone: str = "UTC") -> int:
    """The minute of the hour."""
    return local_seconds(time, zone) % 3600 // 60


def seconds(time: Timestamp, zone: str = "UTC") -> int:
    """The second of the minute."""
    return local_seconds(time, zone) % 60


def milliseconds(time: Timestamp, zone: str = "UTC") -> int:
    """The milliseconds of the second."""
    local_seconds(time, zone)
    return time.nanos // 10**6


def duration_hours(duration: Duration) -> int:
    """The duration in whole hours, cut towards zero."""
    return int(_as_float(duration.nanos, 3600 * _SECOND))


def duration_minutes(duration: Duration) -> int:
    """The duration in whole minutes, cut towards zero."""
    return int(_as_float(duration.nanos, 60 * _SECOND))


def duration_seconds(duration: Duration) -> int:
    """The duration in whole seconds, cut towards zero."""
    return int(_as_float(duration.nanos, _SECOND))


def duration_milliseconds(duration: Duration) -> int:
    """The duration in whole milliseconds, cut towards zero."""
    whole = abs(duration.nanos) // 10**6
    return -whole if duration.nanos < 0 else whole


def _getter(
    name: str, ids: str, call: Callable[..., int], doc: str, of_duration: Callable[..., int] | None, example: str
) -> Function:
    overloads: list[Overload] = [
        member(f"timestamp_to_{ids}", TIMESTAMP, (), INT, call, costs.nominal),
        member(f"timestamp_to_{ids}_with_tz", TIMESTAMP, (STRING,), INT, call, costs.nominal),
    ]
    if of_duration is not None:
        overloads.append(member(f"duration_to_{ids}", DURATION, (), INT, of_duration, costs.nominal))
    examples = [(f"timestamp('2024-02-29T23:30:45.123Z').{name}()", example)]
    if of_duration is not None:
        examples.append((f"duration('1h30m5.5s').{name}()", str(of_duration(Duration(5405500000000)))))
    return Function(name, tuple(overloads), doc, tuple(examples))


FUNCTIONS: Final = library(
    "standard",
    _getter("getFullYear", "year", full_year, "The year, in UTC or a time zone.", None, "2024"),
    _getter("getMonth", "month", month, "The month, January is 0.", None, "1"),
    _getter("getDayOfYear", "day_of_year", day_of_year, "The day of the year from 0.", None, "59"),
    _getter("getDayOfMonth", "day_of_month", day_of_month, "The day of the month from 0.", None, "28"),
    _getter("getDate", "day_of_month_1_based", date, "The day of the month from 1.", None, "29"),
    _getter("getDayOfWeek", "day_of_week", day_of_week, "The day of the week, Sunday is 0.", None, "4"),
    _getter("getHours", "hours", hours, "The hour, or a whole duration in hours.", duration_hours, "23"),
    _getter("getMinutes", "minutes", minutes, "The minute, or a whole duration in minutes.", duration_minutes, "30"),
    _getter("getSeconds", "seconds", seconds, "The second, or a whole duration in seconds.", duration_seconds, "45"),
    _getter(
        "getMilliseconds",
        "milliseconds",
        milliseconds,
        "The milliseconds of the second, or a whole duration in milliseconds.",
        duration_milliseconds,
        "123",
    ),
)

"""What a QueuePolicy sets beside its rules: fair sharing, heads per cycle, partial admission, how usage decays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

SETTINGS: Final = (
    "fairSharing",
    "headsPerCycle",
    "history",
    "partialAdmission",
    "recomputeVictims",
    "parameters",
    "laws",
    "reserve",
)
UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of all files together. Times are milliseconds."""

    fair: bool = False
    strategies: tuple[str, ...] = ()
    heads: int = 0
    partial: bool = True
    recompute: bool = True
    half_life: int = 0
    sampling: int = 300_000
    resource_weights: Mapping[str, float] = field(default_factory=dict)
    hold: bool = False


def settings_of(values: Mapping[str, Any]) -> Settings:
    """Read settings as they stand in `spec`."""
    fair, history = values.get("fairSharing") or {}, values.get("history") or {}
    return Settings(
        fair=bool(fair.get("enabled", bool(fair))),
        strategies=tuple(fair.get("strategies") or ()),
        heads=int(values.get("headsPerCycle") or 0),
        partial=bool(values.get("partialAdmission", True)),
        recompute=bool(values.get("recomputeVictims", True)),
        half_life=milliseconds(history.get("halfLife") or "0s"),
        sampling=milliseconds(history.get("samplingInterval") or "5m"),
        resource_weights={r: float(w) for r, w in (history.get("resourceWeights") or {}).items()},
        hold=(values.get("reserve") or {}).get("for") == "Call",
    )


def milliseconds(text: str) -> int:
    """Read a duration such as `5m`, `1h30m` or `500ms`. Raises ValueError on anything else."""
    total, number = 0.0, ""
    rest = text.strip()
    while rest:
        digits = len(rest) - len(rest.lstrip("0123456789."))
        number, rest = rest[:digits], rest[digits:]
        unit = next((u for u in ("ms", "s", "m", "h", "d") if rest.startswith(u)), "")
        if not number or not unit:
            raise ValueError(f"not a duration: {text}")
        total, rest = total + float(number) * UNITS[unit], rest[len(unit) :]
    return round(total)

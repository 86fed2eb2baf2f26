"""What a QueuePolicy sets beside its rules: fair sharing, partial admission, how usage decays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.api.durations import duration_ms
from webhook.diagnostics import Diagnostic
from webhook.documents import Document

Setting = tuple[str, ...]
"""Where a setting stands in `spec`."""
ENABLED: Final = ("fairSharing", "enabled")
STRATEGIES: Final = ("fairSharing", "strategies")
HALF_LIFE: Final = ("history", "halfLife")
WEIGHTS: Final = ("history", "resourceWeights")
SAMPLING: Final = ("history", "samplingInterval")
ALWAYS: Final = ("history", "always")
PARTIAL: Final = ("partialAdmission",)
RECOMPUTE: Final = ("recomputeVictims",)
HOLD: Final = ("reserve", "for")
ALL: Final = (ENABLED, STRATEGIES, HALF_LIFE, WEIGHTS, SAMPLING, ALWAYS, PARTIAL, RECOMPUTE, HOLD)
SECTIONS: Final = tuple(dict.fromkeys(setting[0] for setting in ALL))
DURATIONS: Final = (HALF_LIFE, SAMPLING)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of all files together. Times are milliseconds."""

    fair: bool = False
    strategies: tuple[str, ...] = ()
    partial: bool = True
    recompute: bool = True
    half_life: int = 0
    sampling: int = 300_000
    resource_weights: Mapping[str, float] = field(default_factory=dict)
    metered: bool = False
    hold: bool = False


def stated(spec: Mapping[str, Any]) -> dict[Setting, Any]:
    """Return the settings that stand in a `spec`."""
    found: dict[Setting, Any] = {}
    for setting in ALL:
        value: Any = spec
        for step in setting:
            value = value.get(step) if isinstance(value, dict) else None
        if value is not None:
            found[setting] = value
    return found


def merge(over: Mapping[Setting, Any], below: Mapping[Setting, Any]) -> dict[Setting, Any]:
    """Merge settings over others, one by one; weights of resources are merged by resource."""
    merged = {**below, **over}
    if WEIGHTS in over:
        merged[WEIGHTS] = {**below.get(WEIGHTS, {}), **over[WEIGHTS]}
    return merged


def settings_of(values: Mapping[Setting, Any]) -> Settings:
    """Read settings whose types and durations were checked."""
    return Settings(
        fair=values.get(ENABLED, STRATEGIES in values),
        strategies=tuple(values.get(STRATEGIES, ())),
        partial=values.get(PARTIAL, True),
        recompute=values.get(RECOMPUTE, True),
        half_life=duration_ms(values.get(HALF_LIFE, "0s")),
        sampling=duration_ms(values.get(SAMPLING, "5m")),
        resource_weights={resource: float(weight) for resource, weight in values.get(WEIGHTS, {}).items()},
        metered=values.get(ALWAYS, False),
        hold=values.get(HOLD) == "UntilAdmitted",
    )


def check_durations(document: Document) -> Iterator[Diagnostic]:
    """Yield the invalid durations of a QueuePolicy."""
    for setting in DURATIONS:
        text = document.at(("spec", *setting))
        try:
            if isinstance(text, str):
                duration_ms(text)
        except ValueError as error:
            yield document.diagnostic("RUL002", ("spec", *setting), str(error))

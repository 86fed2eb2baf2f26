"""Which rule files the settings of the queues ask for, and what goes before what stands in those files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from webhook.api.configuration.sections import AdmissionFairSharing, QueueSettings, WaitForPodsReady

KUEUE: Final = "kueue"
FAIR: Final = "kueue-fair"
READY: Final = "pods-ready"
BLOCKING: Final = "block-until-ready"
GATES: Final = {
    "PartialAdmission": "partialAdmission",
    "RecomputeAssignmentUponPreemptionTargetsOverlap": "recomputeVictims",
}
"""Gates that are settings of a QueuePolicy; any other is a parameter of its own name, with a small first letter."""


@dataclass(frozen=True, slots=True)
class Configured:
    """Rule files by name, a later one over an earlier one, and what replaces parameters and settings in them."""

    names: tuple[str, ...] = (KUEUE,)
    parameters: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


PUBLISHED: Final = "sluice.dev/rules"
"""Annotation of the leader's Lease: the rules that it decides by, as `published` writes them."""


@dataclass(frozen=True, slots=True)
class Published:
    """What a leader decides by: the rules that were asked for, the digest of what that gave, and the queues' settings.

    These are None where an older Sluice leads, which names none, or a newer one, which has others.
    """

    rules: Configured
    digest: str
    queues: QueueSettings | None


def published(wanted: Configured, digest: str, queues: QueueSettings) -> str:
    """Write down what is in force for those who decide on copies. Of the settings, those that are not the usual."""
    rules = {"names": list(wanted.names), "parameters": dict(wanted.parameters), "settings": dict(wanted.settings)}
    usual, said = msgspec.to_builtins(QueueSettings()), msgspec.to_builtins(queues)
    apart = {name: value for name, value in said.items() if value != usual[name]}
    return json.dumps({**rules, "digest": digest, "queues": apart}, sort_keys=True)


def read_published(text: str) -> Published:
    """Read what `published` wrote. Raises ValueError."""
    try:
        found = json.loads(text)
        names = tuple(str(name) for name in found["names"])
        wanted = Configured(names, dict(found["parameters"]), dict(found["settings"]))
        return Published(wanted, str(found["digest"]), _queues(found.get("queues")))
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"the annotation {PUBLISHED} cannot be read: {error!r}") from None


def _queues(value: object) -> QueueSettings | None:
    """Read settings; None where they are not there, or are not all known here."""
    try:
        found = msgspec.convert(value, QueueSettings)
    except msgspec.ValidationError:
        return None
    return found if _all_read(value, msgspec.to_builtins(found)) else None


def _all_read(value: object, read: object) -> bool:
    """Return whether each field of a value is in what was read of it: msgspec passes over unknown ones."""
    if isinstance(value, dict):
        known = read if isinstance(read, dict) else {}
        return all(name in known and _all_read(inner, known[name]) for name, inner in value.items())
    if isinstance(value, list):
        return isinstance(read, Sequence) and all(map(_all_read, value, read))
    return True


def configured(settings: QueueSettings, names: Sequence[str] = (KUEUE,)) -> Configured:
    """Return the rules for settings; the files that were named go over `kueue`, or `kueue-fair` for fair sharing."""
    stated = {GATES[gate]: on for gate, on in settings.feature_gates.items() if gate in GATES}
    over: dict[str, Any] = dict(stated)
    chosen = tuple(names)
    if (fair := settings.fair_sharing) is not None:
        chosen = (FAIR, *(name for name in names if name not in (KUEUE, FAIR)))
        if fair.preemption_strategies:
            over["fairSharing"] = {"enabled": True, "strategies": list(fair.preemption_strategies)}
    if (history := settings.admission_fair_sharing) is not None:
        over["history"] = _history(history)
    if (waiting := settings.wait_for_pods_ready) is not None:
        chosen = (*chosen, READY, *([BLOCKING] if waiting.block_admission else []))
    return Configured(chosen, _parameters(settings), over)


def _parameters(settings: QueueSettings) -> dict[str, object]:
    gates = {gate[0].lower() + gate[1:]: on for gate, on in settings.feature_gates.items() if gate not in GATES}
    waiting = settings.wait_for_pods_ready
    return {**gates, **(_times(waiting) if waiting is not None else {})}


def _times(waiting: WaitForPodsReady) -> dict[str, object]:
    """Return the parameters of `pods-ready`."""
    again = waiting.requeuing
    return {
        "timeout": waiting.timeout,
        "recoveryTimeout": waiting.recovery,
        "retries": -1 if again.backoff_limit_count is None else again.backoff_limit_count,
        "backoffBase": 1000 * again.backoff_base_seconds,
        "backoffMost": 1000 * again.backoff_max_seconds,
    }


def _history(settings: AdmissionFairSharing) -> dict[str, Any]:
    return {
        "halfLife": f"{settings.usage_half_life_time}ms",
        "samplingInterval": f"{settings.usage_sampling_interval}ms",
        "resourceWeights": dict(settings.resource_weights),
        "always": True,
    }

"""Runs recorded reviews against a bundle: which verdicts differ, and how long they take.

Queue decisions in a recorded verdict depend on the cluster at that time and are not replayed: denials by the queue are
left out, and its warnings are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final

import orjson

from webhook.admission.gate import Facts
from webhook.admission.pipeline import mutate, review, validate
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.admission.wire import API_VERSION, BadReview, parse
from webhook.policy.bundle import Bundle
from webhook.policy.request import Request
from webhook.record.recorder import verdict_record

RUNS: Final[Mapping[str, Callable[..., Verdict | NeedsFacts]]] = {
    "mutate": mutate,
    "validate": validate,
    "review": review,
}
PHASES: Final = tuple(f"{run}{only}" for run in RUNS for only in ("", "/fail", "/ignore"))
"""What ran: mutating, validating policies or both; all of them, or those of one failurePolicy."""
COMPARED: Final = ("allowed", "message", "warnings", "patch")


class BadRecording(Exception):
    """A line is no recorded review; the text says which line and why."""


@dataclass(frozen=True, slots=True)
class RecordedReview:
    """One recorded review: the request, the phase it ran in, what came of it, and its latency in milliseconds."""

    request: Request
    phase: str
    verdict: dict[str, Any]
    latency_ms: float
    place: str = ""


@dataclass(frozen=True, slots=True)
class ChangedReview:
    """A review that would come out in another way. `fields` names what differs."""

    recorded: RecordedReview
    verdict: dict[str, Any]
    fields: tuple[str, ...]


@dataclass(slots=True)
class Replay:
    """What came of a recording. Latencies are in milliseconds; `by_queue` counts refusals of the queue, left out."""

    total: int = 0
    by_queue: int = 0
    changed: list[ChangedReview] = field(default_factory=list)
    before_ms: list[float] = field(default_factory=list)
    after_ms: list[float] = field(default_factory=list)


def _refused(error: BadRecording) -> None:
    raise error


def read_recording(
    lines: Iterable[bytes], file: str, bad: Callable[[BadRecording], None] = _refused
) -> Iterator[RecordedReview]:
    """Read recorded reviews, a line each. `bad` is told of a line that is none; else that raises BadRecording."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{file}:{number}"
        try:
            yield _recorded(orjson.loads(line), place)
        except orjson.JSONDecodeError as error:
            bad(BadRecording(f"{place}: not JSON: {error}"))
        except (BadReview, KeyError, TypeError, ValueError) as error:
            bad(BadRecording(f"{place}: not a recorded review: {error}"))


def _recorded(value: Any, place: str) -> RecordedReview:
    if not isinstance(value, dict) or not isinstance(value.get("verdict"), dict):
        raise ValueError("no verdict")
    for name in ("warnings", "policies"):
        texts = value["verdict"].get(name) or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"{name} of the verdict is not a list of strings")
    phase = value.get("phase", "review")
    if phase not in PHASES:
        raise ValueError(f"unknown phase {phase!r}")
    request = parse({"apiVersion": API_VERSION, "kind": "AdmissionReview", "request": value.get("request")})
    return RecordedReview(request, phase, value["verdict"], float(value.get("latencyMs", 0.0)), place)


def replay(
    recording: Iterable[RecordedReview],
    bundle: Bundle,
    facts: Facts,
    timer: Callable[[], float],
    clock: Callable[[], float],
) -> Replay:
    """Run each review again. `timer` gives seconds for latencies, `clock` the time for exceptions that expire."""
    found = Replay()
    warm: set[tuple[str, str]] = set()
    for recorded in recording:
        found.total += 1
        kind = (recorded.phase, str(recorded.request.kind))
        if kind not in warm:  # the first of a kind finds its way through the bundle; a server has done so long ago
            warm.add(kind)
            _again(recorded, bundle, facts, clock)
        start = timer()
        verdict = _again(recorded, bundle, facts, clock)
        found.after_ms.append((timer() - start) * 1000)
        found.before_ms.append(recorded.latency_ms)
        if _queue_refused(recorded.verdict):
            found.by_queue += 1
            continue
        now = verdict_record(recorded.request, verdict)
        asked = f"queue {recorded.request.namespace}/"
        differing = tuple(f for f in COMPARED if _value(recorded.verdict, f, asked) != _value(now, f, asked))
        if differing:
            found.changed.append(ChangedReview(recorded, now, differing))
    return found


def _again(recorded: RecordedReview, bundle: Bundle, facts: Facts, clock: Callable[[], float]) -> Verdict:
    name, _, only = recorded.phase.partition("/")
    verdict = RUNS[name](recorded.request, bundle.part(only), facts, clock=clock)
    if isinstance(verdict, NeedsFacts):
        return Verdict(allowed=False, code=403, message="an authorizer check cannot be answered without a cluster")
    return verdict


def _value(verdict: dict[str, Any], name: str, of_queue: str) -> Any:
    """Return a field for comparison: warnings sorted, without those of the queue, which begin with `of_queue`."""
    value = verdict.get(name)
    if name != "warnings" or not isinstance(value, list):
        return value
    return sorted(text for text in value if not text.startswith(of_queue)) or None


def _queue_refused(verdict: dict[str, Any]) -> bool:
    """Return whether a recorded refusal was the queue's: no evaluated policy put its name before the message."""
    message = str(verdict.get("message") or "")
    names = verdict.get("policies") or ()
    return verdict.get("allowed") is False and not any(message.startswith(f"{name}: ") for name in names)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value below which `percent` of the values are (nearest rank); 0 where there are none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(ceil(len(ordered) * percent / 100), 1) - 1]

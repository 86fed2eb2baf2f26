"""Compares the result of a case with what it expects; every difference is a finding at the line of the expectation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from webhook.admission.verdict import Verdict
from webhook.diagnostics import Diagnostic
from webhook.kube.equality import same
from webhook.kube.json_patch import diff
from webhook.offline.dryrun.requests import ResourceScopes, Sender, received
from webhook.offline.suite.queue_result import QueueResult
from webhook.offline.suite.suite_file import Case, resolve_one
from webhook.policy.loading.shapes import dotted
from webhook.policy.request import Request

_NO_FIELD: Final = re.compile(r"no such key: ([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a case. `why` says why no policy is for the object; `restless` names policies that would change
    again what they made; `resources` are those the request was made with.
    """

    request: Request
    verdict: Verdict
    queue: QueueResult | None
    why: Callable[[], str]
    restless: tuple[str, ...]
    resources: ResourceScopes


def problems(case: Case, judged: Judged) -> Iterator[Diagnostic]:
    """Yield what is not as expected: SUI010 verdict, SUI011 words, SUI012 object, SUI013 queue, SUI014 unmatched.

    Where no policy is for the object, and one should be, nothing else is reported.
    """
    expect, verdict = case.spec.get("expect") or {}, judged.verdict
    if unmatched := list(_matched(case, verdict, expect, judged.why)):
        yield from unmatched
        return
    yield from _verdict(case, verdict, expect)
    yield from _words(case, verdict, expect)
    if verdict.allowed:
        yield from _restless(case, judged.restless)
        yield from _object(case, judged, expect)
    if "queue" in expect and judged.queue is not None:
        yield from _queue(case, judged.queue, expect["queue"])


def _matched(case: Case, verdict: Verdict, expect: dict[str, Any], why: Callable[[], str]) -> Iterator[Diagnostic]:
    matched = bool(verdict.policies or verdict.denials)
    if expect.get("matched", True) and not matched:
        hint = f"{why()}\n    = if this is intended, write expect: {{matched: false}}"
        yield case.diagnostic("SUI014", "no policy matches this object, so nothing was tested", "object", hint=hint)
    elif not expect.get("matched", True) and matched:
        names = ", ".join(verdict.policies)
        yield case.diagnostic("SUI014", f"expected no policy to match, but matched: {names}", "expect", "matched")


def _verdict(case: Case, verdict: Verdict, expect: dict[str, Any]) -> Iterator[Diagnostic]:
    wanted = expect.get("allowed", True)
    if verdict.allowed is not wanted:
        reason = f": {verdict.message}" if verdict.message else ""
        words = ("allowed", "denied") if wanted else ("denied", "allowed")
        message = f"expected {words[0]}, got {words[1]}{reason}"
        yield case.diagnostic("SUI010", message, "expect", "allowed", hint=_way_out(verdict.message))
        return
    for name in ("reason", "code"):
        if name in expect and getattr(verdict, name) != expect[name]:
            yield case.diagnostic("SUI010", f"{name} is {getattr(verdict, name)}", "expect", name)


def _way_out(message: str) -> str:
    """Return how to fix an expression that failed because a field is absent."""
    found = _NO_FIELD.search(message)
    return f"for a field that may be absent, use .?{found[1]} with .orValue(...), or check has() first" if found else ""


def _words(case: Case, verdict: Verdict, expect: dict[str, Any]) -> Iterator[Diagnostic]:
    if expect.get("message") is not None and not finds(expect["message"])(verdict.message):
        yield case.diagnostic("SUI011", f'the message is "{verdict.message}"', "expect", "message")
    if "warnings" in expect:
        yield from _warnings(case, verdict, [pattern or "" for pattern in expect["warnings"] or ()])
    for key, pattern in (expect.get("auditAnnotations") or {}).items():
        value = verdict.audit_annotations.get(key)
        if value is None or not finds(pattern or "")(value):
            state = "is missing" if value is None else f'is "{value}"'
            yield case.diagnostic("SUI011", f"the audit annotation {key} {state}", "expect", "auditAnnotations", key)


def _warnings(case: Case, verdict: Verdict, patterns: list[str]) -> Iterator[Diagnostic]:
    for i, pattern in enumerate(patterns):
        if not any(map(finds(pattern), verdict.warnings)):
            warnings = "; ".join(verdict.warnings) or "none"
            yield case.diagnostic("SUI011", f"no warning matches; warnings: {warnings}", "expect", "warnings", i)
    for warning in verdict.warnings:
        if not any(finds(p)(warning) for p in patterns):
            yield case.diagnostic("SUI011", f"unexpected warning: {warning}", "expect", "warnings")


def _restless(case: Case, names: Iterable[str]) -> Iterator[Diagnostic]:
    for name in names:
        hint = "make the mutation a no-op when it is already applied, or check whether another policy undoes it"
        yield case.diagnostic("SUI012", f"{name} changes the object on every pass (not idempotent)", hint=hint)


def _object(case: Case, judged: Judged, expect: dict[str, Any]) -> Iterator[Diagnostic]:
    request, verdict = judged.request, judged.verdict
    made = verdict.object if verdict.object is not None else request.object
    if "patch" in expect:
        steps = [step.wire() for step in verdict.patch]
        if not same(steps, expect["patch"] or []):
            yield case.diagnostic("SUI012", "the patch differs", "expect", "patch", hint=shown(steps))
    if "patched" in expect:
        wanted = whole(case, expect["patched"] or {}, request, judged.resources)  # null: for `--update` to write
        if not same(wanted, made):
            steps = [step.wire() for step in diff(wanted, made)]
            yield case.diagnostic("SUI012", "the object differs", "expect", "patched", hint=shown(steps))
    if "contains" in expect:
        for path, wanted, found in missing(expect["contains"], made, ()):
            message = f"{dotted(path)} is {_value(found)}, not {_value(wanted)}"
            yield case.diagnostic("SUI012", message, "expect", "contains", *path)


def whole(case: Case, value: Any, request: Request, resources: ResourceScopes) -> Any:
    """Return the whole object a case expects, with the defaults and the namespace that the request's object got."""
    wanted = resolve_one(case, value)
    return received(wanted, resources, Sender(namespace=request.namespace or "default"))


def missing(wanted: Any, found: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any, Any]]:
    """Yield the places where `found` does not contain `wanted`; a null says that a field must not be there.

    Lists are compared item by item, of maps in them only the fields named.
    """
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key, value in wanted.items():
            yield from missing(value, found.get(key), (*path, key))
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for i, value in enumerate(wanted):
            yield from missing(value, found[i], (*path, i))
    elif not same(wanted, found):
        yield path, wanted, found


def _queue(case: Case, queue: QueueResult, expect: dict[str, Any]) -> Iterator[Diagnostic]:
    for name in ("decision", "queue", "position"):
        if name in expect and getattr(queue, name) != expect[name]:
            because = f" ({queue.message})" if queue.message and name == "decision" else ""
            yield case.diagnostic("SUI013", f"{name} is {getattr(queue, name)}{because}", "expect", "queue", name)
    for name in ("reason", "message"):
        if name in expect and not finds(expect[name])(getattr(queue, name)):
            yield case.diagnostic("SUI013", f'{name} is "{getattr(queue, name)}"', "expect", "queue", name)
    if "victims" in expect and sorted(expect["victims"]) != sorted(queue.victims):
        said = ", ".join(queue.victims) or "none"
        yield case.diagnostic("SUI013", f"the victims are {said}", "expect", "queue", "victims")


def finds(pattern: str) -> Callable[[str], bool]:
    """Return the test for a pattern: a regular expression to be found; a text that is none is looked for as it is."""
    try:
        compiled = re.compile(pattern, re.DOTALL)
    except re.error:
        return lambda text: pattern in text
    return lambda text: compiled.search(text) is not None


def _value(value: Any) -> str:
    """Write a value on one line, as it may stand in a suite; what is not there as null."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a whole number beyond 64 bits
        return json.dumps(value, ensure_ascii=False)


def shown(steps: list[dict[str, Any]]) -> str:
    """Write operations for people, one a line."""
    lines = []
    for step in steps:
        value = f" {_value(step['value'])}" if "value" in step else ""
        lines.append(f"{step['op']} {step['path']}{value}")
    return "\n      ".join(lines) or "no changes"

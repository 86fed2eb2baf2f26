"""Rule files become the rules of the queue core: CEL, compiled over the core's own types.

Several files combine: a later one replaces the points and settings it names, and the conditions of `admit` add up. All
mistakes of all files are told at once, at their places. Which files there are is `files.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from webhook import cel
from webhook.cel.types import BOOL, INT, STRING
from webhook.diagnostics import Diagnostic, Place, SourceError, did_you_mean
from webhook.documents import Path
from webhook.policy.bundle import digest_of
from webhook.policy.queue_rules.compile import Compiled, Source
from webhook.policy.queue_rules.file_rules import AdmitCondition, EvictCondition, FileRules
from webhook.policy.queue_rules.parameters import check_parameters, parameters_of
from webhook.policy.queue_rules.points import ADMIT, ALLOWED, EVICT, FAIR, POINTS
from webhook.policy.queue_rules.possible import spares
from webhook.policy.queue_rules.reads import finest, union
from webhook.policy.queue_rules.rule_file import RuleFile
from webhook.policy.queue_rules.settings import (
    ENABLED,
    STRATEGIES,
    Setting,
    Settings,
    check_durations,
    merge,
    settings_of,
    stated,
)
from webhook.policy.queue_rules.spec_fields import check_fields
from webhook.queue.rules import Rules

_ALLOWED: Final[Path] = ("spec", "preempt", "allowed")


@dataclass(slots=True)
class _LoadedRules:
    """What files have come to so far. `by_default` are the names of the last file that has any comparisons."""

    points: dict[str, Compiled] = field(default_factory=dict)
    admit: list[AdmitCondition] = field(default_factory=list)
    evict: dict[str, EvictCondition] = field(default_factory=dict)
    allowed: dict[str, Compiled] = field(default_factory=dict)
    by_default: tuple[str, ...] = ()
    usage_apart: bool = True
    settings: dict[Setting, Any] = field(default_factory=dict)
    places: dict[Setting, RuleFile] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)


def rules_from(
    files: Sequence[RuleFile],
    parameters: Mapping[str, object] | None = None,
    settings: Mapping[str, Any] | None = None,
    problems: Iterable[Diagnostic] = (),
) -> Rules:
    """Compile files, each behind those it extends, to rules; the lowest has every point.

    `parameters` replace those of all files that declare them; names that no file declares are left out. `settings` are
    written as in `spec`, and go before those of the files. Raises SourceError with `problems`, which were found before,
    and every mistake found here.
    """
    loaded = _LoadedRules(problems=list(problems))
    for file in files:
        _take(loaded, file, {**parameters_of(file, files), **_declared(file, files, parameters or {})})
        loaded.problems += check_parameters(file)
    over = stated(settings or {})
    chosen = settings_of(merge(over, loaded.settings))
    loaded.problems += _check_strategies(loaded, chosen, None if STRATEGIES in over else loaded.places.get(STRATEGIES))
    loaded.problems += [*_check_fair(loaded, chosen), *_check_complete(loaded, files[0])]
    if loaded.problems:
        raise SourceError(dict.fromkeys(loaded.problems))
    digest = digest_of([[file.document.value for file in files], parameters or {}, settings or {}])
    return _assemble(loaded, chosen, digest)


def _declared(file: RuleFile, files: Sequence[RuleFile], given: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in given.items() if name in parameters_of(file, files)}


def _take(loaded: _LoadedRules, file: RuleFile, parameters: Mapping[str, Any]) -> None:
    document, wrong = file.document, [*check_fields(file.document), *check_durations(file.document)]
    loaded.problems += wrong
    source = Source(document, parameters, loaded.problems)
    for point in POINTS:
        path: Path = ("spec", *point.path)
        value = document.at(path)
        compiled = None
        if point.result is None and isinstance(value, list) and value:
            compiled = source.keys(path, len(value), point.sees)
        elif point.result is not None and value is not None:
            compiled = source.one(path, point.sees, point.result, point.method)
        if compiled is not None:
            loaded.points[point.method] = compiled
            if point.method == "order":
                loaded.usage_apart = all("usage" not in str(key) or str(key).strip() == "usage" for key in value)
    loaded.admit += _conditions(source, document.at(("spec", "admit")))
    loaded.evict |= {e.reason: e for e in _evictions(source, document.at(("spec", "evict")))}
    if named := dict(_comparisons(source, document.at(_ALLOWED))):
        loaded.allowed |= named
        loaded.by_default = tuple(named)
    if not wrong:
        values = stated(file.spec)
        loaded.settings = merge(values, loaded.settings)
        loaded.places.update(dict.fromkeys(values, file))


def _conditions(source: Source, stated: Any) -> Iterator[AdmitCondition]:
    for index, condition in enumerate(stated if isinstance(stated, list) else ()):
        if not isinstance(condition, dict):
            continue
        path: Path = ("spec", "admit", index)
        expression = source.one((*path, "expression"), ADMIT, BOOL, "admit")
        text = source.one((*path, "messageExpression"), ADMIT, STRING) if "messageExpression" in condition else None
        if expression is not None:
            reason = str(condition.get("reason") or "DeniedByRule")
            yield AdmitCondition(expression, reason, str(condition.get("message") or ""), text)


def _evictions(source: Source, stated: Any) -> Iterator[EvictCondition]:
    for index, eviction in enumerate(stated if isinstance(stated, list) else ()):
        if not isinstance(eviction, dict):
            continue
        path: Path = ("spec", "evict", index)
        expression = source.one((*path, "expression"), EVICT, BOOL, "evict")
        after = source.one((*path, "notBefore"), EVICT, INT, "notBefore") if "notBefore" in eviction else None
        text = source.one((*path, "messageExpression"), EVICT, STRING) if "messageExpression" in eviction else None
        if expression is not None:
            message = str(eviction.get("message") or "")
            yield EvictCondition(str(eviction.get("reason")), expression, after, message, text)


def _comparisons(source: Source, stated: Any) -> Iterator[tuple[str, Compiled]]:
    for index, comparison in enumerate(stated if isinstance(stated, list) else ()):
        compiled = source.one((*_ALLOWED, index, "expression"), ALLOWED, BOOL, "allowed")
        if compiled is not None and isinstance(comparison, dict):
            yield str(comparison.get("name")), compiled


def _check_strategies(loaded: _LoadedRules, settings: Settings, file: RuleFile | None) -> Iterator[Diagnostic]:
    """Yield the strategies that no comparison is named by; `file` names them, or a caller where it is None."""
    for index, name in enumerate(settings.strategies):
        if name not in loaded.allowed:
            hint = (
                did_you_mean(name, loaded.allowed) or f"preempt.allowed defines: {', '.join(loaded.allowed) or 'none'}"
            )
            message = f'unknown comparison "{name}": preempt.allowed does not define it'
            if file is None:
                yield Diagnostic("RUL009", Place(".".join(STRATEGIES)), message, hint=hint)
            else:
                yield file.document.diagnostic("RUL009", ("spec", *STRATEGIES, index), message, hint=hint)


def _check_fair(loaded: _LoadedRules, settings: Settings) -> Iterator[Diagnostic]:
    """Yield the points that fair sharing needs and no file has."""
    missing = [".".join(p.path) for p in POINTS if p.method in FAIR and p.method not in loaded.points]
    missing += [] if loaded.allowed else ["preempt.allowed"]
    if settings.fair and missing:
        message, hint = f"fair sharing requires {', '.join(missing)}", "add extends: [kueue-fair], which defines them"
        file = loaded.places.get(ENABLED) or loaded.places.get(STRATEGIES)
        if file is None:
            yield Diagnostic("RUL009", Place("fairSharing"), message, hint=hint)
        else:
            yield file.document.diagnostic("RUL009", ("spec", "fairSharing"), message, key=True, hint=hint)


def _check_complete(loaded: _LoadedRules, lowest: RuleFile) -> Iterator[Diagnostic]:
    """Yield the points that no file has: an edit of the base file has removed them."""
    lost = [".".join(p.path) for p in POINTS if p.method not in loaded.points and p.method not in FAIR]
    if lost and not loaded.problems:
        message = f"rule points that no file defines: {', '.join(lost)}"
        yield lowest.document.diagnostic("RUL002", ("spec",), message, key=True, hint="add extends: [kueue]")


def _assemble(loaded: _LoadedRules, settings: Settings, digest: str) -> Rules:
    asked = {method: [rule] for method, rule in loaded.points.items()}
    asked["admit"] = [rule for c in loaded.admit for rule in (c.expression, c.text) if rule is not None]
    asked["evict"] = [rule for eviction in loaded.evict.values() for rule in eviction.rules()]
    asked["allowed"] = list(loaded.allowed.values())
    return FileRules(
        digest=digest,
        fair=settings.fair,
        strategies=settings.strategies or loaded.by_default,
        partial=settings.partial,
        recompute=settings.recompute,
        half_life=settings.half_life,
        sampling=settings.sampling,
        resource_weights=settings.resource_weights,
        metered=settings.metered,
        hold=settings.hold,
        failures=(cel.EvalError,),
        conditions=tuple(loaded.admit),
        evictions=tuple(loaded.evict.values()),
        comparisons={name: rule.call for name, rule in loaded.allowed.items()},
        reads={method: union(rule.reads for rule in rules) for method, rules in asked.items()},
        clock={method: step for method, rules in asked.items() if (step := finest(rule.step for rule in rules))},
        usage_apart=loaded.usage_apart,
        spares=partial(spares, loaded.points["candidate"].program),
        origins={rule.program: rule.origin for rules in asked.values() for rule in rules},
        **{method: rule.call for method, rule in loaded.points.items()},
    )

"""The parameters of rule files: typed constants that a file declares, and a file that extends it may replace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.lib.times import local_seconds
from webhook.cel.types import BOOL, DOUBLE, DYN, INT, STRING, Type, list_of, map_of
from webhook.cel.values import Timestamp
from webhook.diagnostics import Diagnostic, did_you_mean
from webhook.policy.queue_rules.rule_file import RuleFile

_READ: Final = re.compile(r"\bparameters\s*\.\s*\??\s*([A-Za-z_]\w*)")
_ZONE: Final = re.compile(r"\.get[A-Z]\w*\(\s*parameters\s*\.\s*([A-Za-z_]\w*)\s*\)")
"""A parameter that a function of a timestamp takes as its time zone."""
_TYPES: Final[Mapping[type, Type]] = {bool: BOOL, int: INT, float: DOUBLE, str: STRING}


def type_of(value: Any) -> Type:
    """Return the type of a parameter; what is in a list or map has one if all of it has the same."""
    if isinstance(value, list):
        return list_of(_common(value))
    if isinstance(value, dict):
        return map_of(STRING, _common(list(value.values())))
    return _TYPES.get(type(value), DYN)


def _common(values: Sequence[Any]) -> Type:
    types = {type_of(value) for value in values}
    return types.pop() if len(types) == 1 else DYN


def parameters_of(file: RuleFile, files: Sequence[RuleFile]) -> dict[str, Any]:
    """Return the parameters that a file's expressions see: its own, those of what it extends, as last replaced.

    A file replaces a parameter of those that it extends, itself or by way of others; the last of `files` wins.
    """
    values: dict[str, Any] = {}
    for declaring in in_scope(file):
        for name, declared in declared_by(declaring).items():
            values.setdefault(name, declared)
            for other in files:
                value = declared_by(other).get(name)
                if _fits(value, declared) and (other is declaring or declaring in other.below()):
                    values[name] = _conform(value, declared)
    return values


def in_scope(file: RuleFile) -> list[RuleFile]:
    """Return the files whose parameters a file sees: those it extends, the lowest first, and itself."""
    return [*reversed(list(dict.fromkeys(file.below()))), file]


def declared_by(file: RuleFile) -> Mapping[str, Any]:
    """Return the parameters that a file states itself."""
    stated = file.spec.get("parameters")
    return stated if isinstance(stated, dict) else {}


def check_parameters(file: RuleFile) -> Iterator[Diagnostic]:
    """Yield the parameters of a file that it neither reads nor replaces, or that are of another type than those."""
    below = {name: (base, value) for base in in_scope(file)[:-1] for name, value in declared_by(base).items()}
    read = set(_READ.findall(_texts(file.spec)))
    zones = {name for base in in_scope(file) for name in _ZONE.findall(_texts(base.spec))}
    for name, value in declared_by(file).items():
        path = ("spec", "parameters", name)
        if name in below:
            base, declared = below[name]
            if not _fits(value, declared):
                message = f'"{base.name}" declares {name} as {type_of(declared)}, not {type_of(value)}'
                yield file.document.diagnostic("RUL005", path, message)
        elif name not in read:
            hint = did_you_mean(name, {*below, *read}) or _listed({*below, *read})
            yield file.document.diagnostic("RUL005", path, f"no rule reads parameters.{name}", key=True, hint=hint)
        if name in zones and isinstance(value, str) and (unknown := _unknown_zone(value)):
            yield file.document.diagnostic("RUL005", path, unknown, hint="write a name such as Asia/Shanghai")


def _unknown_zone(value: str) -> str:
    """Return what is wrong with a time zone: with an unknown one each evaluation would fail."""
    try:
        local_seconds(Timestamp(0), value)
    except CelError as error:
        return str(error)
    return ""


def _listed(names: set[str]) -> str:
    return f"known parameters: {', '.join(sorted(names))}" if names else ""


def _texts(value: Any) -> str:
    """Return all texts of a value, one behind another."""
    if isinstance(value, dict):
        return " ".join(map(_texts, value.values()))
    if isinstance(value, list):
        return " ".join(map(_texts, value))
    return value if isinstance(value, str) else ""


def _fits(value: Any, declared: Any) -> bool:
    if isinstance(declared, float) and type(value) is int:
        return True
    return type(value) is type(declared) and all(_fits(v, d) for v, d in _beside(value, declared))


def _beside(value: Any, declared: Any) -> Iterator[tuple[Any, Any]]:
    """Pair what is in a list or map with an example of what was declared, where all of that is of one type."""
    examples, items = _items(declared), _items(value)
    if _common(examples) != DYN:
        yield from ((item, examples[0]) for item in items)


def _items(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []


def _conform(value: Any, declared: Any) -> Any:
    """Return ints as the doubles that were declared, in lists and maps as well."""
    if isinstance(declared, float) and type(value) is int:
        return float(value)
    if isinstance(value, dict) and type_of(declared) == map_of(STRING, DOUBLE):
        return {name: _conform(item, 0.0) for name, item in value.items()}
    if isinstance(value, list) and type_of(declared) == list_of(DOUBLE):
        return [_conform(item, 0.0) for item in value]
    return value

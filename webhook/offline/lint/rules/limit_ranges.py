"""Rules for LimitRange and ResourceQuota: mistakes that the API server rejects, and those it accepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from webhook.diagnostics import Severity, did_you_mean
from webhook.documents import Path
from webhook.kube.quantity import Quantity
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule
from webhook.offline.lint.reading.amounts import amount, amounts, is_extended, is_whole, overcommits

FIELDS: Final = ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio")
TYPES: Final = ("Container", "Pod", "PersistentVolumeClaim")
_ORDERED: Final = ("min", "defaultRequest", "default", "max")


def _items(context: LintContext) -> Iterator[tuple[Subject, Path, dict[str, Any]]]:
    for subject in context.of("", "LimitRange"):
        for path, item in subject.each("spec", "limits"):
            yield subject, path, item


def _values(context: LintContext) -> Iterator[tuple[Subject, Path, str, str, Any]]:
    """Every amount in a LimitRange or ResourceQuota: subject, path, field, resource, value."""
    for subject, path, item in _items(context):
        for field in FIELDS:
            values = item.get(field)
            for resource, value in values.items() if isinstance(values, dict) else ():
                yield subject, (*path, field, resource), field, resource, value
    for subject in context.of("", "ResourceQuota"):
        for resource, value in subject.map("spec", "hard").items():
            yield subject, ("spec", "hard", resource), "hard", resource, value


@rule("LIM001", Severity.ERROR, "an extended resource must be a whole number")
def whole_units(context: LintContext) -> Iterator[Finding]:
    """Extended resources such as `nvidia.com/gpu` exist in whole units only: no pod can request half a GPU.

    The API server accepts a LimitRange with `min: {nvidia.com/gpu: 0.5}` without an error:
    a container that follows it is rejected later, with a message that does not name the LimitRange.
    In `min` and `max` the next whole number means the same, so `--fix` writes it (up for `min`, down for `max`).
    To share a GPU, use the resources of the device plugin: MIG profiles or time slices.
    """
    for subject, path, field, resource, value in _values(context):
        found = amount(value)
        name = resource.removeprefix("requests.")
        ratio_or_negative = field == "maxLimitRequestRatio" or (found is not None and found.sign < 0)
        if found is None or ratio_or_negative or not is_extended(name) or is_whole(found):
            continue
        message = f"{field} of {name} is {value}: an extended resource must be a whole number"
        finding = subject.finding(path, message, _whole_hint(field, found))
        if field in ("min", "max"):
            text = str(_up(found) if field == "min" else _up(found) - 1)
            finding = replace(finding, edit=subject.edit(path, text))
        yield finding


def _up(value: Quantity) -> int:
    return -(-value.nanos // 10**9)


def _whole_hint(field: str, value: Quantity) -> str:
    if field == "min":
        return f"write {_up(value)}: a pod cannot request a part of one unit"
    if field == "max":
        return f"write {_up(value) - 1}: it allows the same pods"
    return (
        f"write {max(1, _up(value))}; to share a device, request the resource that its plugin offers for a part of it"
    )


@rule("LIM002", Severity.ERROR, "an amount must not be negative")
def not_negative(context: LintContext) -> Iterator[Finding]:
    """In `min` a negative amount has no effect, in `max` and in a quota it denies every pod that sets the resource,
    and as a default it makes every pod of the namespace invalid.
    """
    for subject, path, field, resource, value in _values(context):
        found = amount(value)
        if found is not None and found.sign < 0:
            yield subject.finding(path, f"{field} of {resource} is negative: {value}", "set 0 or more, or remove it")


@rule("LIM003", Severity.ERROR, "an amount must be a valid quantity")
def quantities(context: LintContext) -> Iterator[Finding]:
    """An amount is a number with an optional suffix: `500m`, `2`, `1.5`, `16Gi`, `1e3`. Suffixes are `m`, `k`, `M`,
    `G`, `T`, `P`, `E` and `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei`; there is no space and no `B`.
    """
    for subject, path, field, resource, value in _values(context):
        if amount(value) is None and not isinstance(value, dict | list):
            hint = "a quantity is a number with a suffix such as m, k, M, G, Ki, Mi or Gi: 500m, 2, 16Gi"
            yield subject.finding(path, f"{field} of {resource} is not a valid quantity: {value!r}", hint)


@rule("LIM004", Severity.ERROR, "min <= defaultRequest <= default <= max")
def in_order(context: LintContext) -> Iterator[Finding]:
    """The four values of a resource must be in ascending order, or the API server rejects the LimitRange. A `default`
    above `max` would make every container without a limit invalid.
    """
    for subject, path, item in _items(context):
        table = {field: amounts(item.get(field)) for field in _ORDERED}
        for resource in dict.fromkeys(name for field in _ORDERED for name in table[field]):
            given = [(field, table[field][resource]) for field in _ORDERED if resource in table[field]]
            for (low, a), (high, b) in pairwise(given):
                if a.compare(b) > 0 and not _same_default(low, high, resource):
                    shown = [item[field][resource] for field in (low, high)]
                    message = f"{low} of {resource} is {shown[0]}, above {high}, which is {shown[1]}"
                    yield subject.finding((*path, low, resource), message, "order: " + " <= ".join(_ORDERED))


def _same_default(low: str, high: str, resource: str) -> bool:
    """That pair is LIM005's."""
    return (low, high) == ("defaultRequest", "default") and not overcommits(resource)


@rule("LIM005", Severity.ERROR, "default must equal defaultRequest for a resource that cannot be overcommitted")
def equal_defaults(context: LintContext) -> Iterator[Finding]:
    """Devices and huge pages cannot be overcommitted: a container's request must equal its limit. The API server
    rejects a LimitRange whose `default` and `defaultRequest` differ for such a resource; `default` defaults to `max`.
    Without both, each container that does not set the resource gets a request without a limit, and its pod is rejected.
    """
    for subject, path, item in _items(context):
        request = amounts(item.get("defaultRequest")) if item.get("type") == "Container" else {}
        for resource in request:
            limits = [
                (field, found[resource])
                for field in ("default", "max")
                if resource in (found := amounts(item.get(field)))
            ]
            if overcommits(resource) or (limits and not limits[0][1].compare(request[resource])):
                continue
            asked = item["defaultRequest"][resource]
            if limits:
                other = f"{limits[0][0]} is {item[limits[0][0]][resource]}"
                message = f"defaultRequest of {resource} is {asked}, but {other}: it cannot be overcommitted"
            else:
                message = f"defaultRequest of {resource} is {asked} without a default: a request without a limit"
            hint = (
                f"remove defaultRequest; it defaults to {limits[0][0]}"
                if limits
                else f"write default: {{{resource}: {asked}}} instead"
            )
            yield subject.finding((*path, "defaultRequest", resource), message, hint)


@rule("LIM006", Severity.ERROR, "a LimitRange type must be known, listed once, and use only fields it allows")
def types(context: LintContext) -> Iterator[Finding]:
    """`type` is Container, Pod or PersistentVolumeClaim, or a type of another API such as `openshift.io/Image`, each
    at most once in a LimitRange. A Pod has no `default` and no `defaultRequest`; a PersistentVolumeClaim needs `min`
    or `max` of `storage`.
    """
    for subject in context.of("", "LimitRange"):
        seen: set[str] = set()
        for path, item in subject.each("spec", "limits"):
            kind = item.get("type")
            qualified = isinstance(kind, str) and "/" in kind  # of another API, such as openshift.io/Image
            if not isinstance(kind, str) or (kind not in TYPES and not qualified):
                hint = did_you_mean(str(kind), TYPES) or f"one of {', '.join(TYPES)}"
                yield subject.finding((*path, "type"), f"unknown type {kind!r}", hint)
                continue
            if kind in seen:
                message = f"type {kind} is listed twice in one LimitRange"
                yield subject.finding((*path, "type"), message, "merge its resources into the first")
            seen.add(kind)
            yield from _fields_of_type(subject, path, item, kind)


def _fields_of_type(subject: Subject, path: Path, item: dict[str, Any], kind: str) -> Iterator[Finding]:
    for field in ("default", "defaultRequest"):
        if kind == "Pod" and item.get(field):
            hint = "set defaults in an item of type Container"
            yield subject.finding((*path, field), f"type Pod has no {field}", hint, key=True)
    if kind == "PersistentVolumeClaim" and not any("storage" in amounts(item.get(f)) for f in ("min", "max")):
        yield subject.finding((*path, "type"), "type PersistentVolumeClaim needs min or max of storage")


@rule("LIM007", Severity.WARNING, "a default must not give devices to containers that do not request them")
def unasked_devices(context: LintContext) -> Iterator[Finding]:
    """A LimitRange of type Container sets `default` on every container that does not set the resource, including
    sidecars and init containers. `default` defaults to `max`, and `defaultRequest` to `default` or `min`. So
    `max: {nvidia.com/gpu: 4}` alone gives four GPUs to each container that requested none. Add
    `default: {nvidia.com/gpu: 0}` to keep the limit without the default.
    """
    for subject, path, item in _items(context):
        if item.get("type") != "Container":
            continue
        limits = {field: amounts(item.get(field)) for field in _ORDERED}
        given = {**limits["min"], **limits["max"], **limits["default"]}
        for resource, value in given.items():
            if not is_extended(resource) or value.sign <= 0:
                continue
            field = next(f for f in ("default", "max", "min") if resource in limits[f])
            unit = "" if field == "default" else f" ({field} is the default where default is not set)"
            message = f"every container that does not set {resource} gets {item[field][resource]}{unit}"
            hint = f"set default: {{{resource}: 0}}" if field != "min" else f"remove min of {resource}"
            yield subject.finding((*path, field, resource), message, hint)


@rule("LIM008", Severity.ERROR, "a limit must not be below its request")
def ratio(context: LintContext) -> Iterator[Finding]:
    """`maxLimitRequestRatio` bounds limit / request. Below 1 no pod can satisfy it. For devices and huge pages the
    ratio is always 1, so a bound for them has no effect.
    """
    for subject, path, item in _items(context):
        for resource, value in amounts(item.get("maxLimitRequestRatio")).items():
            if value.nanos < 10**9:
                shown = item["maxLimitRequestRatio"][resource]
                message = f"maxLimitRequestRatio of {resource} is {shown}: a limit is never below its request"
                yield subject.finding((*path, "maxLimitRequestRatio", resource), message, "write 1 or more")


@rule("LIM009", Severity.WARNING, "a ResourceQuota must name devices as `requests.<resource>`")
def quota_of_devices(context: LintContext) -> Iterator[Finding]:
    """Devices cannot be overcommitted, so a ResourceQuota counts their requests only: `requests.nvidia.com/gpu`. An
    entry `limits.nvidia.com/gpu`, or the plain name, is stored but never counted.
    """
    for subject in context.of("", "ResourceQuota"):
        hard = subject.map("spec", "hard")
        there = set(hard)
        for resource in hard:
            plain = resource.removeprefix("limits.")
            if is_extended(plain) and ".k8s.io/" not in plain and not resource.startswith("count/"):
                path: Path = ("spec", "hard", resource)
                message = f"a ResourceQuota does not count {resource}; this has no effect"
                wanted = f"requests.{plain}"
                finding = subject.finding(path, message, f"write {wanted}", key=True)
                if wanted not in there:
                    there.add(wanted)
                    yield replace(finding, edit=subject.edit(path, wanted, key=True))
                else:
                    yield replace(finding, hint=f"remove it; {wanted} is already set")


RULES: Final[tuple[LintRule, ...]] = (
    whole_units,
    not_negative,
    quantities,
    in_order,
    equal_defaults,
    types,
    unasked_devices,
    ratio,
    quota_of_devices,
)

"""Converts the `match` of a Gatekeeper constraint to resource rules and label selectors of the API server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.api.scopes import built_in
from webhook.documents import Path
from webhook.kube.gvk import GroupVersionKind
from webhook.kube.well_known import NAMESPACE_NAME
from webhook.offline.dryrun.requests import ResourceScopes
from webhook.offline.importing.imported import Object
from webhook.policy.request import CONNECT, CREATE, DELETE, UPDATE

ANY: Final = "*"
OPERATIONS: Final = (CREATE, UPDATE)
"""What Gatekeeper is asked about where nobody says otherwise."""
KNOWN_OPERATIONS: Final = (CREATE, UPDATE, DELETE, CONNECT, ANY)
KNOWN: Final = frozenset(
    {"kinds", "scope", "name", "namespaces", "excludedNamespaces", "labelSelector", "namespaceSelector", "source"}
)


def operations_of(given: list[str] | None) -> list[str]:
    """Return the operations of a rule for those that a template names; the API server takes `*` alone."""
    return [ANY] if given and ANY in given else list(given or OPERATIONS)


def bound_rules(match: Mapping[str, Any], operations: list[str], names: ResourceScopes) -> list[Object]:
    """Return the resource rules for the kinds of a match; all resources where it names none."""
    rows = [row for row in match.get("kinds") or () if isinstance(row, dict)]
    return [_rule(row, match, operations, names) for row in rows or [{}]]


def guesses(match: Mapping[str, Any], names: ResourceScopes) -> Iterator[tuple[Path, str]]:
    """Yield where in a match a kind stands whose resource is a guess, and why."""
    for i, row in enumerate(match.get("kinds") or ()):
        groups, kinds = _named(row) if isinstance(row, dict) else ([], [])
        for j, kind in enumerate(kinds if ANY not in kinds else ()):
            if not names.known(groups, kind):
                (guess,) = _resources(groups, kind, names)
                yield ("kinds", i, "kinds", j), f"{guess} is a guess: {_unknown(groups, kind)}"


def _unknown(groups: list[str], kind: str) -> str:
    """Say why a resource is not known: a CRD may define the kind, but not one of Kubernetes' subresources."""
    if all(map(built_in, groups)):
        return f"check the resource: Kubernetes has no {kind} in {', '.join(group or 'core' for group in groups)}"
    return f"no CRD among the files defines {kind}"


def _named(row: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    return list(row.get("apiGroups") or [ANY]), list(row.get("kinds") or [ANY])


def _resources(groups: list[str], kind: str, names: ResourceScopes) -> list[str]:
    """Return the resources of a kind: those that are known, else the English plural."""
    return names.known(groups, kind) or [names.of_kind(GroupVersionKind(groups[0], "", kind))]


def _rule(row: Mapping[str, Any], match: Mapping[str, Any], operations: list[str], names: ResourceScopes) -> Object:
    groups, kinds = _named(row)
    found = [ANY] if ANY in kinds else [resource for kind in kinds for resource in _resources(groups, kind, names)]
    resources = list(dict.fromkeys(found))
    rule: Object = {"apiGroups": groups, "apiVersions": [ANY], "operations": operations, "resources": resources}
    if (scope := match.get("scope") or ANY) != ANY:
        rule["scope"] = scope
    if name := match.get("name"):
        rule["resourceNames"] = [name]
    return rule


def selectors(match: Mapping[str, Any]) -> Object:
    """Return the selectors of a match; names of namespaces are the label that each namespace has of its name."""
    found: Object = {"objectSelector": match["labelSelector"]} if match.get("labelSelector") else {}
    lists = (("namespaces", "In"), ("excludedNamespaces", "NotIn"))
    named = [{"key": NAMESPACE_NAME, "operator": o, "values": list(match[f])} for f, o in lists if match.get(f)]
    given = match.get("namespaceSelector") or {}
    if named:
        found["namespaceSelector"] = {**given, "matchExpressions": [*(given.get("matchExpressions") or ()), *named]}
    elif given:
        found["namespaceSelector"] = given
    return found


def unsupported(match: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield which fields of a match have no counterpart, and why."""
    for field in match:
        if field not in KNOWN:
            yield field, f"unknown field {field}"
    for field in ("namespaces", "excludedNamespaces"):
        if globs := [name for name in match.get(field) or () if ANY in str(name)]:
            yield field, f"namespace patterns are not supported ({', '.join(globs)}); use a label selector"
    if ANY in str(match.get("name") or ""):
        yield "name", "name patterns are not supported; write a match condition"
    if match.get("source") == "Generated":
        yield "source", "only Gatekeeper generates objects from others"

"""Finds unsupported features that an object asks for: a pending reason of its Workload, and an error of lint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.api.compatibility.feature import Feature, FeatureState
from webhook.api.compatibility.kueue import KUEUE
from webhook.api.compatibility.volcano import VOLCANO

Path = tuple[str, ...]
Gates = Mapping[str, bool]
NO_GATES: Final[Gates] = {}
_Keys = dict[str, list[tuple[str, Feature]]]
"""The last step of a sign -> the values that ask for a feature ("" for any), each with it."""


def _by_parent() -> dict[str, dict[Path, _Keys]]:
    table: dict[str, dict[Path, _Keys]] = {}
    for feature in (*KUEUE, *VOLCANO):
        for sign in feature.signs if feature.state == FeatureState.NO else ():
            keys = table.setdefault(sign.of, {}).setdefault(sign.path[:-1], {})
            keys.setdefault(sign.path[-1], []).append((sign.value, feature))
    return table


_SIGNS: Final = _by_parent()


def asked(of: str, obj: Mapping[str, Any], gates: Gates = NO_GATES) -> Iterator[tuple[Path, Feature]]:
    """Yield the features an object asks for that are not supported, with the path of the field that does.

    `of` as in `Sign`, `gates` are the feature gates that are set. Looks at few fields, whatever the object's size;
    stands values of any type.
    """
    for parent, keys in _SIGNS.get(of, {}).items():
        node: Any = obj
        for step in parent:
            node = node.get(step) if isinstance(node, dict) else None
        if not isinstance(node, dict) or keys.keys().isdisjoint(node):
            continue
        for key, rows in keys.items():
            found = node.get(key)
            for value, feature in rows if found else ():
                if (not value or str(found).lower() == value) and gates.get(feature.ignored_without) is not False:
                    yield (*parent, key), feature


def reason(of: str, obj: Mapping[str, Any], gates: Gates = NO_GATES, where: str = "") -> str:
    """Return the unsupported feature that an object asks for, "" if there is none; `where` is put before the field."""
    for path, feature in asked(of, obj, gates):
        return f"{where}{written(path)} uses {feature.name}, which is not supported: {feature.note}"
    return ""


def reason_of_workload(obj: Mapping[str, Any], gates: Gates = NO_GATES) -> str:
    """Return the same for a Workload: of what it took over from its job, and of its spec without the pod sets."""
    return reason("job", obj, gates) or reason("Workload", obj, gates)


def reason_of_pod_sets(obj: Mapping[str, Any], gates: Gates = NO_GATES) -> str:
    """Return the same for the pod sets of a Workload."""
    for number, pod_set in enumerate((obj.get("spec") or {}).get("podSets") or ()):
        if isinstance(pod_set, dict) and (found := reason("podSet", pod_set, gates, f"spec.podSets[{number}].")):
            return found
    return ""


def written(path: Path) -> str:
    """Write a path as people do: `metadata.annotations["kueue.x-k8s.io/elastic-job"]`."""
    text = ""
    for step in path:
        text += f'["{step}"]' if "/" in step or "." in step else f".{step}" if text else step
    return text

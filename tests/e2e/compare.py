"""Objects without what differs from run to run, and the innermost places where two documents differ."""

import json
import re
from collections.abc import Iterator
from typing import Any

JSON = dict[str, Any]

_VOLATILE = ("uid", "creationTimestamp", "managedFields", "namespace", "resourceVersion", "generation")
_RANDOM = re.compile(r"(?<=kube-api-access-)[a-z0-9]{5}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ABSENT = "(absent)"


def normalised(obj: JSON) -> JSON:
    """The object without uid, times, versions, random parts of names and addresses given by the server."""
    plain: JSON = json.loads(_RANDOM.sub("RANDOM", json.dumps(obj)))
    meta = plain["metadata"] = {k: v for k, v in plain["metadata"].items() if k not in _VOLATILE}
    if "generateName" in meta:
        prefix = meta["generateName"]
        text = re.sub(re.escape(prefix) + '[a-z0-9]{5}(?=["-])', f"{prefix}RANDOM", json.dumps(plain))
        plain = json.loads(text)
    plain.get("status", {}).pop("lastPhaseTransitionTime", None)
    if plain.get("kind") == "Service":
        for field in ("clusterIP", "clusterIPs"):
            plain["spec"].pop(field, None)
        for port in plain["spec"].get("ports", []):
            port.pop("nodePort", None)
    return plain


def unequal(first: Any, second: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The innermost places where two documents differ, as (path, first, second)."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in sorted(first.keys() | second.keys()):
            yield from unequal(first.get(key, ABSENT), second.get(key, ABSENT), f"{path}/{key}")
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for index, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from unequal(one, other, f"{path}/{index}")
    elif first != second:
        yield path, first, second

"""Whether two answers to one row are the same: `ok`, the value with its type, else the stage of the error."""

import math
from typing import Any

JSON = dict[str, Any]
VARIABLES = "kubernetes.variables"
MESSAGES = ("Any", "Empty", "NullValue")


def differs(ours: JSON, theirs: JSON) -> str | None:
    """What is different, None if nothing that counts is."""
    if "unsupported conversion to ref.Val" in str(theirs) or str(theirs.get("error")).startswith("internal error: "):
        # A leaked internal value, or a crash that was caught: `||` and `&&` do not absorb those.
        return None
    if f"'t': '{VARIABLES}'" in str(ours.get("value")):
        return None  # All variables at once, which is a map of values and errors there.
    if "'no such key: NaN'" in str(theirs.get("value")):
        return None  # A map with NaN as its key, in which nothing is found there.
    if "expected type 'wrapper(" in str(ours.get("error")):
        return None  # A message that stands for a plain value, beside plain values in one list.
    if f"got '{VARIABLES}', expected iterable type" in str(ours.get("error")):
        return None  # Gone over by its values, in any order, there.
    if not ours.get("ok") and any(
        part in str(theirs.get("error")) for part in (", )'", "optional_type()'", "expected type ''")
    ):
        return None  # Refused for a field that a JSONPatch does not have, which fails here when it is read.
    if not theirs.get("ok") and "optional_type()" in str(ours.get("error")):
        return None  # The same the other way round: refused here for what is no field, and fails there when read.
    if "Timestamp.seconds out of range" in str(ours.get("error")):
        return None  # A time hundreds of years outside of 1 to 9999, made as a message.
    if any(f"undeclared reference to 'google.protobuf.{name}'" in str(ours.get("error")) for name in MESSAGES):
        return None  # Messages that no rule about an object needs.
    if theirs.get("stage") == "panic":
        # The API server's compiler crashes, e.g. on `[?dyn(1)]`: a clear error is right.
        return "ok" if ours.get("ok") and not ours.get("mutation") else None
    if bool(ours.get("ok")) != bool(theirs.get("ok")):
        return "ok"
    if not theirs.get("ok"):
        if ours.get("stage") != theirs.get("stage"):
            return "stage"
    elif _leaks_from_has(theirs.get("value") or {}, ours.get("value")):
        pass
    elif not same(theirs.get("value"), ours.get("value")):
        return "value"
    return next((what for what in ("type", "cost") if ours.get(what) != theirs.get(what)), _mutations(ours, theirs))


def _leaks_from_has(theirs: JSON, ours: JSON | None) -> bool:
    """Whether theirs is the optional of which a presence test should have said whether it holds something."""
    return theirs.get("t") == "optional" and ours == {"t": "bool", "v": theirs.get("v") is not None}


def _mutations(ours: JSON, theirs: JSON) -> str | None:
    """What is different in what a mutation does: its kind, where it fails, its JSON or the object after it."""
    a, b = ours.get("mutation") or {}, theirs.get("mutation") or {}
    if a.get("kind") != b.get("kind"):
        return "mutation kind"
    if "failed to convert original object" in str(b.get("applyError")):
        return None  # Objects of newer API servers are taken as they are.
    if "expected map, got &{[" in str(b.get("applyError")) and "patched" in a:
        return None  # A list that a function made, which its conversion does not know.
    if "test operation does not apply" in str(a.get("applyError")) and "'op': 'move'" in str(b.get("patch")):
        return None  # A test below a null that was moved: a failed test there, a missing path here.
    if any(op["op"] == "test" and op.get("value", op) is None for op in b.get("patch", ())):
        return None  # A test for null holds there where the object has `{}`, and not where it has null.
    if "patched" in b and b["patched"] is None and "applyError" in a:
        return None  # The whole document replaced by null, which is no object.
    if "'NaN'" in str(b.get("native")):
        return None  # An item of a list whose key is no number is lost there; no field takes one.
    if ("error" in a, "applyError" in a) != ("error" in b, "applyError" in b):
        return "mutation error"
    return next((what for what in ("patch", "patched") if _read(a.get(what)) != b.get(what)), None)


def _read(value: Any) -> Any:
    """JSON as theirs was read: whole numbers of more than 64 bits are doubles."""
    if isinstance(value, dict):
        return {key: _read(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_read(inner) for inner in value]
    return float(value) if isinstance(value, int) and not -(2**63) <= value < 2**64 else value


def same(a: Any, b: Any) -> bool:
    """Whether two tagged values are one: NaN equals itself, -0.0 is not 0.0, maps have no order."""
    if not isinstance(a, dict) or not isinstance(b, dict):
        return bool(a == b)
    if a.get("t") != b.get("t"):
        return False
    tag, x, y = a.get("t"), a.get("v"), b.get("v")
    if tag == "double":
        p, q = float(x), float(y)
        return (math.isnan(p) and math.isnan(q)) or (p == q and math.copysign(1, p) == math.copysign(1, q))
    if tag == "kubernetes.Quantity" and "dec" in a and "dec" in b:
        return bool(a["dec"] == b["dec"] and x == y)
    if tag == "list":
        return len(x) == len(y) and all(map(same, x, y))
    if tag == "map":
        return _same_maps(x, y)
    if tag == "optional":
        return (x is None) == (y is None) and (x is None or same(x, y))
    return bool(x == y and a.get("b64") == b.get("b64"))


def _same_maps(x: list[Any], y: list[Any]) -> bool:
    rest = list(y)
    for key, value in x:
        hit = next((i for i, (k, v) in enumerate(rest) if same(key, k) and same(value, v)), None)
        if hit is None:
            return False
        rest.pop(hit)
    return not rest

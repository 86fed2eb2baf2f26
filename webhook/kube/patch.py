"""JSON Patch (RFC 6902): apply without touching the original, and build a patch from two trees that share parts.

Applying follows what the API server's library does where that differs from the RFC: `replace` of an absent map key
adds it, negative indexes count from the end, and an operation on the whole document is only `replace` and `test`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from webhook.kube.equality import same


class _Absent:
    """The value of an operation that has none."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
_FOUND_ARRAY_END: Final = "-"
_MANY: Final = 20
"""So many digits no index of 64 bits has."""


class Operation(NamedTuple):
    """One step of a patch. `value` is `ABSENT` for remove, move and copy; `from_` is set for move and copy."""

    op: str
    path: str
    value: Any = ABSENT
    from_: str = ""

    def wire(self) -> dict[str, Any]:
        """Give the operation as JSON has it."""
        out: dict[str, Any] = {"op": self.op, "path": self.path}
        if self.from_:
            out["from"] = self.from_
        if self.value is not ABSENT:
            out["value"] = self.value
        return out


class PatchError(Exception):
    """A patch does not apply to the document."""


class TestFailed(PatchError):
    """A `test` operation does not hold; the API server then leaves the object as it was."""

    __test__: ClassVar[bool] = False


def escape(key: str) -> str:
    """Write a key as one step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1") if "/" in key or "~" in key else key


def pointer(path: Iterable[str | int]) -> str:
    """Write a path as a JSON pointer."""
    return "".join(f"/{escape(step) if isinstance(step, str) else step}" for step in path)


def split(path: str) -> list[str]:
    """Read a JSON pointer into its unescaped steps; `ValueError` where it does not start with a slash."""
    if not path:
        return []
    if path[0] != "/":
        raise ValueError(path)
    steps = path[1:].split("/")
    return [s.replace("~1", "/").replace("~0", "~") for s in steps] if "~" in path else steps


def apply(document: Any, operations: Iterable[Operation]) -> Any:
    """Give the document with the operations done; what they do not touch is shared with the original.

    Raises TestFailed where a `test` does not hold, PatchError (the text names the path) where another does not apply.
    """
    draft = _Draft(document)
    for operation in operations:
        action = _ACTIONS.get(operation.op)
        if action is None:
            raise PatchError(f"Unexpected kind: {operation.op}")
        action(draft, operation)
    return draft.root


class _Draft:
    """A tree of which the containers on the way to a write are copied, once each."""

    __slots__ = ("own", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        self.own: dict[int, Any] = {}

    def copied(self, value: Any) -> Any:
        """Give a container that may be written to: the same one when it is already our copy."""
        if id(value) in self.own:
            return value
        fresh = dict(value) if isinstance(value, dict) else list(value)
        self.own[id(fresh)] = fresh
        return fresh

    def holder(self, path: str, kind: str, which: str = "path") -> tuple[Any, str]:
        """Give the writable container that holds the path's last step, and that step."""
        steps = _steps(path, kind, which)
        if not isinstance(self.root, dict | list):
            raise _missing(kind, path, which)
        node = self.root = self.copied(self.root)
        for step in steps[:-1]:
            key = _key(node, step)
            child = node.get(key) if isinstance(node, dict) else node[key] if key is not None else None
            if not isinstance(child, dict | list):
                raise _missing(kind, path, which)
            node[key] = node = self.copied(child)
        return node, steps[-1]

    def read(self, path: str, kind: str, which: str = "path") -> Any:
        """Give the value at the path, without copying; a map's absent key is None."""
        steps = _steps(path, kind, which)
        node = self.root
        for step in steps[:-1]:
            node = _child(node, step)
            if not isinstance(node, dict | list):
                raise _missing(kind, path, which)
        if not isinstance(node, dict | list):
            raise _missing(kind, path, which)
        if isinstance(node, dict):
            return node.get(steps[-1])
        return node[_index(steps[-1], len(node), path)]


def _steps(path: str, kind: str, which: str) -> list[str]:
    """The steps of a path; what stands before the first slash is passed over, as the API server's library does."""
    at = path.find("/")
    if at < 0:
        raise _missing(kind, path, which)
    return split(path[at:])


def _missing(kind: str, path: str, which: str) -> PatchError:
    what = {"path": "path", "from": "from path", "to": "destination path"}[which]
    shown = f'"{path}"' if kind in ("add", "remove") else path  # as the API server's library words it
    return PatchError(f"{kind} operation does not apply: doc is missing {what}: {shown}: missing value")


def _key(node: Any, step: str) -> Any:
    """Give the key or index of a step, None where a list has no such item."""
    if isinstance(node, dict):
        return step
    try:
        return _index(step, len(node), step)
    except PatchError:
        return None


def _child(node: Any, step: str) -> Any:
    if isinstance(node, dict):
        return node.get(step)
    key = _key(node, step) if isinstance(node, list) else None
    return node[key] if key is not None else None


def _index(step: str, length: int, path: str) -> int:
    """Give the place of an item; `length` is one more for an insertion."""
    digits = step[1:] if step[:1] in "+-" else step
    if not (digits.isascii() and digits.isdecimal() and len(digits) < _MANY):
        raise PatchError(f'"{path}": not an array index: "{step}"')
    index = int(step)
    if not -length <= index < length:
        raise PatchError(f'"{path}": Unable to access invalid index: {index}: invalid index referenced')
    return index + length if index < 0 else index


def _insert(draft: _Draft, path: str, value: Any, kind: str, which: str = "path") -> None:
    node, step = draft.holder(path, kind, which)
    if isinstance(node, dict):
        node[step] = value
    elif step == _FOUND_ARRAY_END:
        node.append(value)
    else:
        node.insert(_index(step, len(node) + 1, path), value)


def _delete(draft: _Draft, path: str, kind: str, which: str = "path") -> Any:
    node, step = draft.holder(path, kind, which)
    if isinstance(node, dict):
        if step not in node:
            raise PatchError(
                f"error in {kind} for path: '{path}': Unable to remove nonexistent key: {step}: missing value"
            )
        return node.pop(step)
    return node.pop(_index(step, len(node), path))


def _value(operation: Operation) -> Any:
    return None if operation.value is ABSENT else operation.value


def _add(draft: _Draft, operation: Operation) -> None:
    _insert(draft, operation.path, _value(operation), "add")


def _remove(draft: _Draft, operation: Operation) -> None:
    _delete(draft, operation.path, "remove")


def _replace(draft: _Draft, operation: Operation) -> None:
    value = _value(operation)
    if operation.path == "":
        if not isinstance(value, dict | list):
            raise PatchError("replace operation value must be object or array")
        draft.root = value
        return
    node, step = draft.holder(operation.path, "replace")
    if isinstance(node, dict):
        node[step] = value
    else:
        node[_index(step, len(node), operation.path)] = value


def _move(draft: _Draft, operation: Operation) -> None:
    _insert(draft, operation.path, _delete(draft, operation.from_, "move", "from"), "move", "to")


def _copy(draft: _Draft, operation: Operation) -> None:
    # A part of the draft at two places would change at both, and a container copied into itself would have no end.
    value = copy.deepcopy(draft.read(operation.from_, "copy", "from"))
    _insert(draft, operation.path, value, "copy", "to")


def _test(draft: _Draft, operation: Operation) -> None:
    found = draft.root if operation.path == "" else draft.read(operation.path, "test")
    if not same(found, _value(operation)):
        raise TestFailed(f"testing value {operation.path} failed: test failed")


_ACTIONS = {"add": _add, "remove": _remove, "replace": _replace, "move": _move, "copy": _copy, "test": _test}


def diff(before: Any, after: Any) -> tuple[Operation, ...]:
    """Give the operations that turn `before` into `after`; parts that are the same object are not looked into."""
    operations: list[Operation] = []
    _diff(before, after, "", operations)
    return tuple(operations)


def _diff(before: Any, after: Any, path: str, out: list[Operation]) -> None:
    kind = type(before)
    if kind is dict and type(after) is dict:
        _diff_maps(before, after, path, out)
    elif kind is list and type(after) is list:
        _diff_lists(before, after, path, out)
    elif not same(before, after):
        out.append(Operation("replace", path, after))


def _diff_maps(before: dict[str, Any], after: dict[str, Any], path: str, out: list[Operation]) -> None:
    first, added = len(out), 0
    for key, value in after.items():
        old = before.get(key, ABSENT)
        if old is value:
            continue
        if old is ABSENT:
            added += 1
            out.append(Operation("add", f"{path}/{escape(key)}", value))
        else:
            _diff(old, value, f"{path}/{escape(key)}", out)
    if len(before) + added != len(after):
        out[first:first] = [Operation("remove", f"{path}/{escape(key)}") for key in before if key not in after]


def _diff_lists(before: Sequence[Any], after: Sequence[Any], path: str, out: list[Operation]) -> None:
    """Compare by place, after the equal head and (where the lengths differ) the equal tail are set aside."""
    if len(before) == len(after):
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            if old is not new:
                _diff(old, new, f"{path}/{i}", out)
        return
    shorter = min(len(before), len(after))
    head = 0
    while head < shorter and same(before[head], after[head]):
        head += 1
    tail = 0
    while tail < shorter - head and same(before[-1 - tail], after[-1 - tail]):
        tail += 1
    both = shorter - tail
    for i in range(head, both):
        if before[i] is not after[i]:
            _diff(before[i], after[i], f"{path}/{i}", out)
    out.extend(Operation("remove", f"{path}/{i}") for i in range(len(before) - tail - 1, both - 1, -1))
    out.extend(Operation("add", f"{path}/{i}", after[i]) for i in range(both, len(after) - tail))

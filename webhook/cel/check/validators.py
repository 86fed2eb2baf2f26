"""The API server's validation of a checked tree: literals of durations, timestamps and patterns; mixed types."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from webhook.cel.check import format_literals
from webhook.cel.check.checker import Checked
from webhook.cel.errors import CelError, CompileError, Issue
from webhook.cel.functions import rows
from webhook.cel.lib import regex
from webhook.cel.syntax.nodes import Call, CreateList, CreateMap, Literal, Node, walk
from webhook.cel.type_guards import fits
from webhook.cel.types import Type, TypeKind


def validate(text: str, checked: Checked) -> None:
    """Raises CompileError with every issue."""
    issues: list[Issue] = []
    free = _exempt(checked.root)
    for node in walk(checked.root):
        if isinstance(node, Call):
            issues += format_literals.issues(checked, node)
            if node.args and isinstance(node.args[0], Literal):
                issues += _literal(node, node.args[0])
        elif isinstance(node, CreateList) and node.id not in free:
            issues += _list(checked, node)
        elif isinstance(node, CreateMap) and node.id not in free:
            issues += _map(checked, node)
    if issues:
        raise CompileError(text, tuple(sorted(issues, key=lambda i: i.offset)))


def _exempt(root: Node) -> set[int]:
    """The ids of all nodes inside a call of `format`, whose arguments may be of mixed types."""
    calls = [n for n in walk(root) if isinstance(n, Call) and n.function == "format"]
    return {below.id for call in calls for below in walk(call)}


def _converts(name: str, value: object) -> None:
    function = next(f for f in rows() if f.name == name)
    for overload in function.overloads:
        if fits(overload.args[0], value):
            overload.call(value)
            return


def _pattern(_: str, value: object) -> None:
    try:
        regex.compiled(str(value))
    except regex.PatternError as error:
        raise CelError(str(error)) from None


_CHECKS: dict[str, Callable[[str, object], None]] = {"duration": _converts, "timestamp": _converts, "matches": _pattern}


def _literal(node: Call, arg: Literal) -> Iterator[Issue]:
    check = _CHECKS.get(node.function)
    if check is None:
        return
    try:
        check(node.function, arg.value)
    except CelError:
        yield Issue(arg.pos, f"invalid {node.function} argument")


def _inner(found: Type, optional: bool) -> Type | None:
    if not optional:
        return found
    return found.params[0] if found.params else None


def _list(checked: Checked, node: CreateList) -> Iterator[Issue]:
    wanted: Type | None = None
    for index, item in enumerate(node.elements):
        found = _inner(checked.types[item.id], index in node.optional)
        if found is None:
            yield Issue(item.pos, "expected type 'optional_type(dyn)' but found 'dyn'")
        elif wanted is None or not wanted.name:
            wanted = found
        elif not _equivalent(wanted, found):
            yield Issue(item.pos, f"expected type '{wanted}' but found '{found}'")
            return


def _equivalent(a: Type, b: Type) -> bool:
    """Whether two types count as one: a wrapper type counts as what it wraps (`Type.IsEquivalentType` of cel-go)."""
    if a == b:
        return True
    if a.name != b.name or len(a.params) != len(b.params):
        return False
    return (a.kind is b.kind or TypeKind.WRAPPER in (a.kind, b.kind)) and all(map(_equivalent, a.params, b.params))


def _map(checked: Checked, node: CreateMap) -> Iterator[Issue]:
    first: tuple[Type, Type] | None = None
    for entry in node.entries:
        key, value = checked.types[entry.key.id], _inner(checked.types[entry.value.id], entry.optional)
        if value is None:
            yield Issue(entry.value.pos, "expected type 'optional_type(dyn)' but found 'dyn'")
        elif first is None:
            first = (key, value)
        else:
            if not _equivalent(first[0], key):
                yield Issue(entry.key.pos, f"expected type '{first[0]}' but found '{key}'")
            if not _equivalent(first[1], value):
                yield Issue(entry.value.pos, f"expected type '{first[1]}' but found '{value}'")

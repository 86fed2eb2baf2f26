"""Fields behind one that may be null: the checker takes such a field for dyn, so what stands behind it is checked here.

Says nothing where it is not certain what an expression is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.cel import host
from webhook.cel.errors import Issue
from webhook.cel.program import Program
from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import INDEX, Call, Fold, Ident, Node, Select
from webhook.cel.types import DYN, Type, TypeKind

Scope = Mapping[str, Type]


def unknown_fields(program: Program) -> tuple[Issue, ...]:
    """Return the fields that an expression reads and that no object has; the checker told of all others."""
    return tuple(_unknown(program, program.checked.root, {}))


def _unknown(program: Program, node: Node, scope: Scope) -> Iterator[Issue]:
    if isinstance(node, Fold):
        yield from _unknown(program, node.range, scope)
        of = _type(program, node.range, scope)
        inner = {**scope, node.var: of.params[0]} if of is not None and of.params and not node.var2 else scope
        for part in (node.init, node.condition, node.step, node.result):
            yield from _unknown(program, part, inner)
        return
    if isinstance(node, Select):
        of = _type(program, node.operand, scope)
        if of is not None and of.kind is TypeKind.OBJECT and host.known(of.name) and node.field not in _fields(of):
            yield Issue(node.pos, f"undefined field '{node.field}'", known=tuple(_fields(of)))
    for child in nodes.children(node):
        yield from _unknown(program, child, scope)


def _type(program: Program, node: Node, scope: Scope) -> Type | None:
    """Return the type of an expression, as if nothing in it were null; None where it is not known."""
    known = program.checked.types.get(node.id)
    if known is not None and known != DYN:
        return known
    if isinstance(node, Ident):
        return scope.get(node.name)
    if isinstance(node, Select) and (of := _type(program, node.operand, scope)) is not None:
        return of.params[1] if of.kind is TypeKind.MAP else _fields(of).get(node.field)
    if isinstance(node, Call) and node.function == INDEX and (of := _type(program, node.args[0], scope)) is not None:
        return of.params[-1] if of.params else None
    return None


def _fields(of: Type) -> Mapping[str, Type]:
    return {**host.fields(of.name), **host.nullable(of.name)}

"""What is known of names in an expression: their types, by the checker, and their fields, by the schemas of kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from webhook.cel.check import checker
from webhook.cel.check.known_fields import FieldShape, Found, Scope, check_types, iterated
from webhook.cel.env import Env
from webhook.cel.errors import CompileError
from webhook.cel.syntax import parser
from webhook.cel.types import DYN, INT, Type
from webhook.editor.scan import MacroVariables


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What an expression may speak of. `scopes` says for each matched kind what the variables are."""

    env: Env
    scopes: tuple[Scope, ...] = ()

    def within(self, bindings: Sequence[MacroVariables]) -> Vocabulary:
        """The same with the variables of the macros around a place."""
        return reduce(_bound, bindings, self)

    def type(self, text: str) -> Type | None:
        """The type of an expression; None where it has a mistake."""
        try:
            return checker.check(text, parser.parse(text), self.env).type
        except CompileError:
            return None

    def shapes(self, text: str) -> list[FieldShape]:
        """What an expression is in the schemas of the matched kinds, as far as it is known."""
        made = check_types(text, self.scopes).made if self.scopes else ()
        return [found for found in made if isinstance(found, FieldShape)]


def _bound(known: Vocabulary, binding: MacroVariables) -> Vocabulary:
    kind = known.type(binding.over) or DYN
    types = (kind,) if binding.let else _elements(kind, len(binding.names))
    scopes = []
    for scope in known.scopes:
        over: Found = check_types(binding.over, [scope]).made[0]
        found: list[Any] = [over] if binding.let else [iterated(over, second=False)]
        if len(binding.names) > 1:
            found = [None, iterated(over, second=True)]
        scopes.append({**scope, **dict(zip(binding.names, found, strict=True))})
    variables = {**known.env.variables, **dict(zip(binding.names, types, strict=True))}
    return Vocabulary(replace(known.env, variables=variables), tuple(scopes))


def _elements(kind: Type, count: int) -> tuple[Type, ...]:
    """The types of a macro's variables: an element, or index and element; a key, or key and value."""
    if kind.name == "list" and kind.params:
        return (kind.params[0],) if count == 1 else (INT, kind.params[0])
    if kind.name == "map" and kind.params:
        return kind.params[:count]
    return (DYN,) * count

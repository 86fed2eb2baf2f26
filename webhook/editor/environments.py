"""What the expression at a place of a policy or a queue rule may speak of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from webhook.cel.env import Env
from webhook.cel.types import DYN, Type, object_type
from webhook.documents import Document, Path
from webhook.editor.vocabulary import Vocabulary
from webhook.offline.lint.context import Subject, context_of, subjects_of
from webhook.offline.lint.reading.policies import POLICIES, expressions
from webhook.offline.lint.rules.unknown_fields import known_at
from webhook.policy.loading.compile import environment_at, field_type
from webhook.policy.queue_rules.compile import PARAMETERS
from webhook.policy.queue_rules.parameters import type_of
from webhook.policy.queue_rules.points import seen_at
from webhook.policy.queue_rules.reads import PARAMETERS as READ

_EXPRESSIONS: Final = (("expression",), ("messageExpression",), ("valueExpression",))
_PLAIN: Final = ("reason", "message", "name")
"""Fields of a rule that hold a text, no expression."""


def known_in(subject: Subject, path: Path, around: Sequence[Document]) -> Vocabulary | None:
    """Return what is known where an expression stands, None where none does. `around` has CRDs and what is extended."""
    if subject.gvk.kind in POLICIES:
        if path[-1:] not in _EXPRESSIONS:
            return None
        context = context_of(around, datetime.now(UTC))
        return Vocabulary(_of_policy(subject, path), known_at(context, subject, path))
    if subject.gvk.kind == "QueuePolicy":
        sees = seen_at(path)
        return None if sees is None or path[-1] in _PLAIN else Vocabulary(_of_rule(subject, sees, around))
    return None


def _of_policy(policy: Subject, path: Path) -> Env:
    """Return the API server's environment, with the types of the variables before the place."""
    params = bool(policy.map("spec", "paramKind"))
    types: dict[str, Type] = {}
    for expression in expressions(policy):
        if expression.path == path:
            break
        name = policy.at(*expression.path[:-1], "name")
        if expression.role == "variables" and isinstance(name, str):
            kind = Vocabulary(environment_at(expression.path, types, params=params)).type(expression.text)
            types = {**types, name: DYN if kind is None else field_type(kind)}
    return environment_at(path, types, params=params)


def _of_rule(rules: Subject, sees: Mapping[str, Type], around: Iterable[Document]) -> Env:
    """Return the environment of a rule point, with the parameters of the file and of those that it extends."""
    declared = {name: type_of(value) for name, value in _parameters(rules, tuple(around)).items()}
    return Env({**sees, READ: object_type(PARAMETERS)}, objects={PARAMETERS: declared}, trusted=True)


def _parameters(rules: Subject, around: tuple[Document, ...]) -> dict[str, Any]:
    below = set(rules.strings("spec", "extends"))
    found: dict[str, Any] = {}
    for document in around:
        for other in subjects_of(document):
            if other.gvk.kind == rules.gvk.kind and other.name in below and other.name != rules.name:
                found |= _parameters(other, around)
    return found | rules.map("spec", "parameters")

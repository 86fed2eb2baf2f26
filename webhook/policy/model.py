"""A policy after loading: compiled, checked, immutable. How it is matched and evaluated is in the modules beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from webhook.cel import CALL_LIMIT, POLICY_LIMIT
from webhook.documents import Document, Path
from webhook.kube.gvk import GroupVersionKind
from webhook.policy.dependencies import reads
from webhook.policy.expression import Expression
from webhook.policy.facts import Selector
from webhook.policy.match_resources import MatchResources

Mode = Literal["audit", "warn", "enforce"]


@dataclass(frozen=True, slots=True)
class MatchCondition:
    """One of `matchConditions`."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Validation:
    """One of `validations`. `reason` is a meta/v1 StatusReason."""

    expression: Expression
    message: str
    message_expression: Expression | None
    reason: str


@dataclass(frozen=True, slots=True)
class AuditAnnotation:
    """One of `auditAnnotations`."""

    key: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Mutation:
    """One of `mutations`. `apply` tells an ApplyConfiguration from a JSONPatch; `writes` are paths in `object`."""

    apply: bool
    expression: Expression
    writes: tuple[reads.Path, ...] = reads.EVERYTHING


@dataclass(frozen=True, slots=True)
class ParamRef:
    """A binding's `paramRef`: just one of `name` and `selector` is set. `namespace` None means the request's."""

    name: str | None
    namespace: str | None
    selector: Selector | None
    deny_when_missing: bool


@dataclass(frozen=True, slots=True)
class Binding:
    """What puts a policy into force. `actions` are Deny, Warn, Audit; a mutating policy's binding has none."""

    name: str
    actions: tuple[str, ...]
    param_ref: ParamRef | None
    match: MatchResources | None


@dataclass(frozen=True, slots=True)
class Policy:
    """A ValidatingAdmissionPolicy or a MutatingAdmissionPolicy (then it has `mutations`), with its bindings.

    `ignore_failure` is failurePolicy Ignore (`evaluation/failure_policy.py`). `cost_limits` are those of all
    expressions on one object, and of one call: the API server's, but where a policy is only tried. `expand`, `mode`,
    `skip_owned`, `skip_unmanaged`, `settings` and `warning` come from annotations; `settings` are the variables that
    the queues' settings may give a value.
    """

    name: str
    mutating: bool
    match: MatchResources
    conditions: tuple[MatchCondition, ...]
    variables: dict[str, Expression]
    validations: tuple[Validation, ...] = ()
    audit_annotations: tuple[AuditAnnotation, ...] = ()
    mutations: tuple[Mutation, ...] = ()
    bindings: tuple[Binding, ...] = ()
    param_kind: GroupVersionKind | None = None
    ignore_failure: bool = False
    reinvoke: bool = False
    cost_limits: tuple[int, int] = (POLICY_LIMIT, CALL_LIMIT)
    expand: bool = False
    mode: Mode = "enforce"
    skip_owned: bool = False
    skip_unmanaged: bool = False
    settings: tuple[str, ...] = ()
    warning: Expression | None = None
    docs: str = ""
    document: Document | None = field(default=None, compare=False, repr=False)
    path: Path = ()
    spec: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def expressions(self) -> Iterator[Expression]:
        """Yield every expression, in the order of the file."""
        yield from self.variables.values()
        yield from (c.expression for c in self.conditions)
        for validation in self.validations:
            yield validation.expression
            if validation.message_expression is not None:
                yield validation.message_expression
        yield from (a.expression for a in self.audit_annotations)
        yield from (m.expression for m in self.mutations)
        if self.warning is not None:
            yield self.warning

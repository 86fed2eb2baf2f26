"""The parameters of a bound policy: what its `paramRef` names (CollectParams of the API server's policy dispatcher)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from webhook.kube.gvk import GroupVersionKind
from webhook.kube.scope import Scope
from webhook.policy.evaluation.review_context import ReviewContext
from webhook.policy.model import ParamRef

NO_PARAM: Final[tuple[None]] = (None,)


class ParamError(Exception):
    """A policy's parameters cannot be had; the failure policy decides what comes of it. Words of the API server."""


def params_of(kind: GroupVersionKind, ref: ParamRef | None, context: ReviewContext) -> Sequence[dict[str, Any] | None]:
    """Return the parameters of a kind to evaluate a policy with, once for each; `(None,)` where its binding names none.

    An empty result means that none was found and the binding allows that. Raises ParamError.
    """
    facts = context.facts
    scope = facts.scope(kind)
    if scope is None:
        named = f"{kind.group}/{kind.version}, Kind={kind.kind}"
        raise ParamError(f"failed to configure policy: failed to find resource referenced by paramKind: '{named}'")
    if ref is None:
        return NO_PARAM
    where = None if scope is Scope.CLUSTER else ref.namespace or context.request.namespace
    if where is None and ref.namespace:
        raise _of_binding("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    if where == "":
        raise _of_binding("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    found = facts.params(kind, where, ref.name, ref.selector)
    if not found and ref.deny_when_missing:
        raise _of_binding("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _of_binding(message: str) -> ParamError:
    return ParamError(f"failed to configure binding: {message}")

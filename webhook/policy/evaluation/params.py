"""Finding the parameters of a binding. Rules: CollectParams of the API server's policy dispatcher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webhook.kube.scope import Scope
from webhook.policy.facts import Facts
from webhook.policy.model import Binding, ParamRef, Policy

NO_PARAM: tuple[None] = (None,)


class ParamError(Exception):
    """A policy's parameters cannot be had; the failure policy decides what comes of it. Words of the API server."""


def collect(policy: Policy, binding: Binding, namespace: str, facts: Facts) -> Sequence[dict[str, Any] | None]:
    """Give the parameters to evaluate the policy with, once for each; `(None,)` where it takes none.

    An empty result means that none was found and the binding allows that. Raises ParamError.
    """
    kind, ref = policy.param_kind, binding.param_ref
    if kind is None:
        return NO_PARAM
    scope = facts.scope(kind)
    if scope is None:
        named = f"{kind.group}/{kind.version}, Kind={kind.kind}"
        raise ParamError(f"failed to configure policy: failed to find resource referenced by paramKind: '{named}'")
    if ref is None:
        return NO_PARAM
    found = facts.params(kind, _where(ref, scope, namespace), ref.name, ref.selector)
    if not found and ref.deny_when_missing:
        raise _of_binding("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _where(ref: ParamRef, scope: Scope, namespace: str) -> str | None:
    """Give the namespace to look in, None for a kind that is in none. Raises ParamError."""
    if scope is Scope.CLUSTER:
        if ref.namespace:
            raise _of_binding("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return None
    if not (where := ref.namespace or namespace):
        raise _of_binding("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return where


def _of_binding(message: str) -> ParamError:
    return ParamError(f"failed to configure binding: {message}")

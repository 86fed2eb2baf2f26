"""Finding the parameters of a binding. Rules: CollectParams of the API server's policy dispatcher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webhook.kube.scope import Scope
from webhook.policy.facts import Facts
from webhook.policy.model import Binding, Policy

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
    where = None if scope is Scope.CLUSTER else ref.namespace or namespace
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

"""Finding the parameters of a binding. Rules: CollectParams of the API server's policy dispatcher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webhook.policy.facts import Facts
from webhook.policy.model import Binding, Policy

NO_PARAM: tuple[None] = (None,)


class ParamError(Exception):
    """A binding's parameters cannot be had; the failure policy decides what comes of it."""


def collect(policy: Policy, binding: Binding, namespace: str, facts: Facts) -> Sequence[dict[str, Any] | None]:
    """Give the parameters to evaluate the policy with, once for each; `(None,)` where it takes none.

    An empty result means that none was found and the binding allows that. Raises ParamError.
    """
    kind, ref = policy.param_kind, binding.param_ref
    if kind is None or ref is None:
        return NO_PARAM
    where: str | None = None
    if policy.param_namespaced:
        where = ref.namespace or namespace
        if not where:
            raise ParamError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    elif ref.namespace:
        raise ParamError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    found = facts.params(kind, where, ref.name, ref.selector)
    if not found and ref.deny_when_missing:
        raise ParamError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found

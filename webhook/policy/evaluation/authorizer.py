"""What `authorizer` is in an expression: questions go to the facts; what they cannot answer stops the evaluation."""

from __future__ import annotations

from typing import Any

from webhook.cel.lib import authorizer as library
from webhook.policy.facts import Check, Decision, Facts, Unanswered
from webhook.policy.request import Request


def authorizers(request: Request, facts: Facts) -> tuple[Any, Any]:
    """Return the values of `authorizer` and `authorizer.requestResource` for the request's user."""

    def ask(question: library.AuthorizerCheck) -> library.AuthorizerDecision:
        check = question_of(request, question)
        answer = facts.authorize(check)
        if answer is Decision.UNKNOWN:
            raise Unanswered(check)
        return library.AuthorizerDecision(answer is Decision.ALLOWED)

    resource = request.resource
    asked = library.AuthorizerCheck(
        group=resource.group,
        resource=resource.resource,
        subresource=request.sub_resource,
        namespace=request.namespace,
        name=request.name,
    )
    return library.Authorizer(ask), library.ResourceCheck(ask, asked)


def question_of(request: Request, question: library.AuthorizerCheck) -> Check:
    """Put the user to a question: the requester, or the service account it names."""
    if question.service_account is not None:
        namespace, name = question.service_account
        user = f"system:serviceaccount:{namespace}:{name}"
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
        uid, extra = "", dict[str, Any]()
    else:
        info = request.user_info
        user, groups = str(info.get("username") or ""), info.get("groups") or []
        uid, extra = str(info.get("uid") or ""), info.get("extra") or {}
    return Check(
        user=user,
        verb=question.verb,
        group=question.group,
        resource=question.resource,
        subresource=question.subresource,
        namespace=question.namespace,
        name=question.name,
        path=question.path,
        groups=tuple(sorted(map(str, groups))),
        field_selector=question.field_selector,
        label_selector=question.label_selector,
        user_uid=uid,
        extra=tuple(sorted((str(k), tuple(map(str, v or ()))) for k, v in extra.items())),
    )

"""Kubernetes' authorizer library: builds a question about a user, and asks the function the host supplied.

How the answer is found (SubjectAccessReview, a table in a test) is the host's; an answer that is not yet known is an
exception of the host's that passes through unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from webhook.cel.errors import CelError
from webhook.cel.function_types import Cost, Function, Price
from webhook.cel.lib import costs, estimates
from webhook.cel.lib.formats import FORMATS
from webhook.cel.lib.ordering import NO_OVERLOAD
from webhook.cel.lib.rows import library, member
from webhook.cel.types import BOOL, STRING, Type, object_type

_PREFIX: Final = "kubernetes.authorization."
AUTHORIZER_TYPE: Final = object_type(_PREFIX + "Authorizer")
PATH_CHECK_TYPE: Final = object_type(_PREFIX + "PathCheck")
GROUP_CHECK_TYPE: Final = object_type(_PREFIX + "GroupCheck")
RESOURCE_CHECK_TYPE: Final = object_type(_PREFIX + "ResourceCheck")
DECISION_TYPE: Final = object_type(_PREFIX + "Decision")
CHECK_COST: Final = 350_000


@dataclass(frozen=True, slots=True)
class AuthorizerCheck:
    """A question: may the user do this? `service_account` (namespace, name) asks for another one than the requester."""

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""
    service_account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class AuthorizerDecision:
    """An answer. `error` is the sentence of what went wrong while asking, None if nothing did."""

    cel_type: ClassVar[Type] = DECISION_TYPE
    allowed: bool
    reason: str = ""
    error: str | None = None

    def cel_equal(self, other: object) -> bool:
        """Not comparable, as in the API server."""
        raise CelError(NO_OVERLOAD)


Ask = Callable[[AuthorizerCheck], AuthorizerDecision]


@dataclass(frozen=True, slots=True)
class _Question:
    """A question that is being built."""

    ask: Ask
    check: AuthorizerCheck = AuthorizerCheck()

    def cel_equal(self, other: object) -> bool:
        """Not comparable, as in the API server."""
        raise CelError(NO_OVERLOAD)


class Authorizer(_Question):
    """The variable `authorizer`."""

    __slots__ = ()
    cel_type: ClassVar[Type] = AUTHORIZER_TYPE


class PathCheck(_Question):
    """A question about a path."""

    __slots__ = ()
    cel_type: ClassVar[Type] = PATH_CHECK_TYPE


class GroupCheck(_Question):
    """A question about an API group, without a resource yet."""

    __slots__ = ()
    cel_type: ClassVar[Type] = GROUP_CHECK_TYPE


class ResourceCheck(_Question):
    """A question about a resource; the variable `authorizer.requestResource` is one."""

    __slots__ = ()
    cel_type: ClassVar[Type] = RESOURCE_CHECK_TYPE


def path(authorizer: Authorizer, text: str) -> PathCheck:
    """Ask about a path; CelError for an empty one."""
    if not text.strip():
        raise CelError("path must not be empty")
    return PathCheck(authorizer.ask, replace(authorizer.check, path=text))


def group(authorizer: Authorizer, text: str) -> GroupCheck:
    """Ask about an API group."""
    return GroupCheck(authorizer.ask, replace(authorizer.check, group=text))


def service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    """Ask for a service account instead of the requester; CelError where a name is no name."""
    if FORMATS["dns1123Subdomain"].check(name):
        raise CelError("Invalid service account name")
    if FORMATS["dns1123Label"].check(namespace):
        raise CelError("Invalid service account namespace")
    return Authorizer(authorizer.ask, replace(authorizer.check, service_account=(namespace, name)))


def resource(check: GroupCheck, text: str) -> ResourceCheck:
    """Ask about a resource of the group."""
    return ResourceCheck(check.ask, replace(check.check, resource=text))


def _setter(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def set_field(check: ResourceCheck, text: str) -> ResourceCheck:
        changed: dict[str, Any] = {field: text}
        return ResourceCheck(check.ask, replace(check.check, **changed))

    return set_field


def decide(check: PathCheck | ResourceCheck, verb: str) -> AuthorizerDecision:
    """Ask the host whether the verb is allowed."""
    return check.ask(replace(check.check, verb=verb))


def _check_cost(arguments: Sequence[object], result: object) -> int:
    return CHECK_COST


def _selector_cost(arguments: Sequence[object], result: object) -> int:
    length = costs.size(arguments[1])
    return costs.LIST_BASE + costs.traversal(length) + -(-length // 2) * 50


_CHECK: Final = Price(_check_cost, estimates.always(CHECK_COST), f"{CHECK_COST:,}: two checks fit one expression")
_SELECTOR: Final = Price(_selector_cost, estimates.selector, "10, 1 for each 10 characters, and 50 for each 2 of them")


def _more(name: str, field: str, doc: str, cost: Cost | Price = costs.nominal, overload_id: str = "") -> Function:
    row = member(
        overload_id or f"resourcecheck_{name}",
        RESOURCE_CHECK_TYPE,
        (STRING,),
        RESOURCE_CHECK_TYPE,
        _setter(field),
        cost,
    )
    return Function(name, (row,), doc, host=True)


def _answer(name: str, result: Type, call: Callable[[AuthorizerDecision], object], doc: str) -> Function:
    return Function(name, (member(f"decision_{name}", DECISION_TYPE, (), result, call, costs.nominal),), doc, host=True)


FUNCTIONS: Final = library(
    "kubernetes.authz",
    Function(
        "path",
        (member("authorizer_path", AUTHORIZER_TYPE, (STRING,), PATH_CHECK_TYPE, path, costs.nominal),),
        "Begins a check of a non-resource path: authorizer.path('/healthz').check('get').allowed()",
        host=True,
    ),
    Function(
        "group",
        (member("authorizer_group", AUTHORIZER_TYPE, (STRING,), GROUP_CHECK_TYPE, group, costs.nominal),),
        "Begins a check of an API group: authorizer.group('apps').resource('deployments').check('create').allowed()",
        host=True,
    ),
    Function(
        "serviceAccount",
        (
            member(
                "authorizer_serviceaccount",
                AUTHORIZER_TYPE,
                (STRING, STRING),
                AUTHORIZER_TYPE,
                service_account,
                costs.nominal,
            ),
        ),
        "Checks for a service account (namespace, name) instead of the requester.",
        host=True,
    ),
    Function(
        "resource",
        (member("groupcheck_resource", GROUP_CHECK_TYPE, (STRING,), RESOURCE_CHECK_TYPE, resource, costs.nominal),),
        "The resource of the group to check.",
        host=True,
    ),
    _more("subresource", "subresource", "The subresource to check."),
    _more("namespace", "namespace", "The namespace to check in; without it, all of them."),
    _more("name", "name", "The name of the object to check."),
    _more(
        "fieldSelector",
        "field_selector",
        "The field selector to check with.",
        _SELECTOR,
        "authorizer_fieldselector",
    ),
    _more(
        "labelSelector",
        "label_selector",
        "The label selector to check with.",
        _SELECTOR,
        "authorizer_labelselector",
    ),
    Function(
        "check",
        (
            member("pathcheck_check", PATH_CHECK_TYPE, (STRING,), DECISION_TYPE, decide, _CHECK),
            member("resourcecheck_check", RESOURCE_CHECK_TYPE, (STRING,), DECISION_TYPE, decide, _CHECK),
        ),
        "Asks whether a verb is allowed. Costs 350,000: two checks fit one expression.",
        host=True,
    ),
    _answer("errored", BOOL, lambda decision: decision.error is not None, "Whether asking went wrong."),
    _answer("error", STRING, lambda decision: decision.error or "", "What went wrong while asking, empty if nothing."),
    _answer("allowed", BOOL, lambda decision: decision.allowed, "Whether it is allowed."),
    _answer("reason", STRING, lambda decision: decision.reason, "The reason that the authorizer gave."),
)

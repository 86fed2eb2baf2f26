"""The shapes of the policy kinds: admissionregistration.k8s.io v1 (v1beta1 and v1alpha1 have the same fields)."""

from __future__ import annotations

from typing import Final

from webhook.policy.loading.shapes import ANY, BOOL, INT, TEXT, Items, Record, Table, Text, record

GROUP: Final = "admissionregistration.k8s.io"
VERSIONS: Final = frozenset({"v1", "v1beta1", "v1alpha1"})
VALIDATING: Final = "ValidatingAdmissionPolicy"
MUTATING: Final = "MutatingAdmissionPolicy"
BINDING: Final = "Binding"

EXPAND: Final = "sluice.dev/expand"
MODE: Final = "sluice.dev/mode"
SKIP: Final = "sluice.dev/skip"
UNMANAGED: Final = "unmanaged"
"""The word of SKIP for what the queues do not hold, whether it is part of a job with quota or not theirs at all."""
SETTINGS: Final = "sluice.dev/settings"
"""Names variables, comma separated, that have the value of the setting or the feature gate of their name."""
DOCS: Final = "sluice.dev/docs"
WARNING: Final = "sluice.dev/warning"
ANNOTATIONS: Final = {
    EXPAND: ("pod-templates",),
    MODE: ("audit", "warn", "enforce"),
    SKIP: ("owned-by-workload", UNMANAGED),
    SETTINGS: (),
    DOCS: (),
    WARNING: (),
}
"""The extras of Sluice, and the words each may hold (none: any text)."""

_METADATA: Final = record(
    "name",
    name=TEXT,
    namespace=TEXT,
    labels=Table(TEXT),
    annotations=Table(TEXT),
    uid=TEXT,
    resourceVersion=TEXT,
    generation=INT,
    creationTimestamp=TEXT,
    managedFields=ANY,
    generateName=TEXT,
    finalizers=Items(TEXT),
    ownerReferences=ANY,
    selfLink=TEXT,
)
_SELECTOR: Final = record(
    matchLabels=Table(TEXT),
    matchExpressions=Items(record("key operator", key=TEXT, operator=TEXT, values=Items(TEXT))),
)
_RULE: Final = record(
    "apiGroups apiVersions resources operations",
    apiGroups=Items(TEXT, 1),
    apiVersions=Items(TEXT, 1),
    resources=Items(TEXT, 1),
    operations=Items(Text(("CREATE", "UPDATE", "DELETE", "CONNECT", "*")), 1),
    resourceNames=Items(TEXT),
    scope=Text(("*", "Cluster", "Namespaced")),
)
_MATCH: Final = record(
    namespaceSelector=_SELECTOR,
    objectSelector=_SELECTOR,
    resourceRules=Items(_RULE),
    excludeResourceRules=Items(_RULE),
    matchPolicy=Text(("Exact", "Equivalent")),
)
_CONDITIONS: Final = Items(record("name expression", name=TEXT, expression=TEXT))
_PARAM_KIND: Final = record("apiVersion kind", apiVersion=TEXT, kind=TEXT)
_FAILURE: Final = Text(("Fail", "Ignore"))
_PARAM_REF: Final = record(
    name=TEXT, namespace=TEXT, selector=_SELECTOR, parameterNotFoundAction=Text(("Allow", "Deny"))
)
_VALIDATING_SPEC: Final = record(
    "matchConstraints",
    paramKind=_PARAM_KIND,
    matchConstraints=_MATCH,
    validations=Items(
        record(
            "expression",
            expression=TEXT,
            message=TEXT,
            messageExpression=TEXT,
            reason=Text(("Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge")),
        )
    ),
    failurePolicy=_FAILURE,
    auditAnnotations=Items(record("key valueExpression", key=TEXT, valueExpression=TEXT)),
    matchConditions=_CONDITIONS,
    variables=Items(record("name expression", name=TEXT, expression=TEXT)),
)
_MUTATING_SPEC: Final = record(
    "matchConstraints mutations reinvocationPolicy",
    paramKind=_PARAM_KIND,
    matchConstraints=_MATCH,
    variables=Items(record("name expression", name=TEXT, expression=TEXT)),
    mutations=Items(
        record(
            "patchType",
            patchType=Text(("ApplyConfiguration", "JSONPatch")),
            applyConfiguration=record("expression", expression=TEXT),
            jsonPatch=record("expression", expression=TEXT),
        ),
        1,
    ),
    failurePolicy=_FAILURE,
    matchConditions=_CONDITIONS,
    reinvocationPolicy=Text(("Never", "IfNeeded")),
)
_VALIDATING_BINDING: Final = record(
    "policyName validationActions",
    policyName=TEXT,
    paramRef=_PARAM_REF,
    matchResources=_MATCH,
    validationActions=Items(Text(("Deny", "Warn", "Audit")), 1),
)
_MUTATING_BINDING: Final = record("policyName", policyName=TEXT, paramRef=_PARAM_REF, matchResources=_MATCH)


def _object(spec: Record) -> Record:
    return record(
        "apiVersion kind metadata spec", apiVersion=TEXT, kind=TEXT, metadata=_METADATA, spec=spec, status=ANY
    )


SHAPES: Final = {
    VALIDATING: _object(_VALIDATING_SPEC),
    MUTATING: _object(_MUTATING_SPEC),
    VALIDATING + BINDING: _object(_VALIDATING_BINDING),
    MUTATING + BINDING: _object(_MUTATING_BINDING),
}
"""kind -> the shape of its objects."""

OWN_VERSION: Final = "v1alpha1"
EXCEPTION: Final = "PolicyException"
EXCEPTION_SHAPE: Final = _object(
    record(
        "policyNames reason expires",
        policyNames=Items(TEXT, 1),
        reason=TEXT,
        expires=TEXT,
        namespaces=Items(TEXT),
        objectSelector=_SELECTOR,
        resourceRules=Items(_RULE),
        enabled=BOOL,
    )
)

"""The two webhook configurations as objects, and writing them: opt-in, never the system's or our own namespace.

Beside them, where our CRDs are converted. What they are sent is in `required_webhooks.py`.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.api.crds.definitions import CONVERT_PATH
from webhook.api.crds.kinds import KINDS
from webhook.cluster.webhooks.required_webhooks import Hook
from webhook.kube.gvk import GroupVersionKind
from webhook.kube.well_known import NAMESPACE_NAME
from webhook.policy.matching.index import NEVER_JUDGED
from webhook.policy.webhook_rules import RESOURCE
from webhook.store.errors import NotFound
from webhook.store.objects import Object, ObjectStore

MUTATING: Final = GroupVersionKind("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration")
VALIDATING: Final = GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")
CRD: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
CONFIGURATIONS: Final = ((MUTATING, True), (VALIDATING, False))
"""Their kinds, and whether their entries are of policies that mutate."""
PART_OF: Final = "app.kubernetes.io/part-of"
OURS: Final = "sluice"
SYSTEM: Final = ("kube-node-lease", "kube-public", "kube-system")
MANAGER: Final = "sluice-register"
KEPT_BY_LEADER: Final = "sluice.dev/kept-by-leader"
"""The annotation, "true", of a configuration whose entries are those that the leader's policies need."""
LEASES, REVIEWS, WANTED = "not-a-lease", "not-an-access-review", "wanted-by-a-policy"
"""The names of our match conditions."""
UNREGISTERED: Final[Mapping[str, Any]] = {
    "timeoutSeconds": 5,
    "namespaceSelector": {"matchLabels": {"sluice.dev/managed": "true"}},
}
"""Whom an entry is for where nothing is registered, and how long it is waited for."""
NO_LEASES: Final = "!(request.resource.group == 'coordination.k8s.io' && request.resource.resource == 'leases')"
"""The API server and every controller live by their leases: they never wait for us."""
_REVIEWS: Final = tuple(sorted((group, name) for group, name in NEVER_JUDGED if group != MUTATING.group))
"""Kinds that no policy judges, though API servers send them to webhooks: who somebody is, and what they may do.

Requests for admissionregistration objects are not sent.
"""


@dataclass(frozen=True, slots=True)
class WebhookEndpoint:
    """Where the API server finds us: a URL (`https://host:port`), or a Service; and whom it trusts there (PEM)."""

    authority: bytes
    url: str = ""
    service: str = "sluice"
    namespace: str = "sluice-system"
    port: int = 443

    def config(self, path: str) -> dict[str, Any]:
        """Return the `clientConfig` of an entry."""
        trust = {"caBundle": base64.b64encode(self.authority).decode()} if self.authority else {}
        if self.url:
            return {"url": f"{self.url.rstrip('/')}/{path}", **trust}
        service = {"name": self.service, "namespace": self.namespace, "port": self.port, "path": f"/{path}"}
        return {"service": service, **trust}


@dataclass(frozen=True, slots=True)
class Options:
    """How the configurations are named and whom they are for. `labels` are those by which a namespace opts in.

    What is None stays as it is registered.
    """

    name: str = "sluice"
    labels: Mapping[str, str] | None = None
    never: tuple[str, ...] | None = None
    timeout: int | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)


def configurations(
    hooks: Sequence[Hook], target: WebhookEndpoint, options: Options, there: Iterable[Object] = ()
) -> list[Object]:
    """Return both configurations. `there` are those that are registered; an entry that is new is as their first."""
    before = {entry["name"]: entry for obj in there for entry in obj.get("webhooks") or ()}
    first = next(iter(before.values()), UNREGISTERED)
    made = []
    for gvk, mutating in CONFIGURATIONS:
        metadata: dict[str, Any] = {"name": options.name, "labels": {PART_OF: OURS}}
        if options.annotations:
            metadata["annotations"] = dict(options.annotations)
        entries = [
            _entry(hook, target, options, before.get(hook.name, first)) for hook in hooks if hook.mutating is mutating
        ]
        made.append({"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, "webhooks": entries})
    return made


async def register(
    store: ObjectStore, hooks: Sequence[Hook], target: WebhookEndpoint, options: Options
) -> tuple[list[Object], list[str]]:
    """Write both configurations, and give them, with a sentence for each CRD that another release converts.

    Our CRDs are told to convert at the target too: a chart's CRDs cannot know the release and its authority.
    Raises StoreError.
    """
    left = await convert_at(store, target, options)
    made = configurations(hooks, target, options, await existing(store, options.name))
    return [await store.apply(obj, MANAGER) for obj in made], left


async def existing(store: ObjectStore, name: str) -> list[Object]:
    """Return the configurations that are registered under a name. Raises StoreError."""
    found = []
    for gvk, _ in CONFIGURATIONS:
        with contextlib.suppress(NotFound):
            found.append(await store.get(gvk, name))
    return found


async def is_kept(store: ObjectStore, name: str) -> bool:
    """Return whether the leader has written, or confirmed, both configurations. Raises StoreError."""
    found = [await store.get(gvk, name, None) for gvk, _ in CONFIGURATIONS]
    return all(KEPT_BY_LEADER in (obj["metadata"].get("annotations") or {}) for obj in found)


async def remove(store: ObjectStore, name: str) -> None:
    """Take both configurations away; it is no error where they are not there. Raises StoreError."""
    for gvk, _ in CONFIGURATIONS:
        try:
            await store.delete(gvk, name, None)
        except NotFound:
            continue


async def convert_at(store: ObjectStore, target: WebhookEndpoint, options: Options) -> list[str]:
    """Write into our own CRDs where `/convert` is and whom to trust there; those of a Kueue are left alone.

    So are those that another release converts: a sentence is returned for each. A URL is written in any case.
    """
    left = []
    for kind in KINDS:
        if len(kind.versions) < 2:
            continue
        try:
            found = await store.get(CRD, kind.name)
        except NotFound:
            continue
        labels = found["metadata"].get("labels") or {}
        conversion = found.get("spec", {}).get("conversion") or {}
        if labels.get(PART_OF) != OURS or conversion.get("strategy") != "Webhook":
            continue
        if not target.url and (other := await converted_by_another(store, found, target.service)):
            left.append(f"{kind.name}: {other}")
            continue
        config = target.config(CONVERT_PATH.strip("/"))
        absent = {"service": None} if target.url else {"url": None}
        patch: dict[str, Any] = {"spec": {"conversion": {"webhook": {"clientConfig": {**absent, **config}}}}}
        if options.annotations:
            patch["metadata"] = {"annotations": dict(options.annotations)}
        await store.patch(CRD, kind.name, None, patch)
    return left


async def converted_by_another(store: ObjectStore, definition: Object, release: str) -> str:
    """Return a sentence where a CRD is converted at the Service of another release whose webhooks are registered.

    An uninstall deletes them first, so that the Service of a release that is gone holds nothing. Raises StoreError.
    """
    conversion = definition["spec"].get("conversion") or {}
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service") or {}
    if conversion.get("strategy") != "Webhook" or service.get("name", release) == release:
        return ""
    try:
        found = await store.get(VALIDATING, service["name"])
    except NotFound:
        return ""
    if (found["metadata"].get("labels") or {}).get(PART_OF) != OURS:
        return ""
    at = f"{service.get('namespace')}/{service['name']}"
    return f"still converted at Service {at}, of another release; `sluice crds --take-over` changes that"


def conditions_of(hook: Hook) -> list[dict[str, str]]:
    """Return the `matchConditions` of an entry."""
    conditions = []
    if _may_match(hook, "coordination.k8s.io", "leases"):
        conditions.append({"name": LEASES, "expression": NO_LEASES})
    if reviews := [f"'{group}/{name}'" for group, name in _REVIEWS if _may_match(hook, group, name)]:
        conditions.append({"name": REVIEWS, "expression": f"!({RESOURCE} in [{', '.join(reviews)}])"})
    if hook.condition:
        conditions.append({"name": WANTED, "expression": hook.condition})
    return conditions


def excluding(selector: Mapping[str, Any], never: Iterable[str]) -> dict[str, Any]:
    """Return a selector that leaves some namespaces out, besides those that it leaves out already."""
    excluded, kept = _excluded(selector)
    values = {"key": NAMESPACE_NAME, "operator": "NotIn", "values": sorted({*excluded, *never})}
    return {**selector, "matchExpressions": [values, *kept]}


def _excluded(selector: Mapping[str, Any]) -> tuple[set[str], list[Any]]:
    """Return the namespaces that a selector leaves out by name, and its other expressions."""
    excluded, others = set[str](), []
    for expression in selector.get("matchExpressions") or ():
        if (expression["key"], expression["operator"]) == (NAMESPACE_NAME, "NotIn"):
            excluded |= set(expression["values"])
        else:
            others.append(expression)
    return excluded, others


def _selector(before: Mapping[str, Any], options: Options, own: str) -> dict[str, Any]:
    """Return whom an entry is for: `before`, but for what the options say; never the system's or our own namespace."""
    excluded, others = _excluded(before)
    if options.labels is not None:
        before, others = {"matchLabels": dict(options.labels)} if options.labels else {}, []
    if options.never is not None:
        excluded = set(options.never)
    return excluding({**before, "matchExpressions": others}, (*SYSTEM, own, *excluded))


def _entry(hook: Hook, target: WebhookEndpoint, options: Options, before: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": hook.name,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": hook.failure,
        "matchPolicy": "Equivalent",
        "timeoutSeconds": options.timeout or before.get("timeoutSeconds") or UNREGISTERED["timeoutSeconds"],
        "clientConfig": target.config(hook.path),
        "namespaceSelector": _selector(before.get("namespaceSelector") or {}, options, target.namespace),
    }
    if hook.rules:
        entry["rules"] = [dict(rule) for rule in hook.rules]
    if conditions := conditions_of(hook):
        entry["matchConditions"] = conditions
    if hook.mutating:
        entry["reinvocationPolicy"] = hook.reinvocation or "Never"
    return entry


def _may_match(hook: Hook, group: str, resource: str) -> bool:
    groups, resources = {"*", group}, {"*", "*/*", resource}
    return any(groups & set(rule["apiGroups"]) and resources & set(rule["resources"]) for rule in hook.rules)

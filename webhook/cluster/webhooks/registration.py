"""The two webhook configurations as objects, and writing them: opt-in, never the system's or our own namespace.

Beside them, where our CRDs are converted. What the hooks are is `hooks.py`'s answer.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.api.crds.definitions import CONVERT_PATH
from webhook.api.crds.kinds import KINDS
from webhook.cluster.webhooks.hooks import Hook
from webhook.kube.gvk import GroupVersionKind
from webhook.kube.well_known import NAMESPACE_NAME
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
KEPT: Final = "sluice.dev/kept-by-leader"
"""The annotation, "true", of a configuration whose entries are those that the leader's policies need."""
LEASES, WANTED = "not-a-lease", "wanted-by-a-policy"
"""The names of our match conditions."""
NO_LEASES: Final = "!(request.resource.group == 'coordination.k8s.io' && request.resource.resource == 'leases')"
"""The API server and every controller live by their leases: they never wait for us."""


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
    """How the configurations are named and whom they are for. `labels` are those by which a namespace opts in."""

    name: str = "sluice"
    labels: Mapping[str, str] = field(default_factory=lambda: {"sluice.dev/managed": "true"})
    never: tuple[str, ...] = ()
    timeout: int = 5
    annotations: Mapping[str, str] = field(default_factory=dict)


def configurations(hooks: Sequence[Hook], target: WebhookEndpoint, options: Options) -> list[Object]:
    """Return both configurations."""
    made = []
    for gvk, mutating in CONFIGURATIONS:
        metadata: dict[str, Any] = {"name": options.name, "labels": {PART_OF: OURS}}
        if options.annotations:
            metadata["annotations"] = dict(options.annotations)
        entries = [_entry(hook, target, options) for hook in hooks if hook.mutating is mutating]
        made.append({"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, "webhooks": entries})
    return made


async def register(
    store: ObjectStore, hooks: Sequence[Hook], target: WebhookEndpoint, options: Options
) -> list[Object]:
    """Write both configurations, and give them. Raises StoreError.

    Our CRDs are told to convert at the target too: a chart's CRDs cannot know the release and its authority.
    """
    await convert_at(store, target, options)
    return [await store.apply(obj, MANAGER) for obj in configurations(hooks, target, options)]


async def is_kept(store: ObjectStore, name: str) -> bool:
    """Return whether the leader has written, or confirmed, both configurations. Raises StoreError."""
    found = [await store.get(gvk, name, None) for gvk, _ in CONFIGURATIONS]
    return all(KEPT in (obj["metadata"].get("annotations") or {}) for obj in found)


async def remove(store: ObjectStore, name: str) -> None:
    """Take both configurations away; it is no error where they are not there. Raises StoreError."""
    for gvk, _ in CONFIGURATIONS:
        try:
            await store.delete(gvk, name, None)
        except NotFound:
            continue


async def convert_at(store: ObjectStore, target: WebhookEndpoint, options: Options) -> None:
    """Write into our own CRDs where `/convert` is and whom to trust there; those of a Kueue are left alone."""
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
        config = target.config(CONVERT_PATH.strip("/"))
        absent = {"service": None} if target.url else {"url": None}
        patch: dict[str, Any] = {"spec": {"conversion": {"webhook": {"clientConfig": {**absent, **config}}}}}
        if options.annotations:
            patch["metadata"] = {"annotations": dict(options.annotations)}
        await store.patch(CRD, kind.name, None, patch)


def conditions_of(hook: Hook) -> list[dict[str, str]]:
    """Return the `matchConditions` of an entry."""
    conditions = [{"name": LEASES, "expression": NO_LEASES}] if _may_match_leases(hook) else []
    if hook.condition:
        conditions.append({"name": WANTED, "expression": hook.condition})
    return conditions


def excluding(selector: Mapping[str, Any], never: Iterable[str]) -> dict[str, Any]:
    """Return a selector that leaves some namespaces out, besides those that it leaves out already."""
    kept, excluded = [], {*never}
    for expression in selector.get("matchExpressions") or ():
        if (expression["key"], expression["operator"]) == (NAMESPACE_NAME, "NotIn"):
            excluded |= set(expression["values"])
        else:
            kept.append(expression)
    values = {"key": NAMESPACE_NAME, "operator": "NotIn", "values": sorted(excluded)}
    return {**selector, "matchExpressions": [values, *kept]}


def _entry(hook: Hook, target: WebhookEndpoint, options: Options) -> dict[str, Any]:
    labels = {"matchLabels": dict(options.labels)} if options.labels else {}
    entry: dict[str, Any] = {
        "name": hook.name,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": hook.failure,
        "matchPolicy": "Equivalent",
        "timeoutSeconds": options.timeout,
        "clientConfig": target.config(hook.path),
        "namespaceSelector": excluding(labels, (*SYSTEM, *options.never)),
    }
    if hook.rules:
        entry["rules"] = [dict(rule) for rule in hook.rules]
    if conditions := conditions_of(hook):
        entry["matchConditions"] = conditions
    if hook.mutating:
        entry["reinvocationPolicy"] = hook.reinvocation or "Never"
    return entry


def _may_match_leases(hook: Hook) -> bool:
    groups, resources = {"*", "coordination.k8s.io"}, {"*", "*/*", "leases"}
    return any(groups & set(rule["apiGroups"]) and resources & set(rule["resources"]) for rule in hook.rules)

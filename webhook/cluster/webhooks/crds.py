"""Our CRDs in a cluster: brought to this version, taken over from a Kueue, and their objects stored in the version that
is current."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.api.crds.kinds import KINDS, CustomKind
from webhook.cluster.webhooks.configurations import CRD, OURS, PART_OF, converted_by_another
from webhook.kube.gvk import GroupVersionKind
from webhook.store.errors import Conflict, NotFound, Refused
from webhook.store.objects import Object, ObjectStore, key_of

MANAGER: Final = "sluice-crds"
GUARD: Final = GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy")
KEEPS_CRDS: Final = "sluice-keeps-crds"
"""The name of the policy that denies the deletion of CRDs that were taken over."""
HELM_POLICY, HELM_RELEASE = "helm.sh/resource-policy", "meta.helm.sh/release-name"
INJECTED: Final = tuple(f"cert-manager.io/inject-{ca}" for ca in ("ca-from", "ca-from-secret", "apiserver-ca"))
"""Annotations by which cert-manager writes whom to trust: no longer the authority of the Kueue."""


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """What was done to one CRD, as a sentence; `failed` where it has to be done again."""

    name: str
    told: str
    failed: bool = False


async def apply(
    store: ObjectStore, definitions: Sequence[Object], *, take_over: bool = False, dry_run: bool = False
) -> list[ApplyResult]:
    """Apply CRDs; what they say of trust stays as it is, and where another release converts them. One that is not
    Sluice's is left alone. With `take_over` it becomes Sluice's, and all are converted here. Raises StoreError.
    """
    done = []
    for definition in definitions:
        name = definition["metadata"]["name"]
        try:
            found = await store.get(CRD, name)
        except NotFound:
            found = definition
        if _ours(found):
            other = "" if take_over else await _converted_elsewhere(store, found, definition)
            wanted = _with_conversion_of(found, definition) if other else definition
            await store.apply(wanted, MANAGER, dry_run=dry_run)
            done.append(ApplyResult(name, f"applied; {other}" if other else "applied"))
        elif take_over:
            done.append(await _take_over(store, found, definition, dry_run=dry_run))
        else:
            done.append(ApplyResult(name, "left as it is: it belongs to another installation"))
    if take_over:
        for guard in guards():
            await store.apply(guard, MANAGER, dry_run=dry_run)
        done.append(ApplyResult(KEEPS_CRDS, "applied: the CRDs cannot be deleted by accident"))
    return done


async def _converted_elsewhere(store: ObjectStore, found: Object, definition: Object) -> str:
    """Return a sentence where another release converts a CRD that we would convert at our Service."""
    conversion = definition["spec"].get("conversion") or {}
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
    return await converted_by_another(store, found, service["name"]) if service else ""


def _with_conversion_of(found: Object, definition: Object) -> Object:
    """Return a definition that is converted at the Service of `found`: an applied one without it would remove it."""
    conversion = definition["spec"]["conversion"]
    service = found["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
    webhook = {**conversion["webhook"], "clientConfig": {"service": service}}
    return {**definition, "spec": {**definition["spec"], "conversion": {**conversion, "webhook": webhook}}}


async def _take_over(store: ObjectStore, found: Object, definition: Object, *, dry_run: bool) -> ApplyResult:
    """Make another's CRD ours: its objects stay, and are converted here from now on."""
    name = found["metadata"]["name"]
    known = {version["name"] for version in definition["spec"]["versions"]}
    stored = (found.get("status") or {}).get("storedVersions") or []
    if unknown := [version for version in stored if version not in known]:
        told = f"objects are stored as {', '.join(unknown)}, which Sluice does not read; upgrade Kueue first"
        return ApplyResult(name, f"not taken over: {told}", failed=True)
    await store.patch(CRD, name, None, _as_ours(definition), dry_run=dry_run)
    release = (found["metadata"].get("annotations") or {}).get(HELM_RELEASE)
    return ApplyResult(name, "taken over" + (f" from the Helm release {release}" if release else ""))


def _as_ours(definition: Object) -> Object:
    """Return the patch by which a CRD becomes this definition, whatever it was."""
    spec = dict(definition["spec"])
    conversion = spec.get("conversion") or {"strategy": "None", "webhook": None}
    if webhook := conversion.get("webhook"):
        client = {"url": None, "service": None, "caBundle": None, **webhook["clientConfig"]}
        conversion = {**conversion, "webhook": {**webhook, "clientConfig": client}}
    spec["conversion"] = conversion
    annotations = {**dict.fromkeys(INJECTED), HELM_POLICY: "keep"}
    return {"metadata": {"labels": dict(definition["metadata"]["labels"]), "annotations": annotations}, "spec": spec}


def guards() -> list[Object]:
    """Return the policy that denies the deletion of the CRDs that were taken over, and its binding.

    `helm uninstall` of the Kueue that brought them goes by its own record, not by the annotation, and would delete them
    with every queue and Workload.
    """
    names = [kind.name for kind in KINDS]
    rule = {
        "apiGroups": [CRD.group],
        "apiVersions": ["*"],
        "operations": ["DELETE"],
        "resources": ["customresourcedefinitions"],
        "resourceNames": names,
    }
    validation = {
        "expression": f"oldObject.metadata.?annotations[?'{HELM_POLICY}'].orValue('') != 'keep'",
        "messageExpression": (
            "'Sluice took over this CRD: deleting it deletes every ' + oldObject.spec.names.kind + "
            f"'. To delete it nevertheless: kubectl annotate crd ' + oldObject.metadata.name + ' {HELM_POLICY}-'"
        ),
    }
    spec = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule]}, "validations": [validation]}
    metadata = {"name": KEEPS_CRDS, "labels": {PART_OF: OURS}}
    policy = {"apiVersion": GUARD.api_version, "kind": GUARD.kind, "metadata": metadata, "spec": spec}
    bound = {"policyName": KEEPS_CRDS, "validationActions": ["Deny"]}
    return [policy, {**policy, "kind": f"{GUARD.kind}Binding", "spec": bound}]


async def migrate(store: ObjectStore) -> list[ApplyResult]:
    """Store every object of ours in the version that is current, then say so in the CRD. Raises StoreError.

    An API server converts what it reads and stores the current version when it is written. Until then an older version
    cannot leave the CRD (Kubernetes: "Versions in CustomResourceDefinitions", "Upgrade existing objects").
    """
    done = []
    for kind in KINDS:
        try:
            definition = await store.get(CRD, kind.name)
        except NotFound:
            continue
        current = kind.versions[0].name
        stored = (definition.get("status") or {}).get("storedVersions") or [current]
        if stored != [current] and _ours(definition) and current in _stored(definition):
            done.append(await _rewrite(store, kind, current))
    return done


async def _rewrite(store: ObjectStore, kind: CustomKind, current: str) -> ApplyResult:
    gvk = GroupVersionKind(kind.group, current, kind.kind)
    refused, items = [], (await store.list(gvk)).items
    for obj in items:
        try:
            await store.update({**obj, "apiVersion": gvk.api_version, "kind": gvk.kind})
        except (Conflict, NotFound):
            continue  # written, or deleted, by somebody else meanwhile
        except Refused as error:
            refused.append(f"{'/'.join(part for part in key_of(obj) if part)}: {error}")
    if refused:
        return ApplyResult(
            kind.name, f"{len(refused)} of {len(items)} objects cannot be stored: {refused[0]}", failed=True
        )
    await store.patch(CRD, kind.name, None, {"status": {"storedVersions": [current]}}, subresource="status")
    return ApplyResult(kind.name, f"objects stored as {current}: {len(items)}")


def _ours(definition: Object) -> bool:
    return (definition["metadata"].get("labels") or {}).get(PART_OF) == OURS


def _stored(definition: dict[str, Any]) -> Iterator[str]:
    """Return the version that the API server stores; one, but for a definition that it would refuse."""
    return (version["name"] for version in definition["spec"]["versions"] if version["storage"])

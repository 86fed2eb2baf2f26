"""CustomResourceDefinitions (apiextensions.k8s.io/v1), generated from the API types."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from webhook.api.crds.kinds import KINDS, CustomKind, KindVersion, PrinterColumn
from webhook.api.crds.schema import structural
from webhook.api.types.fields import AMOUNT, QUANTITY, Api
from webhook.kube.well_known import KUEUE

CONVERT_PATH = "/convert"


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where the API server finds `/convert`: a URL, or a Service. `ca` is the CA certificate as base64 of PEM."""

    url: str = ""
    service: str = "sluice"
    namespace: str = "sluice-system"
    port: int = 443
    ca: str = ""

    def client_config(self) -> dict[str, Any]:
        """Return it as a CRD's `clientConfig`."""
        at: dict[str, Any] = {"url": self.url.rstrip("/").removesuffix(CONVERT_PATH) + CONVERT_PATH}
        if not self.url:
            at = {
                "service": {
                    "name": self.service,
                    "namespace": self.namespace,
                    "path": CONVERT_PATH,
                    "port": self.port,
                }
            }
        return {**at, **({"caBundle": self.ca} if self.ca else {})}


def definitions(
    webhook: Webhook | None = None, kinds: Iterable[CustomKind] = KINDS, current_only: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return the CRD of each kind.

    With a `webhook`, older versions are served and converted by it; without one only the stored version is served,
    since the API server cannot turn one into the other by itself. Of the kinds in `current_only` an older version is
    known, so that objects stored in it can be read, but not served: an API server keeps a watch cache of each version
    that it serves, and has every change of an object converted for it, whether or not anybody reads that version.
    """
    return [_crd(kind, webhook, current_only=kind.kind in current_only) for kind in kinds]


def _crd(kind: CustomKind, webhook: Webhook | None, *, current_only: bool) -> dict[str, Any]:
    versions = kind.versions if webhook else kind.versions[:1]
    spec: dict[str, Any] = {
        "group": kind.group,
        "names": {
            "kind": kind.kind,
            "listKind": f"{kind.kind}List",
            "plural": kind.plural,
            "singular": kind.kind.lower(),
            **({"shortNames": list(kind.short)} if kind.short else {}),
            "categories": ["kueue" if kind.group == KUEUE else "sluice"],
        },
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "versions": [_version(kind, v, stored=v is versions[0], current_only=current_only) for v in versions],
    }
    if webhook and len(kind.versions) > 1:
        spec["conversion"] = {
            "strategy": "Webhook",
            "webhook": {"clientConfig": webhook.client_config(), "conversionReviewVersions": ["v1"]},
        }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.name, "labels": {"app.kubernetes.io/part-of": "sluice"}},
        "spec": spec,
    }


def _version(kind: CustomKind, version: KindVersion, *, stored: bool, current_only: bool) -> dict[str, Any]:
    schema = _signed(top_level(version.type))
    made: dict[str, Any] = {"name": version.name, "served": stored or not current_only, "storage": stored}
    if not stored:
        new = f"{kind.group}/{kind.versions[0].name}"
        made |= {"deprecated": True, "deprecationWarning": f"{kind.group}/{version.name} is deprecated: use {new}"}
    made["schema"] = {"openAPIV3Schema": schema}
    if "status" in schema["properties"]:
        made["subresources"] = {"status": {}}
    if version.selectable:
        made["selectableFields"] = [{"jsonPath": path} for path in version.selectable]
    if version.columns:
        made["additionalPrinterColumns"] = [_column(c) for c in version.columns]
    return made


def _signed(schema: Any) -> Any:
    """Let quantities be negative: `policies/queue/valid-quotas` refuses them, as Forbidden like Kueue's webhook.

    The API server checks a schema before it asks webhooks, and clients of Kueue tell Invalid and Forbidden apart.
    """
    if isinstance(schema, list):
        return [_signed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("pattern") == AMOUNT:
        return {word: value for word, value in schema.items() if word != "minimum"} | {"pattern": QUANTITY}
    return {word: _signed(value) for word, value in schema.items()}


def top_level(struct: type[Api]) -> dict[str, Any]:
    """Return the schema of a whole object: the type's own fields beside apiVersion, kind and metadata."""
    schema = structural(struct)
    schema["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        **schema["properties"],
    }
    return schema


def _column(column: PrinterColumn) -> dict[str, Any]:
    shown = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return {**shown, "priority": 1} if column.wide else shown

"""An admission request as the policies see it. Values only; the wire form is read in `webhook.admission.wire`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from webhook.kube.gvk import GroupVersionKind, GroupVersionResource

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


@dataclass(slots=True)
class Request:
    """One request, admission.k8s.io/v1 AdmissionRequest. Never changed; frozen, it would take thrice as long to make.

    `object` and `old_object` are the plain dicts of the JSON, never changed in place. `request_kind` and
    `request_resource` are those of the original call where the API server converted the object (matchPolicy
    Equivalent), else equal to `kind` and `resource`. `attributes` is what CEL sees as `request`: the wire object
    without `object` and `oldObject`.
    """

    uid: str
    kind: GroupVersionKind
    resource: GroupVersionResource
    operation: str
    object: dict[str, Any] | None
    old_object: dict[str, Any] | None = None
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    user_info: dict[str, Any] = field(default_factory=dict)
    dry_run: bool = False
    options: dict[str, Any] | None = None
    request_kind: GroupVersionKind | None = None
    request_resource: GroupVersionResource | None = None
    attributes: dict[str, Any] = field(default_factory=dict)

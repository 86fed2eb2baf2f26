"""Facts from plain objects: for tests, suites and runs without a cluster; live ones are in `cluster.policy_facts`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from webhook.admission.gate import Check, Decision, Selector
from webhook.api.configuration.managed import Managed, managed
from webhook.api.configuration.read import settings_among
from webhook.api.configuration.sections import QueueSettings
from webhook.api.scopes import Scopes
from webhook.jobs.job import GroupKind
from webhook.jobs.normalise import normalise
from webhook.jobs.owners import admits, controls, is_external, stand_in
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.kube.scope import Scope
from webhook.kube.typed.defaulted import defaulted
from webhook.kube.well_known import KUEUE, NAMESPACE_NAME

_WORKLOAD: Final = (KUEUE, "Workload")
_DEFINITION: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")
_SETTINGS: Final = (("", "ConfigMap"), ("config.kueue.x-k8s.io", "Configuration"))
"""Kinds that Kueue's settings stand in."""


class MemoryFacts:
    """The objects of a cluster. The version of a kind does not matter; later objects replace earlier ones."""

    def __init__(
        self,
        objects: Iterable[dict[str, Any]] = (),
        authorizations: Mapping[Check, bool] | None = None,
        *,
        otherwise: Decision = Decision.UNKNOWN,
        settings: QueueSettings | None = None,
    ) -> None:
        """Take objects, and answers to checks. `settings` count where no Configuration is among the objects."""
        self._objects: dict[tuple[str, str], dict[tuple[str, str], dict[str, Any]]] = {}
        self._by_uid: dict[str, dict[str, Any]] = {}
        self._authorizations = dict(authorizations or {})
        self._otherwise = otherwise
        self._scopes: Scopes | None = None
        self._given_settings = settings
        self._settings: tuple[QueueSettings | None] | None = None
        self._managed: Managed | None = None
        self._stand_ins: dict[str, dict[str, Any]] = {}
        for obj in objects:
            self.add(obj)

    def add(self, obj: dict[str, Any]) -> None:
        """Add an object with defaults and its quantities as strings, as the API server stores it."""
        self._scopes = self._settings = self._managed = None
        obj = defaulted(normalise(obj))
        kind, metadata = gvk_of(obj), obj.get("metadata") or {}
        if (kind.group, kind.kind) == ("", "Namespace"):
            labels = metadata.get("labels")
            own = {NAMESPACE_NAME: str(metadata.get("name") or "")}
            labels = own | labels if isinstance(labels, dict) else own
            obj = {**obj, "metadata": {**metadata, "labels": labels}}
        key = (str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
        self._objects.setdefault((kind.group, kind.kind), {})[key] = obj
        if metadata.get("uid"):
            self._by_uid[str(metadata["uid"])] = obj

    def namespace(self, name: str) -> dict[str, Any]:
        """Return the Namespace; a `stand_in` if it is not among the objects."""
        known = self.known_namespace(name)
        return self.stand_in(name) if known is None else known

    def known_namespace(self, name: str) -> dict[str, Any] | None:
        """Return the Namespace, None if it is not among the objects."""
        return self._objects.get(("", "Namespace"), {}).get(("", name))

    def stand_in(self, name: str) -> dict[str, Any]:
        """Return a Namespace with only the name label that every namespace has; the same object on each call."""
        if name not in self._stand_ins:
            metadata = {"name": name, "labels": {NAMESPACE_NAME: name}}
            self._stand_ins[name] = {"metadata": metadata, "spec": {}, "status": {}}
        return self._stand_ins[name]

    def params(
        self, gvk: GroupVersionKind, namespace: str | None, name: str | None, selector: Selector | None
    ) -> Sequence[dict[str, Any]]:
        """Return objects of a kind by name or labels; an object without a namespace counts in every namespace.

        A name is that of one object: the one in the namespace goes before the one without.
        """
        of_kind = self._objects.get((gvk.group, gvk.kind), {})
        if name is not None and namespace is not None:
            return [of_kind[key] for key in ((namespace, name), ("", name)) if key in of_kind][:1]
        matches = []
        for (where, called), obj in sorted(of_kind.items()):
            if namespace is not None and where not in ("", namespace):
                continue
            labels = (obj.get("metadata") or {}).get("labels") or {}
            if called == name if name is not None else selector is None or selector(labels):
                matches.append(obj)
        return matches

    def scope(self, gvk: GroupVersionKind) -> Scope | None:
        """Return the scope of a kind: built-in, of Sluice's CRDs, or of CRDs among the objects."""
        if self._scopes is None:
            self._scopes = Scopes.of(self._objects.get(_DEFINITION, {}).values())
        return self._scopes.scope(gvk)

    def authorize(self, check: Check) -> Decision:
        """Return the decision from `authorizations`, else `otherwise`."""
        if check not in self._authorizations:
            return self._otherwise
        return Decision.ALLOWED if self._authorizations[check] else Decision.DENIED

    def holds(self, obj: dict[str, Any], namespace: str) -> bool:
        """Return whether the queues hold such an object, by a Configuration among the objects."""
        if self._managed is None:
            self._managed = managed(self._configured())
        return self._managed.may_hold(obj, lambda: self.namespace(namespace)["metadata"]["labels"])

    @property
    def switches(self) -> Mapping[str, bool]:
        """The feature switches of a Configuration among the objects."""
        settings = self._configured()
        return settings.switches if settings is not None else {}

    def _configured(self) -> QueueSettings | None:
        if self._settings is None:
            found = settings_among(obj for kind in _SETTINGS for obj in self._objects.get(kind, {}).values())
            self._settings = (found or self._given_settings,)
        return self._settings[0]

    def owner(self, reference: dict[str, Any], namespace: str) -> dict[str, Any] | None:
        """Return the object with the uid of a reference; for an external kind, its `stand_in`."""
        if is_external(reference, self):
            made = any(controls(w, str(reference.get("uid"))) for w in self._objects.get(_WORKLOAD, {}).values())
            return stand_in(reference, namespace) if made else None
        return self._by_uid.get(str(reference.get("uid")))

    @property
    def external(self) -> Collection[GroupKind]:
        """Return the external kinds of a Configuration among the objects."""
        settings = self._configured()
        return settings.external if settings is not None else ()

    def admitted(self, job: dict[str, Any]) -> bool:
        """Return whether the Workload of this object is among the objects, and admitted."""
        uid = str((job.get("metadata") or {}).get("uid") or "")
        return any(admits(workload, uid) for workload in self._objects.get(_WORKLOAD, {}).values())

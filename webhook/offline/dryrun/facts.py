"""The facts that policies ask for, answered from objects of files instead of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from webhook.admission.facts import Check, Decision, Selector
from webhook.kube.gvk import GroupVersionKind, gvk_of

Object = dict[str, Any]
NAME_LABEL: Final = "kubernetes.io/metadata.name"


class FileFacts:
    """Objects by kind, namespace and name. `labels` are given to namespaces that are not among the objects.

    Nobody can be asked what a user may do: each check is answered with `authorized`, and kept in `asked`.
    """

    def __init__(self, objects: Iterable[Object], labels: Mapping[str, str], *, authorized: bool = False) -> None:
        self._kinds: dict[tuple[str, str], dict[tuple[str, str], Object]] = {}
        self._uids: dict[str, Object] = {}
        self._labels, self._authorized = dict(labels), authorized
        self.asked: set[Check] = set()
        self.unknown_namespaces: set[str] = set()
        for obj in objects:
            metadata = _map(obj.get("metadata"))
            gvk = gvk_of(obj)
            key = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
            self._kinds.setdefault((gvk.group, gvk.kind), {}).setdefault(key, obj)
            if uid := metadata.get("uid"):
                self._uids[str(uid)] = obj

    def namespace(self, name: str) -> Object | None:
        """Give the Namespace object; one that is not there has its name and the labels given for such."""
        found = self._kinds.get(("", "Namespace"), {}).get(("", name))
        if found is None:
            self.unknown_namespaces.add(name)
            return {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name, "labels": {NAME_LABEL: name, **self._labels}},
                "spec": {},
                "status": {},
            }
        metadata = _map(found.get("metadata"))
        return {**found, "metadata": {**metadata, "labels": {NAME_LABEL: name, **_map(metadata.get("labels"))}}}

    def params(
        self, gvk: GroupVersionKind, namespace: str | None, name: str | None, selector: Selector | None
    ) -> Sequence[Object]:
        """Give the objects of a kind by name or by label selector, sorted by name."""
        here = self._kinds.get((gvk.group, gvk.kind), {})
        found = sorted(
            (key, obj) for key, obj in here.items() if namespace is None or (key[0] or "default") == namespace
        )
        if name is not None:
            return [obj for key, obj in found if key[1] == name]
        return [o for _, o in found if selector is None or selector(_map(_map(o.get("metadata")).get("labels")))]

    def authorize(self, check: Check) -> Decision:
        """Answer every check alike, and remember that it was asked."""
        self.asked.add(check)
        return Decision.ALLOWED if self._authorized else Decision.DENIED

    def owner(self, uid: str) -> Object | None:
        """Give the object of this UID among the files."""
        return self._uids.get(uid)


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

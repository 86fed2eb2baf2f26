"""`Facts` for policies (namespaces, params, authorizer) from objects in files instead of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from webhook.admission.gate import Check, Decision, Selector
from webhook.admission.memory_facts import MemoryFacts
from webhook.api.configuration.sections import QueueSettings
from webhook.kube.gvk import GroupVersionKind
from webhook.kube.well_known import NAMESPACE_NAME
from webhook.policy.bundle import Bundle

Object = dict[str, Any]


def known(bundle: Bundle, *others: Iterable[Object]) -> tuple[Object, ...]:
    """Return the objects of policy files, and others, which go before those of the same name as in a cluster."""
    return (*bundle.objects, *chain.from_iterable(others))


class FileFacts(MemoryFacts):
    """Objects in memory. `labels` are given to namespaces that are not among them, and those are remembered.

    No API server says what a user may do: each check is answered with `authorized`, and kept in `asked`.
    """

    def __init__(
        self,
        objects: Iterable[Object],
        labels: Mapping[str, str],
        *,
        authorized: bool = False,
        settings: QueueSettings | None = None,
    ) -> None:
        super().__init__((o for o in objects if isinstance(o.get("metadata") or {}, dict)), settings=settings)
        self._given, self.authorized = dict(labels), authorized
        self.asked: set[Check] = set()
        self.unknown_namespaces: set[str] = set()
        self.unknown_params: set[str] = set()

    @property
    def labelled(self) -> bool:
        """Whether labels were given for the namespaces that are not among the objects."""
        return bool(self._given)

    def params(
        self, gvk: GroupVersionKind, namespace: str | None, name: str | None, selector: Selector | None
    ) -> Sequence[Object]:
        """Return the objects of a kind by name or labels, and remember what is not there by its name."""
        found = super().params(gvk, namespace, name, selector)
        if not found and name is not None:
            self.unknown_params.add(f"{gvk.kind} {namespace}/{name}" if namespace else f"{gvk.kind} {name}")
        return found

    def stand_in(self, name: str) -> Object:
        """Return a Namespace with the labels given for such as are not among the objects, and remember its name."""
        self.unknown_namespaces.add(name)
        labels = {NAMESPACE_NAME: name, **self._given}
        metadata = {"name": name, "labels": labels}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "spec": {}, "status": {}}

    def authorize(self, check: Check) -> Decision:
        """Answer every check alike, and remember that it was asked."""
        self.asked.add(check)
        return Decision.ALLOWED if self.authorized else Decision.DENIED

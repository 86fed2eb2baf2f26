"""Which namespaces a ClusterQueue takes workloads of (ClusterQueue `namespaceSelector`)."""

from __future__ import annotations

from webhook.queue.definitions import Definitions
from webhook.queue.flavors.node_match import selects
from webhook.queue.model import ClusterQueue


def takes(queue: ClusterQueue, namespace: str, definitions: Definitions) -> bool:
    """Return whether a queue takes workloads of a namespace; without a selector, of none."""
    selector, found = queue.namespace_selector, definitions.namespaces.get(namespace)
    if selector is None or not selector.match_expressions:
        return selector is not None
    return found is not None and selects(selector, found.labels)

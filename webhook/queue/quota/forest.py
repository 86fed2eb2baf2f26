"""ClusterQueues and cohorts become trees of nodes. A cohort that is only named exists; cycles are cut off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from webhook.queue.model import ClusterQueue, Cohort
from webhook.queue.quota.tree import Node, Tree

UNPLANTED = cast("Tree", None)
"""Stands in a node until its tree is built."""


def grow(queues: Mapping[str, ClusterQueue], cohorts: Mapping[str, Cohort]) -> list[Node]:
    """Give the roots, sorted by name, with all their nodes linked; children are sorted by name too.

    Queues under a cycle of cohorts stand alone, without a cohort, until the cycle is mended; they are not active.
    """
    nodes = {name: Node(name, cohort, UNPLANTED) for name, cohort in cohorts.items()}
    for name in [c.parent for c in cohorts.values()] + [q.cohort for q in queues.values()]:
        if name and name not in nodes:
            nodes[name] = Node(name, Cohort(name), UNPLANTED)
    looped = {name for name in nodes if _loops(name, cohorts)}
    for name in sorted(nodes):
        node = nodes[name]
        assert isinstance(node.definition, Cohort)
        if node.definition.parent and name not in looped:
            node.parent = nodes[node.definition.parent]
            node.parent.children.append(node)
    roots = [nodes[name] for name in sorted(nodes) if nodes[name].parent is None and name not in looped]
    for name in sorted(queues):
        node = Node(name, queues[name], UNPLANTED, is_queue=True)
        cohort = queues[name].cohort
        if not cohort or cohort in looped:
            roots.append(node)
        else:
            node.parent = nodes[cohort]
            node.parent.queues.append(node)
    return [r for r in roots if r.is_queue or r.queues or r.children]


def _loops(name: str, cohorts: Mapping[str, Cohort]) -> bool:
    seen: set[str] = set()
    while name:
        if name in seen:
            return True
        seen.add(name)
        found = cohorts.get(name)
        name = found.parent if found else ""
    return False

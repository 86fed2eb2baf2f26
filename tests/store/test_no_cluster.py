"""Without a cluster each Namespace can be read, and nothing else."""

import asyncio

import pytest

from webhook.kube.gvk import NAMESPACE, GroupVersionKind
from webhook.store.errors import NotFound
from webhook.store.no_cluster import NoCluster

CONFIG = GroupVersionKind("", "v1", "ConfigMap")


def test_every_namespace_can_be_read():
    """It has its name, as the label that the API server gives, too; one that was created is given as it is."""

    async def go():
        store = NoCluster()
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "labels": {"team": "b"}}}
        await store.create(made)
        return await store.get(NAMESPACE, "a"), await store.get(NAMESPACE, "b"), (await store.list(NAMESPACE)).items

    given, made, listed = asyncio.run(go())
    assert given["metadata"] == {"name": "a", "labels": {"kubernetes.io/metadata.name": "a"}}
    assert made["metadata"]["labels"] == {"team": "b"}
    assert [found["metadata"]["name"] for found in listed] == ["b"]


def test_nothing_else_is_there():
    """What is no Namespace is not found."""
    with pytest.raises(NotFound):
        asyncio.run(NoCluster().get(CONFIG, "a", "b"))

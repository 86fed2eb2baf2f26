"""CRDs in a cluster: brought to this version, another's left alone, objects stored anew and only then said so."""

import asyncio

import pytest

from webhook.api.crds.definitions import definitions
from webhook.cluster.api.kinds import FLAVOR
from webhook.cluster.webhooks.definitions import apply, migrate
from webhook.cluster.webhooks.registration import CRD
from webhook.store.errors import NotFound, Refused
from webhook.store.memory import MemoryStore

NAME = "resourceflavors.kueue.x-k8s.io"


class Picky(MemoryStore):
    """A store that refuses to write some objects, and counts the others."""

    def __init__(self, refused=()):
        super().__init__()
        self.refused, self.written = refused, []

    async def update(self, obj, **options):
        if obj["metadata"]["name"] in self.refused:
            raise Refused("spec.nodeLabels: Invalid value")
        if obj["kind"] == "ResourceFlavor":
            self.written.append(obj["metadata"]["name"])
        return await super().update(obj, **options)


async def stored(store, versions, labels):
    (definition,) = [d for d in definitions() if d["metadata"]["name"] == NAME]
    metadata = {"name": NAME, "labels": labels}
    await store.create({**definition, "metadata": metadata, "status": {"storedVersions": versions}})
    for name in ("a", "b"):
        flavor = {"apiVersion": FLAVOR.api_version, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}}
        await store.create(flavor)


OURS = {"app.kubernetes.io/part-of": "sluice"}


@pytest.mark.parametrize(
    ("versions", "labels", "refused", "told", "after"),
    [
        (["v1beta1", "v1beta2"], OURS, (), ["2 objects stored as v1beta2"], ["v1beta2"]),
        (["v1beta2"], OURS, (), [], ["v1beta2"]),
        (["v1beta1", "v1beta2"], {}, (), [], ["v1beta1", "v1beta2"]),
        (["v1beta1", "v1beta2"], OURS, ("b",),
         ["1 of 2 objects cannot be stored: b: spec.nodeLabels: Invalid value"], ["v1beta1", "v1beta2"]),
    ],
    ids=["older objects", "nothing to do", "of a Kueue", "one is refused"],
)  # fmt: skip
def test_objects_are_stored_in_the_current_version(versions, labels, refused, told, after):
    """Each object is written once; the older version is dropped only where all were."""

    async def go():
        store = Picky(refused)
        await stored(store, versions, labels)
        done = await migrate(store)
        assert [outcome.told for outcome in done] == told
        assert [outcome.failed for outcome in done] == [bool(refused)] * len(told)
        assert store.written == ([name for name in ("a", "b") if name not in refused] if told else [])
        assert (await store.get(CRD, NAME))["status"]["storedVersions"] == after

    asyncio.run(go())


def test_anothers_definition_is_left_alone():
    """A CRD without our label is a Kueue's: it stays as it is, and the others are applied."""

    async def go():
        store = MemoryStore()
        await stored(store, ["v1beta1"], {"app.kubernetes.io/part-of": "kueue"})
        before = await store.get(CRD, NAME)
        done = {outcome.name: outcome.told for outcome in await apply(store, definitions())}
        assert done.pop(NAME) == "left as it is: it belongs to another installation"
        assert set(done.values()) == {"applied"}
        assert await store.get(CRD, NAME) == before
        assert (await store.get(CRD, "workloads.kueue.x-k8s.io"))["metadata"]["labels"] == OURS
        with pytest.raises(NotFound):
            await store.get(CRD, "queuepolicies.sluice.dev")

    asyncio.run(go())

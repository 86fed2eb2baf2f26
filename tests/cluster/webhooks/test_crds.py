"""CRDs in a cluster: brought to this version, another's left alone, objects stored anew and only then said so."""

import asyncio

import pytest

from webhook.api.crds.definitions import Webhook, definitions
from webhook.cluster.api.kinds import FLAVOR
from webhook.cluster.webhooks.configurations import CRD, Options, WebhookEndpoint, register
from webhook.cluster.webhooks.crds import KEEPS_CRDS, apply, guards, migrate
from webhook.kube.gvk import gvk_of
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
        (["v1beta1", "v1beta2"], OURS, (), ["objects stored as v1beta2: 2"], ["v1beta2"]),
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


@pytest.mark.parametrize(
    ("take_over", "at", "told"),
    [
        (False, "sluice", "applied; still converted at Service sluice-system/sluice, of another release; "
                          "`sluice crds --take-over` changes that"),
        (True, "gate", "applied"),
    ],
    ids=["applied", "taken over"],
)  # fmt: skip
def test_another_release_goes_on_converting(take_over, at, told):
    """A second release brings the CRDs up to date; the first converts them, by its authority, unless they are taken."""

    async def go():
        store = MemoryStore()
        await apply(store, definitions(Webhook()))
        await register(store, [], WebhookEndpoint(b"CA"), Options())
        before = await store.get(CRD, NAME)
        second = definitions(Webhook(service="gate", namespace="gate"))
        done = {outcome.name: outcome.told for outcome in await apply(store, second, take_over=take_over)}
        return before, await store.get(CRD, NAME), done[NAME]

    before, after, outcome = asyncio.run(go())
    client = after["spec"]["conversion"]["webhook"]["clientConfig"]
    assert (client["service"]["name"], outcome) == (at, told)
    assert take_over or client == before["spec"]["conversion"]["webhook"]["clientConfig"]


OF_KUEUE = {
    "labels": {"app.kubernetes.io/name": "kueue", "app.kubernetes.io/managed-by": "Helm"},
    "annotations": {"meta.helm.sh/release-name": "kueue", "cert-manager.io/inject-ca-from": "kueue-system/serving"},
}


async def left_by_kueue(store, versions=("v1beta1", "v1beta2")):
    """A CRD that a Kueue brought: it converts at Kueue's Service, by Kueue's authority."""
    (definition,) = [d for d in definitions(Webhook(ca="S1VFVUU=")) if d["metadata"]["name"] == NAME]
    client = definition["spec"]["conversion"]["webhook"]["clientConfig"]
    client["service"] |= {"name": "kueue-webhook-service", "namespace": "kueue-system"}
    status = {"storedVersions": list(versions)}
    await store.create({**definition, "metadata": {"name": NAME, **OF_KUEUE}, "status": status})


def test_a_crd_of_a_kueue_is_taken_over():
    """It converts at Sluice, nobody writes Kueue's authority into it any more, and Helm can adopt it again."""

    async def go():
        store = MemoryStore()
        await left_by_kueue(store)
        done = {outcome.name: outcome.told for outcome in await apply(store, definitions(Webhook()), take_over=True)}
        return done, await store.get(CRD, NAME), [await store.get(gvk_of(g), KEEPS_CRDS) for g in guards()]

    done, found, (policy, binding) = asyncio.run(go())
    assert done[NAME] == "taken over from the Helm release kueue"
    metadata = found["metadata"]
    assert metadata["labels"] == OF_KUEUE["labels"] | OURS
    assert metadata["annotations"] == {"meta.helm.sh/release-name": "kueue", "helm.sh/resource-policy": "keep"}
    client = found["spec"]["conversion"]["webhook"]["clientConfig"]
    assert client == Webhook().client_config()
    assert policy["spec"]["matchConstraints"]["resourceRules"][0]["operations"] == ["DELETE"]
    assert binding["spec"]["policyName"] == KEEPS_CRDS


def test_what_sluice_cannot_read_is_not_taken_over():
    """Objects of a version that only an older Kueue knew would be lost to every reader."""

    async def go():
        store = MemoryStore()
        await left_by_kueue(store, ["v1alpha1", "v1beta1"])
        before = await store.get(CRD, NAME)
        done = {outcome.name: outcome for outcome in await apply(store, definitions(Webhook()), take_over=True)}
        return done[NAME], before == await store.get(CRD, NAME)

    outcome, untouched = asyncio.run(go())
    assert outcome.failed
    assert "stored as v1alpha1, which Sluice does not read; upgrade Kueue first" in outcome.told
    assert untouched


def test_a_dry_run_takes_nothing_over():
    """It says what would be done."""

    async def go():
        store = MemoryStore()
        await left_by_kueue(store)
        before = await store.get(CRD, NAME)
        done = await apply(store, definitions(Webhook()), take_over=True, dry_run=True)
        with pytest.raises(NotFound):
            await store.get(CRD, "workloads.kueue.x-k8s.io")
        return {outcome.name: outcome.told for outcome in done}, before == await store.get(CRD, NAME)

    done, untouched = asyncio.run(go())
    assert done[NAME].startswith("taken over")
    assert untouched

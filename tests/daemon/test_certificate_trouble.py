"""Certificates in a Secret, where something is amiss: an authority of the site, a disk that is full for a time."""

import asyncio
import base64
import errno
from datetime import timedelta

import pytest
from cryptography import x509

from tests.daemon.test_certificate_secret import NAME, NAMESPACE, START, run
from tests.patience import until
from tests.tls.test_own_authority import CA, KEYS, NO_CA, authority_of
from webhook.certificates import issuing
from webhook.certificates import secret as secret_module
from webhook.certificates.rotation import LEAF_BEFORE, Step
from webhook.certificates.secret import CertificateSecret, SecretPlace
from webhook.cluster.clocks import Clocks
from webhook.tls.authority import issue
from webhook.tls.folder import Folder
from webhook.tls.validity import expiry

SERVICE = "sluice.sluice-system.svc"


async def with_pair_of_site(cluster, authority, leaf):
    """Somebody writes the Secret before Sluice starts: his own authority with its key, and a leaf of it."""
    files = {"ca.crt": authority.certificate, "ca.key": authority.key, "tls.crt": leaf.certificate, "tls.key": leaf.key}
    data = {name: base64.b64encode(value).decode() for name, value in files.items()}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME, "namespace": NAMESPACE}, "data": data}
    await cluster.store.create({**secret, "type": "kubernetes.io/tls"})


@pytest.mark.parametrize("kind", ["rsa", "curve", "ed25519"])
def test_an_authority_of_the_site_signs_on(kind):
    """Its key may be of any kind that callers know: the leaf is renewed by it, for years."""

    async def story(cluster):
        authority = authority_of(KEYS[kind](), CA, now=START)
        await cluster.register()
        await with_pair_of_site(cluster, authority, issue(authority, (SERVICE,), START))
        await cluster.add("a")
        for _ in range(2 * 73):
            await cluster.round(5 * 86_400)
            leaf = base64.b64decode((await cluster.secret())["data"]["tls.crt"])
            assert expiry(leaf) - cluster.now() > LEAF_BEFORE - timedelta(days=16)
        assert base64.b64decode((await cluster.secret())["data"]["ca.crt"]) == authority.certificate
        assert not cluster.replicas["a"][0].detail

    run(story)


@pytest.mark.parametrize("kind", ["no authority", "a weak key"])
def test_a_pair_that_cannot_sign_is_replaced_before_it_ends(kind):
    """Its key is that of its certificate, and still nobody would accept what it signs: as where there is no key."""

    async def story(cluster):
        theirs = authority_of(KEYS["curve"](), NO_CA, x509.SubjectAlternativeName([x509.DNSName(SERVICE)]), now=START)
        if kind == "a weak key":
            theirs = authority_of(KEYS["weak"](), CA, now=START)
        leaf = theirs if kind == "no authority" else issue(theirs, (SERVICE,), START)
        await cluster.register()
        await with_pair_of_site(cluster, theirs, leaf)
        await cluster.add("a")
        steps = [step for _ in range(3) for step in await cluster.round()]
        assert steps == [Step.NOTHING] * 3
        assert "has no ca.key of its ca.crt" in cluster.replicas["a"][0].detail
        cluster.seconds = (expiry(leaf.certificate) - START - timedelta(days=20)).total_seconds()
        cluster.bundles.clear()
        steps = [step for _ in range(6) for step in await cluster.round() if step is not Step.NOTHING]
        assert steps == [Step.NEW_AUTHORITY, Step.NEW_LEAF, Step.FORGET]
        assert await cluster.settled()

    run(story)


class Disk:
    """A disk that is full while `full`: the folder that is served from, or else those that a Secret is checked in."""

    def __init__(self, monkeypatch, served):
        self.full, self.refused, self._served, self._write = False, 0, served, secret_module.write
        monkeypatch.setattr(secret_module, "write", self.write)

    def write(self, path, data, *, secret=False):
        if self.full and (path.parent.name == "a") is self._served:
            self.refused += 1
            raise OSError(errno.ENOSPC, "No space left on device")
        self._write(path, data, secret=secret)


@pytest.mark.parametrize("served", [True, False], ids=["where it is served from", "where it is checked"])
def test_a_disk_that_is_full_for_a_time_ends_nothing(monkeypatch, served):
    """It is told, and the rotation that somebody asked for comes to its end when there is room again."""
    monkeypatch.setattr(secret_module, "LOOK_SECONDS", 0.001)
    disk = Disk(monkeypatch, served)

    async def story(cluster):
        await cluster.register()
        await cluster.add("a")
        part, serving, _ = cluster.replicas["a"]
        before = (await cluster.secret())["data"]["tls.crt"]
        disk.full = True
        following = asyncio.create_task(part.follow(serving.reload))
        await cluster.ask()

        async def refused():
            cluster.seconds += 1
            return disk.refused > 1 or following.done()

        async def rotated():
            cluster.seconds += 1
            return not part.detail and await cluster.settled() and before != (await cluster.secret())["data"]["tls.crt"]

        await until(refused, "it is tried again")
        assert not following.done()
        assert "No space left on device" in part.detail
        disk.full = False
        await until(rotated, "the new leaf is served")
        following.cancel()

    run(story)


def test_a_replica_starts_when_the_disk_has_room(monkeypatch):
    """The volume may be filled by what was there before: it is told, and tried again."""
    disk = Disk(monkeypatch, True)
    disk.full = True

    async def story(cluster):
        await cluster.register()
        place, clocks = SecretPlace(NAMESPACE, NAME, "sluice", "a"), Clocks(cluster.now, lambda: cluster.seconds)
        part = CertificateSecret(cluster.store, place, Folder(cluster.home / "a"), lambda: issuing, clocks)
        starting = asyncio.create_task(part.start())

        async def told():
            return "No space left on device" in part.detail

        await until(told, "it says why")
        disk.full = False
        await starting
        assert (cluster.home / "a" / "tls.crt").exists()
        assert not part.detail

    run(story)

"""Certificates in a Secret: made once, rotated in order by any number of replicas, trusted at every moment."""

import asyncio
import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.patience import until
from webhook.certificates import issuing
from webhook.certificates.rotation import AUTHORITY_BEFORE, LEAF_BEFORE, Held, Step, authorities, due, mark
from webhook.certificates.secret import ROTATE, SECRET, SERVED_BY, SETTLE_SECONDS, CertificateSecret, SecretPlace
from webhook.cluster.clocks import Clocks
from webhook.cluster.webhooks.configurations import CRD, MUTATING, OURS, PART_OF, VALIDATING
from webhook.kube.gvk import POD
from webhook.store.errors import Conflict, NotFound, StoreError
from webhook.store.memory import MemoryStore
from webhook.tls.authority import names_of
from webhook.tls.folder import Folder
from webhook.tls.serving_certificate import ServingCertificate
from webhook.tls.validity import expiry

NAMESPACE, NAME = "sluice-system", "sluice-tls"
START = datetime(2026, 1, 1, tzinfo=UTC)


class Cluster:
    """A store with a registered webhook, a clock, and replicas that look at the Secret."""

    def __init__(self, home):
        self.store, self.home, self.seconds = MemoryStore(), Path(home), 0.0
        self.replicas = {}
        self.bundles = []
        """What an API server has been told to trust, and when."""

    def now(self):
        return START + timedelta(seconds=self.seconds)

    async def sleep(self, seconds):
        await self.check()
        self.seconds += seconds

    async def register(self):
        hook = {"name": "fail.mutate.sluice.dev", "clientConfig": {"service": {"name": "sluice"}}}
        for gvk in (MUTATING, VALIDATING):
            configuration = {"apiVersion": gvk.api_version, "kind": gvk.kind, "webhooks": [hook]}
            await self.store.create({**configuration, "metadata": {"name": "sluice"}})
        conversion = {"strategy": "Webhook", "webhook": {"clientConfig": hook["clientConfig"]}}
        metadata = {"name": "workloads.kueue.x-k8s.io", "labels": {PART_OF: OURS}}
        definition = {"apiVersion": CRD.api_version, "kind": CRD.kind, "spec": {"conversion": conversion}}
        await self.store.create({**definition, "metadata": metadata})

    async def add(self, name):
        labels = {"app.kubernetes.io/name": "sluice", "app.kubernetes.io/instance": "sluice"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}}
        await self.store.create({**pod, "status": {"phase": "Running"}})
        folder = Folder(self.home / name)
        place = SecretPlace(NAMESPACE, NAME, "sluice", name)
        clocks = Clocks(self.now, lambda: self.seconds)
        part = CertificateSecret(self.store, place, folder, lambda: issuing, clocks, self.sleep)
        await part.start()
        self.replicas[name] = part, ServingCertificate(folder), folder

    async def end(self, name):
        await self.store.delete(POD, name, NAMESPACE)
        del self.replicas[name]

    async def look(self, name):
        part, serving, _ = self.replicas[name]
        try:
            return await part.look(serving.reload)
        except Conflict:
            return Step.NOTHING
        finally:
            await self.check()

    async def round(self, seconds=SETTLE_SECONDS):
        """Everybody looks once, and time goes by."""
        steps = [await self.look(name) for name in list(self.replicas)]
        self.seconds += seconds
        return steps

    async def check(self):
        """What every replica serves is signed by an authority that API servers trust, were they as slow as allowed."""
        (hook,) = (await self.store.get(MUTATING, "sluice"))["webhooks"]
        bundle = base64.b64decode(hook["clientConfig"].get("caBundle", ""))
        if bundle and (not self.bundles or self.bundles[-1][1] != bundle):
            self.bundles.append((self.seconds, bundle))
        ends = [since for since, _ in self.bundles[1:]] + [float("inf")]
        believed = [b for (_, b), end in zip(self.bundles, ends, strict=True) if end > self.seconds - SETTLE_SECONDS]
        for name, (_, _, folder) in self.replicas.items():
            for trusted in believed:
                assert signed(folder.certificate.read_bytes(), trusted), name

    async def settled(self):
        """Whether there is a Secret, API servers trust just its authorities, and every replica serves its leaf."""
        try:
            held = (await self.secret())["data"]
        except NotFound:
            return False
        (hook,) = (await self.store.get(MUTATING, "sluice"))["webhooks"]
        served = {folder.certificate.read_bytes() for *_, folder in self.replicas.values()}
        return hook["clientConfig"].get("caBundle") == held["ca.crt"] and served == {base64.b64decode(held["tls.crt"])}

    async def secret(self):
        return await self.store.get(SECRET, NAME, NAMESPACE)

    async def ask(self):
        await self.store.patch(SECRET, NAME, NAMESPACE, {"metadata": {"annotations": {ROTATE: "now"}}})


def signed(leaf, bundle):
    """Whether one of the authorities signed the leaf."""
    certificate = x509.load_pem_x509_certificate(leaf)
    for authority in x509.load_pem_x509_certificates(bundle):
        try:
            certificate.verify_directly_issued_by(authority)
        except (ValueError, InvalidSignature):
            continue
        return True
    return False


def run(story):
    with TemporaryDirectory() as home:
        return asyncio.run(story(Cluster(home)))


def test_the_first_replica_makes_it_and_all_serve_the_same():
    """The Secret is made once, with the names of the Service; a replica that starts later serves what is there."""

    async def story(cluster):
        await cluster.register()
        await cluster.add("a")
        await cluster.add("b")
        served = {folder.certificate.read_bytes() for _, _, folder in cluster.replicas.values()}
        assert len(served) == 1
        assert names_of(served.pop())[0] == "sluice.sluice-system.svc"
        assert (cluster.home / "b" / "tls.key").stat().st_mode & 0o077 == 0
        assert not (cluster.home / "b" / "ca.key").exists()
        await cluster.round()
        (hook,) = (await cluster.store.get(MUTATING, "sluice"))["webhooks"]
        assert hook["clientConfig"]["caBundle"] == (await cluster.secret())["data"]["ca.crt"]

    run(story)


def test_a_rotation_goes_step_by_step():
    """Asked for one: trust, then the leaf, and the old authority goes when the last replica serves the new leaf."""

    async def story(cluster):
        await cluster.register()
        await cluster.add("a")
        await cluster.add("b")
        await cluster.round()
        await cluster.ask()
        steps = []
        for _ in range(8):
            steps += [step for step in await cluster.round() if step is not Step.NOTHING]
        assert steps == [Step.NEW_AUTHORITY, Step.NEW_LEAF, Step.FORGET]
        secret = await cluster.secret()
        assert ROTATE not in secret["metadata"]["annotations"]
        assert len(authorities(base64.b64decode(secret["data"]["ca.crt"]))) == 1

    run(story)


def test_the_old_authority_stays_for_a_replica_that_lags():
    """One replica does not look: both authorities are trusted until it has, or has gone."""

    async def story(cluster):
        await cluster.register()
        for name in "abc":
            await cluster.add(name)
            await cluster.round()
        await cluster.ask()
        for _ in range(6):
            for name in "ab":
                await cluster.look(name)
            cluster.seconds += SETTLE_SECONDS
        assert len(authorities(base64.b64decode((await cluster.secret())["data"]["ca.crt"]))) == 2
        await cluster.end("c")
        await cluster.round()
        await cluster.round()
        secret = await cluster.secret()
        assert len(authorities(base64.b64decode(secret["data"]["ca.crt"]))) == 1
        assert not any(key.endswith("/c") for key in secret["metadata"]["annotations"])

    run(story)


def test_nobody_has_to_renew_anything():
    """Over two years of looks every twelve hours nothing that is served is ever within days of its end."""

    async def story(cluster):
        await cluster.register()
        await cluster.add("a")
        done = []
        for _ in range(2 * 730):
            done += await cluster.round(43_200)
            folder = cluster.replicas["a"][2]
            assert expiry(folder.certificate.read_bytes()) - cluster.now() > LEAF_BEFORE - timedelta(days=2)
            assert expiry(folder.bundle.read_bytes()) - cluster.now() > AUTHORITY_BEFORE - timedelta(days=2)
        assert done.count(Step.NEW_AUTHORITY) == done.count(Step.FORGET) == 2

    run(story)


def test_a_deleted_secret_comes_back_as_it_was():
    """Whoever deletes the Secret deletes no trust: a running replica writes again what it read."""

    async def story(cluster):
        await cluster.register()
        await cluster.add("a")
        before = (await cluster.secret())["data"]
        await cluster.store.delete(SECRET, NAME, NAMESPACE)
        with pytest.raises(NotFound):
            await cluster.secret()
        await cluster.round()
        assert (await cluster.secret())["data"] == before

    run(story)


async def without_key(cluster):
    """The Secret is as `tls.source` secret or cert-manager leaves it: nobody here can sign by its authority."""
    secret = await cluster.secret()
    data = {name: text for name, text in secret["data"].items() if name != "ca.key"}
    await cluster.store.update({**secret, "metadata": {**secret["metadata"], "annotations": {}}, "data": data})


async def with_another_authority(cluster):
    """Somebody writes his own CA and certificate over ours; `kubectl apply` leaves the keys that it does not know."""
    secret, theirs = await cluster.secret(), issuing.first(("sluice.sluice-system.svc",), cluster.now(), b"")
    written = {"ca.crt": theirs.bundle, "tls.crt": theirs.certificate, "tls.key": theirs.key}
    data = {name: base64.b64encode(value).decode() for name, value in written.items()}
    await cluster.store.update({**secret, "data": {**secret["data"], **data}})


def test_a_key_that_stayed_beside_another_authority_signs_nothing():
    """Their certificate is served until it is late; then comes an authority of our own, trusted beside theirs."""

    async def story(cluster):
        await cluster.register()
        await cluster.add("a")
        for _ in range(3):
            await cluster.round()
        await with_another_authority(cluster)
        theirs = (await cluster.secret())["data"]
        for _ in range(4):
            (step,) = [await cluster.replicas["a"][0].look(cluster.replicas["a"][1].reload)]
            assert step is Step.NOTHING
            cluster.seconds += SETTLE_SECONDS
        assert (await cluster.secret())["data"] == theirs
        assert "has no ca.key of its ca.crt" in cluster.replicas["a"][0].detail
        cluster.bundles.clear()
        cluster.seconds += timedelta(days=61).total_seconds()
        steps = [step for _ in range(6) for step in await cluster.round() if step is not Step.NOTHING]
        assert steps == [Step.NEW_AUTHORITY, Step.NEW_LEAF, Step.FORGET]
        assert await cluster.settled()
        assert not cluster.replicas["a"][0].detail

    run(story)


@pytest.mark.parametrize("way", ["asked", "late", "deleted"])
def test_a_secret_without_the_key_of_its_authority_is_renewed(way):
    """Near its end, when somebody asks, or when it was deleted: an authority of our own beside the other one."""

    async def story(cluster):
        await cluster.register()
        for name in "ab":
            await cluster.add(name)
        for _ in range(3):
            await cluster.round()
        await without_key(cluster)
        before = (await cluster.secret())["data"]
        assert await cluster.round() == [Step.NOTHING] * 2
        assert all("has no ca.key" in part.detail for part, *_ in cluster.replicas.values())
        if way == "asked":
            await cluster.ask()
        elif way == "late":
            cluster.seconds += timedelta(days=61).total_seconds()
        else:
            await cluster.store.delete(SECRET, NAME, NAMESPACE)
        for _ in range(6):
            await cluster.round()
        after = (await cluster.secret())["data"]
        assert await cluster.settled()
        assert after["ca.key"]
        assert len({before["tls.crt"], after["tls.crt"]}) == 2
        assert not any(part.detail for part, *_ in cluster.replicas.values())

    run(story)


def test_the_secret_of_another_release_is_not_used():
    """Nobody would be shown a certificate of its own name, and neither could wait for the other's replicas."""

    async def story(cluster):
        await cluster.register()
        await cluster.add("a")
        place = SecretPlace(NAMESPACE, NAME, "gate", "gate-1")
        clocks = Clocks(cluster.now, lambda: cluster.seconds)
        part = CertificateSecret(cluster.store, place, Folder(cluster.home / "g"), lambda: issuing, clocks)
        starting = asyncio.create_task(part.start())

        async def told():
            return bool(part.detail)

        await until(told, "it says why")
        starting.cancel()
        assert "its certificate is not for gate.sluice-system.svc" in part.detail
        assert "set tls.secret (--certificate-secret) to another name" in part.detail

    run(story)


def test_a_configuration_without_webhooks_is_no_hindrance():
    """Where there is no Secret either, a replica starts all the same."""

    async def story(cluster):
        await cluster.register()
        found = await cluster.store.get(MUTATING, "sluice")
        await cluster.store.update({name: value for name, value in found.items() if name != "webhooks"})
        place = SecretPlace(NAMESPACE, NAME, "sluice", "a")
        clocks = Clocks(cluster.now, lambda: cluster.seconds)
        await CertificateSecret(cluster.store, place, Folder(cluster.home / "a"), lambda: issuing, clocks).start()
        assert (await cluster.secret())["data"]["ca.key"]

    run(story)


NO_CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize("data", [b"garbage", NO_CERTIFICATE], ids=["garbage", "no certificate"])
@pytest.mark.parametrize("name", ["ca.crt", "tls.crt", "tls.key"])
def test_an_edited_secret_that_cannot_be_used_is_left_alone(name, data):
    """What was there before is served and trusted on, and comes back where somebody deletes it, as the log says."""

    async def story(cluster):
        await cluster.register()
        await cluster.add("a")
        await cluster.round()
        before = (await cluster.secret())["data"]
        await cluster.store.patch(SECRET, NAME, NAMESPACE, {"data": {name: base64.b64encode(data).decode()}})
        for _ in range(2):
            with pytest.raises(StoreError, match=r"it cannot be used: .* delete it"):
                await cluster.look("a")
        await cluster.store.delete(SECRET, NAME, NAMESPACE)
        await cluster.round()
        assert await cluster.settled()
        assert (await cluster.secret())["data"] == before

    run(story)


def test_a_bundle_of_the_webhooks_that_cannot_be_read_is_replaced():
    """Nobody is trusted by it: where there is no Secret either, a replica starts all the same."""

    async def story(cluster):
        await cluster.register()
        found = await cluster.store.get(MUTATING, "sluice")
        (hook,) = found["webhooks"]
        client = {**hook["clientConfig"], "caBundle": base64.b64encode(b"garbage").decode()}
        await cluster.store.update({**found, "webhooks": [{**hook, "clientConfig": client}]})
        await cluster.add("a")
        await cluster.round()
        assert await cluster.settled()

    async def unchecked():
        """Whom API servers trust is checked at the end alone."""

    def with_garbage(cluster):
        cluster.check = unchecked
        return story(cluster)

    run(with_garbage)


def test_replicas_that_are_gone_leave_nothing_in_the_secret():
    """A Deployment makes a new name for each Pod: their annotations would fill the Secret until the next rotation."""

    async def story(cluster):
        await cluster.register()
        for number in range(6):
            await cluster.add(f"r{number}")
            await cluster.look(f"r{number}")
            if number:
                await cluster.end(f"r{number - 1}")
        told = [key for key in (await cluster.secret())["metadata"]["annotations"] if key.startswith(SERVED_BY)]
        assert told == [f"{SERVED_BY}r4", f"{SERVED_BY}r5"]

    run(story)


ACTIONS = st.one_of(
    st.tuples(st.just("look"), st.integers(0, 3)),
    st.tuples(st.just("wait"), st.sampled_from([1, 5, 10, 60])),
    st.tuples(st.sampled_from(["ask", "add", "end", "delete"]), st.just(0)),
)


@settings(max_examples=60)
@given(st.lists(ACTIONS, max_size=40))
def test_whatever_happens_what_is_served_is_trusted(actions):
    """Replicas look in any order, come and go, rotations are asked for one upon another.

    The Secret is deleted too, but not again before what replaced it is served and trusted everywhere: of an authority
    that stood nowhere else nothing would be left to trust.
    """

    async def story(cluster):
        await cluster.register()
        await cluster.add("r0")
        await cluster.look("r0")
        count = 1
        for action, number in actions:
            names = sorted(cluster.replicas)
            match action:
                case "look":
                    await cluster.look(names[number % len(names)])
                case "wait":
                    cluster.seconds += number
                case "add":
                    await cluster.add(f"r{count}")
                    count += 1
                case "end" if len(names) > 1:
                    await cluster.end(names[0])
                case "delete" if not await cluster.settled():
                    continue
                case "ask" | "delete":
                    try:
                        await (cluster.ask() if action == "ask" else cluster.store.delete(SECRET, NAME, NAMESPACE))
                    except NotFound:
                        continue
            await cluster.check()
        for _ in range(8):
            await cluster.round()
        held = (await cluster.secret())["data"]
        assert len(authorities(base64.b64decode(held["ca.crt"]))) == 1, "it comes to an end"
        assert {f.certificate.read_bytes() for *_, f in cluster.replicas.values()} == {
            base64.b64decode(held["tls.crt"])
        }

    run(story)


def test_what_is_due():
    """The rows of `due`: who signed, how old, whether it is trusted, whether it is served."""
    first = issuing.first(("a.b.svc",), START, b"")
    both = issuing.take(Step.NEW_AUTHORITY, first, ("a.b.svc",), START)
    after = issuing.take(Step.NEW_LEAF, both, ("a.b.svc",), START)
    foreign = Held(first.bundle, b"", first.certificate, first.key)
    late = START + timedelta(days=61)
    rows = [
        (first, START, True, True, Step.NOTHING),
        (first, late, True, True, Step.NEW_LEAF),
        (first, START + timedelta(days=276), True, True, Step.NEW_AUTHORITY),
        (both, late, False, True, Step.NOTHING),
        (both, late, True, False, Step.NEW_LEAF),
        (after, START, True, False, Step.NOTHING),
        (after, START, True, True, Step.FORGET),
        (foreign, START, True, True, Step.NOTHING),
        (foreign, late, True, True, Step.NEW_AUTHORITY),
        (replace(foreign, asked=True), START, True, True, Step.NEW_AUTHORITY),
        (replace(foreign, bundle=both.bundle), START, True, True, Step.NOTHING),
    ]
    for held, now, trusted, served, wanted in rows:
        assert due(held, now, trusted=trusted, served=served) is wanted
    assert after.signed_by == mark(authorities(after.bundle)[0]) != first.signed_by

"""`sluice register` prints no configuration that an API server could not use, and says when nobody keeps it."""

import asyncio
import importlib

import pytest

from tests.offline.running import invoke
from tests.shared import ROOT
from webhook import documents
from webhook.cli import exits
from webhook.cli.commands.server.crds import crds
from webhook.cli.commands.server.register import register
from webhook.cluster.webhooks.configurations import CONFIGURATIONS, KEPT_BY_LEADER, MUTATING, SYSTEM, VALIDATING
from webhook.cluster.webhooks.keep_registered import Registered, Release
from webhook.cluster.webhooks.required_webhooks import hooks
from webhook.policy.loading.load_bundle import load_bundle
from webhook.policy.webhook_rules import registration as webhooks
from webhook.store.memory import MemoryStore


@pytest.mark.parametrize(
    ("options", "code"),
    [((), exits.BAD_INPUT), (("--cert-manager", "sluice/sluice"), exits.PASSED), (("--public-ca",), exits.PASSED)],
)
def test_webhooks_without_a_bundle_are_refused(tmp_path, monkeypatch, options, code):
    """In an empty folder, as anywhere: without a caBundle nothing is printed, and the ways out are told."""
    monkeypatch.chdir(tmp_path)
    done = invoke(register, "--print", "--url", "https://sluice.example", *options)
    assert (done.exit_code, bool(done.stdout)) == (code, code == exits.PASSED)
    assert all((way in done.stderr) == bool(code) for way in ("--ca-file", "--cert-manager", "--public-ca"))
    assert all(d.value["webhooks"] for d in documents.read(done.stdout))


@pytest.mark.parametrize(
    ("command", "options", "told"),
    [
        (register, ("--remove", "--print"), "use --remove or --print, not both"),
        (crds, ("--migrate", "--dry-run"), "--migrate has no dry run"),
    ],
)
def test_what_is_only_to_be_shown_changes_nothing(monkeypatch, command, options, told):
    """Options that contradict each other are refused before a cluster is asked."""
    library = importlib.import_module("webhook.cli.live.connection")
    monkeypatch.setattr(library, "with_store", None)
    done = invoke(command, *options)
    assert (done.exit_code, told in done.stderr) == (exits.BAD_INPUT, True)


@pytest.mark.parametrize(("leads", "code"), [(True, exits.PASSED), (False, exits.FAILED)])
def test_an_install_waits_for_the_leader(monkeypatch, leads, code):
    """Until it has written or confirmed what its policies need; where that does not come, the way to the cause."""
    store = MemoryStore()

    async def lead():
        for gvk, _ in CONFIGURATIONS:
            await store.create(
                {"apiVersion": gvk.api_version, "kind": gvk.kind,
                 "metadata": {"name": "sluice", "annotations": {KEPT_BY_LEADER: "true"}}, "webhooks": []}
            )  # fmt: skip

    if leads:
        asyncio.run(lead())
    library = importlib.import_module("webhook.cli.live.connection")
    monkeypatch.setattr(library, "with_store", lambda do, kubeconfig, context: asyncio.run(do(store)))
    done = invoke(register, "--public-ca", "--wait=1")
    assert done.exit_code == code, done.output
    assert ("no replica has registered its policies within 1 s" in done.stderr) is not leads


class Cluster:
    """A store that the command writes to, and a leader with the shipped policies that keeps what is registered."""

    def __init__(self, monkeypatch):
        self.store = MemoryStore()
        library = importlib.import_module("webhook.cli.live.connection")
        monkeypatch.setattr(library, "with_store", lambda do, kubeconfig, context: asyncio.run(do(self.store)))
        needed = hooks(webhooks(load_bundle([ROOT / "policies"]).policies), gate=True)
        self.leader = Registered(self.store, Release("sluice", "sluice-system"), lambda: needed, lambda: True)

    def register(self, *options):
        done = invoke(register, "--public-ca", *options)
        assert done.exit_code == exits.PASSED, done.output
        asyncio.run(self.leader.look())
        assert self.leader.detail == ""

    def delete(self, *kinds):
        for gvk in kinds:
            asyncio.run(self.store.delete(gvk, "sluice", None))

    def entries(self):
        return [
            entry for gvk, _ in CONFIGURATIONS for entry in asyncio.run(self.store.get(gvk, "sluice", None))["webhooks"]
        ]


@pytest.mark.parametrize("gone", [(MUTATING,), (VALIDATING,), (MUTATING, VALIDATING)], ids=["m", "v", "both"])
def test_a_configuration_that_was_deleted_comes_back(monkeypatch, gone):
    """Whichever of the two it was: for the namespaces of the other, and the leader writes its rules as before."""
    cluster = Cluster(monkeypatch)
    cluster.register("--namespace-selector=team=a")
    before = cluster.entries()
    cluster.delete(*gone)
    cluster.register(*(["--namespace-selector=team=a"] if len(gone) == 2 else []))
    assert cluster.entries() == before


FIRST = ("--namespace-selector=team=a", "--never=infra", "--timeout=10")
OWN = {*SYSTEM, "sluice-system"}


@pytest.mark.parametrize(
    ("first", "then", "labels", "never", "timeout"),
    [
        ((), (), {"sluice.dev/managed": "true"}, set(), 5),
        (FIRST, (), {"team": "a"}, {"infra"}, 10),
        (FIRST, ("--namespace-selector=team=b",), {"team": "b"}, {"infra"}, 10),
        (FIRST, ("--namespace-selector=",), None, {"infra"}, 10),
        (("--namespace-selector=",), (), None, set(), 5),
        (FIRST, ("--never=ci",), {"team": "a"}, {"ci"}, 10),
        (FIRST, ("--never=sluice-system",), {"team": "a"}, set(), 10),
        (FIRST, ("--timeout=3",), {"team": "a"}, {"infra"}, 3),
    ],
)
def test_what_no_option_says_stays_as_it_is_registered(monkeypatch, first, then, labels, never, timeout):
    """A new CA changes nothing of whom the webhooks are for; without a registration the defaults are written."""
    cluster = Cluster(monkeypatch)
    cluster.register(*first)
    cluster.register(*then)
    for entry in cluster.entries():
        (excluded,) = entry["namespaceSelector"]["matchExpressions"]
        assert set(excluded["values"]) == OWN | never
        assert entry["namespaceSelector"].get("matchLabels") == labels
        assert entry["timeoutSeconds"] == timeout


def test_each_entry_stays_as_a_person_wrote_it(monkeypatch):
    """One that is for fewer namespaces than the others is not widened."""
    cluster = Cluster(monkeypatch)
    cluster.register()
    expression = {"key": "team", "operator": "In", "values": ["a"]}
    found = asyncio.run(cluster.store.get(VALIDATING, "sluice", None))
    found["webhooks"][-1]["namespaceSelector"]["matchExpressions"].append(expression)
    asyncio.run(cluster.store.update(found))
    before = cluster.entries()
    cluster.register()
    assert cluster.entries() == before

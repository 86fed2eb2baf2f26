"""`sluice register` prints no configuration that an API server could not use, and says when nobody keeps it."""

import asyncio
import importlib

import pytest

from tests.offline.running import invoke
from webhook import documents
from webhook.cli import exits
from webhook.cli.commands.server.crds import crds
from webhook.cli.commands.server.register import register
from webhook.cluster.webhooks.registration import CONFIGURATIONS, KEPT
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
                 "metadata": {"name": "sluice", "annotations": {KEPT: "true"}}, "webhooks": []}
            )  # fmt: skip

    if leads:
        asyncio.run(lead())
    library = importlib.import_module("webhook.cli.live.connection")
    monkeypatch.setattr(library, "with_store", lambda do, kubeconfig, context: asyncio.run(do(store)))
    done = invoke(register, "--public-ca", "--wait=1")
    assert done.exit_code == code, done.output
    assert ("no replica has registered its policies within 1 s" in done.stderr) is not leads

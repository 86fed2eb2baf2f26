"""`sluice register --print` prints no configuration that an API server could not use."""

import pytest

from tests.offline.running import invoke
from webhook import documents
from webhook.cli import exits
from webhook.cli.commands.server.register import register


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

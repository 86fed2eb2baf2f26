"""`sluice register --print` says what the configurations that it prints would lack."""

from tests.offline.running import invoke
from webhook.cli.commands.register import register


def test_configurations_without_a_bundle_are_told(tmp_path):
    """Without a CA the API server trusts public ones only: told beside the configurations, not in them."""
    (tmp_path / "policies").mkdir()
    done = invoke(register, "--policies", str(tmp_path / "policies"), "--print", "--url", "https://sluice.example")
    assert "there is no caBundle" in done.stderr
    done = invoke(register, "--policies", str(tmp_path / "policies"), "--print", "--cert-manager", "sluice/sluice")
    assert done.stderr == ""

"""A port that cannot be opened: the error names the option, the address, the cause and the way out."""

import socket
import subprocess
import sys

import pytest

from tests.shared import ROOT
from webhook.cli import exits


def failed(*words):
    """What a command says of an address that it cannot have."""
    command = [sys.executable, "-m", "webhook.cli.main", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == exits.BAD_INPUT
    return done.stderr


@pytest.mark.parametrize("option", ["--listen", "--ui-listen"])
def test_a_port_that_is_in_use(option):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        why = "another process uses this port; choose another one, or 0 for any that is free"
        assert failed("run", "--once", option, address) == f"sluice run: {option} {address}: {why}\n"


def test_the_state_port_while_the_policies_are_not_there_yet(tmp_path):
    """The same words before anything is loaded."""
    (tmp_path / "tls.crt").touch()
    (tmp_path / "sluice.yaml").write_text(f"policies: [{tmp_path / 'later'}]\n")
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        options = (f"--config={tmp_path / 'sluice.yaml'}", f"--cert-dir={tmp_path}", f"--state-listen={address}")
        said = failed("serve", "--no-cluster", *options).splitlines()[-1]
    why = "another process uses this port; choose another one, or 0 for any that is free"
    assert said == f"sluice serve: --state-listen {address}: {why}"


def test_an_address_of_another_machine():
    why = "this machine does not have this address; 127.0.0.1 or 0.0.0.0 always work"
    assert failed("run", "--once", "--listen", "192.0.2.1:0") == f"sluice run: --listen 192.0.2.1:0: {why}\n"

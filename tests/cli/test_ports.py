"""A port that cannot be opened: the error names the option, the address, the cause and the way out."""

import socket
import subprocess
import sys

import pytest

from tests.shared import ROOT
from webhook.cli import exits


def failed(option, address):
    """What `sluice run` says of an address that it cannot have."""
    command = [sys.executable, "-m", "webhook.cli.main", "run", "--once", option, address]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == exits.BAD_INPUT
    return done.stderr


@pytest.mark.parametrize("option", ["--listen", "--ui-listen"])
def test_a_port_that_is_in_use(option):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        why = "another process uses this port; choose another one, or 0 for any that is free"
        assert failed(option, address) == f"sluice run: {option} {address}: {why}\n"


def test_an_address_of_another_machine():
    why = "this machine does not have this address; 127.0.0.1 or 0.0.0.0 always work"
    assert failed("--listen", "192.0.2.1:0") == f"sluice run: --listen 192.0.2.1:0: {why}\n"

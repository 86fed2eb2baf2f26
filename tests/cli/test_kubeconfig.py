"""What a command for a cluster says where it finds no credentials, or no API server."""

import os
import socket
import subprocess
import sys

import pytest
import yaml

from webhook.cli import exits


def told(tmp_path, **environment):
    """The lines that `sluice get queues` writes in a home without a kubeconfig."""
    kept = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST")}
    command = [sys.executable, "-m", "webhook.cli.main", "get", "queues"]
    environment = kept | {"HOME": str(tmp_path), **environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == exits.BAD_INPUT
    return done.stderr


@pytest.mark.parametrize(("environment", "missing"), [({}, "~/.kube/config"), ({"KUBECONFIG": "no/such"}, "no/such")])
def test_without_a_kubeconfig_one_line_says_so(tmp_path, environment, missing):
    way_out = "set KUBECONFIG, or --kubeconfig FILE"
    assert told(tmp_path, **environment) == (
        f"sluice get: cannot connect to a cluster: {missing} does not exist ({way_out})\n"
    )


CONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"token": "secret"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "x",
}


def test_an_api_server_that_does_not_answer_is_named(tmp_path):
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"http://127.0.0.1:{silent.getsockname()[1]}"
        config = CONFIG | {"clusters": [{"name": "c", "cluster": {"server": server}}]}
        (tmp_path / "config").write_text(yaml.safe_dump(config))
        said = told(tmp_path, KUBECONFIG=str(tmp_path / "config"))
    assert said == f"sluice get: cannot reach the API server: no answer from {server} in time\n"

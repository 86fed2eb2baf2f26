"""Which cluster a kubeconfig, a context and a pod's service account mean."""

import asyncio
import re
from time import monotonic

import pytest

from webhook import documents
from webhook.cluster.api import kubeconfig
from webhook.cluster.api.client import Client, Pace
from webhook.cluster.api.kubeconfig import default_namespace, means_own_cluster, read_with_context

CONFIG = {
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"token": "secret"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "x",
}


@pytest.fixture
def in_pod(tmp_path, monkeypatch):
    """A pod with a service account; what `~/.kube/config` names is another cluster."""
    token, home = tmp_path / "token", tmp_path / ".kube"
    token.touch()
    home.mkdir()
    (home / "config").write_text(documents.dump(CONFIG))
    monkeypatch.setattr(kubeconfig, "TOKEN", token)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return home / "config"


@pytest.mark.parametrize("named", ["option", "environment", "context"])
def test_in_a_pod_the_cluster_that_is_named_is_meant(in_pod, monkeypatch, named):
    """A runner of a CI is a pod as well: its own cluster is not the one that a kubeconfig or a context names."""
    if named == "environment":
        monkeypatch.setenv("KUBECONFIG", str(in_pod))
    path, context = in_pod if named == "option" else None, "x" if named == "context" else None

    async def host():
        connected = await Client.connect(path, context, Pace(), monotonic)
        await connected.close()
        return connected.host

    assert asyncio.run(host()) == "http://127.0.0.1:1"


def test_in_a_pod_its_own_cluster_is_meant_where_none_is_named(in_pod):
    """Whatever there is in its home."""
    assert means_own_cluster(None, None)


def test_an_unknown_context_is_told_with_those_that_there_are(tmp_path):
    """As a user misspells it; what the library says names neither the option nor what could be meant."""
    contexts = [{"name": name, "context": {"cluster": name, "user": name}} for name in ("prod", "test")]
    (tmp_path / "config").write_text(documents.dump({"contexts": contexts, "current-context": "prod"}))
    with pytest.raises(ValueError, match='has no context "prdo"; it has: prod, test'):
        asyncio.run(Client.connect(tmp_path / "config", "prdo", Pace(), monotonic))


MISTAKES = {
    "contexts: [a, b]": '1:12: error[INP001]: "contexts[0]" is not an object',
    "contexts: 5": '1:11: error[INP001]: "contexts" is not a list',
    "contexts: {a: 1}": '1:11: error[INP001]: "contexts" is not a list',
    "contexts: [{name: x, context: y}]": '1:31: error[INP001]: "contexts[0].context" is not an object',
    "clusters:\n- name: c\n  cluster: [1]": '3:12: error[INP001]: "clusters[0].cluster" is not an object',
    "users: [q]": '1:9: error[INP001]: "users[0]" is not an object',
}


@pytest.mark.parametrize("text", MISTAKES)
def test_what_is_no_kubeconfig_is_refused_with_its_place(tmp_path, text):
    """The library says only what Python says of it, and the namespace of a context was asked of any text."""
    file = tmp_path / "config"
    file.write_text(text)
    for ask in (lambda: default_namespace(file, "x"), lambda: read_with_context([file], None)):
        with pytest.raises(ValueError, match=re.escape(f"{file}:{MISTAKES[text]}")):
            ask()


@pytest.mark.parametrize("text", ["contexts:\nclusters:\nusers:", "contexts: [{name: x, context: }]", "kind: Config"])
def test_what_is_empty_names_no_namespace(tmp_path, text):
    """As a kubeconfig has it whose last context was deleted."""
    (tmp_path / "config").write_text(text)
    assert default_namespace(tmp_path / "config", "x") == "default"

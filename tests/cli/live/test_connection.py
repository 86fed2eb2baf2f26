"""What all live commands share: the name that kubectl looks for, the namespace, versions, names, a closed output."""

import asyncio
import importlib
import json
import tomllib

import pytest

from tests.cli.live.cluster import objects, rows
from tests.offline.running import invoke
from tests.shared import ROOT
from webhook.api.conversion.convert import VERSIONED, convert
from webhook.cli import exits
from webhook.cli.commands.cluster.evict import evict
from webhook.cli.commands.cluster.get import get
from webhook.cli.commands.cluster.requeue import requeue
from webhook.cli.commands.cluster.resume import resume
from webhook.cli.commands.cluster.stop import stop
from webhook.cli.commands.cluster.top import top
from webhook.cli.commands.cluster.why import why
from webhook.cli.live.session import ask, namespace_of
from webhook.store.errors import NotFound

OLDER = "kueue.x-k8s.io/v1beta1"


def test_kubectl_finds_it():
    """The same program has the name that kubectl looks for."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["kubectl-sluice"] == scripts["sluice"]


def test_the_namespace_is_the_contexts(tmp_path):
    """As kubectl: of the context that is named, or is current; `default` where it says none."""
    file = tmp_path / "config"
    contexts = [{"name": "a", "context": {"namespace": "team-a"}}, {"name": "b", "context": {}}]
    file.write_text(json.dumps({"contexts": contexts, "current-context": "a", "clusters": [], "users": []}))
    assert namespace_of(file, None) == "team-a"
    assert namespace_of(file, "b") == namespace_of(tmp_path / "none", None) == "default"


@pytest.mark.parametrize(
    "command", [why, evict, requeue, stop, resume, get], ids=["why", "evict", "requeue", "stop", "resume", "get"]
)
def test_an_empty_name_is_refused(store, command):
    """An empty name would be the path of a whole list."""
    done = invoke(command, *(("queues",) if command is get else ()), "")
    assert done.exit_code == exits.BAD_INPUT
    assert "must not be empty" in done.stderr


def test_an_older_kueue_serves_the_older_version_only(store, monkeypatch):
    """Before 0.15: its objects are shown, explained, imported and changed in `v1beta1`."""
    kinds = {"ClusterQueue", "LocalQueue", "ResourceFlavor", "Cohort", "Workload"}
    scope = store.scope

    async def older(gvk):
        return None if gvk.kind in kinds and gvk.version == "v1beta2" else await scope(gvk)

    def refusing(verb):
        known = getattr(store, verb)

        async def call(gvk, *rest, **more):
            if gvk.kind in kinds and gvk.version == "v1beta2":
                raise NotFound(f"the API server does not serve {gvk}")
            return await known(gvk, *rest, **more)

        return call

    monkeypatch.setattr(store, "scope", older)
    for verb in ("get", "list", "patch"):
        monkeypatch.setattr(store, verb, refusing(verb))
    store._objects.clear()
    for obj in objects():
        asyncio.run(store.create(convert([obj], OLDER)[0] if obj["kind"] in VERSIONED else obj))
    assert rows(invoke(get, "queues").stdout)[1][:2] == ["gpus", "all"]
    assert "must end first: Job team-a/runs holds 6" in invoke(why, "waits", "-n", "team-a").stdout
    assert "queues: 1;" in invoke(top, "--once").stdout
    for command, arguments in ((stop, ["gpus"]), (resume, ["lq", "-n", "team-a"]), (evict, ["runs", "-n", "team-a"])):
        done = invoke(command, *arguments, "--yes")
        assert done.exit_code == exits.PASSED, done.stderr
    library = importlib.import_module("webhook.cli.live.kueue_setup")
    monkeypatch.setattr(library, "with_store", lambda do, kubeconfig, context: asyncio.run(do(store)))
    assert [d.value["kind"] for d in library.documents(None, None)].count("ClusterQueue") == 1


def test_a_closed_output_is_no_mistake_of_the_cluster(monkeypatch):
    """`sluice top | head -1` prints while it is connected: what ends it is that nobody reads on."""

    def printed(*_):
        raise BrokenPipeError

    monkeypatch.setattr("webhook.cli.live.connection.with_store", printed)
    with pytest.raises(BrokenPipeError):
        ask("top", None, None, None)

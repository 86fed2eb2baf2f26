"""`sluice dry-run --live` tries the live jobs and pods that policies may match, and knows what decides."""

import asyncio
from typing import ClassVar

import pytest

from tests.offline.dryrun.files import GPU, SUSPEND
from tests.offline.running import invoke
from webhook import documents
from webhook.cli import exits
from webhook.cli.commands.policies.dry_run import dry_run_command
from webhook.cli.live.cluster_state import OF_THE_CORE
from webhook.cli.live.dry_run_objects import kinds_of, read, standing_alone
from webhook.kube.gvk import GroupVersionKind
from webhook.kube.scope import Scope
from webhook.policy.loading.assemble import assemble
from webhook.store.errors import Refused
from webhook.store.objects import Listing


class Cluster:
    """Serves Jobs, and ClusterQueues in the old version only."""

    objects: ClassVar = {
        GroupVersionKind("batch", "v1", "Job"): [{"kind": "Job", "metadata": {"name": "a"}}],
        GroupVersionKind("kueue.x-k8s.io", "v1beta1", "ClusterQueue"): [{"kind": "ClusterQueue"}],
    }

    async def scope(self, gvk):
        return Scope.NAMESPACED if gvk in self.objects else None

    async def list(self, gvk, namespace=None):
        return Listing(self.objects[gvk], "1")


def test_kinds_follow_the_policies():
    """A policy on Jobs asks for Jobs; one that is expanded for every job kind; queues and namespaces are known."""
    wanted, known = kinds_of([assemble(documents.read(SUSPEND))])
    assert [str(gvk) for gvk in wanted] == ["batch/v1 Job"]
    assert GroupVersionKind("", "v1", "Namespace") in known
    everything, _ = kinds_of([assemble(documents.read(GPU))])
    assert {"Pod", "Job", "PyTorchJob", "RayCluster"} <= {gvk.kind for gvk in everything}


def test_all_is_known_that_the_core_decides_from():
    """A queue without its AdmissionChecks would be inactive, and a pod without its RuntimeClass smaller."""
    _, known = kinds_of([])
    assert {(gvk.group, gvk.kind) for gvk in OF_THE_CORE} <= {(gvk.group, gvk.kind) for gvk in known}


def test_what_may_not_be_listed_is_left_out_where_less_is_known_without():
    """A user who may not list RuntimeClasses gets an answer; one who may not list ClusterQueues is told."""

    class Guarded(Cluster):
        forbidden = "RuntimeClass"

        async def scope(self, gvk):
            return Scope.CLUSTER

        async def list(self, gvk, namespace=None):
            if gvk.kind == self.forbidden:
                raise Refused("forbidden", 403)
            return Listing([{"kind": gvk.kind}], "1")

    _, known = kinds_of([])
    assert {"kind": "AdmissionCheck"} in asyncio.run(read(Guarded(), known))
    Guarded.forbidden = "ClusterQueue"
    with pytest.raises(Refused):
        asyncio.run(read(Guarded(), known))


def test_the_version_that_is_served_is_read():
    """Of a kind in two versions the first that is served is listed; what is not served is left out."""
    _, known = kinds_of([])
    assert asyncio.run(read(Cluster(), known)) == [{"kind": "ClusterQueue"}]


def test_what_a_controller_made_is_left_out():
    """The pods of a job are judged in the job's template, not again."""
    own = {"metadata": {"ownerReferences": [{"controller": True}]}}
    free = {"metadata": {"ownerReferences": [{"kind": "X"}]}}
    assert standing_alone([own, free, {"metadata": {}}]) == [free, {"metadata": {}}]


def test_a_cluster_that_cannot_be_reached_is_told(tmp_path, monkeypatch):
    """A context that does not exist ends with code 2 and its name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "p.yaml").write_text(SUSPEND)
    (tmp_path / "config").write_text("apiVersion: v1\nkind: Config\ncontexts: []\nclusters: []\nusers: []\n")
    done = invoke(dry_run_command, "--context", "nowhere", "--kubeconfig", str(tmp_path / "config"))
    assert (done.exit_code, "nowhere" in done.stderr) == (exits.BAD_INPUT, True)

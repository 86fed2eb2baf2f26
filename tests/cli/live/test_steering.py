"""`sluice stop`, `resume`, `requeue` and `evict`: what they ask, and what they write."""

import asyncio
import signal

import pytest

from tests.cli.live.cluster import field, finish, objects
from tests.offline.running import invoke
from webhook.cli import exits
from webhook.cli.commands.cluster.evict import evict
from webhook.cli.commands.cluster.requeue import requeue
from webhook.cli.commands.cluster.resume import resume
from webhook.cli.commands.cluster.stop import stop
from webhook.cli.commands.cluster.why import why
from webhook.cli.live import steering
from webhook.cluster.api.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD
from webhook.store.errors import NotFound


@pytest.mark.parametrize(
    ("command", "arguments", "key", "value", "told"),
    [
        (stop, ["gpus"], (CLUSTER_QUEUE, "gpus", None, "stopPolicy"), "Hold",
         "ClusterQueue gpus is stopped; 1 pending Workload cannot be admitted, 1 running continue"),
        (stop, ["gpus", "--drain"], (CLUSTER_QUEUE, "gpus", None, "stopPolicy"), "HoldAndDrain",
         "ClusterQueue gpus is stopped and drained; 1 pending Workload cannot be admitted, 1 running are evicted"),
        (stop, ["lq", "-n", "team-a"], (LOCAL_QUEUE, "lq", "team-a", "stopPolicy"), "Hold",
         "LocalQueue team-a/lq is stopped; 0 pending Workloads cannot be admitted, 0 running continue"),
        (resume, ["gpus"], (CLUSTER_QUEUE, "gpus", None, "stopPolicy"), "None",
         "ClusterQueue gpus is resumed; 1 pending Workload can be admitted"),
        (evict, ["runs", "-n", "team-a"], (WORKLOAD, "job-runs-1", "team-a", "active"), False,
         "Workload team-a/job-runs-1 is evicted and is held until it is requeued"),
        (evict, ["Job/waits", "-n", "team-a"], (WORKLOAD, "job-waits-1", "team-a", "active"), False,
         "Workload team-a/job-waits-1 loses its place in the queue and is held until it is requeued"),
        (requeue, ["job-waits-1", "-n", "team-a"], (WORKLOAD, "job-waits-1", "team-a", "active"), True,
         "Workload team-a/job-waits-1 is pending again"),
    ],
)  # fmt: skip
def test_a_change_is_told_asked_and_written(store, command, arguments, key, value, told):
    """`--dry-run` writes nothing; without `--yes` there is a question, and no is no."""
    before = field(store, *key)
    assert invoke(command, *arguments, "--dry-run").stdout == f"{told} (dry run)\n"
    assert field(store, *key) == before
    refused = invoke(command, *arguments, stdin="n\n")
    assert (refused.exit_code, field(store, *key)) == (exits.FAILED, before)
    assert f"{told}. Continue?" in refused.stderr
    done = invoke(command, *arguments, "--yes")
    assert (done.exit_code, done.stdout) == (exits.PASSED, f"{told}\n")
    assert field(store, *key) == value


def test_a_running_workload_is_requeued_when_it_has_let_go(store, monkeypatch):
    """The job is stopped first, and waits again when its quota is free; where nobody frees it, that is said."""
    seen = []

    async def lets_go(store, change):
        seen.append(field_now(await store.get(change.gvk, change.name, change.namespace)))
        return True

    monkeypatch.setattr(steering, "released", lets_go)
    assert invoke(requeue, "runs", "-n", "team-a", "--yes").exit_code == exits.PASSED
    assert seen == [False]
    assert field(store, WORKLOAD, "job-runs-1", "team-a", "active") is True

    async def keeps(store, change):
        return False

    monkeypatch.setattr(steering, "released", keeps)
    told = "its pods are not gone yet; when they are, run `sluice requeue job-runs-1 -n team-a` again"
    done = invoke(requeue, "runs", "-n", "team-a", "--yes")
    assert (done.exit_code, told in done.stderr) == (exits.BAD_INPUT, True)

    async def is_interrupted(store, change):
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)

    monkeypatch.setattr(steering, "released", is_interrupted)
    assert told in invoke(requeue, "runs", "-n", "team-a", "--yes").stderr


def field_now(workload):
    return workload["spec"].get("active")


@pytest.mark.parametrize("command", [evict, requeue], ids=["evict", "requeue"])
@pytest.mark.parametrize("arguments", [["--dry-run"], ["--yes"]], ids=["tried", "done"])
@pytest.mark.parametrize("name", ["runs", "waits"])
def test_what_has_finished_is_left_alone(store, command, arguments, name):
    """What has finished has nothing to give back and waits for nothing: that is said, and nothing is written."""
    finish(store, f"job-{name}-1")
    done = invoke(command, name, "-n", "team-a", *arguments)
    told = f"sluice {command.name}: Workload team-a/job-{name}-1 has finished: it holds no quota and waits for none\n"
    assert (done.exit_code, done.stdout, done.stderr) == (exits.BAD_INPUT, "", told)
    assert field(store, WORKLOAD, f"job-{name}-1", "team-a", "active") is None


def test_a_slice_that_was_replaced_is_not_the_job(store):
    """Of two Workloads of a job that are of one second it is the one that goes on."""
    new = next(obj for obj in objects() if obj["metadata"]["name"] == "job-runs-1")
    new["metadata"] |= {"name": "job-runs-2"}
    asyncio.run(store.create(new))
    finish(store, "job-runs-1")
    assert asyncio.run(steering.workload_of(store, "runs", "team-a"))["metadata"]["name"] == "job-runs-2"


@pytest.mark.parametrize("command", [evict, requeue, why], ids=["evict", "requeue", "why"])
def test_a_name_of_two_jobs_is_not_chosen_among(store, command):
    """Jobs of two kinds may have one name: which is meant is asked for; one that has finished is not meant."""
    other = next(obj for obj in objects() if obj["metadata"]["name"] == "job-waits-1")
    (owner,) = other["metadata"]["ownerReferences"]
    owner |= {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob"}
    other["metadata"] |= {"name": "pytorchjob-waits-1"}
    asyncio.run(store.create(other))
    yes = [] if command is why else ["--yes"]
    done = invoke(command, "waits", "-n", "team-a", *yes)
    told = '"waits" is the name of several jobs in namespace team-a: use Job/waits or PyTorchJob/waits'
    assert (done.exit_code, done.stdout, done.stderr) == (exits.BAD_INPUT, "", f"sluice {command.name}: {told}\n")
    assert field(store, WORKLOAD, "pytorchjob-waits-1", "team-a", "active") is None
    assert invoke(command, "pytorchjob/waits", "-n", "team-a", *yes).exit_code == exits.PASSED
    assert field(store, WORKLOAD, "job-waits-1", "team-a", "active") is None
    finish(store, "pytorchjob-waits-1")
    assert invoke(command, "waits", "-n", "team-a", *yes).exit_code == exits.PASSED


def test_quota_is_waited_for(store):
    """`released` looks until the condition is gone, and no longer than it is told."""

    async def go():
        change = await steering.of_workload(store, "runs", "team-a", active=False)
        looks = []

        async def sleep(seconds):
            looks.append(seconds)
            if len(looks) == 3:
                await store.patch(WORKLOAD, change.name, "team-a", {"status": {"conditions": []}}, subresource="status")

        assert await steering.released(store, change, sleep)
        assert len(looks) == 3
        with pytest.raises(NotFound, match='no queued job or Workload "nothing"'):
            await steering.workload_of(store, "nothing", "team-a")

    asyncio.run(go())


def test_what_is_not_there_is_told(store):
    """A queue that does not exist ends with 2 and its name."""
    done = invoke(stop, "gpu", "--yes")
    assert done.exit_code == exits.BAD_INPUT
    assert "gpu" in done.stderr

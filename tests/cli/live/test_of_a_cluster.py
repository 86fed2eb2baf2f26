"""`--live`: what `plan` and `dry-run` read of a cluster."""

import asyncio

from tests.cli.live.cluster import objects
from tests.offline.running import invoke
from webhook.cli import exits
from webhook.cli.commands.policies.dry_run import dry_run_command
from webhook.cli.commands.queues.plan import plan


def test_a_plan_of_a_cluster_leaves_alone_what_runs_outside_of_the_queues(store):
    """A job that was let in without a queue gets no default one now, and holds no quota."""
    door = next(obj for obj in objects() if obj["kind"] == "LocalQueue")
    asyncio.run(store.create({**door, "metadata": {"name": "default", "namespace": "team-a"}}))
    container = {"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "1"}}}
    runs = {"template": {"spec": {"containers": [container]}}}
    for name, kind, version, spec in (
        ("free", "Job", "batch/v1", runs),
        ("pod", "Pod", "v1", runs["template"]["spec"]),
    ):
        metadata = {"name": name, "namespace": "team-a"}
        asyncio.run(store.create({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}))
    done = invoke(plan, "--live")
    assert "0 admitted, 0 preempted, 1 pending" in done.stdout
    assert "not queued (no queue name): Job team-a/free" in done.stdout


def test_a_plan_is_of_files_or_of_a_cluster(store, tmp_path):
    """A file beside --live would not be looked at: both together are refused, with the command that takes both."""
    (tmp_path / "job.yaml").write_text("kind: Job")
    done = invoke(plan, "--live", "-f", str(tmp_path / "job.yaml"))
    assert (done.exit_code, "sluice dry-run --live -f FILE" in done.stderr) == (exits.BAD_INPUT, True)


def test_a_dry_run_of_a_cluster_without_jobs_has_nothing_to_run(store):
    """That there are none is no mistake in the options."""
    done = invoke(dry_run_command, "--live", "-p", "sluice.dev/gpu-tolerations")
    assert (done.exit_code, "no jobs or Pods that a policy matches" in done.stderr) == (exits.NOTHING_TO_RUN, True)

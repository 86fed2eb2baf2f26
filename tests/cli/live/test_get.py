"""`sluice get`: what it shows of queues, Workloads and flavors."""

import asyncio
import json

from tests.cli.live.cluster import rows, say
from tests.offline.running import invoke
from webhook.cli import exits
from webhook.cli.commands.cluster.get import get
from webhook.documents import read


def test_queues_are_shown_with_what_they_use(store):
    """Quota and use of all flavors together; `wide` names the LocalQueues too."""
    done = invoke(get, "queues")
    assert done.exit_code == exits.PASSED, done.stderr
    assert rows(done.stdout)[1] == ["gpus", "all", "1", "1", "nvidia.com/gpu", "6/8", "Active"]
    assert "team-a/lq" not in done.stdout
    assert "team-a/lq" in invoke(get, "queues", "-o", "wide").stdout


def test_workloads_are_shown_with_their_jobs(store):
    """Of a namespace, or of all; by name; as names for a script."""
    done = invoke(get, "workloads", "-n", "team-a")
    assert [row[:6] for row in rows(done.stdout)[1:]] == [
        ["team-a", "job-runs-1", "Job/runs", "lq", "gpus", "Admitted"],
        ["team-a", "job-waits-1", "Job/waits", "lq", "-", "Pending"],
    ]
    assert invoke(get, "workloads", "-n", "other").stdout == ""
    assert "none found" in invoke(get, "workloads", "-n", "other").stderr
    assert invoke(get, "workloads", "-A", "-o", "name").stdout.split() == [
        "workload.kueue.x-k8s.io/job-runs-1", "workload.kueue.x-k8s.io/job-waits-1",
    ]  # fmt: skip
    one = json.loads(invoke(get, "workloads", "job-runs-1", "-A", "-o", "json").stdout)
    assert [item["metadata"]["name"] for item in one["items"]] == ["job-runs-1"]
    gone = invoke(get, "workloads", "x", "-A")
    assert (gone.exit_code, gone.stderr) == (exits.BAD_INPUT, "sluice get: no workloads named x\n")


def test_a_row_is_a_line_for_a_script(store):
    """However long its message is: `grep` finds all of it."""
    say(store, {"QuotaReserved": ("False", "WaitingForQuota", "one\ntwo " + "long " * 100 + "end")})
    shown = invoke(get, "workloads", "-n", "team-a", "-o", "wide").stdout.splitlines()
    assert len(shown) == 3
    assert "one two long" in shown[2]
    assert shown[2].endswith("long end")
    at = shown[0].index("State")
    assert (shown[1][at:][:8], shown[2][at:][:7]) == ("Admitted", "Pending")


def test_flavors_are_shown_with_what_all_queues_own(store):
    """Used and owned over all queues, and the labels of the nodes."""
    assert rows(invoke(get, "flavors").stdout)[1] == ["a100", "nvidia.com/gpu", "6/8", "gpu=a100"]
    (document,) = read(invoke(get, "flavors", "-o", "yaml").stdout)
    assert document.value["items"][0]["metadata"]["name"] == "a100"


def test_flavors_have_the_quota_of_cohorts(store):
    """The quota of a cohort is used as that of queues is: without it a flavor looked used beyond what there is."""
    quota = [{"name": "a100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "4"}]}]
    for name, spec in (
        ("all", {"resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": quota}]}),
        ("b", None),
    ):
        cohort = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": name}}
        asyncio.run(store.create(cohort if spec is None else {**cohort, "spec": spec}))
    assert rows(invoke(get, "flavors").stdout)[1] == ["a100", "nvidia.com/gpu", "6/12", "gpu=a100"]

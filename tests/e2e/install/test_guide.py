"""The guide of docs/install.md as typed, and the README's example."""

import contextlib
from pathlib import Path

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.docs.console import Shell, agrees, steps
from tests.docs.markdown import blocks
from tests.e2e.article003 import Setting, submit
from tests.e2e.history import History
from tests.e2e.install.guide import section, shell_of
from tests.e2e.release import Release
from tests.patience import wait

pytestmark = pytest.mark.cluster
HELM = ("docker ", "helm ")
"""How those commands of the guide begin that the fixture has carried out: an image and a release of this checkout."""
RUNS_LONG = "  template:\n    metadata: {annotations: {sluice.dev/run-seconds: '600'}}\n"
"""How long a pod runs, for what plays the kubelet: it does not read the command."""


def come_to_print(shell: Shell, command: str, shown: str) -> None:
    """Run a command until it prints what is shown: what it tells of comes about by and by."""
    printed = [""]

    def repeat() -> bool:
        printed.append(shell.run(f"command {command}"))  # in a process of its own, with the shell's kubeconfig
        return agrees(printed[-1], shown)

    with contextlib.suppress(TimeoutError):
        wait(repeat, command)
    assert agrees(printed[-1], shown), printed[-1]


def test_the_guide_works_as_typed(release: Release, tmp_path: Path) -> None:
    """From the chart to a Job that runs and one that waits: each command of docs/install.md prints what it shows."""
    shell, queues = shell_of(release, tmp_path), "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
    release.client.request("DELETE", queues)
    wait(lambda: not release.client.items(queues), "there are no queues, as in a new installation")
    for title in ("2. The chart", "3. A first queue"):
        for block in blocks(section(title, tmp_path)):
            if block.title:
                shell.write(block.title, block.text.replace("  template:\n", RUNS_LONG))
            elif block.language == "sh":
                for command in block.text.splitlines():
                    printed = "" if command.startswith(HELM) else shell.run(command)
                    assert shell.code == 0, f"{command}\n{printed}"
            else:
                for command, shown in steps(block.text):
                    come_to_print(shell, command, shown)
    path = "/apis/batch/v1/namespaces/team-a/jobs"
    assert {job["metadata"]["name"]: job["spec"]["suspend"] for job in release.client.items(path)} == {
        "train-1": False, "train-2": True,
    }  # fmt: skip
    release.client.delete("/api/v1/namespaces/team-a")
    assert release.refusals() == []


def test_a_job_waits_and_starts(release: Release, plane: ControlPlane) -> None:
    """The README's example: two teams share a quota; Jobs wait, say why, start and complete."""
    client, setting = release.client, Setting("installed", "BestEffortFIFO")
    setting.create(client)
    history = History(plane, setting.teams)
    try:
        first_of_all = client.create(setting.job(1, 3600))  # it has all of the quota until it is deleted
        plane.wait("a Job runs", lambda: any(life.starts for life in history.lives.values()))
        submit(client, [setting], 2, 1, 0)
        wait(lambda: any("cpu" in told for told in reasons(release, setting)), "a waiting Workload says what it lacks")
        first = "must end first: Job installed-"
        wait(lambda: any(first in release.told_by("why", job) for job in pending_jobs(release, setting)), "why tells")
        client.delete(client.path_of(first_of_all))
        plane.wait("all Jobs are complete", lambda: history.finished(*setting.teams) == 4)
    finally:
        history.close()
    assert {len(life.starts) for life in history.of(*setting.teams)} == {1}
    assert history.peaks["jobs"]["installed"] <= 6
    assert release.refusals() == []


def pending_jobs(release: Release, setting: Setting) -> list[list[str]]:
    """The Jobs whose Workloads wait, as `why` is asked for them."""
    return [
        [f"Job/{workload['metadata']['ownerReferences'][0]['name']}", f"--namespace={team}"]
        for team in setting.teams
        for workload in release.client.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{team}/workloads")
        if not workload.get("status", {}).get("admission")
    ]


def reasons(release: Release, setting: Setting) -> list[str]:
    """What the Workloads without quota say of it."""
    workloads = [
        workload
        for team in setting.teams
        for workload in release.client.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{team}/workloads")
    ]
    return [c["message"] for workload in workloads for c in workload.get("status", {}).get("conditions") or []
            if (c["type"], c["status"]) == ("QuotaReserved", "False")]  # fmt: skip

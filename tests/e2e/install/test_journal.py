"""The journal of an installation outlives its pods."""

import subprocess

import pytest

from tests.e2e.article003 import Setting, submit
from tests.e2e.install.conftest import JOURNAL
from tests.e2e.release import Release
from tests.patience import wait

pytestmark = pytest.mark.cluster


def test_a_journal_outlives_an_upgrade(journalled: Release) -> None:
    """With a claim for each replica: the replica that has a claim again finds in it what was written before."""
    release, setting = journalled, Setting("kept", "BestEffortFIFO")
    assert {pod.name for pod in release.node.pods.values()} == {"sluice-0", "sluice-1"}
    setting.create(release.client)
    (job, _) = submit(release.client, [setting], 1, 1, 0)
    named = f"{job['metadata']['namespace']}/job-{job['metadata']['name']}"
    wait(lambda: named in journals(release), "the journal has the Job")
    before = journals(release)
    release.install(*JOURNAL, "--set=podAnnotations.changed=for-the-journal")
    assert set(before.splitlines()) <= set(journals(release).splitlines())
    assert release.refusals() == []


def journals(release: Release) -> str:
    """What `sluice journal show` says of the journals of all replicas."""
    files = [str(path) for path in (release.node.home / "claims").rglob("*.jsonl.gz")]
    call = [*release.node.image.command, "journal", "show", *files]
    return subprocess.run(call, capture_output=True, text=True, check=False).stdout

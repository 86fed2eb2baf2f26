"""`sluice run`: the main job without a cluster, as a new user sees it."""

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import click
import pytest

from tests.patience import until, wait
from tests.shared import ROOT
from webhook.cli import shipped
from webhook.cli.commands.server.run import already_there
from webhook.cli.demo import embedded
from webhook.cli.demo.api_server import CreateOutcome
from webhook.cli.demo.embedded import EmbeddedRun
from webhook.cli.demo.kubelet import Kubelet
from webhook.cli.demo.lives import JobLives
from webhook.cli.demo.story import LINES, Story, typed
from webhook.cluster.api.kinds import WORKLOAD
from webhook.kube.gvk import GroupVersionKind
from webhook.store.memory import MemoryStore

QUEUE = "kueue.x-k8s.io/queue-name"
SECONDS = "2"
"""How long jobs run where one has to wait for another: the first must not end before the second is reviewed."""
JOB_KIND = GroupVersionKind("batch", "v1", "Job")

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: default, annotations: {sluice.dev/run-seconds: "0.2"}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: train, image: img, resources: {limits: {nvidia.com/gpu: GPUS}}}
"""

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  namespace: default
  labels: {kueue.x-k8s.io/queue-name: default}
  annotations: {sluice.dev/run-seconds: "0.2"}
spec:
  restartPolicy: Never
  containers:
  - {name: train, image: img, resources: {limits: {nvidia.com/gpu: 4}}}
"""


def sluice_run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "webhook.cli.main", "run", "--once", "--cert-dir", str(tmp_path / "certs")]
    return subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True)


def written(tmp_path: Path, *jobs: tuple[str, str]) -> str:
    file = tmp_path / "jobs.yaml"
    file.write_text("\n---\n".join(JOB.replace("NAME", name).replace("GPUS", gpus) for name, gpus in jobs))
    return str(file)


def row(output: str, name: str) -> list[str]:
    """The cells of the last table row that names the job."""
    line = next(line for line in reversed(output.splitlines()) if name in line and line.startswith("│"))
    return [cell.strip() for cell in line.strip("│ \n").split("│")]


def test_articles_run_to_their_end(tmp_path):
    """The five articles' manifests are shaped, refused or let in, and every job that a queue holds runs."""
    done = sluice_run(tmp_path, "--verbose", "--seconds", SECONDS)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    jobs = done.stdout[done.stdout.index("queued jobs  ") :]
    assert len(re.findall(r"^│ (?:Job|PyTorchJob|TFJob) ", jobs, re.MULTILINE)) == 8
    assert "pending" not in jobs
    assert re.search(r"requests 6\s", done.stdout), "article 003's second job waits for the first"
    assert re.search(r"LimitRange default/gpu-limit-range\s*│ denied", done.stdout)


def test_story_of_the_samples_fits_a_screen(tmp_path):
    """Without -v: at most 40 lines of 80 columns, which tell who was patched, denied and queued, and what to try."""
    done = sluice_run(tmp_path, "--seconds", SECONDS)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines) <= 39, "one is left for the page's address"
    assert [line for line in lines if len(line) > 80] == []
    told = re.sub(r"\s+", " ", done.stdout)
    assert "~ PyTorchJob ai-team/pytorch-mnist suspend, labels, annotations, …" in told
    assert "003 Two teams, one queue 6 objects, 4 patched" in told
    assert "… queue team-b/localqueue-team-b: position 1, requests 6 cpu, 3 free" in told
    assert "✗ KubeSchedulerConfiguration rejected by the API: metadata.name is required" in told
    assert "✗ Pod default/my-gpu-pod rejected by the API: already exists" in told
    assert "✗ LimitRange default/gpu-limit-range: limit-range-mistakes: 500m" in told
    assert "✗ Job default/half-a-gpu: gpu-integer: spec.template: container train asks for 500m" in told
    assert "Request 1 or more, or a MIG slice such as nvidia.com/mig-1g.5gb" in told
    assert "✗ Job default/sixteen-gpus: queue default/default: this job can never be admitted" in told
    assert "of flavor shared-gpus, the queue can use at most 4 (request less, or use another queue)" in told
    assert re.search(r"\b(\d+) of \1 queued jobs finished\. Longest wait: ", told)
    assert "does not exist; the job waits for it" not in told, "a queue that was sent is there when its job comes"
    assert "kube-system" not in told, "Sluice never reviews what is the system's"
    assert "http" not in told, "what has ended has no page"


def test_many_jobs_of_a_file_are_counted(tmp_path):
    """Of one file eight jobs are told one by one, the others are counted."""
    done = sluice_run(tmp_path, "-f", written(tmp_path, *((f"job-{at}", "1") for at in range(10))))
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^  ~ Job default/job-", done.stdout, re.MULTILINE)) == 8
    assert "    and 2 more\n" in done.stdout
    assert "10 of 10 queued jobs finished." in done.stdout


def test_what_to_try_next_is_about_the_readers_own_files(tmp_path):
    """Of samples: a repository of one's own. Of own files: the commands name them, and work as they are shown."""
    file, queues = Path(written(tmp_path, ("one", "2"))), tmp_path / "my queues.yaml"
    queues.write_text((shipped.samples() / "queues.yaml").read_text())
    done = sluice_run(tmp_path, "-f", str(file), "-c", str(queues))
    assert done.returncode == 0, done.stderr
    assert "1 of 1 queued job finished." in done.stdout
    commands = following(done.stdout)
    assert [shlex.split(line)[1] for line in commands] == ["plan", "run", "dry-run"]
    for line in commands:
        words = shlex.split(line)
        assert words[0] == os.path.relpath(Path(sys.executable).with_name("sluice"), ROOT)
        assert str(file) in {str((ROOT / word).resolve()) for word in words}
        tried = subprocess.run(line, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
        assert tried.returncode == 0, (line, tried.stdout, tried.stderr)


def following(output: str) -> list[str]:
    """The commands to go on with, joined where they take several lines."""
    text = re.sub(r" \\\n +", " ", output[output.index("Try next:") :])
    return [re.split(r" {2,}", line.strip())[0] for line in text.splitlines() if "sluice " in line]


@pytest.mark.parametrize(
    ("parts", "what", "lines"),
    [
        (["sluice plan", "-f a"], "who waits", ["  sluice plan -f a  who waits"]),
        (["sluice plan", f"-f {'a' * 60}"], "who waits", [f"  sluice plan -f {'a' * 60}", "      who waits"]),
        (
            ["sluice plan", f"-f {'a' * 60}", "-f b"],
            "who waits",
            [f"  sluice plan -f {'a' * 60} \\", "    -f b", "      who waits"],
        ),
    ],
)
def test_a_command_has_room(parts, what, lines):
    """A command and what it shows stand on one line where there is room; else the meaning is below it."""
    assert typed(parts, what) == lines


OUTCOME = {"kind": "Job", "metadata": {"name": "train", "namespace": "a", "labels": {QUEUE: "q"}}}


def test_what_waits_and_what_is_warned_of_have_signs_of_their_own():
    """A position in the queue is pending; a policy's warning is a warning. What has no room is counted."""
    warnings = ("queue a/q: position 2, requests 4 cpu, 1 free", "gpu-defaults: limit = request was set")
    job = {"apiVersion": "batch/v1", **OUTCOME, "spec": {"suspend": True, "template": {"spec": {"containers": []}}}}
    outcome = CreateOutcome(job, allowed=True, stored=True, message="", steps=(), warnings=warnings)
    lines = [str(line).rstrip() for line in Story(1, []).file("jobs", [outcome])]
    assert lines == ["jobs  1 object", "  = Job a/train", f"    … {warnings[0]}", f"    ! {warnings[1]}"]
    assert len(Story(1, [], used=LINES - 7).file("jobs", [outcome] * 3)) == 2


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ((), ["0 of 1 queued job finished, 1 pending.", "Pending: Job a/train"]),
        (("started",), ["0 of 1 queued job finished, 1 running. Longest wait: 1.0 s, train."]),
        (("started", "stopped"), ["0 of 1 queued job finished, 1 pending.", "Pending: Job a/train"]),
        (("started", "finished"), ["1 of 1 queued job finished. Longest wait: 1.0 s, train."]),
    ],
)
def test_what_became_of_a_job(told, said):
    """One that was preempted is pending again; one that runs is counted apart."""
    clock = iter(range(10))
    job = {"apiVersion": "batch/v1", **OUTCOME, "spec": {"suspend": True, "template": {"spec": {"containers": []}}}}
    lives = JobLives(lambda: float(next(clock)), 0.0)
    lives.sent(CreateOutcome(job, allowed=True, stored=True, message="", steps=(), warnings=()))
    for word in told:
        lives.told(word, job)
    assert [str(line) for line in Story(0, []).closing(lives.all())] == said


def test_a_suspended_job_is_stopped_and_a_finished_one_goes():
    """The kubelet says that a job was stopped, runs it again, and deletes it when it was kept for its time."""

    async def go():
        store, said = MemoryStore(), []
        job = {"apiVersion": "batch/v1", **OUTCOME, "spec": {"suspend": False, "ttlSecondsAfterFinished": 0}}
        job["spec"]["template"] = {"spec": {"containers": []}}
        job["metadata"] = {**job["metadata"], "annotations": {"sluice.dev/run-seconds": "3600"}}
        kubelet = asyncio.create_task(Kubelet(store, (JOB_KIND,), 0).run(lambda what, _: said.append(what)))
        await store.create(job)
        for suspend, seconds, last in ((False, "3600", "started"), (True, "0", "stopped"), (False, "0", "finished")):
            annotations = {"annotations": {"sluice.dev/run-seconds": seconds}}
            await store.patch(JOB_KIND, "train", "a", {"metadata": annotations, "spec": {"suspend": suspend}})
            await until(lambda last=last: said[-1:] == [last], last)
        await until(lambda: not store._objects["batch", "Job"], "the job is deleted")
        kubelet.cancel()
        return said

    assert asyncio.run(go()) == ["started", "stopped", "started", "finished"]


def test_what_has_quota_is_waited_for(monkeypatch):
    """A run to its end is not over while a Workload is admitted and has not finished, however long nothing is heard."""
    monkeypatch.setattr(embedded, "TURN", embedded.TURN / 100)
    monkeypatch.setattr(embedded, "QUIET", embedded.QUIET / 100)
    looks = 0

    class Looked(MemoryStore):
        async def list(self, *arguments, **options):
            nonlocal looks
            looks += 1
            return await super().list(*arguments, **options)

    async def go():
        store, admitted = Looked(), {"type": "Admitted", "status": "True"}
        workload = {"apiVersion": WORKLOAD.api_version, "kind": WORKLOAD.kind, "status": {"conditions": [admitted]}}
        await store.create({**workload, "metadata": {"name": "w", "namespace": "a"}})
        run = EmbeddedRun(None, None, store, None, JobLives(), None)
        over = asyncio.create_task(run._settle(asyncio.Event(), to_their_end=True))
        await until(lambda: looks > 100 or over.done(), "it has looked more often than for it to be quiet")
        early = over.done()
        finished = {"status": {"conditions": [admitted, {"type": "Finished", "status": "True"}]}}
        await store.patch(WORKLOAD, "w", "a", finished, subresource="status")
        await over
        return early

    assert asyncio.run(go()) is False


def test_the_page_has_something_to_show():
    """Without --once jobs keep arriving: the page shows who runs, who waits and why, and until when; Ctrl-C ends it."""
    command = [sys.executable, "-m", "webhook.cli.main", "run"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        while not lines or "Serving until Ctrl-C." not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr.read()
        assert len(lines) <= 40
        page = re.match(r"Page: (http://127\.0\.0\.1:\d+/ui/)  Serving until Ctrl-C", lines[-1])[1]

        def shown():
            with urllib.request.urlopen(f"{page}api/queues/default-cluster-queue") as answer:
                found = json.loads(answer.read())
            waiting = found["waiting"]["rows"]
            return found["running"]["rows"] and waiting and waiting[0]["reason"] and waiting[0]["start"]

        wait(shown, "a job runs, another waits, with reason and estimate")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")


def test_the_repositorys_own_policies_and_rules(tmp_path):
    """In a policy repository its `.sluice.yaml` is in force, as for every other command."""
    command = [sys.executable, "-m", "webhook.cli.main"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*command, "init"], cwd=tmp_path, env=environment, capture_output=True, check=True)
    (tmp_path / ".sluice.yaml").write_text("policies: [policies, sluice.dev/suspend-jobs]\nqueueRules: [fifo]\n")
    file = written(tmp_path, ("half", "0.5"), ("whole", "1"))
    text = Path(file).read_text().replace("namespace: default", f"namespace: team-a, labels: {{{QUEUE}: gpu}}")
    Path(file).write_text(text)
    done = subprocess.run(
        [*command, "run", "--once", "-f", file, "-c", "cluster"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "✗ Job team-a/half: whole-gpus:" in done.stdout
    assert re.search(r"~ Job team-a/whole +suspend\n", done.stdout), (
        "of the shipped policies only the one that is named"
    )
    assert "1 of 1 queued job finished." in done.stdout


CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources: {excludeResourcePrefixes: [memory]}
"""


def test_a_configuration_among_the_objects_counts(tmp_path):
    """As in what `sluice import kueue` writes: it is no object of the cluster, and has no name."""
    (tmp_path / "kueue.yaml").write_text(CONFIGURATION)
    file = Path(written(tmp_path, ("one", "1")))
    file.write_text(file.read_text().replace("limits: {", "limits: {memory: 1Gi, "))
    queues = str(shipped.samples() / "queues.yaml")
    done = sluice_run(tmp_path, "--once", "-f", str(file), "-c", queues, "-c", str(tmp_path / "kueue.yaml"))
    assert (done.returncode, "1 of 1 queued job finished." in done.stdout) == (0, True), done.stderr
    (tmp_path / "kueue.yaml").write_text("{apiVersion: v1, kind: ConfigMap}")
    done = sluice_run(tmp_path, "--once", "-f", str(file), "-c", str(tmp_path / "kueue.yaml"))
    assert (done.returncode, "kueue.yaml: a ConfigMap has no metadata.name" in done.stderr) == (2, True)


OLDER = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: gpus}
spec: {cohort: all, resourceGroups: RESOURCES}
"""


def test_queues_of_an_older_version_are_stored_as_an_api_server_stores_them(tmp_path):
    """In v1beta2: the cohort's metrics and the paths of preemptions are read by its names. What cannot be, is told."""
    file = tmp_path / "queues.yaml"
    file.write_text(OLDER.replace("RESOURCES", "[]"))
    (queue,), _ = already_there([file])
    assert (queue["apiVersion"], queue["spec"]) == (WORKLOAD.api_version, {"cohortName": "all", "resourceGroups": []})
    file.write_text(OLDER.replace("spec: {cohort", "spec: {flavorFungibility: 1, cohort").replace("RESOURCES", "[]"))
    with pytest.raises(click.UsageError, match=r"queues.yaml: .* is malformed"):
        already_there([file])


def test_no_key_is_left_behind(tmp_path):
    """Without --cert-dir the certificate is in a folder of its own, which is gone at the end."""
    (tmp_path / "here").mkdir()
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-m", "webhook.cli.main", "run", "--once", "-f", written(tmp_path, ("one", "2"))]
    where = {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "temporary")}
    done = subprocess.run(command, cwd=tmp_path / "here", env={**os.environ, **where}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert [*(tmp_path / "here").iterdir(), *(tmp_path / "temporary").iterdir()] == []


def test_jobs_share_the_quota_in_turn(tmp_path):
    """Four GPUs are owned: of three jobs that want two each, the third starts when one of the others has ended."""
    done = sluice_run(tmp_path, "-v", "-f", written(tmp_path, ("one", "2"), ("two", "2"), ("three", "2")))
    assert done.returncode == 0, done.stderr
    first, third = row(done.stdout, "default/one"), row(done.stdout, "default/three")
    assert float(third[3].removesuffix(" s")) >= float(first[4].removesuffix(" s"))


def test_plain_pods_share_the_quota_in_turn(tmp_path):
    """Two Pods that want all four GPUs: the second is let go when the first has ended."""
    file = tmp_path / "pods.yaml"
    file.write_text("\n---\n".join(POD.replace("NAME", name) for name in ("first", "second")))
    done = sluice_run(tmp_path, "-v", "-f", str(file))
    assert done.returncode == 0, done.stderr
    first, second = row(done.stdout, "default/first"), row(done.stdout, "default/second")
    assert float(second[3].removesuffix(" s")) >= float(first[4].removesuffix(" s"))


def test_half_a_gpu_is_refused_with_the_way_out(tmp_path):
    """A fraction of a GPU is refused at once, and the message says what to write."""
    done = sluice_run(tmp_path, "-v", "-f", written(tmp_path, ("half", "0.5")))
    assert done.returncode == 0, done.stderr
    assert "denied" in row(done.stdout, "default/half")
    assert "whole" in done.stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [("a: [1", "bad.yaml:2:1: error[YAML001]"), ("a: 1\na: 2", 'bad.yaml:2:1: error[YAML001]: duplicate key "a"')],
)
def test_bad_file_is_told_at_its_place(tmp_path, text, told):
    """A file that is no YAML ends the run with code 2 and the place of the mistake, without a traceback."""
    (tmp_path / "bad.yaml").write_text(text)
    done = sluice_run(tmp_path, "-v", "-f", str(tmp_path / "bad.yaml"))
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr

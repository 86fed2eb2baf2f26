"""What `.sluice.yaml` says is in force is in force for every command: policies, shipped ones, queue rules."""

import json
import subprocess
from pathlib import Path

import click
import pytest

from tests.offline.dryrun.files import NAMESPACE, QUEUES, job, together
from tests.offline.running import invoke
from webhook.cli import exits
from webhook.cli.commands.policies.dry_run import dry_run_command
from webhook.cli.commands.policies.explain import explain_command
from webhook.cli.commands.policies.generate import generate_command
from webhook.cli.commands.policies.import_policies import import_command
from webhook.cli.commands.policies.lint import lint_command
from webhook.cli.commands.policies.replay import replay_command
from webhook.cli.commands.policies.test import test as suites_command
from webhook.cli.commands.queues.plan import plan
from webhook.cli.commands.queues.simulate import simulate
from webhook.cli.repository import repository
from webhook.config import load
from webhook.diagnostics import SourceError

CLOSED = """apiVersion: sluice.dev/v1alpha1
kind: QueuePolicy
metadata: {name: closed}
spec:
  admit:
  - {reason: Closed, expression: "false", message: closed for repairs}
"""
SETTINGS = """policies: [policies, sluice.dev/gpu-integer]
queueRules: [kueue, closed]
"""
REVIEW = {
    "kind": {"group": "batch", "version": "v1", "kind": "Job"},
    "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
    "operation": "CREATE",
    "userInfo": {"username": "alice"},
}
SUITE = """apiVersion: sluice.dev/v1alpha1
kind: Suite
policies: [sluice.dev/gpu-integer]
namespace: {name: team-a, labels: {sluice.dev/managed: "true"}}
cluster: [../cluster.yaml]
cases:
- {name: waits, object: ../job.yaml, expect: {queue: {decision: pending, message: closed for repairs}}}
- {name: half, object: ../half.yaml, expect: {allowed: false, message: whole}}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A repository whose rules are closed and whose GPUs are whole."""
    monkeypatch.chdir(tmp_path)
    for folder in ("policies", "suites"):
        Path(folder).mkdir()
    files = {
        ".sluice.yaml": SETTINGS,
        "policies/closed.yaml": CLOSED,
        "cluster.yaml": together(NAMESPACE, QUEUES),
        "job.yaml": job("train").replace("limits: {", "requests: {nvidia.com/gpu: 1}, limits: {"),
        "half.yaml": job("half", 0.5),
        "suites/suite.yaml": SUITE,
        "trace.csv": "time,queue,run,nvidia.com/gpu\n0,research,60,1\n",
    }
    for name, text in files.items():
        Path(name).write_text(text)
    return tmp_path


def record(path: str, gpus: str) -> None:
    """Write a recorded review of a Job that was let in."""
    obj = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "team-a"}}
    limits = {"resources": {"limits": {"nvidia.com/gpu": gpus}, "requests": {"nvidia.com/gpu": gpus}}}
    obj["spec"] = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", **limits}]}}}
    request = {"uid": "u", "name": "j", "namespace": "team-a", **REVIEW, "object": obj}
    line = {"part": "", "seconds": 0.001, "time": 1.0, "request": request, "verdict": {"allowed": True}}
    Path(path).write_text(json.dumps(line) + "\n")


CASES: dict[str, tuple[click.Command, tuple[str, ...], str, str]] = {
    "dry-run": (dry_run_command, ("-f", "job.yaml", "-c", "cluster.yaml"), "closed for repairs", "admitted in"),
    "plan": (plan, ("-f", "cluster.yaml", "-f", "job.yaml"), "closed for repairs", "admitted"),
    "test": (suites_command, (), "2 passed", "decision is admitted"),
}


@pytest.mark.parametrize("name", CASES)
def test_rules_of_the_file_are_in_force(here, name):
    """Each command decides by the queue rules that `.sluice.yaml` names, and by `kueue` where there is no such file."""
    command, arguments, closed, open_ = CASES[name]
    assert closed in invoke(command, *arguments).stdout
    Path(".sluice.yaml").unlink()
    assert open_ in invoke(command, *arguments).stdout


ASKS_MEMORY = """apiVersion: sluice.dev/v1alpha1
kind: Suite
policies: [sluice.dev/gpu-integer]
namespace: {name: team-a, labels: {sluice.dev/managed: "true"}}
cluster: [../cluster.yaml]
cases:
- {name: admitted, object: ../job.yaml, expect: {queue: {decision: admitted}}}
"""
KUEUE = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources: {excludeResourcePrefixes: [memory]}
"""
OF_QUEUES = {
    "a file of Kueue's": "kueueConfig: kueue.yaml\n",
    "its own": "resources: {excludeResourcePrefixes: [memory]}\n",
    "neither": "",
}


@pytest.mark.parametrize("settings", OF_QUEUES)
def test_settings_of_the_queues_hold_for_all(here, settings):
    """A job requests memory, of which no queue has quota: by the settings of the repository that counts or not."""
    Path("kueue.yaml").write_text(KUEUE)
    Path(".sluice.yaml").write_text(f"policies: [empty]\nqueueRules: [kueue]\n{OF_QUEUES[settings]}")
    Path("empty").mkdir()
    Path("job.yaml").write_text(Path("job.yaml").read_text().replace("limits: {", "limits: {memory: 1Gi, "))
    Path("trace.csv").write_text("time,queue,run,nvidia.com/gpu,memory\n0,research,60,1,1Gi\n")
    objects, counts = ("-f", "job.yaml", "-c", "cluster.yaml", "--allow-missing"), settings == "neither"
    for command in (dry_run_command, explain_command):
        done = invoke(command, *objects)
        assert (done.exit_code, "memory unavailable" in done.stdout) == (exits.FAILED if counts else 0, counts)
    planned = invoke(plan, "-f", "cluster.yaml", "-f", "job.yaml").stdout
    assert ("memory unavailable" in planned, "1 admitted" in planned) == (counts, not counts)
    linted = invoke(lint_command, "cluster.yaml", "job.yaml", "--only", "QUE027")
    assert (linted.exit_code, "requests memory" in linted.stdout) == (exits.FAILED if counts else 0, counts)
    Path("suites/suite.yaml").write_text(ASKS_MEMORY)
    tested = invoke(suites_command, "suites")
    assert (tested.exit_code, "memory unavailable" in tested.stdout) == (exits.FAILED if counts else 0, counts), (
        tested.stdout
    )
    simulated = invoke(simulate, "trace.csv", "-f", "cluster.yaml")
    assert (simulated.exit_code, "TRACE003" in simulated.stderr) == (exits.BAD_INPUT if counts else 0, counts)


@pytest.mark.parametrize("command", [dry_run_command, explain_command])
def test_shipped_policies_are_named_by_reference(here, command):
    """`sluice.dev/NAME` is a shipped policy, in the file and in an option; an unknown one is told with the nearest."""
    assert "whole" in invoke(command, "-f", "half.yaml", "-c", "cluster.yaml").stdout
    Path(".sluice.yaml").unlink()
    given = ("-f", "half.yaml", "-c", "cluster.yaml", "-p")
    assert "whole" not in invoke(command, *given, "policies").stdout
    assert "whole" in invoke(command, *given, "sluice.dev/gpu-integer").stdout
    done = invoke(command, *given, "sluice.dev/gpu-intege")
    assert (done.exit_code, 'did you mean "sluice.dev/gpu-integer"?' in done.stderr) == (exits.BAD_INPUT, True)


def test_replay_has_the_policies_of_the_file(here):
    """A review that the shipped policy of the file refuses is told as decided differently."""
    record("reviews.jsonl", "500m")
    done = invoke(replay_command, "reviews.jsonl", "-c", "cluster.yaml")
    assert (done.exit_code, "now denied" in done.stdout) == (exits.FAILED, True)


def test_serve_reads_the_same_file(here):
    """The file is a configuration of `sluice serve`: the same policies, the same rules."""
    served, offline = load(Path(".sluice.yaml"), {}, {}), repository()
    assert served.queue_rules == offline.rules == ("kueue", "closed")
    assert [path.absolute() for path in offline.policies] == list(served.policies)


def test_options_go_before_the_file(here):
    """`--rules` and `-p` say otherwise for one run."""
    given = ("-f", "job.yaml", "-c", "cluster.yaml", "--rules", "kueue")
    assert "admitted in" in invoke(dry_run_command, *given).stdout
    assert "admitted" in invoke(plan, "-f", "cluster.yaml", "-f", "job.yaml", "--rules", "kueue").stdout


def test_rules_that_nobody_named_are_told(here):
    """Without a file, QueuePolicies that lie among the policies are not in force, as in `serve`: that is said."""
    Path(".sluice.yaml").unlink()
    done = invoke(dry_run_command, "-f", "job.yaml", "-c", "cluster.yaml")
    assert "queue rules not in force: closed; name them with --rules, or as queueRules in .sluice.yaml" in done.stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("queueRule: [kueue]", '.sluice.yaml:1:1: error[CFG001]: unknown setting "queueRule"'),
        ("queueRules: [nothing-like-it]", "no rules and no file have this name"),
        ("policies: [sluice.dev/gpu]", "no shipped policy sluice.dev/gpu; there are sluice.dev/"),
        ("policies: [gone]", "gone: error[FILE001]: no such file or folder"),
        ("- a", "the configuration must be a map"),
        ("mode: embedded\n---\nmode: none", ".sluice.yaml:3:1: error[CFG002]: a configuration is one document"),
    ],
)
def test_a_mistake_in_the_file_is_told(here, text, told):
    """A bad file ends every command with code 2, at its place."""
    Path(".sluice.yaml").write_text(text)
    done = invoke(dry_run_command, "-f", "job.yaml", "-c", "cluster.yaml")
    assert (done.exit_code, told in done.stderr) == (exits.BAD_INPUT, True), done.stderr


def test_no_policies_at_all_are_told_with_the_way_out(tmp_path, monkeypatch):
    """In a folder that is no policy repository."""
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text("{apiVersion: v1, kind: Pod, metadata: {name: a}}")
    for command in (dry_run_command, explain_command):
        done = invoke(command, "-f", "job.yaml")
        assert done.exit_code == exits.BAD_INPUT
        assert "policies: error[FILE001]: no such file or folder\n    = name policies with -p, or in" in done.stderr


def test_against_a_revision_reads_the_file_of_that_revision(here):
    """A branch that changes the rules in force is compared with the rules that were."""

    def git(*args: str) -> None:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.com")
        subprocess.run(["git", *who, *args], check=True, capture_output=True)

    Path(".sluice.yaml").write_text(SETTINGS.replace("[kueue, closed]", "[kueue]"))
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    Path(".sluice.yaml").write_text(SETTINGS)
    given = ("-f", "job.yaml", "-c", "cluster.yaml", "--against", "HEAD")
    assert "1 of 1 objects would be queued differently." in invoke(dry_run_command, *given).stdout
    Path(".sluice.yaml").write_text(SETTINGS.replace("[kueue, closed]", "[kueue]"))
    assert "No change for 1 object." in invoke(dry_run_command, *given).stdout
    git("rm", "-q", "--cached", ".sluice.yaml")
    git("commit", "-q", "-m", "without")
    Path(".sluice.yaml").write_text(SETTINGS)
    assert "1 of 1 objects would be queued differently." in invoke(dry_run_command, *given).stdout


def test_a_trace_is_simulated_under_the_rules_of_the_file(here):
    """A job that the rules never let in never starts."""
    done = invoke(simulate, "trace.csv", "-f", "cluster.yaml", "-o", "json")
    assert done.exit_code == exits.PASSED, done.stderr
    closed = json.loads(done.stdout)
    Path(".sluice.yaml").unlink()
    assert json.loads(invoke(simulate, "trace.csv", "-f", "cluster.yaml", "-o", "json").stdout) != closed


def test_an_unknown_shipped_policy_in_a_suite_is_told(here):
    """A suite names shipped policies too; a misspelt one is a mistake at its place."""
    Path("suites/suite.yaml").write_text(SUITE.replace("gpu-integer", "gpu-intege"))
    done = invoke(suites_command)
    assert (done.exit_code, "suites/suite.yaml:3:12" in done.stderr) == (exits.BAD_INPUT, True), done.stderr


def test_the_default_is_the_folder_of_policies(tmp_path, monkeypatch):
    """Without a file and options: `policies`, and `kueue`."""
    monkeypatch.chdir(tmp_path)
    assert repository() == repository((Path("policies"),))
    assert repository().rules == ("kueue",)
    Path(".sluice.yaml").write_text("log_level: loud")
    with pytest.raises(SourceError, match="loud"):
        repository()


@pytest.mark.parametrize(("make", "told"), [("link", "leads nowhere"), ("folder", "is not a file")])
def test_a_file_that_is_none_is_told(here, make, told):
    """What was to be in force is not in force: a link that leads nowhere is no repository without a file."""
    Path(".sluice.yaml").unlink()
    if make == "link":
        Path(".sluice.yaml").symlink_to("nowhere")
    else:
        Path(".sluice.yaml").mkdir()
    done = invoke(plan, "-f", "cluster.yaml", "-f", "job.yaml")
    assert (done.exit_code, done.stderr) == (exits.BAD_INPUT, f".sluice.yaml: error[FILE001]: {told}\n")


FOLDERS = {
    "dry-run": (dry_run_command, "-f", "job.yaml", "-p", "policies"),
    "dry-run -f": (dry_run_command, "-f", "policies", "-p", "real"),
    "explain": (explain_command, "-f", "job.yaml", "-p", "policies"),
    "generate": (generate_command, "native", "policies"),
    "import": (import_command, "kyverno", "policies"),
    "lint": (lint_command, "policies"),
    "test": (suites_command, "policies"),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_link_to_a_folder_is_an_error(here, name):
    """No command follows it, so each says so: what it leads to would seem to be checked."""
    (here / "real").mkdir()
    (here / "policies" / "linked").symlink_to("../real")
    command, *arguments = FOLDERS[name]
    done = invoke(command, *arguments)
    told = "policies/linked: error[FILE001]: is a symbolic link to a folder, which is not followed; name its target"
    assert (done.exit_code, told in done.stdout + done.stderr) == (exits.BAD_INPUT, True)

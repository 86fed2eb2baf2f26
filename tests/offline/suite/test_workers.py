"""`sluice test -j N`: the same results, coverage and rewritten files as in one process; lost workers are told."""

import json
import os
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from tests.offline.suite.test_suite import mutating, validating
from tests.patience import wait
from webhook.cli import exits
from webhook.cli.commands.policies.test import test as command
from webhook.offline.reports.junit import CaseOutcome
from webhook.offline.suite import run_suite
from webhook.offline.suite.session import SessionOptions, run_session
from webhook.offline.suite.suite_file import suites_of
from webhook.offline.suite.workers import worker_count

POD = "{apiVersion: tests.dev/v1, kind: Pod, metadata: {name: a}, spec: {x: %d}}"
CASE = "- {name: pod of %d, object: " + POD + ", expect: {allowed: %s}}\n"
HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: Suite\n%s\ncases:\n"


def write(folder, cases, policy="", head=""):
    """A folder with a suite and, where one is given, a policy."""
    folder.mkdir(parents=True, exist_ok=True)
    if policy:
        (folder / "policy.yaml").write_text(policy)
    (folder / "suite.yaml").write_text(HEAD % head + "".join(cases))
    return folder


@pytest.fixture
def repository(tmp_path):
    """Five suites: three with policies of their own, two more that share one of them and run different branches."""
    for i in (1, 2, 3):
        cases = [CASE % (x, x, "true" if x < i else "false") for x in range(5)]
        write(tmp_path / f"own-{i}", cases, validating(f"object.spec.x < {i} || object.spec.x > 9"))
    shared = "policies: [../own-1]"
    write(tmp_path / "shared-a", [CASE % (12, 12, "true")], head=shared)
    write(tmp_path / "shared-b", [CASE % (13, 13, "false")], head=shared)
    return tmp_path


def run(folder, *options):
    return CliRunner().invoke(command, [str(folder), *options])


def test_more_processes_change_nothing(repository):
    """Cases, findings, their order and the coverage of shared policies are the same with one, two and five."""

    def result(jobs):
        data = json.loads(run(repository, "-o", "json", "-j", jobs).stdout)
        for case in data["cases"]:
            del case["seconds"]
        return data

    one = result("1")
    assert [c["outcome"] for c in one["cases"]].count("failure") == 1
    assert result("2") == result("5") == one


def test_update_is_written_by_one(tmp_path):
    """--update with several processes writes into each suite what one process would."""
    policy = mutating('[JSONPatch{op: "add", path: "/spec/y", value: 1}]')
    case = f"- name: one\n  object: {POD % 1}\n  expect:\n    patch:\n    - {{op: remove, path: /a}}\n"
    for name in "abc":
        write(tmp_path / name, [case], policy)
    done = run(tmp_path, "--update", "-j", "3")
    assert done.stderr.count("updated 1 in") == 3
    assert run(tmp_path, "-j", "3").exit_code == exits.PASSED


def test_a_lost_worker_is_a_failure_with_a_name(repository, monkeypatch):
    """A process that is killed fails the case it was at; those before it count, the other suites run to their end."""
    real = run_suite.run_case

    def dying(case, *rest):
        if case.title == "own-2//pod of 2":
            os.kill(os.getpid(), signal.SIGKILL)
        return real(case, *rest)

    monkeypatch.setattr(run_suite, "run_case", dying)
    session = run_session([repository], SessionOptions(jobs=2))
    broken = {r.case.title: r for r in session.results if r.outcome is CaseOutcome.ERROR}
    assert list(broken) == ["own-2//pod of 2", "own-2//pod of 3", "own-2//pod of 4"]
    assert "SIGKILL (out of memory?)" in broken["own-2//pod of 2"].findings[0].message
    assert len(session.results) == 17
    assert session.count(CaseOutcome.PASSED) == 13


def test_a_policy_that_cannot_be_read_is_told_once(repository):
    """However many suites share it, and in however many processes, a broken policy is told once, with code 2."""
    (repository / "own-1" / "policy.yaml").write_text("kind: [")
    done = run(repository, "-j", "3")
    assert (done.exit_code, "10 passed, 0 failed, 1 error in files" in done.stdout) == (exits.BAD_INPUT, True)
    assert done.stderr.count("error[YAML001]") == 1


def test_small_runs_stay_in_one_process(repository):
    """A process is worth its start from 25 cases on; --jobs asks for more, never more than there are suites."""
    suites = suites_of([repository], [])
    assert worker_count(suites, "", None) == 0
    assert worker_count(suites, "", 3) == 3
    assert worker_count(suites, "", 99) == 5


SLOW = """
import os, sys, time
from webhook.offline.suite import run_suite
from webhook.cli.main import main
def slow(case, *rest):
    os.write(1, b"at work\\n")
    time.sleep(60)
run_suite.run_case = slow
sys.argv = ["sluice", "test", "-j", "2"]
main()
"""


def test_an_interruption_ends_every_process(repository):
    """Ctrl-C ends with code 130 and one word, without a traceback and without processes left behind."""
    with subprocess.Popen(
        [sys.executable, "-c", SLOW], cwd=repository, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as child:  # fmt: skip
        begun = child.stdout.readline()  # of one of two workers: the other may just have begun
        os.killpg(child.pid, signal.SIGINT)
        _, said = child.communicate()
    assert (begun, child.returncode, said) == ("at work\n", exits.INTERRUPTED, "interrupted\n")
    wait(lambda: not group_lives(child.pid), "no process is left")


AT_BIRTH = """
import os, signal, sys
from webhook.cli.main import main
os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGINT))
sys.argv = ["sluice", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("command", [["test", "-j", "2"], ["lint", "-j", "2", "."]], ids=["test", "lint"])
def test_a_process_that_has_just_begun_ignores_an_interruption(repository, command):
    """Ctrl-C is its parent's to handle, from its first moment on: it ends with no traceback, and does its work."""
    done = subprocess.run(
        [sys.executable, "-c", AT_BIRTH, *command], cwd=repository, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "worker process" not in done.stdout + done.stderr
    assert done.returncode in (exits.PASSED, exits.FAILED)


def group_lives(leader):
    """Whether a process of the group is left."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True

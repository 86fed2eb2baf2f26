"""`sluice add`: a policy of the library is copied with its tests, nothing is overwritten, and the next step is said."""

import json
from pathlib import Path

import pytest

from tests.offline.running import invoke
from webhook.cli import exits
from webhook.cli.commands.policies.add import add_command
from webhook.cli.commands.policies.test import test as suites_command
from webhook.cli.completions import library_policies
from webhook.policy.loading.shipped import library_names


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_copy_is_complete_and_passes():
    """All files of the folder are there, and the suite passes where they are."""
    done = invoke(add_command, "whole-nodes", "team-quota")
    assert done.exit_code == exits.PASSED
    assert done.stdout.splitlines() == [
        "wrote policies/whole-nodes/policy.yaml",
        "wrote policies/whole-nodes/suite.yaml",
        "wrote policies/team-quota/cases/cluster.yaml",
        "wrote policies/team-quota/policy.yaml",
        "wrote policies/team-quota/suite.yaml",
        "",
        "next:",
        "  set the parameters in policies/whole-nodes/policy.yaml: resource, sizes",
        "  set the parameters in policies/team-quota/policy.yaml: resource, most, namespaces",
        "  add to queueRules in .sluice.yaml: team-quota",
        "  sluice test policies/whole-nodes policies/team-quota",
    ]
    assert invoke(suites_command, "policies/whole-nodes", "policies/team-quota").exit_code == exits.PASSED


def test_what_is_there_stays():
    """A file that was changed is kept, and said to be; `--force` writes it anew."""
    invoke(add_command, "readiness-probes")
    mine = Path("policies/readiness-probes/policy.yaml")
    written = mine.read_text()
    mine.write_text("mine")
    kept = invoke(add_command, "readiness-probes")
    assert kept.exit_code == exits.NOTHING_TO_RUN
    assert "kept  policies/readiness-probes/policy.yaml (already exists; use --force to overwrite)" in kept.stdout
    assert (mine.read_text(), "next:" in kept.stdout) == ("mine", False)
    assert invoke(add_command, "readiness-probes", "--force").exit_code == exits.PASSED
    assert mine.read_text() == written


@pytest.mark.parametrize(
    ("settings", "options", "folder"),
    [
        (None, (), "policies"),
        ("policies: [sluice.dev/gpu-integer, rules, other]", (), "rules"),
        ("policies: [rules]", ("--to", "other"), "other"),
    ],
)
def test_where_it_goes(settings, options, folder):
    """Into the first folder of the repository's own that `.sluice.yaml` names, or where `--to` says."""
    for name in ("rules", "other"):
        Path(name).mkdir()
    if settings:
        Path(".sluice.yaml").write_text(settings)
    invoke(add_command, "readiness-probes", *options)
    assert Path(folder, "readiness-probes/policy.yaml").is_file()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("whole-node",), 'no policy "whole-node" in the library; did you mean "whole-nodes"?'),
        (("xyz-unlike-any",), "`sluice add --list` shows the policies of the library"),
        ((), "no policy given; `sluice add --list` shows the policies of the library"),
    ],
)
def test_mistakes(args, said):
    """An unknown name gets the nearest one, none gets the list."""
    done = invoke(add_command, *args)
    assert (done.exit_code, said in done.stderr) == (exits.BAD_INPUT, True)


def test_the_list():
    """A line for each policy; as JSON with its parameters."""
    lines = invoke(add_command, "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == library_names()
    rows = json.loads(invoke(add_command, "--list", "-o", "json").stdout)
    assert next(row for row in rows if row["name"] == "run-time")["parameters"] == ["most"]


def test_names_are_completed():
    """A shell offers the names that begin so."""
    assert library_policies(None, None, "pod-sec") == ["pod-security-baseline", "pod-security-restricted"]

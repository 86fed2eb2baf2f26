"""The policies of the library: each tested, documented, bound and clean, and none in force by itself."""

from pathlib import Path

import pytest

from tests.offline.running import invoke
from tests.policy.support import request
from tests.shared import ROOT
from webhook.admission import review
from webhook.admission.memory_facts import MemoryFacts
from webhook.cli import exits
from webhook.cli.commands.policies.lint import lint_command
from webhook.kube.typed.defaulted import defaulted
from webhook.offline.scaffold.library import LibraryPolicy, described, library
from webhook.offline.suite.session import run_session
from webhook.policy.loading.load_bundle import NOT_IN_FORCE, files_of, load_bundle
from webhook.policy.loading.shipped import library_names, located, references

LIBRARY = Path(ROOT, "policies/library")
NAMES = [policy.name for policy in library()]


def test_there_is_something_to_choose_from():
    """Forty policies, of all three kinds."""
    assert len(NAMES) >= 40
    assert {policy.kind for policy in library()} == {"validates", "mutates", "queue rule"}


@pytest.mark.parametrize("name", NAMES)
def test_suite_passes_and_covers_every_branch(name):
    """The suite passes, and no rule or branch of the policy is left that it never runs."""
    session = run_session([LIBRARY / name])
    assert [f.render() for result in session.results for f in result.findings] == []
    missed = [branch.finding for branch in session.missed]
    assert [f.render() for f in missed if f"library/{name}/" in f.place.file] == []
    assert len(session.results) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_named_bound_and_documented(name):
    """All of a folder has its name, and the policy says what it does in a sentence."""
    bundle = load_bundle([LIBRARY / name])
    policies = [*bundle.policies, *bundle.queue_policies]
    assert bundle.notes == ()
    assert all(policy.bindings for policy in bundle.policies)
    assert {d.at(("metadata", "name")) for d in (p if hasattr(p, "at") else p.document for p in policies)} == {name}
    assert described(name).docs.endswith((".", "`"))


@pytest.fixture(scope="module")
def everything():
    return load_bundle([LIBRARY])


@pytest.mark.parametrize("spec", [{}, {"containers": None}, {"containers": []}])
@pytest.mark.parametrize(
    "kind", ["v1 Pod", "batch/v1 Job", "batch/v1 CronJob", "apps/v1 Deployment", "kubeflow.org/v1 PyTorchJob"]
)
def test_none_ends_in_an_error_without_containers(everything, kind, spec):
    """Kubernetes refuses such a Pod before a validating policy sees it; a template of a custom kind is not refused."""
    template = {"template": {"spec": spec}}
    job = {"pytorchReplicaSpecs": {"Worker": template}, "jobTemplate": {"spec": template}, **template, **spec}
    version, name = kind.split()
    sent = defaulted({"apiVersion": version, "kind": name, "metadata": {"name": "o", "namespace": "ml"}, "spec": job})
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    verdict = review(request(sent), everything, MemoryFacts([space, *everything.objects]))
    assert verdict.policies
    assert [text for text in (*verdict.denials, *verdict.warnings) if "resulted in error" in text] == []


def test_lint_finds_nothing():
    """The rules of lint hold for the library, beside the policy that writes down who sent a job."""
    done = invoke(lint_command, str(LIBRARY), str(ROOT / "policies/job-user"), "--strict")
    assert (done.exit_code, done.stdout.splitlines()[-1][:11]) == (exits.PASSED, "no findings")


def test_none_is_in_force_by_itself():
    """Whoever loads all shipped policies gets none of the library; naming it, or one of it, does."""
    assert not [file for file in files_of([ROOT / "policies"], []) if LIBRARY in file.parents]
    assert len(list(files_of([LIBRARY], []))) == len(NAMES)
    assert not {f"sluice.dev/{name}" for name in NAMES} & set(references())


def test_a_folder_set_apart(tmp_path):
    """A folder with the mark is left out with all below it, from above; the folders beside it are not."""
    for folder in ("used", "drafts", "drafts/deep"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "policy.yaml").write_text("")
    (tmp_path / "drafts" / NOT_IN_FORCE).write_text("")
    named = [tmp_path, tmp_path / "drafts", tmp_path / "drafts/deep"]
    assert [len(list(files_of([folder], []))) for folder in named] == [1, 2, 1]


def test_parameters_are_told():
    """The parameters of a ConfigMap and of a rule file are read from them."""
    assert described("whole-nodes").parameters == ("resource", "sizes")
    assert described("fair-weeks") == LibraryPolicy(
        "fair-weeks",
        "queue rule",
        "Gives what comes free to the queue that used least of its weight in the last week. Parameter `resource`.",
        (),
    )


def test_a_reference_says_how_to_get_it():
    """What is no shipped policy and stands in the library has a way to be had."""
    with pytest.raises(ValueError, match="`sluice add readiness-probes` copies it"):
        located("sluice.dev/readiness-probes")
    assert library_names() == NAMES

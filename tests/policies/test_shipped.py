"""The shipped policies as a whole: their suites, every branch, idempotence, the order of files, no GPU in Python."""

import itertools
import re
from pathlib import Path

import jsonpatch
import pytest
import yaml

from tests.offline.running import invoke
from tests.policy.support import request
from tests.shared import ROOT
from webhook.admission import mutate, review
from webhook.admission.memory_facts import MemoryFacts
from webhook.cli.commands.policies.lint import lint_command
from webhook.jobs.read_job import read_job
from webhook.kube.equality import same
from webhook.offline.suite.session import run_session
from webhook.policy import load_bundle
from webhook.policy.loading.load_bundle import files_of

FOLDERS = sorted(p for p in Path(ROOT, "policies").iterdir() if p.is_dir() and p.name not in ("queue", "library"))
LIMIT_RANGE = yaml.safe_load(Path(ROOT, "policies/limit-range/cases/article-002.yaml").read_text())
NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "default", "annotations": {"sluice.dev/default-queue": "team-a"}},
}


@pytest.fixture(scope="module")
def shipped():
    """All shipped admission policies as one bundle."""
    return load_bundle(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_suite_passes_and_covers_every_branch(folder):
    """Each policy's suite passes, and no rule or branch of an expression is left that it never runs."""
    session = run_session([folder])
    assert [f.render() for r in session.results for f in r.findings] == []
    assert [branch.finding.render() for branch in session.missed] == []
    assert len(session.results) >= 5


def container(name, **resources):
    return {"name": name, "image": "i", "resources": resources}


def pod_spec(*containers):
    return {"containers": list(containers)}


JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j", "namespace": "default"},
    "spec": {"template": {"spec": pod_spec(container("c", requests={"nvidia.com/gpu": 2}))}},
}
PYTORCH = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "p", "namespace": "default", "annotations": {"kueue.x-k8s.io/queue-name": "q"}},
    "spec": {
        "pytorchReplicaSpecs": {
            "Master": {"template": {"spec": pod_spec(container("m"), container("n", limits={"nvidia.com/gpu": 1}))}},
            "Worker": {
                "replicas": 3,
                "template": {
                    "spec": {
                        **pod_spec(container("w", limits={"cpu": 1, "amd.com/gpu": 1})),
                        "initContainers": [container("i", requests={"nvidia.com/mig-1g.5gb": 1})],
                    }
                },
            },
        }
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": pod_spec(container("c")),
}
OBJECTS = [JOB, PYTORCH, POD]


@pytest.mark.parametrize("facts", [[], [NAMESPACE], [NAMESPACE, {**LIMIT_RANGE}]], ids=["bare", "queue", "limits"])
@pytest.mark.parametrize("obj", OBJECTS, ids=lambda o: o["kind"])
def test_twice_is_once(shipped, obj, facts):
    """The whole bundle on its own result changes nothing, article 002's LimitRange present or not."""
    world = MemoryFacts([*shipped.objects, *facts])
    first = mutate(request(obj), shipped, world)
    assert first.allowed
    assert first.oscillating == ()
    after = first.object
    assert same(jsonpatch.apply_patch(obj, [s.wire() for s in first.patch]), after)
    assert mutate(request(after), shipped, world).patch == ()


PLAIN = {
    "Pod": {"apiVersion": "v1", "kind": "Pod", "spec": pod_spec(container("c"))},
    "Deployment": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"template": {"spec": pod_spec(container("c"))}},
    },
    "StatefulSet": {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "spec": {"template": {"spec": pod_spec(container("c"))}},
    },
    "LeaderWorkerSet": {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": pod_spec(container("c"))}}},
    },
}
DEFAULTS = [
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "default", "namespace": "default"},
    },
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "default"},
        "value": 1,
    },
]
NAMED = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "integrations": {"frameworks": ["pod", "deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"]},
}
LABELS = {"kueue.x-k8s.io/queue-name": "default", "kueue.x-k8s.io/priority-class": "default"}
WAITS = re.compile("kueue.x-k8s.io/(admission|pod-suspending-parent)")


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_pods_get_the_default_queue_and_class_and_wait(shipped, kind):
    """In one review, as with Kueue: the queue that one policy gives is seen by those that hold."""
    obj = {**PLAIN[kind], "metadata": {"name": "a", "namespace": "default"}}
    verdict = mutate(request(obj), shipped, MemoryFacts([*shipped.objects, *DEFAULTS, NAMED]))
    labels = verdict.object["metadata"]["labels"]
    assert {key: labels.get(key) for key in LABELS} == LABELS
    assert WAITS.search(str(verdict.object["spec"]))
    assert verdict.oscillating == ()


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_pods_are_not_held_by_a_default_queue_alone(shipped, kind):
    """Where no settings name the kinds that are queued, a LocalQueue named default is for jobs."""
    obj = {**PLAIN[kind], "metadata": {"name": "a", "namespace": "default"}}
    verdict = mutate(request(obj), shipped, MemoryFacts([*shipped.objects, *DEFAULTS]))
    assert "labels" not in verdict.object["metadata"]
    assert not WAITS.search(str(verdict.object["spec"]))


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_pods_are_free_where_their_namespace_says_so(shipped, kind):
    """The label sluice.dev/plain-pods=free is the way out of a default queue."""
    space = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "default", "labels": {"sluice.dev/plain-pods": "free"}},
    }
    obj = {**PLAIN[kind], "metadata": {"name": "a", "namespace": "default"}}
    verdict = mutate(request(obj), shipped, MemoryFacts([*shipped.objects, *DEFAULTS, NAMED, space]))
    assert "labels" not in verdict.object["metadata"]
    assert not WAITS.search(str(verdict.object["spec"]))


def test_article_002_gives_every_container_a_gpu(shipped):
    """With the article's LimitRange a Job without GPUs gets one, with toleration, queue and suspend, in one pass."""
    verdict = review(request(JOB), shipped, MemoryFacts([*shipped.objects, NAMESPACE, LIMIT_RANGE]))
    spec = verdict.object["spec"]["template"]["spec"]
    assert verdict.allowed, verdict.message
    assert verdict.object["spec"]["suspend"] is True
    assert verdict.object["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team-a"}
    assert spec["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "2"}
    assert [t["key"] for t in spec["tolerations"]] == ["nvidia.com/gpu"]
    assert verdict.warnings == (
        "gpu-defaults: container c requests a GPU without a limit; limit = request was set, "
        "write both to be rid of this warning",
    )


def test_order_of_files_does_not_matter():
    """Loaded in any order, the bundle has the same digest and gives the same patch."""
    orders = list(itertools.islice(itertools.permutations(FOLDERS), 0, 5000, 997))
    bundles = [load_bundle(order) for order in orders]
    assert len({b.digest for b in bundles}) == 1
    patches = [
        [s.wire() for s in mutate(request(PYTORCH), b, MemoryFacts([*b.objects, LIMIT_RANGE])).patch] for b in bundles
    ]
    assert all(p == patches[0] for p in patches)


def test_every_mutating_policy_is_reinvoked(shipped):
    """Shipped mutating policies say reinvocationPolicy IfNeeded, since the order of others is not theirs."""
    assert all(policy.reinvoke for policy in shipped.policies if policy.mutating)


def test_documented_and_bound(shipped):
    """Each shipped policy has a sentence of documentation and a binding, and no notes."""
    assert shipped.notes == ()
    assert all(policy.docs and policy.bindings for policy in shipped.policies)


def test_nothing_about_gpus_is_in_python():
    """GPU resource names and tolerations stand in the files alone."""
    engine = [p for name in ("policy", "admission", "jobs") for p in Path(ROOT, "webhook", name).rglob("*.py")]
    words = re.compile(r"nvidia\.com/(?!gpu: 1`)|amd\.com|NoSchedule")
    assert [str(p) for p in engine if words.search(p.read_text())] == []


def test_suites_and_cases_are_not_loaded():
    """What belongs to tests is no policy file."""
    names = {path.name for path in files_of(FOLDERS, [])}
    assert names == {"policy.yaml"}


def test_seed_manifests_stand(shipped):
    """The articles' manifests go through without an error; what they ask for is described as jobs."""
    seeds = sorted(Path(ROOT, "tests/seeds").glob("0*.yaml"))
    seen = 0
    for file in seeds:
        for obj in yaml.safe_load_all(file.read_text()):
            if isinstance(obj, dict) and obj.get("kind") and read_job(obj):
                verdict = review(request(obj), shipped, MemoryFacts([*shipped.objects, NAMESPACE]))
                assert verdict.code != 500
                seen += 1
    if seeds:
        assert seen


def test_lint_finds_nothing_in_what_is_shipped():
    """The rules of lint hold for our own policies as for anybody's."""
    done = invoke(lint_command, str(ROOT / "policies"))
    assert (done.exit_code, done.stdout.splitlines()[-1][:11]) == (0, "no findings")

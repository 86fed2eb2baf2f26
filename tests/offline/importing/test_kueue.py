"""`sluice import kueue`: the repository decides as the Kueue it was made from, and tells what it cannot carry."""

import json
import re
from pathlib import Path

import pytest

from tests.offline.running import invoke
from tests.shared import ROOT
from webhook import documents
from webhook.api.configuration.read import from_configuration
from webhook.cli import exits
from webhook.cli.commands.policies.import_policies import import_command
from webhook.cli.commands.policies.init import init_command
from webhook.cli.commands.policies.lint import lint_command
from webhook.cli.commands.policies.test import test as suites_command
from webhook.cli.commands.queues.plan import plan
from webhook.config import load
from webhook.diagnostics import SourceError
from webhook.documents import Document
from webhook.offline.importing.kueue import from_kueue

FLAVOR = (
    "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: a100, uid: u-1, resourceVersion: '7'}\n"
)
QUEUES = """---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: TEAM
  creationTimestamp: "2026-01-01T00:00:00Z"
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}
spec:
  cohort: all
  namespaceSelector: {}
  preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: a100
      resources:
      - {name: nvidia.com/gpu, nominalQuota: 4}
status: {pendingWorkloads: 3}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: main, namespace: TEAM}
spec: {clusterQueue: TEAM}
---
apiVersion: v1
kind: Namespace
metadata: {name: TEAM, uid: u-2}
status: {phase: Active}
"""
JOB = """---
apiVersion: batch/v1
kind: Job
metadata:
  name: NAME
  namespace: TEAM
  labels: {kueue.x-k8s.io/queue-name: main}
  creationTimestamp: "2026-01-01T00:00:0AGEZ"
spec:
  parallelism: PODS
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}
"""
PLAIN = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
CONFIGURATIONS = {
    "no configuration": "",
    "all defaults": PLAIN,
    "fair sharing": f"{PLAIN}fairSharing: {{preemptionStrategies: [LessThanOrEqualToFinalShare]}}\n",
    "fair sharing, old": f"{PLAIN.replace('v1beta2', 'v1beta1')}fairSharing: {{enable: true}}\n",
    "undeclared resources": f"{PLAIN}resources: {{quotaCheckStrategy: IgnoreUndeclared}}\n",
    "transformed": f"{PLAIN}resources:\n  excludeResourcePrefixes: [example.com]\n  transformations:\n"
    "  - {input: nvidia.com/gpu, strategy: Replace, outputs: {nvidia.com/gpu: 2}}\n",
    "blocking": f"{PLAIN}waitForPodsReady: {{timeout: 5m, blockAdmission: true}}\n"
    "featureGates: {PartialAdmission: false}\n",
}
AROUND = {
    "limit-ranges": "{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: red},"
    " spec: {limits: [{type: Container, default: {nvidia.com/gpu: 2}}]}}\n",
    "runtime-classes": "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: vm}, handler: vm,"
    " overhead: {podFixed: {nvidia.com/gpu: 2}}}\n",
    "queues": "{apiVersion: kueue.x-k8s.io/v1alpha1, kind: Cohort, metadata: {name: all}, spec: {parent: top}}\n"
    "---\n{apiVersion: kueue.x-k8s.io/v1alpha1, kind: Cohort, metadata: {name: top}, spec: {resourceGroups: ["
    "{coveredResources: [nvidia.com/gpu], flavors: [{name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: 1}"
    "]}]}]}}\n",
}
"""What else decides, by the file that it goes to."""
PROCESS = "health: {healthProbeBindAddress: ':8081'}\nleaderElection: {leaderElect: true}\n"


def objects():
    """Two teams in a cohort, in the older version."""
    return FLAVOR + QUEUES.replace("TEAM", "red") + QUEUES.replace("TEAM", "blue")


def jobs():
    """More jobs than fit, of different sizes."""
    rows = [("red", "one", 6, 1), ("blue", "two", 3, 2), ("red", "three", 2, 3), ("blue", "four", 1, 4)]
    texts = (
        JOB.replace("TEAM", t).replace("NAME", n).replace("PODS", str(p)).replace("AGE", str(a)) for t, n, p, a in rows
    )
    last = "nvidia.com/gpu: 1}"  # the last one asks for what no queue has a quota of
    return last.replace("}", ", example.com/slice: 1}").join("".join(texts).rsplit(last, 1))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty folder."""
    monkeypatch.chdir(tmp_path)


def decisions(*arguments):
    """What `plan` decides, as data."""
    done = invoke(plan, *arguments, "-o", "json", "--now", "2026-01-01T00:01:00Z")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_the_repository_decides_as_the_input_does(configuration, monkeypatch):
    """Under every strategy: the same jobs are admitted, and the others wait for the same reasons."""
    Path("kueue.yaml").write_text(objects() + (f"---\n{configuration}{PROCESS}" if configuration else ""))
    Path("jobs.yaml").write_text(jobs())
    before = decisions("-f", "kueue.yaml", "-f", "jobs.yaml")
    done = invoke(import_command, "kueue", "kueue.yaml", "-o", "made")
    assert done.exit_code == exits.PASSED, done.stdout + done.stderr
    monkeypatch.chdir("made")
    assert decisions("-f", "cluster", "-f", "../jobs.yaml") == before
    assert before["admitted"]
    assert before["pending"]
    assert invoke(suites_command).exit_code == 0
    linted = invoke(lint_command, "policies", "cluster")
    assert linted.exit_code == 0, linted.stdout


@pytest.mark.parametrize("file", AROUND)
def test_what_is_around_the_queues_decides_too(file, monkeypatch):
    """Limits of namespaces, overheads of runtimes and Cohorts of the first version: the repository had none of them."""
    job = JOB.replace("TEAM", "red").replace("AGE", "1")
    plain, vm = "resources: {limits: {nvidia.com/gpu: 1}}", "runtimeClassName: vm\n      restartPolicy"
    asks = {"queues": {}, "limit-ranges": {plain: "resources: {}"}, "runtime-classes": {"restartPolicy": vm}}[file]
    for old, new in asks.items():
        job = job.replace(old, new)
    sizes = "".join(job.replace("NAME", f"pods-{pods}").replace("PODS", str(pods)) for pods in range(1, 12))
    Path("jobs.yaml").write_text(sizes)
    Path("plain.yaml").write_text(objects())
    Path("kueue.yaml").write_text(f"{objects()}---\n{AROUND[file]}")
    before = decisions("-f", "kueue.yaml", "-f", "jobs.yaml")
    assert before != decisions("-f", "plain.yaml", "-f", "jobs.yaml")
    done = invoke(import_command, "kueue", "kueue.yaml", "-o", "made")
    assert done.exit_code == exits.PASSED, done.stdout + done.stderr
    assert Path(f"made/cluster/{file}.yaml").is_file()
    monkeypatch.chdir("made")
    assert decisions("-f", "cluster", "-f", "../jobs.yaml") == before
    linted = invoke(lint_command, "policies", "cluster")
    assert "0 errors" in linted.stdout or linted.exit_code == 0, linted.stdout
    assert invoke(suites_command).exit_code == 0


@pytest.mark.parametrize("configuration", [text for text in CONFIGURATIONS.values() if text])
def test_serve_has_the_settings_of_kueue(configuration):
    """What `.sluice.yaml` names comes to the very settings of the Configuration."""
    Path("config.yaml").write_text(configuration + PROCESS)
    assert invoke(import_command, "kueue", "config.yaml").exit_code == exits.PASSED
    told = []
    config = load(Path(".sluice.yaml"), {}, {}, told)
    (document,) = documents.read(configuration)
    assert config.queues == from_configuration(document)[0]
    assert config.queue_rules == (("kueue-fair",) if config.queues.fair_sharing else ("kueue",))
    assert told == []


def test_what_is_written_is_for_people():
    """Nothing of what only the cluster knows, the stored version, and a Namespace only where a LocalQueue is."""
    Path("kueue.yaml").write_text(
        objects() + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n"
        "---\napiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: other}\nspec: {limits: []}\n"
    )
    assert invoke(import_command, "kueue", "kueue.yaml").exit_code == exits.PASSED
    texts = {path.name: path.read_text() for path in Path("cluster").iterdir()}
    assert set(texts) == {"flavors.yaml", "queues.yaml", "local-queues.yaml", "namespaces.yaml"}
    for unwanted in ("uid", "status", "resourceVersion", "last-applied", "v1beta1", "creationTimestamp", "other"):
        assert not any(unwanted in text for text in texts.values()), unwanted
    assert "cohortName: all" in texts["queues.yaml"]
    assert ".github" in {path.name for path in Path().iterdir()}
    assert "2 ClusterQueue" in Path("README.md").read_text()


def test_what_cannot_go_over_is_told():
    """With file, line and way out, in the README as well; the exit code says that something was told."""
    Path("kueue.yaml").write_text(
        objects().replace("  name: red\n", "  name: red\n", 1)
        + """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: racks}
spec: {topologyName: racks}
"""
        + f"---\n{PLAIN}multiKueue: {{gcInterval: 1m}}\nresources: {{deviceClassMappings: []}}\n"
    )
    done = invoke(import_command, "kueue", "kueue.yaml")
    assert done.exit_code == exits.FAILED
    told = [line for line in done.stdout.splitlines() if line.startswith("kueue.yaml:")]
    assert len(told) == 3, told
    assert "ResourceFlavor racks: spec.topologyName uses topology aware scheduling" in done.stdout
    assert "multiKueue is not used" in done.stdout
    assert "topology aware scheduling" in Path("README.md").read_text()


def test_the_config_map_of_kueue_is_read():
    """As it stands in a cluster; a mistake in it is told at its place."""
    inner = "".join(f"    {line}\n" for line in CONFIGURATIONS["fair sharing"].splitlines())
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: kueue-manager-config}}\ndata:\n  KEY: |\n{inner}"
    Path("map.yaml").write_text(text.replace("KEY", "controller_manager_config.yaml"))
    assert invoke(import_command, "kueue", "map.yaml").exit_code == exits.PASSED
    assert "kueue-fair" in Path(".sluice.yaml").read_text()
    Path("configuration.yaml").write_text("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n")
    for files in (("configuration.yaml", "map.yaml"), ("map.yaml", "configuration.yaml")):
        assert invoke(import_command, "kueue", *files, "--force").exit_code == exits.PASSED
        assert "kueue-fair" not in Path(".sluice.yaml").read_text()
    Path("map.yaml").write_text(Path("map.yaml").read_text().replace("LessThanOrEqualToFinalShare", "Less"))
    done = invoke(import_command, "kueue", "map.yaml", "--force")
    assert done.exit_code == exits.BAD_INPUT
    assert "map.yaml (controller_manager_config.yaml):3:" in done.stderr
    assert "'Less' is not one of" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], exits.BAD_INPUT, "give either PATHS or --live"),
        (["nothing.yaml"], exits.NOTHING_TO_RUN, "no queues and no Configuration of Kueue"),
        (["nothing.yaml", "--context", "c"], exits.BAD_INPUT, "--kubeconfig and --context require --live"),
    ],
)
def test_mistakes_are_told(arguments, code, words):
    """What was not given, or has no Kueue in it."""
    Path("nothing.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    done = invoke(import_command, "kueue", *arguments)
    assert (done.exit_code, words in done.stderr) == (code, True), done.stderr


def test_init_takes_a_kueue_in_place_of_samples():
    """`init --from-kueue` writes the same files; those that are there stay."""
    Path("kueue.yaml").write_text(objects())
    assert invoke(init_command, "a", "--from-kueue", "kueue.yaml").exit_code == exits.PASSED
    assert invoke(import_command, "kueue", "kueue.yaml", "-o", "b").exit_code == exits.PASSED
    a, b = ({p.relative_to(top): p.read_bytes() for p in Path(top).rglob("*") if p.is_file()} for top in ("a", "b"))
    assert a == b
    done = invoke(init_command, "a", "--from-kueue", "kueue.yaml")
    assert done.exit_code == exits.BAD_INPUT
    assert "kept  " in done.stderr
    assert "already exists; use --force" in done.stderr


def test_the_seeds_go_over(monkeypatch):
    """The queues of an article, as its author wrote them, with the decision about its jobs."""
    seed = ROOT / "tests" / "seeds" / "003-kueue-two-teams.yaml"
    before = decisions("-f", str(seed))
    assert invoke(import_command, "kueue", str(seed), "-o", "made", "--ci", "none").exit_code == exits.PASSED
    monkeypatch.chdir("made")
    Path("jobs.yaml").write_text(
        "---\n".join(documents.dump(d.value) for d in documents.read(seed.read_text()) if d.value["kind"] == "Job")
    )
    after = decisions("-f", "cluster", "-f", "jobs.yaml")
    assert after == before
    assert Document(before, "").at(("admitted", 0))


def test_a_kind_that_is_no_string_is_passed_over(tmp_path):
    """A document that is no object ends no import in a traceback."""
    (tmp_path / "state.yaml").write_text("apiVersion: v1\nkind: {a: b}\nmetadata: {name: a}\n")
    done = invoke(import_command, "kueue", str(tmp_path / "state.yaml"), "--to", str(tmp_path / "out"))
    assert done.exit_code == exits.NOTHING_TO_RUN


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("spec: {clusterQueue: red}", "spec: x"),
        ("spec: {clusterQueue: red}", "spec: {clusterQueue: [red]}"),
        ("spec: {clusterQueue: red}", "status: {fairSharing: [1]}"),
        ("namespace: red}", "namespace: red, annotations: [a]}"),
        ("namespace: red}", "namespace: 2}"),
        ("resourceGroups:", "resourceGroups: x\n  other:"),
    ],
)
def test_a_field_of_a_wrong_type_is_told_at_its_place(field, wrong):
    """As `plan` tells it; nothing is written."""
    text = (objects().replace("v1beta1", "v1beta2")).replace(field, wrong, 1)
    assert wrong in text
    Path("kueue.yaml").write_text(text)
    done = invoke(import_command, "kueue", "kueue.yaml")
    assert done.exit_code == exits.BAD_INPUT, done.output
    assert "kueue.yaml:" in done.stderr


WRONG_VALUES = [
    ("nominalQuota: 4", "nominalQuota: abc", "QUE007", "a number with a suffix such as m, k, Ki, Mi or Gi"),
    ("nominalQuota: 4", "nominalQuota: -4", "QUE007", "write 0 or more"),
    ("nominalQuota: 4", "nominalQuota: [4]", "SCH002", "a number with a suffix"),
    ("[nvidia.com/gpu]", "[nvidia.com/gpus]", "QUE005", 'did you mean "nvidia.com/gpus"?'),
    ("reclaimWithinCohort: Any", "reclaimWithinCohort: any", "SCH004", 'write "Any"'),
    ("withinClusterQueue: LowerPriority", "withinClusterQueue: Lower", "SCH004", "one of LowerOrNewerEqualPriority, "),
    (
        "preemption: {",
        "flavorFungibility: {whenCanBorrow: [Borrow]}\n  preemption: {",
        "SCH002",
        "is a list, expected a string",
    ),
    ("namespaceSelector: {}", "stopPolicy: Holdd\n  namespaceSelector: {}", "SCH004", 'did you mean "Hold"?'),
    ("namespaceSelector: {}", "namespaceSelector: {matchLabels: {a: 1}}", "SCH002", 'write "1"'),
]
"""What stands in the objects, a value that no cluster stores in its place, the code and the way out."""


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize(("right", "wrong", "code", "way"), WRONG_VALUES)
def test_a_wrong_value_is_refused_at_its_place(version, right, wrong, code, way):
    """The repository with it could not be used: nothing is written."""
    text = objects().replace(right, wrong, 1)
    if version == "v1beta2":
        text = text.replace("v1beta1", version).replace("cohort: all", "cohortName: all").replace("[Borrow]", "[Try]")
    Path("kueue.yaml").write_text(text)
    done = invoke(import_command, "kueue", "kueue.yaml", "--to", "made")
    assert done.exit_code == exits.BAD_INPUT, done.output
    first = done.stderr.partition("\n")[0]
    assert re.match(rf"kueue\.yaml:\d+:\d+: error\[{code}\]: ", first), first
    assert way in done.stderr
    assert [path.name for path in Path().iterdir()] == ["kueue.yaml"]


def test_a_wrong_value_of_a_live_cluster_is_told_with_its_object():
    """It has no file and line."""
    (_, *found) = documents.read(objects().replace("nominalQuota: 4", "nominalQuota: abc", 1))
    with pytest.raises(SourceError, match=r'^the cluster: error\[QUE007\]: ClusterQueue "red": nominalQuota is not a'):
        from_kueue(Document(document.value, "the cluster") for document in found)


def test_a_part_of_a_device_goes_over():
    """Kueue takes 7.5 GPUs and counts 8, and `sluice lint --fix` writes the 8."""
    Path("kueue.yaml").write_text(objects().replace("nominalQuota: 4", "nominalQuota: 7500m"))
    assert invoke(import_command, "kueue", "kueue.yaml", "--to", "made").exit_code == exits.PASSED
    assert invoke(lint_command, "made/cluster", "--fix").exit_code == exits.PASSED


def test_a_kueue_without_local_queues_makes_a_repository_that_can_be_used(monkeypatch):
    """What is printed as the next steps works: the folder of policies is there."""
    kept = [d.value for d in documents.read(objects()) if d.value["kind"] != "LocalQueue"]
    Path("kueue.yaml").write_text("---\n".join(map(documents.dump, kept)))
    assert invoke(import_command, "kueue", "kueue.yaml", "-o", "made").exit_code == exits.PASSED
    monkeypatch.chdir("made")
    assert invoke(lint_command, "policies", "cluster").exit_code == exits.PASSED
    assert "1 passed" in invoke(suites_command).stdout


def test_a_local_queue_without_a_namespace_is_in_the_default_one(monkeypatch):
    """As `plan` reads it, and `kubectl apply` without `-n` makes it."""
    Path("kueue.yaml").write_text(FLAVOR + QUEUES.replace(", namespace: TEAM", "").replace("TEAM", "red"))
    assert invoke(import_command, "kueue", "kueue.yaml", "-o", "made").exit_code == exits.PASSED
    assert "namespace: default" in Path("made/cluster/local-queues.yaml").read_text()
    monkeypatch.chdir("made")
    assert invoke(suites_command).exit_code == 0


def test_an_object_of_another_version_is_told():
    """It may have other fields, and no CRD of Sluice serves it: it was written as it is."""
    check = "apiVersion: kueue.x-k8s.io/v1alpha1\nkind: AdmissionCheck\nmetadata: {name: all}\n---\n"
    Path("kueue.yaml").write_text(check + objects())
    done = invoke(import_command, "kueue", "kueue.yaml")
    assert done.exit_code == exits.FAILED
    told = "kueue.yaml:1:13: not imported: AdmissionCheck all: version v1alpha1 is not read, only v1beta2 and v1beta1"
    assert told in done.stdout.splitlines()
    assert not Path("cluster/checks.yaml").exists()

"""`plan`: decisions over files, in every form it prints."""

import json

import pytest
import yaml
from click.testing import CliRunner

from tests.offline.running import invoke
from tests.shared import shared
from webhook import documents
from webhook.api.configuration.read import settings_among
from webhook.cli import exits
from webhook.cli.commands.queues.plan import plan
from webhook.offline.plan import tables

NOW = "2026-01-15T12:00:00Z"
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: gpus}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: lab}
spec: {clusterQueue: gpus}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
"""


def job(name, gpus, created, **labels):
    return f"""
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  namespace: lab
  creationTimestamp: {created}
  labels: {json.dumps({"kueue.x-k8s.io/queue-name": "team", **labels})}
spec:
  suspend: true
  template:
    spec:
      containers:
      - name: c
        resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""


STATE = QUEUES + job("first", 6, "2026-01-15T09:00:00Z") + job("second", 4, "2026-01-15T10:00:00Z")


def run(*arguments, text=STATE):
    result = CliRunner().invoke(plan, ["-f", "-", "--now", NOW, *arguments], input=text)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    "text", ["just a string", "[]", "5", "kind: Job", "{apiVersion: v1, kind: List, items: [5]}",
             "{apiVersion: v1, kind: Pod, metadata: foo}"],
)  # fmt: skip
def test_what_is_no_object_is_told(text):
    """A file that holds nothing to decide about is a mistake, not a cluster without jobs."""
    done = invoke(plan, "-f", "-", stdin=text)
    assert (done.exit_code, "<stdin>:1:" in done.stderr, "LOAD002" in done.stderr) == (exits.BAD_INPUT, True, True)


@pytest.mark.parametrize(
    ("field", "wrong", "told"),
    [
        ("nominalQuota: 8", "nominalQuota: 8x", "15:77: error[QUE007]: nominalQuota is not a valid quantity: '8x'"),
        ("cohort: all", "cohort: [all]", "11:11: error[SCH002]: spec.cohort is a list, expected a string"),
    ],
)
def test_a_wrong_value_of_a_queue_is_told_at_its_place(field, wrong, told):
    """As the linter tells it."""
    text = QUEUES.replace("  preemption:", "  cohort: all\n  preemption:").replace(field, wrong)
    done = invoke(plan, "-f", "-", stdin=text)
    assert (done.exit_code, done.stderr.partition("\n")[0]) == (exits.BAD_INPUT, f"<stdin>:{told}")


def test_a_namespace_that_is_null_is_the_default():
    """An empty value of a template, say: the job goes by its own name all the same."""
    text = STATE.replace("namespace: lab", "namespace: null")
    assert json.loads(run("-o", "json", text=text))["admitted"][0]["job"] == "Job default/first"


def test_the_first_job_is_admitted_and_the_second_told_what_is_missing():
    """JSON: flavors and amounts of what is admitted, numbers and holders of what waits, jobs by their own names."""
    made = json.loads(run("-o", "json"))
    (admitted,) = made["admitted"]
    assert (admitted["job"], admitted["clusterQueue"], admitted["state"]) == ("Job lab/first", "gpus", "Admitted")
    assert admitted["podSets"][0]["resourceUsage"] == {"nvidia.com/gpu": "6"}
    (pending,) = made["pending"]
    assert (pending["job"], pending["reason"], pending["position"]) == ("Job lab/second", "WaitingForQuota", 1)
    (shortage,) = pending["shortages"]
    assert (shortage["asked"], shortage["free"], shortage["nominal"]) == ("4", "2", "8")
    assert shortage["holders"][0]["amount"] == "6"
    assert made["stable"] is True


def test_the_table_and_yaml_say_the_same():
    """A person reads in one line who holds what; YAML is the JSON document."""
    table = run()
    assert "Job lab/first" in table
    assert "requests 4 nvidia.com/gpu of a100, 2 free; held by Job lab/first 6" in " ".join(table.split())
    assert "1 admitted, 0 preempted, 1 pending" in table
    assert yaml.safe_load(run("-o", "yaml")) == json.loads(run("-o", "json"))


def running(name, gpus):
    return f"""
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {{name: {name}, namespace: lab, uid: {name}, creationTimestamp: "2026-01-15T08:00:00Z"}}
spec:
  queueName: team
  podSets:
  - name: main
    count: 1
    template: {{spec: {{containers: [{{name: c, resources: {{requests: {{nvidia.com/gpu: {gpus}}}}}}}]}}}}
status:
  admission:
    clusterQueue: gpus
    podSetAssignments:
    - {{name: main, count: 1, flavors: {{nvidia.com/gpu: a100}}, resourceUsage: {{nvidia.com/gpu: {gpus}}}}}
  conditions:
  - {{type: QuotaReserved, status: "True", reason: R, message: m, lastTransitionTime: "2026-01-15T08:00:00Z"}}
"""


def test_a_resource_without_a_flavor_is_told_without_one():
    """What no flavor of the queue has is told by its name; where a flavor would stand, nothing does."""
    asking = job("cpus", 1, "2026-01-15T10:00:00Z").replace("nvidia.com/gpu", "cpu")
    done = CliRunner().invoke(plan, ["-f", "-", "--now", NOW], input=QUEUES + asking, env={"COLUMNS": "200"})
    assert "main: resource cpu unavailable in ClusterQueue" in done.stdout


def test_a_table_of_all_that_waits_ends_where_nobody_reads_on(monkeypatch):
    monkeypatch.setattr(tables, "MOST_ROWS", 1)
    jobs = "".join(job(f"j{number}", 8, f"2026-01-15T0{number}:00:00Z") for number in range(4))
    done = CliRunner().invoke(plan, ["-f", "-", "--now", NOW], input=QUEUES + jobs)
    assert "Job lab/j1" in done.stdout
    assert "Job lab/j2  " not in done.stdout
    assert "2 more not shown; use -o json to list all" in done.stdout


def test_preemption_takes_a_cycle_and_admission_the_next():
    """After one cycle the victim is named and the preemptor waits; until stable the places have changed."""
    text = QUEUES + running("low", 8) + job("urgent", 8, NOW, **{"kueue.x-k8s.io/priority-class": "high"})
    one = json.loads(run("-o", "json", "--cycles", "1", text=text))
    assert [(p["workload"], p["reason"]) for p in one["preempted"]] == [("lab/low", "InClusterQueue")]
    assert [p["reason"] for p in one["pending"]] == ["WaitingForPreemptedWorkloads"]
    assert one["stable"] is False
    end = json.loads(run("-o", "json", text=text))
    assert [a.get("job") for a in end["admitted"]] == ["Job lab/urgent"]
    assert [p["workload"] for p in end["pending"]] == ["lab/low"]


def test_where_run_times_are_known_the_start_is_told():
    """The holder says how long it runs; when it ends, the next can start."""
    first = job("first", 6, "2026-01-15T09:00:00Z").replace(
        "  labels:", '  annotations: {sluice.dev/run-time-seconds: "3600"}\n  labels:'
    )
    text = QUEUES + first + job("second", 4, "2026-01-15T10:00:00Z")
    (pending,) = json.loads(run("-o", "json", text=text))["pending"]
    assert pending["start"] == "2026-01-15T13:00:00Z"
    assert pending["shortages"][0]["holders"][0]["ends"] == "2026-01-15T13:00:00Z"
    assert "earliest start 2026-01-15T13:00:00Z" in run(text=text)


def test_pods_that_are_done_are_not_asked_for_again_in_part():
    """Of a pod set of 3 pods with one done, and one that may start with half of its pods, 2 and 2 of 8 GPUs start."""
    pods = "template: {spec: {containers: [{name: c, resources: {requests: {nvidia.com/gpu: 2}}}]}}"
    halves = f"""
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {{name: halves, namespace: lab, uid: halves, creationTimestamp: "2026-01-15T08:00:00Z"}}
spec:
  queueName: team
  podSets:
  - {{name: whole, count: 3, {pods}}}
  - {{name: part, count: 4, minCount: 2, {pods}}}
status:
  reclaimablePods: [{{name: whole, count: 1}}]
"""
    (admitted,) = json.loads(run("-o", "json", text=QUEUES + halves))["admitted"]
    assert [(p["name"], p["count"]) for p in admitted["podSets"]] == [("whole", 2), ("part", 2)]


def test_cycles_are_those_of_kueue():
    """In a counted cycle one head of each queue is looked at, so two jobs that fit take two."""
    text = QUEUES + job("a", 1, NOW) + job("b", 1, NOW)
    plans = [json.loads(run("-o", "json", *more, text=text)) for more in ((), ("--cycles", "1"), ("--cycles", "9"))]
    assert [(len(made["admitted"]), made["stable"]) for made in plans] == [(2, True), (1, False), (2, True)]


@pytest.mark.parametrize(
    "arguments, text, told",
    [
        (["-f", "-"], "a: [", "YAML001"),
        (["-f", "no-such-file.yaml"], "", "'--file': Path 'no-such-file.yaml' does not exist"),
        ([], "", "kubectl get"),
        (["-f", "-", "--cycles", "many"], STATE, "until-stable"),
        (["-f", "-", "--now", "soon"], STATE, "is not a valid time"),
        (["-f", "-", "--rules", "kueu"], STATE, "kueue"),
        (["--batch", "-"], "{", "not JSON"),
    ],
)
def test_bad_input_is_told_and_ends_with_2(arguments, text, told):
    """A file that cannot be read, no file, and options that mean nothing."""
    result = CliRunner().invoke(plan, arguments, input=text)
    assert result.exit_code == 2
    assert told in result.output


def test_a_plan_of_nothing_is_none(tmp_path):
    """A folder without objects, such as a misspelt one, ends with 3 and says so; a cluster without any is a plan."""
    done = CliRunner().invoke(plan, ["-f", str(tmp_path)])
    assert (done.exit_code, done.stderr) == (3, "sluice plan: no objects in these files\n")
    assert CliRunner().invoke(plan, ["-f", "-"], input="{apiVersion: v1, kind: List, items: []}").exit_code == 0


def test_every_published_case_of_kueue_is_decided_as_kueue_did():
    """All cases of the reference data: admitted, preempted and pending, and place and reason of what waits."""
    cases = [json.loads(p.read_text()) for p in sorted(shared("kueue/cases").glob("*.json"))]
    given = "\n".join(json.dumps({k: v for k, v in c.items() if k != "expect"}) for c in cases)
    result = CliRunner().invoke(plan, ["--batch", "-"], input=given)
    answers = {a["id"]: a for a in map(json.loads, result.output.splitlines())}
    wrong = [c["id"] for c in cases if not agrees(c["expect"], answers[c["id"]])]
    assert wrong == []


def agrees(want, got):
    """The two levels at which the cases are judged."""
    places = {n: (d["queue"], d["reason"]) for n, d in want["pendingDetail"].items()}
    mine = {n: (d["queue"], d["reason"]) for n, d in got["pendingDetail"].items()}
    return (
        flavors(want["admitted"]) == flavors(got["admitted"])
        and want["preempted"] == got["preempted"]
        and sorted(want["pending"]) == got["pending"]
        and places == mine
    )


def flavors(admitted):
    return {
        name: (a["clusterQueue"], sorted((p["name"], p["count"], sorted(p["flavors"].items())) for p in a["podSets"]))
        for name, a in admitted.items()
    }


CONFIGURATIONS = {
    "bare": "\n---\napiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nSECTION\n",
    "ConfigMap": "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: kueue-manager-config}\ndata:\n"
    "  controller_manager_config.yaml: |\n    apiVersion: config.kueue.x-k8s.io/v1beta2\n    kind: Configuration\n"
    "    SECTION\n",
    "ConfigMap in a List": "\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n"
    "  metadata: {name: kueue-manager-config}\n  data:\n    controller_manager_config.yaml: |\n"
    "      {apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration, SECTION}\n",
}
"""How Kueue's settings are found: as their file, and as they stand in a cluster."""


@pytest.mark.parametrize(
    ("section", "decided"),
    [
        ("resources: {quotaCheckStrategy: BlockUndeclared}", "pending"),
        ("resources: {quotaCheckStrategy: IgnoreUndeclared}", "admitted"),
        ("resources: {excludeResourcePrefixes: [example.com/]}", "admitted"),
        ("resources: {transformations: [{input: example.com/x, strategy: Replace}]}", "admitted"),
    ],
)
@pytest.mark.parametrize("form", CONFIGURATIONS)
def test_a_configuration_of_kueue_counts(section, decided, form):
    """Among the objects it says how requests are counted, as in `sluice serve --kueue-config`; in its ConfigMap too."""
    configuration = CONFIGURATIONS[form].replace("SECTION", section)
    work = job("one", 1, "2026-01-15T09:00:00Z").replace("nvidia.com/gpu: 1", "nvidia.com/gpu: 1, example.com/x: 1")
    assert "example.com/x" in work
    done = CliRunner().invoke(plan, ["-f", "-", "--now", NOW], input=QUEUES + work + configuration)
    assert f"1 {decided}" in done.output


def test_a_configuration_counts_before_that_of_a_config_map():
    """In whatever order they are given."""
    bare = CONFIGURATIONS["bare"].replace("SECTION", "resources: {excludeResourcePrefixes: [example.com/]}")
    other = CONFIGURATIONS["ConfigMap"].replace("SECTION", "resources: {}")
    work = job("one", 1, "2026-01-15T09:00:00Z").replace("nvidia.com/gpu: 1", "nvidia.com/gpu: 1, example.com/x: 1")
    for both in (bare + other, other + bare):
        done = CliRunner().invoke(plan, ["-f", "-", "--now", NOW], input=QUEUES + work + both)
        assert "1 admitted" in done.output
        objects = [document.value for document in documents.read(both.strip().removeprefix("---"))]
        settings = settings_among(objects)
        assert settings is not None
        assert settings.resources.exclude_resource_prefixes == ("example.com/",)


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_configuration_that_is_no_yaml_is_told(suffix, tmp_path):
    """At its place in the ConfigMap; other programs keep other files under the same key."""
    text = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: ]\n"
    metadata = {"name": "kueue-manager-config"}
    other = "apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\nresources: 1\n"
    for content, told in ((text, f"map.{suffix} (controller_manager_config.yaml):2:7: error[YAML001]"), (other, "")):
        data = {"controller_manager_config.yaml": content}
        config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        (tmp_path / f"map.{suffix}").write_text(json.dumps(config_map))
        arguments = ["-f", str(tmp_path / f"map.{suffix}")]
        done = CliRunner().invoke(plan, arguments)
        assert (done.exit_code == 2, told in done.output) == (bool(told), True), done.output


def test_names_in_brackets_are_shown_as_they_are(tmp_path):
    """`[a]` in a name or a reason is no mark-up, and `[/b]` no end of one."""
    file = tmp_path / "state.yaml"
    file.write_text(QUEUES + job("'[a]'", 4, NOW) + job("'[/b]'", 4, NOW).replace('"team"', '""'))
    done = CliRunner().invoke(plan, ["-f", str(file), "--now", NOW])
    assert done.exit_code == 0, done.output
    assert "Job lab/[a]" in done.stdout
    assert "not queued (no queue name): Job lab/[/b]" in done.stdout


CHECKED = QUEUES.replace("namespaceSelector: {}", "namespaceSelector: {}\n  admissionChecks: [provision]")
CLASS = {"kueue.x-k8s.io/priority-class": "urgent"}


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (QUEUES + job("a", 1, NOW), []),
        (QUEUES + job("a", 1, NOW, **{"kueue.x-k8s.io/priority-class": "high"}), []),
        (
            QUEUES + job("a", 1, NOW, **CLASS) + job("b", 1, NOW, **CLASS),
            ['no WorkloadPriorityClass "urgent" among the objects: its jobs are ordered without it'],
        ),
        (
            QUEUES + job("a", 1, NOW).replace("containers:", "priorityClassName: batch\n      containers:"),
            ['no PriorityClass "batch" among the objects: its jobs are ordered without it'],
        ),
        (
            QUEUES
            + job("a", 1, NOW).replace("containers:", "priorityClassName: system-node-critical\n      containers:"),
            [],
        ),
        (CHECKED, ['no AdmissionCheck "provision" among the objects: its queues are inactive']),
    ],
)
def test_what_the_files_name_and_do_not_have_is_told(text, notes):
    """A copy of the cluster without some kinds would be decided otherwise, and in silence."""
    done = CliRunner().invoke(plan, ["-f", "-", "--now", NOW], input=text)
    assert (done.exit_code, done.stderr) == (0, "".join(f"note: {note}\n" for note in notes))

"""The chart from the install to the uninstall on a real control plane, with the image's content and the chart's rights.

No administrator helps: what the processes may do is what the chart's roles give their ServiceAccounts.
"""

import base64
import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.client import ApiError, Client
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import with_nodes
from tests.controlplane.metrics import failed_calls
from tests.docs.console import Shell, agrees, steps
from tests.docs.markdown import DOCS, blocks
from tests.e2e import git_sync, previous
from tests.e2e.article003 import Setting, submit
from tests.e2e.history import History
from tests.e2e.node import NAMESPACE, Node
from tests.e2e.release import CHART, VALUES, Release
from tests.e2e.sluice import managed
from tests.e2e.test_documented_commands import kubectl
from tests.image.build import Image
from tests.patience import wait
from webhook.certificates.rotation import authorities

pytestmark = pytest.mark.cluster
CREATORS = 4
"""Who create objects at once while certificates are rotated."""
RECIPE = "A git sidecar, for example:\n\n```yaml\n"


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A control plane of its own: the other tests have a Sluice in theirs."""
    with with_nodes(request.session) as made:
        yield made


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of policies, of which the first commit denies Services."""
    found = tmp_path_factory.mktemp("repository")
    (found / "policies").mkdir()
    (found / "policies" / "services.yaml").write_text(denying("services"))
    return found


def denying(resource: str) -> str:
    """A policy file by which objects named `denied` are denied."""
    return f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: no-{resource}}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [{resource}]}}]
  validations: [{{expression: object.metadata.name != "denied", message: no such {resource}}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: no-{resource}}}
spec: {{policyName: no-{resource}, validationActions: [Deny]}}
"""


@pytest.fixture(scope="module")
def release(
    plane: ControlPlane, image: Image, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Release]:
    """The chart, installed with the git sidecar of its README; its processes have ended when the tests are over."""
    home = tmp_path_factory.mktemp("node")
    node = Node(plane, image, home)
    node.programs["YOUR/git-sync:v4"] = [sys.executable, str(Path(git_sync.__file__))]
    node.elsewhere["https://git.example.com/policies"] = str(repository)
    made = Release(node)
    recipe = (CHART / "README.md").read_text().partition(RECIPE)[2].partition("```")[0]
    (home / "values.yaml").write_text(recipe)
    made.values = (*VALUES, f"--values={home / 'values.yaml'}")
    try:
        made.install()
        # Which policies the sidecar brings, the leader knows first: until then no job is suspended when it is created.
        wait(lambda: all(hook.get("rules") for hook in hooks(made)), "what the policies need is registered")
        yield made
    finally:
        with contextlib.suppress(Exception):
            made.uninstall()
        node.stop()


def refusals(node: Node) -> list[str]:
    """What the API server refused the pods for want of rights."""
    logs: list[Path] = list(node.plane.logs.glob("sluice-*.log"))
    return [line for path in logs for line in path.read_text().splitlines() if "forbidden: User" in line]


def secret(release: Release) -> dict:
    return release.client.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/sluice-tls")


def hooks(release: Release) -> list[dict]:
    root = "/apis/admissionregistration.k8s.io/v1"
    names = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    return [hook for name in names for hook in release.client.get(f"{root}/{name}/sluice")["webhooks"]]


HELM = ("docker ", "helm ")
"""How those commands of the guide begin that the fixture has carried out: an image and a release of this checkout."""
RUNS_LONG = "  template:\n    metadata: {annotations: {sluice.dev/run-seconds: '600'}}\n"
"""How long a pod runs, for what plays the kubelet: it does not read the command."""


def section(title: str, folder: Path) -> Path:
    """A section of the install guide as a page."""
    text = (DOCS / "install.md").read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    page = folder / "section.md"
    page.write_text(text)
    return page


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
    shell = Shell(tmp_path)
    shell.environment |= {"KUBECONFIG": str(release.node.plane.kubeconfig)}
    shell.environment["PATH"] += f":{kubectl().parent}"
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
    assert refusals(release.node) == []


def test_a_job_waits_and_starts(release: Release, plane: ControlPlane) -> None:
    """The README's example: two teams share a quota; Jobs wait, say why, start and complete."""
    client, setting = release.client, Setting("installed", "BestEffortFIFO")
    setting.create(client)
    history = History(plane, setting.teams)
    try:
        submit(client, [setting], 2, 10, 0)
        plane.wait("a Job runs", lambda: any(life.starts for life in history.lives.values()))
        wait(lambda: any("cpu" in told for told in reasons(release, setting)), "a waiting Workload says what it lacks")
        first = "must end first: Job installed-"
        wait(lambda: any(first in told_by(release, "why", job) for job in pending_jobs(release, setting)), "why tells")
        plane.wait("all Jobs are complete", lambda: history.finished(*setting.teams) == 4)
    finally:
        history.close()
    assert {len(life.starts) for life in history.of(*setting.teams)} == {1}
    assert history.peaks["jobs"]["installed"] <= 6
    assert refusals(release.node) == []


class Reviews(threading.Thread):
    """Creates objects that are reviewed and reads some that are converted, all the time, until the end of a block."""

    def __init__(self, client: Client, namespace: str) -> None:
        super().__init__()
        client.apply(managed(namespace))
        self.client, self.namespace, self.over = client, namespace, threading.Event()
        self.made, self.failed = 0, list[str]()

    def __enter__(self) -> "Reviews":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.join()

    def run(self) -> None:
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "r-", "namespace": self.namespace}}
        container = {"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "1"}}}
        job["spec"] = {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
        while not self.over.is_set():
            try:
                self.client.create(job, dry_run=True)
                self.client.items("/apis/kueue.x-k8s.io/v1beta1/clusterqueues")  # converted by the same server
                self.made += 1
            except Exception as error:
                if not isinstance(error, ApiError) or error.status != 429:  # a CRD's storage opens anew: try again
                    self.failed.append(f"{type(error).__name__}: {error}")


def test_an_upgrade_disturbs_nobody(
    release: Release, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """From the release of the previous commit to this one, replicas of both side by side: no review fails, and Jobs
    are started once and complete."""
    client, setting, node = release.client, Setting("upgraded", "BestEffortFIFO"), release.node
    older = previous.previous(tmp_path_factory.mktemp("previous"))
    node.programs["sluice:previous"], node.roots["sluice:previous"] = previous.command(older), older
    release.chart = older / "charts" / "sluice"
    release.install("--set=image.tag=previous")
    assert {pod.image for pod in node.pods.values()} == {"sluice:previous"}
    release.chart = CHART
    setting.create(client)
    history = History(plane, setting.teams)
    try:
        submit(client, [setting], 2, 30, 0)
        plane.wait("a Job runs", lambda: any(life.starts for life in history.lives.values()))
        with Reviews(client, "reviewed") as reviews:
            release.install()
        plane.wait("all Jobs are complete", lambda: history.finished(*setting.teams) == 4)
    finally:
        history.close()
    assert "sluice:previous" not in {pod.image for pod in node.pods.values()}
    assert reviews.failed == []
    assert reviews.made > 20
    assert {len(life.starts) for life in history.of(*setting.teams)} == {1}
    assert history.peaks["jobs"]["upgraded"] <= 6
    assert refusals(node) == []


def denied(release: Release, kind: str, namespace: str = "in-git") -> bool:
    """Whether an object named `denied` is."""
    obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "denied", "namespace": namespace}}
    if kind == "Service":
        obj["spec"] = {"ports": [{"port": 80}]}
    try:
        release.client.create(obj, dry_run=True)
    except ApiError as error:
        return "denied the request" in error.message
    return False


def test_policies_of_a_git_repository_are_called(release: Release, repository: Path) -> None:
    """With the README's sidecar, the first commit is in force; a later one for another kind of object is called too."""
    client = release.client
    client.apply(managed("in-git"))
    wait(lambda: denied(release, "Service"), "the first commit is in force")
    assert not denied(release, "ConfigMap")
    (repository / "policies" / "configmaps.yaml").write_text(denying("configmaps"))
    wait(lambda: denied(release, "ConfigMap"), "the second commit is in force")
    for namespace in ("kube-system", NAMESPACE):
        client.merge(f"/api/v1/namespaces/{namespace}", managed(namespace))
        assert not denied(release, "ConfigMap", namespace)
    for pod in release.node.pods.values():
        wait(lambda pod=pod: "sluice_registration_differs 0.0" in pod.told("/metrics"), "every replica agrees")
        assert "[+]registration ok\n" in pod.told("/readyz?verbose")
    (repository / "policies" / "configmaps.yaml").unlink()
    wait(lambda: not denied(release, "ConfigMap"), "the commit is taken back")
    assert refusals(release.node) == []


def test_an_upgrade_keeps_what_is_registered(release: Release, repository: Path) -> None:
    """The Job that registers knows no policies; at no moment of an upgrade is a denied object let through."""
    assert denied(release, "Service")
    over, let_through = threading.Event(), []

    def ask() -> None:
        while not over.is_set():
            let_through.extend([True] * (not denied(release, "Service")))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        release.install("--set=podAnnotations.changed=for-policies")
    finally:
        over.set()
        asking.join()
    assert let_through == []


def pending_jobs(release: Release, setting: Setting) -> list[list[str]]:
    """The Jobs whose Workloads wait, as `why` is asked for them."""
    return [
        [f"Job/{workload['metadata']['ownerReferences'][0]['name']}", f"--namespace={team}"]
        for team in setting.teams
        for workload in release.client.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{team}/workloads")
        if not workload.get("status", {}).get("admission")
    ]


def told_by(release: Release, command: str, arguments: list[str], kubeconfig: Path | None = None) -> str:
    """What a command of the image says of the cluster, or what is wrong."""
    kubeconfig = kubeconfig or release.node.plane.kubeconfig
    call = [*release.node.image.command, command, *arguments, f"--kubeconfig={kubeconfig}"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else done.stderr


def reasons(release: Release, setting: Setting) -> list[str]:
    """What the Workloads without quota say of it."""
    workloads = [
        workload
        for team in setting.teams
        for workload in release.client.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{team}/workloads")
    ]
    return [c["message"] for workload in workloads for c in workload.get("status", {}).get("conditions") or []
            if (c["type"], c["status"]) == ("QuotaReserved", "False")]  # fmt: skip


def test_certificates_are_rotated_under_load(release: Release) -> None:
    """A new authority is asked for while objects are reviewed all the time: no review fails, the old one is dropped.

    Failures are counted by who creates objects and by the API server, which also counts those that it ignores.
    """
    client = release.client
    old, before = secret(release)["data"], failed_calls(client)
    with contextlib.ExitStack() as stack:
        creators = [stack.enter_context(Reviews(client, "rotated")) for _ in range(CREATORS)]
        path = f"/api/v1/namespaces/{NAMESPACE}/secrets/sluice-tls"
        client.merge(path, {"metadata": {"annotations": {"sluice.dev/rotate": "now"}}})
        wait(lambda: rotated(release, old), "the old authority is trusted no more")
    assert [error for each in creators for error in each.failed] == []
    assert failed_calls(client) == before
    assert min(each.made for each in creators) > 5
    assert secret(release)["data"]["tls.crt"] != old["tls.crt"]
    assert refusals(release.node) == []


def rotated(release: Release, old: dict) -> bool:
    data = secret(release)["data"]
    bundle = base64.b64decode(data["ca.crt"])
    everywhere = {hook["clientConfig"]["caBundle"] for hook in hooks(release)} == {data["ca.crt"]}
    return data["ca.crt"] != old["ca.crt"] and len(authorities(bundle)) == 1 and everywhere


def test_an_upgrade_stores_objects_in_the_current_version(release: Release) -> None:
    """A CRD of an older Sluice stored v1beta1: after an upgrade all is stored in v1beta2, and the CRD says so."""
    client = release.client
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/resourceflavors.kueue.x-k8s.io"
    versions = client.get(path)["spec"]["versions"]
    for version in versions:
        version["storage"] = version["name"] == "v1beta1"
    client.merge(path, {"spec": {"versions": versions}})
    client.apply({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "older"}})
    release.install("--set=podAnnotations.changed=again")
    found = client.get(path)
    assert found["status"]["storedVersions"] == ["v1beta2"]
    assert [v["name"] for v in found["spec"]["versions"] if v["storage"]] == ["v1beta2"]
    config = found["spec"]["conversion"]["webhook"]["clientConfig"]
    assert config["caBundle"] == secret(release)["data"]["ca.crt"]
    assert config["service"]["port"] == 18443
    assert client.get("/apis/kueue.x-k8s.io/v1beta1/resourceflavors/older")["metadata"]["name"] == "older"


def person(release: Release, role: str) -> Path:
    """A kubeconfig with the rights of one of the chart's roles for people."""
    client, name = release.client, f"person-{role}"
    client.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}})
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"sluice-{role}"}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
    client.apply({**binding, "roleRef": reference, "subjects": [subject]})
    return release.node.kubeconfig(release.node.home / name, name)


def test_a_day_is_led_by_commands(release: Release, plane: ControlPlane) -> None:
    """Stop, resume, evict and requeue a queue and a job of the real cluster, with the rights of the chart's roles."""
    client, setting = release.client, Setting("day", "BestEffortFIFO")
    setting.create(client)
    admin, editor, viewer = (person(release, role) for role in ("admin", "editor", "viewer"))
    wait(lambda: "day" in told_by(release, "get", ["queues"], viewer), "the viewer sees the queue")
    assert "forbidden" in told_by(release, "stop", ["day", "--yes"], editor)
    assert "is stopped" in told_by(release, "stop", ["day", "--yes"], admin)
    history = History(plane, setting.teams)
    try:
        (job, other) = submit(client, [setting], 1, 300, 0)
        client.delete(client.path_of(other))  # it would take the quota of the evicted one
        name, space = job["metadata"]["name"], job["metadata"]["namespace"]
        at = [name, f"--namespace={space}"]
        path = f"/apis/batch/v1/namespaces/{space}/jobs/{name}"

        def suspended() -> bool:
            return bool(client.get(path)["spec"].get("suspend"))

        wait(lambda: name in told_by(release, "get", ["workloads", "-A"], viewer), "its Workload is there")
        assert suspended()
        assert "is resumed" in told_by(release, "resume", ["day", "--yes"], admin)
        wait(lambda: not suspended(), "the Job starts")
        assert "(dry run)" in told_by(release, "evict", [*at, "--dry-run"], editor)
        assert "forbidden" in told_by(release, "evict", [*at, "--yes"], viewer)
        assert "is evicted and is held" in told_by(release, "evict", [*at, "--yes"], editor)
        wait(suspended, "the Job is stopped")
        assert "is pending again" in told_by(release, "requeue", [*at, "--yes"], editor)
        wait(lambda: not suspended(), "it starts again")
        requeued = told_by(release, "requeue", [*at, "--yes"], editor)
        assert "is pending again" in requeued, "a running one is stopped first"
        wait(lambda: not suspended(), "and once more")
        assert "day" in told_by(release, "top", ["--once"], viewer)
    finally:
        history.close()
        for team in setting.teams:
            client.delete(f"/api/v1/namespaces/{team}")
    assert refusals(release.node) == []


VERBS = ("get", "list", "create", "patch", "delete")
MAY = {
    ("viewer", "workloads"): "get list",
    ("viewer", "clusterqueues"): "get list",
    ("viewer", "localqueues"): "get list",
    ("editor", "workloads"): "get list patch",
    ("editor", "clusterqueues"): "get list",
    ("editor", "localqueues"): "get list patch",
    ("admin", "workloads"): "get list create patch delete",
    ("admin", "clusterqueues"): "get list create patch delete",
    ("admin", "localqueues"): "get list create patch delete",
    ("admin", "secrets"): "",
    ("editor", "jobs"): "",
}


@pytest.mark.parametrize(("role", "resource"), MAY)
def test_people_may_do_what_their_role_says(release: Release, role: str, resource: str) -> None:
    """As `kubectl auth can-i` for a user that is bound to the role, and to nothing else."""
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"sluice-{role}"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"some-{role}"}
    release.client.apply({**binding, "metadata": {"name": f"some-{role}"}, "roleRef": reference, "subjects": [subject]})
    group = {"secrets": "", "jobs": "batch"}.get(resource, "kueue.x-k8s.io")

    def allowed(verb: str) -> bool:
        asked = {"group": group, "resource": resource, "verb": verb, "namespace": "default"}
        return can(release, f"some-{role}", [], asked)

    wait(lambda: " ".join(filter(allowed, VERBS)) == MAY[role, resource], f"{role} may {MAY[role, resource]}", 60)


OWN = [
    ("sluice", "", "secrets", "get", "sluice-tls", True),
    ("sluice", "", "secrets", "get", "another", False),
    ("sluice", "", "secrets", "list", "", False),
    ("sluice", "batch", "jobs", "update", "j", True),
    ("sluice", "batch", "jobs", "delete", "j", False),
    ("sluice", "", "nodes", "list", "", False),
    ("sluice", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "update", "sluice", True),
    ("sluice", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "update", "another", False),
    ("sluice", "apiextensions.k8s.io", "customresourcedefinitions", "patch", "workloads.kueue.x-k8s.io", True),
    ("sluice", "apiextensions.k8s.io", "customresourcedefinitions", "patch", "others.example.com", False),
    ("sluice-registration", "", "secrets", "get", "sluice-tls", False),
    ("sluice-crds", "kueue.x-k8s.io", "workloads", "update", "w", False),
]


@pytest.mark.parametrize(("account", "group", "resource", "verb", "name", "wanted"), OWN)
def test_the_accounts_have_the_rights_they_need(
    release: Release, account: str, group: str, resource: str, verb: str, name: str, wanted: bool
) -> None:
    """Of the chart's ServiceAccounts, what is told in its README: one Secret, its own registration, its own CRDs."""
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"]
    asked = {"group": group, "resource": resource, "verb": verb, "name": name, "namespace": NAMESPACE}
    assert can(release, user, groups, asked) is wanted


def can(release: Release, user: str, groups: list[str], asked: dict) -> bool:
    """What the API server's authorizer says."""
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    spec = {"user": user, "groups": groups, "resourceAttributes": {k: v for k, v in asked.items() if v}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(release.client.call("POST", path, {**review, "spec": spec})["status"].get("allowed"))


def test_a_journal_outlives_an_upgrade(release: Release, plane: ControlPlane) -> None:
    """With a claim for each replica: the replica that has a claim again finds in it what was written before."""
    client, setting, kept = release.client, Setting("kept", "BestEffortFIFO"), "--set=journal.enabled=true"
    for number in range(2):
        size, path = {"storage": "5Gi"}, {"path": f"/kept/{number}"}
        spec = {"capacity": size, "accessModes": ["ReadWriteOnce"], "hostPath": path, "storageClassName": ""}
        client.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"v{number}"}, "spec": spec})
    release.install(kept, "--set=journal.persistent=true")
    assert {pod.name for pod in release.node.pods.values()} == {"sluice-0", "sluice-1"}
    setting.create(client)
    (job, _) = submit(client, [setting], 1, 1, 0)
    named = f"{job['metadata']['namespace']}/job-{job['metadata']['name']}"
    wait(lambda: named in journals(release), "the journal has the Job")
    before = journals(release)
    release.install(kept, "--set=journal.persistent=true", "--set=podAnnotations.changed=for-the-journal")
    assert set(before.splitlines()) <= set(journals(release).splitlines())
    assert refusals(release.node) == []


def journals(release: Release) -> str:
    """What `sluice journal show` says of the journals of all replicas."""
    files = [str(path) for path in (release.node.home / "claims").rglob("*.jsonl.gz")]
    call = [*release.node.image.command, "journal", "show", *files]
    return subprocess.run(call, capture_output=True, text=True, check=False).stdout


STAYS = {
    "customresourcedefinitions": {f"{name}.kueue.x-k8s.io" for name in (
        "admissionchecks", "clusterqueues", "cohorts", "localqueues", "multikueueclusters", "multikueueconfigs",
        "provisioningrequestconfigs", "resourceflavors", "topologies", "workloadpriorityclasses", "workloads")},
    "namespaces": {NAMESPACE},
    "persistentvolumeclaims": {"journal-sluice-0", "journal-sluice-1"},
}  # fmt: skip
"""What an uninstall leaves on purpose, as docs/install.md lists it."""
MADE_BY_OTHERS = ("kube-root-ca.crt", "default", "person-")
"""Beginnings of what Kubernetes and these tests make in the namespace."""


def left_behind(client: Client) -> dict[str, set[str]]:
    """What is in the release's namespace, and what in the cluster is called after the release or is ours."""
    found: dict[str, set[str]] = {}
    for group in (
        "/api/v1",
        *(f"/apis/{g['preferredVersion']['groupVersion']}" for g in client.get("/apis")["groups"]),
    ):
        for resource in client.get(group)["resources"]:
            if "/" in resource["name"] or "list" not in resource["verbs"] or resource["kind"] == "Event":
                continue
            middle = f"/namespaces/{NAMESPACE}" if resource["namespaced"] else ""
            for obj in client.items(f"{group}{middle}/{resource['name']}"):
                name, labels = obj["metadata"]["name"], obj["metadata"].get("labels") or {}
                ours = resource["namespaced"] or name.startswith("sluice") or "sluice" in labels.values()
                if ours and not name.startswith(MADE_BY_OTHERS):
                    found.setdefault(resource["name"], set()).add(name)
    return found


def test_an_uninstall_leaves_running_jobs_alone(release: Release, plane: ControlPlane) -> None:
    """A running Job completes without Sluice, no request is denied for want of it, and no right or key is left."""
    client, setting = release.client, Setting("left", "BestEffortFIFO")
    setting.create(client)
    history = History(plane, setting.teams)
    try:
        submit(client, [setting], 1, 20, 0)
        plane.wait("a Job runs", lambda: any(life.starts for life in history.lives.values()))
        running = [life for life in history.lives.values() if life.starts]
        release.uninstall()
        plane.wait("it is complete", lambda: all(life.complete for life in running))
        job = setting.job(0, 1)
        client.create(job, dry_run=True)
    finally:
        history.close()
    assert {len(life.starts) for life in running} == {1}
    wait(lambda: left_behind(client) == STAYS, "only what is meant to stay is left")


def test_what_an_uninstall_leaves_can_be_deleted(release: Release, plane: ControlPlane, tmp_path: Path) -> None:
    """By the commands of docs/install.md: a Pod that waits, and the CRDs with objects that nobody uses any more."""
    client, shell = release.client, Shell(tmp_path)
    shell.environment |= {"KUBECONFIG": str(plane.kubeconfig)}
    shell.environment["PATH"] += f":{kubectl().parent}"
    mark = {"labels": {"kueue.x-k8s.io/managed": "true"}, "finalizers": ["kueue.x-k8s.io/managed"]}
    spec = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}], "containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "held", "namespace": "left-a", **mark}, "spec": spec}
    client.create(pod)
    queue = client.items("/apis/kueue.x-k8s.io/v1beta2/clusterqueues")[0]
    assert queue["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]
    for block in blocks(section("Uninstall", tmp_path)):
        if block.text.startswith("kubectl delete"):  # what a running Sluice would release
            printed = [shell.run(f"{line} --dry-run=server") for line in block.text.splitlines()]
            assert (shell.code, "left" in "".join(printed)) == (0, True), printed
        elif block.text.startswith("kubectl get"):
            printed = [shell.run(block.text)]
            assert (shell.code, "patched" in printed[0]) == (0, True), printed
    assert "finalizers" not in client.get(client.path_of(pod))["metadata"]
    shell.run("kubectl delete crd -l app.kubernetes.io/part-of=sluice")
    assert shell.code == 0
    assert not [crd for crd in client.items("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
                if crd["spec"]["group"] == "kueue.x-k8s.io"]  # fmt: skip

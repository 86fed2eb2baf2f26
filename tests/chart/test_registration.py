"""The chart's hooks: what they register, take over and take away, and as whom."""

import json
import re

import pytest
from click.testing import CliRunner

from tests.chart.helm import template
from tests.chart.rendered import CHART, configuration_of, of_kind
from tests.shared import ROOT
from webhook.cli.commands.server.register import register
from webhook.documents import read


@pytest.mark.cluster
def test_all_namespaces_can_opt_in(tmp_path):
    """With an empty label, the configuration and the registration select no labels; the system's stay left out."""
    assert configuration_of(tmp_path, "--set=optIn.label=").namespace_selector == ""
    assert configuration_of(tmp_path, "--set=never={ci,infra}").never == ("ci", "infra")
    (job,) = [o for o in of_kind("Job", "--set=optIn.label=") if o["metadata"]["name"] == "sluice-register"]
    arguments = job["spec"]["template"]["spec"]["containers"][0]["args"]
    given = [argument for argument in arguments[1:] if "=/" not in argument]
    printed = CliRunner().invoke(register, [*given, "--public-ca", "--print"])
    assert printed.exit_code == 0, printed.output
    for document in read(printed.stdout):
        for entry in document.value["webhooks"]:
            (excluded,) = entry["namespaceSelector"].pop("matchExpressions")
            assert {"kube-system", "sluice-system"} <= set(excluded["values"])
            assert entry["namespaceSelector"] == {}


@pytest.mark.cluster
@pytest.mark.parametrize("never", [[], ["ci"], ["ci", "infra"]])
def test_an_upgrade_registers_what_the_values_say(never):
    """Each option is given: one that is not would leave what a former release of other values registered."""
    chosen = [f"--set-json=never={json.dumps(never)}"]
    (job,) = [o for o in of_kind("Job", *chosen) if o["metadata"]["name"] == "sluice-register"]
    arguments = job["spec"]["template"]["spec"]["containers"][0]["args"]
    given = [argument.removeprefix("--never=") for argument in arguments if argument.startswith("--never=")]
    assert given == ["sluice-system", *never]
    assert {"--namespace-selector=sluice.dev/managed=true", "--timeout=5"} <= set(arguments)


@pytest.mark.cluster
def test_an_uninstall_takes_the_registration_away_first(rendered):
    """A pre-delete hook removes the webhooks, a post-install hook registers them under the same name."""
    jobs = {o["metadata"]["name"]: o for o in rendered if o["kind"] == "Job"}
    hooks = {name: job["metadata"]["annotations"]["helm.sh/hook"] for name, job in jobs.items()}
    arguments = {name: job["spec"]["template"]["spec"]["containers"][0]["args"] for name, job in jobs.items()}
    assert hooks["sluice-unregister"] == "pre-delete"
    assert arguments["sluice-unregister"] == ["register", "--remove", "--release=sluice"]
    assert hooks["sluice-register"] == "post-install,post-upgrade,post-rollback"
    assert "--release=sluice" in arguments["sluice-register"]


@pytest.mark.cluster
def test_each_hook_brings_the_account_that_it_runs_as(rendered):
    """With its rights, in each of its events: what is no hook is not there before, nor after an install that failed."""

    def events(obj):
        annotations = obj["metadata"].get("annotations") or {}
        return set(filter(None, annotations.get("helm.sh/hook", "").split(",")))

    for job in (obj for obj in rendered if obj["kind"] == "Job"):
        account = job["spec"]["template"]["spec"]["serviceAccountName"]
        needed = [
            obj
            for obj in rendered
            if obj["kind"] in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding")
            and obj["metadata"]["name"] == account
        ]
        assert len(needed) == 3, account
        for obj in needed:
            assert events(job) <= events(obj), (job["metadata"]["name"], obj["kind"])
            assert int(obj["metadata"]["annotations"]["helm.sh/hook-weight"]) < 0


@pytest.mark.cluster
def test_an_uninstall_deletes_the_accounts_of_hooks(rendered):
    """A Job that failed leaves its account with rights in the whole cluster: Helm deletes what is a hook of the end."""
    kinds = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding")
    hooks = [o["metadata"] for o in rendered if o["kind"] in kinds and "helm.sh/hook" in str(o["metadata"])]
    assert {metadata["name"] for metadata in hooks} == {"sluice-crds", "sluice-registration"}
    for annotations in (metadata["annotations"] for metadata in hooks):
        assert "pre-delete" in annotations["helm.sh/hook"].split(",")
        assert "hook-succeeded" in annotations["helm.sh/hook-delete-policy"]


@pytest.mark.cluster
@pytest.mark.parametrize(
    "chosen",
    [
        "mode=external",
        "mode=none,policies.shipped=/opt/sluice/policies/",
        "mode=external,policies.shipped=,policies.paths[0]=/opt/sluice//policies",
    ],
)
def test_without_an_embedded_queue_no_pod_is_gated(chosen):
    """Where a Kueue decides, all shipped policies are served but those that gate pods, as their folder may be named."""
    here = {p.parent.name for p in (ROOT / "policies").glob("*/policy.yaml")}
    wanted = sorted(f"/opt/sluice/policies/{name}" for name in here - {"suspend-pods", "suspend-serving"})
    objects = [d.value for d in read(template(CHART, f"--set={chosen}"), "chart")]
    (config,) = [o for o in objects if o["kind"] == "ConfigMap"]
    (served,) = read(config["data"]["sluice.yaml"])
    assert sorted(served.value["policies"]) == wanted


@pytest.mark.cluster
@pytest.mark.parametrize("chosen", [["--set=policies.paths[0]=/git/current/policies"], ["--set=policies.image=p:1"]])
def test_registering_needs_no_policies(chosen):
    """A sidecar's files are in no other pod: the Job says where the server is, the leader what its policies need."""
    (job,) = [o for o in of_kind("Job", *chosen) if o["metadata"]["name"] == "sluice-register"]
    pod = job["spec"]["template"]["spec"]
    assert not [a for a in pod["containers"][0]["args"] if a.startswith("--policies")]
    assert [mount["name"] for mount in pod["containers"][0]["volumeMounts"]] == ["authority"]
    assert "keepRegistration: true" in of_kind("ConfigMap", *chosen)[0]["data"]["sluice.yaml"]


@pytest.mark.cluster
def test_kinds_in_their_current_version_only():
    """The Job that applies the CRDs is told; without that Job the value would say nothing, and is refused."""
    jobs = {o["metadata"]["name"]: o for o in of_kind("Job", "--set=crds.currentOnly={Workload,Cohort}")}
    arguments = jobs["sluice-crds"]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert [word for word in arguments if "current" in word] == ["--current-only=Workload", "--current-only=Cohort"]
    with pytest.raises(RuntimeError, match=r"crds\.currentOnly: needs crds\.upgrade"):
        template(CHART, "--set=crds.currentOnly={Workload},crds.upgrade=false")


@pytest.mark.cluster
def test_crds_are_taken_over_where_sluice_runs_the_queues_only():
    """Beside a Kueue that runs the queues, its CRDs stay its own."""
    jobs = {o["metadata"]["name"]: o for o in of_kind("Job", "--set=crds.takeOver=true")}
    assert "--take-over" in jobs["sluice-crds"]["spec"]["template"]["spec"]["containers"][0]["args"]
    with pytest.raises(RuntimeError, match=r"crds\.takeOver: only with mode embedded"):
        template(CHART, "--set=crds.takeOver=true,mode=external")


@pytest.mark.cluster
def test_the_page_deletes_what_kueue_and_the_chart_both_bring(tmp_path):
    """Helm takes no object of another owner: an upgrade in the place of a Kueue would stop at each of these names."""
    (tmp_path / "kueue.yaml").write_text("kind: Configuration")
    chosen = (f"--set-file=kueueConfig={tmp_path / 'kueue.yaml'}", "--set=roles.kueuePrefix=kueue,crds.takeOver=true")
    objects = [d.value for d in read(template(CHART, *chosen), "chart") if d.value]
    shared = {o["metadata"]["name"] for o in objects if not o["metadata"]["name"].startswith("sluice")}
    assert len(shared) == 4
    page = (ROOT / "docs/how-to/kueue.md").read_text()
    steps = page.partition("\n## 5. ")[2].partition("helm upgrade --install")[0]
    deleted = {word for line in steps.splitlines() if "kubectl delete" in line for word in re.findall(r"[-.\w]+", line)}
    assert shared <= deleted

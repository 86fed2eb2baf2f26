"""The chart: values are checked, rights are those that are used, a real API server takes what it renders."""

import itertools
import json
import math
import re

import jsonschema
import pytest
from click.testing import CliRunner

from tests.chart.helm import template
from tests.shared import ROOT
from webhook.cli.commands.server.register import register
from webhook.config import load
from webhook.documents import read

CHART = ROOT / "charts" / "sluice"


def values():
    (document,) = read((CHART / "values.yaml").read_text())
    return document.value


def schema():
    return json.loads((CHART / "values.schema.json").read_text())


def test_the_default_values_are_valid():
    """values.yaml passes values.schema.json, which is itself a valid schema, and names every key of it."""
    jsonschema.Draft7Validator.check_schema(schema())
    jsonschema.validate(values(), schema())
    assert set(values()) == set(schema()["properties"]) - {"global"}


def test_each_value_that_the_installation_page_sets_is_one():
    """The schema allows no other key, so a name that is not there would stop the upgrade."""
    text = (ROOT / "docs" / "install.md").read_text()
    named = re.findall(r"[Ss]et `([a-z]\w*(?:\.\w+)+)`|with `([a-z]\w*(?:\.\w+)+)`", text)
    found = {first or second for first, second in named}
    assert "networkPolicy.metricsFrom" in found
    for name in found:
        place = values()
        for key in name.split("."):
            assert key in place, name
            place = place[key]


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "embeded"},
        {"replicas": 0},
        {"replica": 2},
        {"webhook": {"port": "x"}},
        {"tls": {"source": "vault", "secret": "s"}},
        {"tls": {"source": "secret", "secret": "s", "clients": {"names": ["kube-apiserver"]}}},
        {"tls": {"source": "secret", "secret": "s", "clients": {"name": "x"}}},
        {"podDisruptionBudget": {"maxUnavailable": 0}},
        {"monitoring": {"rules": {"enabled": "yes"}}},
        {"policies": {"paths": ["relative"]}},
        {"policies": {"files": {"whole-gpus": "kind: ValidatingAdmissionPolicy"}}},
        {"policies": {"files": {".whole-gpus.yaml": "kind: ValidatingAdmissionPolicy"}}},
        {"networkPolicy": {"metricsFrom": [{}]}},
        {"networkPolicy": {"metricsFrom": [{"namespaces": "x"}]}},
        {"visibility": {"enabled": "yes"}},
        {"kueueConfig": {"kind": "Configuration"}},
        {"settings": {"keepRegistration": False}},
    ],
)
def test_wrong_values_are_refused(wrong):
    """A word that is none of the allowed, a number out of range and an unknown key fail the schema."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**values(), **wrong}, schema())


@pytest.fixture(scope="session")
def rendered():
    return [document.value for document in read(template(CHART, "--set=policies.files.a\\.yaml=#"), "chart")]


@pytest.mark.cluster
def test_the_rendered_configuration_is_one_that_serve_reads(rendered, tmp_path):
    """The ConfigMap's file passes the strict reading of `sluice serve`."""
    (config,) = [o for o in rendered if o["kind"] == "ConfigMap" and o["metadata"]["name"] == "sluice"]
    file = tmp_path / "sluice.yaml"
    file.write_text(config["data"]["sluice.yaml"])
    read_back = load(file, {}, {})
    assert read_back.namespace == "sluice-system"
    assert [str(path) for path in read_back.policies] == ["/opt/sluice/policies", "/etc/sluice/policies"]


@pytest.mark.cluster
@pytest.mark.parametrize("mode", ["embedded", "external"])
def test_no_policies_are_an_empty_list(mode, tmp_path):
    """For `policies:` alone is a map without a value, which `serve` refuses."""
    assert configuration_of(tmp_path, f"--set=policies.shipped=,mode={mode}").policies == ()


@pytest.mark.cluster
@pytest.mark.parametrize(("chosen", "delay"), [((), 5), (("0",), 0), (("0.5",), 0.5), (("60",), 60)])
def test_a_pod_has_the_time_that_its_end_takes(chosen, delay, tmp_path):
    """It is not killed while its port is still open, nor before it has let go of the lease."""
    arguments = [f"--set=settings.shutdownDelay={given}" for given in chosen]
    assert configuration_of(tmp_path, *arguments).shutdown_delay == delay
    (deployment,) = of_kind("Deployment", *arguments)
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == math.ceil(delay) + 35


@pytest.mark.cluster
def test_settings_are_those_that_the_chart_does_not_write(tmp_path):
    """No key can stand twice in the file: the schema refuses each that the chart writes; a default may be replaced."""
    given = ["settings.shutdownDelay=9", "ui.enabled=true", "visibility.enabled=true", "journal.enabled=true"]
    given += ["tls.clients.secret=api", "tls.clients.names={kube-apiserver}", "never={ci}"]
    config = configuration_of(tmp_path, *(f"--set={value}" for value in given), of_kueue(tmp_path))
    assert config.shutdown_delay == 9
    (file,) = read((tmp_path / "configuration" / "sluice.yaml").read_text())
    written = set(file.value) - {"shutdownDelay"}
    assert written == set(schema()["properties"]["settings"]["propertyNames"]["not"]["enum"])


CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
visibilityServer: {bindPort: 8443}
featureGates: {FailureRecoveryPolicy: true}
objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: 1h}}
"""


def of_kueue(folder, text=CONFIGURATION):
    """The argument that gives the chart a Configuration of Kueue."""
    (folder / "kueue.yaml").write_text(text)
    return f"--set-file=kueueConfig={folder / 'kueue.yaml'}"


def configuration_of(folder, *arguments):
    """What `serve` reads of the ConfigMap that the chart renders."""
    return read_by_serve(folder, of_kind("ConfigMap", *arguments))


def read_by_serve(folder, objects):
    """What `serve` reads of the ConfigMap among these objects, whose files are put into `folder`."""
    (configuration,) = [o for o in objects if (o["kind"], o["metadata"]["name"]) == ("ConfigMap", "sluice")]
    place = folder / "configuration"
    place.mkdir(exist_ok=True)
    for name, text in configuration["data"].items():
        (place / name).write_text(text.replace("/etc/sluice/configuration", str(place)))
    return load(place / "sluice.yaml", {}, {})


@pytest.mark.cluster
def test_a_configuration_of_kueue_is_taken_as_it_is(tmp_path):
    """Its file is mounted and read; rights follow it, and its visibility API is served at its port."""
    given = of_kueue(tmp_path)
    config = configuration_of(tmp_path, given)
    assert config.queues.enabled("FailureRecoveryPolicy")
    assert config.queues.retention.after_deactivated == 3_600_000
    assert config.visibility_listen == "0.0.0.0:8443"
    assert {o["spec"]["service"]["port"] for o in of_kind("APIService", given)} == {8443}
    (role,) = [o for o in of_kind("ClusterRole", given) if o["metadata"]["name"] == "sluice"]
    verbs = {name: rule["verbs"] for rule in role["rules"] for name in rule["resources"]}
    assert "delete" in verbs["jobs"]
    assert verbs["nodes"] == ["list", "watch"]


@pytest.mark.cluster
def test_settings_go_before_the_configuration_of_kueue(tmp_path):
    """A section of `settings` replaces that of Kueue, in the file that `serve` reads and in the rights alike."""
    given = (of_kueue(tmp_path), "--set=settings.featureGates.VisibilityOnDemand=false")
    config = configuration_of(tmp_path, *given)
    assert not config.queues.enabled("FailureRecoveryPolicy")
    assert config.visibility_listen == ""
    assert of_kind("APIService", *given) == []
    (role,) = [o for o in of_kind("ClusterRole", *given) if o["metadata"]["name"] == "sluice"]
    assert not any("nodes" in rule["resources"] for rule in role["rules"])


@pytest.mark.cluster
@pytest.mark.parametrize("text", ["kind: [", "kind: ConfigMap"])
def test_what_is_no_configuration_of_kueue_is_refused(text, tmp_path):
    """The value is the Configuration itself, not the ConfigMap around it."""
    with pytest.raises(RuntimeError, match="kueueConfig: not a Configuration"):
        template(CHART, of_kueue(tmp_path, text))


@pytest.mark.cluster
@pytest.mark.parametrize(
    "text",
    [
        "kind: Configuration\nfeatureGates:\n",
        "kind: Configuration\nobjectRetentionPolicies: {workloads: }\n",
        "kind: Configuration\nobjectRetentionPolicies:\nvisibilityServer:\n",
        "kind: Configuration\nvisibilityServer: {bindPort: }\n",
        "  kind: Configuration\n  manageJobsWithoutQueueName: false\n",
    ],
)
def test_a_configuration_of_kueue_may_have_sections_without_fields_and_be_indented(text, tmp_path):
    """Kueue reads such a file, for example where all fields of a section are comments, and so does `serve`."""
    assert configuration_of(tmp_path, of_kueue(tmp_path, text)).visibility_listen == "0.0.0.0:8082"


@pytest.mark.cluster
def test_names_of_a_long_release_fit_where_they_are_labels():
    """A Job's name is a label of its pods; so is a StatefulSet's with a hash of ten letters."""
    persistent = "--set=journal.enabled=true,journal.persistent=true"
    made = [d.value for d in read(template(CHART, persistent, release="r" * 53), "chart") if d.value]
    longest = {o["kind"]: max(len(p["metadata"]["name"]) for p in made if p["kind"] == o["kind"]) for o in made}
    assert longest["Job"] <= 63
    assert longest["StatefulSet"] + len("-0123456789") <= 63
    assert longest["Service"] <= 63
    (configuration,) = [o for o in made if o["kind"] == "ConfigMap"]
    release = next(iter(read(configuration["data"]["sluice.yaml"]))).value["release"]
    (replicas,) = [o for o in made if o["kind"] == "StatefulSet"]
    assert replicas["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/instance"] == release


@pytest.mark.cluster
@pytest.mark.parametrize(("tag", "image"), [("v2", "y/sluice:v2"), ("sha256:ab12", "y/sluice@sha256:ab12")])
def test_an_image_has_a_tag_or_a_digest(tag, image):
    """All pods have it, those of the hooks too."""
    made = [d.value for d in read(template(CHART, f"--set=image.repository=y/sluice,image.tag={tag}"), "chart")]
    pods = [o["spec"]["template"]["spec"] for o in made if o and o["kind"] in ("Deployment", "Job")]
    assert {c["image"] for pod in pods for c in pod["containers"]} == {image}
    assert len(pods) == 5


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


ALL = {
    "mode": ["embedded", "external", "none"],
    "tls.source": ["sluice", "cert-manager", "secret"],
    "tls.clients.secret": ["", "api-server-ca"],
    "autoscaling.enabled": ["false", "true"],
    "podDisruptionBudget.enabled": ["true", "false"],
    "networkPolicy.enabled": ["true", "false"],
    "monitoring.rules.enabled": ["false", "true"],
    "monitoring.serviceMonitor.enabled": ["false", "true"],
    "monitoring.dashboards.enabled": ["false", "true"],
    "roles.create": ["true", "false"],
    "journal.enabled": ["false", "true"],
    "journal.persistent": ["false", "true"],
    "visibility.enabled": ["auto", "true"],
    "kueueConfig": ["", "kind: Configuration"],
    "optIn.label": ["sluice.dev/managed", ""],
    "roles.kueuePrefix": ["", "kueue"],
    "crds.upgrade": ["true", "false"],
    "policies.shipped": ["/opt/sluice/policies", ""],
    "policies.files.a\\.yaml": ["", "#"],
    "policies.image": ["", "policies:1"],
    "image.pullSecrets[0]": ["", "pull"],
}
"""What may be chosen, each with its default first."""
PAIRS = [
    {first: one, second: other}
    for first, second in itertools.combinations(ALL, 2)
    for one in ALL[first][1:] for other in ALL[second][1:]
]  # fmt: skip


@pytest.mark.cluster
def test_every_pair_of_choices_renders(tmp_path):
    """Whatever two values are chosen beside the defaults: YAML with no object twice, a configuration that is read."""
    for chosen in [{}, *PAIRS]:
        arguments = [f"--set={name}={value}" for name, value in chosen.items()]
        objects = [d.value for d in read(template(CHART, *arguments), "chart") if d.value]
        read_by_serve(tmp_path, objects)
        names = [(o["kind"], o["metadata"]["name"]) for o in objects]
        assert len(set(names)) == len(names) > 10, chosen


FOREIGN = ("monitoring.coreos.com/v1", "cert-manager.io/v1")
"""Kinds that the control plane of the tests has no CRDs of."""
WHOLE = [f"--set={name}={choices[-1]}" for name, choices in ALL.items() if name not in ("mode", "tls.source")]
SETS = {
    "defaults": ["--set=policies.files.a\\.yaml=#"],
    "external": ["--set=mode=external,tls.source=secret"],
    "everything": [
        *(a for a in WHOLE if not a.endswith("=false") and "shipped" not in a),
        "--set=extraContainers[0].name=sync,extraContainers[0].image=git-sync:v4,extraEnv[0].name=A,extraEnv[0].value=b",
        "--set=extraVolumes[0].name=repository,extraVolumes[0].emptyDir.sizeLimit=1Gi,policies.paths[0]=/git/policies",
        "--set=extraVolumeMounts[0].name=repository,extraVolumeMounts[0].mountPath=/git,podLabels.team=platform",
        *(f"--set=extraContainers[0].securityContext.{c}" for c in (
            "allowPrivilegeEscalation=false", "runAsNonRoot=true", "capabilities.drop[0]=ALL")),
    ],
}  # fmt: skip


@pytest.mark.cluster
@pytest.mark.parametrize("chosen", SETS)
def test_the_api_server_takes_what_the_chart_renders(chosen, kube):
    """Every rendered object is accepted by a real API server in a dry run, under the restricted pod security level."""
    rendered = [d.value for d in read(template(CHART, *SETS[chosen]), "chart") if d.value]
    rendered = [obj for obj in rendered if obj["apiVersion"] not in FOREIGN]
    levels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "sluice-system", "labels": levels}}
    kube.apply(namespace)
    for obj in rendered:
        if "/namespaces/" in kube.path_of(obj, collection=True):
            obj["metadata"].setdefault("namespace", "sluice-system")
        path = f"{kube.path_of(obj)}?dryRun=All&fieldValidation=Strict&fieldManager=tests&force=true"
        answer = kube.request("PATCH", path, obj, "application/apply-patch+yaml")
        assert answer.status in (200, 201), (obj["kind"], obj["metadata"]["name"], answer.body.get("message"))
        assert not answer.warnings, (obj["kind"], answer.warnings)


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
def test_without_an_embedded_queue_no_pod_is_gated():
    """Where a Kueue decides, all shipped policies are served but those that gate pods."""
    here = {p.parent.name for p in (ROOT / "policies").glob("*/policy.yaml")}
    wanted = sorted(f"/opt/sluice/policies/{name}" for name in here - {"suspend-pods", "suspend-serving"})
    objects = [d.value for d in read(template(CHART, "--set=mode=external"), "chart")]
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
def test_cert_manager_signs_by_an_authority_that_stays():
    """The leaf has the Service's names and a new key each time; its authority lasts for years and keeps its key."""
    certificates = {o["metadata"]["name"]: o["spec"] for o in of_kind("Certificate", "--set=tls.source=cert-manager")}
    issuers = {o["metadata"]["name"]: o["spec"] for o in of_kind("Issuer", "--set=tls.source=cert-manager")}
    leaf = certificates["sluice"]
    assert leaf["dnsNames"][0] == "sluice.sluice-system.svc"
    assert leaf["secretName"] == "sluice-tls"
    assert leaf["privateKey"]["rotationPolicy"] == "Always"
    signer = issuers[leaf["issuerRef"]["name"]]
    (authority,) = [spec for spec in certificates.values() if spec["secretName"] == signer["ca"]["secretName"]]
    assert authority["isCA"]
    assert authority["privateKey"]["rotationPolicy"] == "Never"
    assert int(authority["duration"].removesuffix("h")) > 10 * int(leaf["duration"].removesuffix("h"))
    assert issuers[authority["issuerRef"]["name"]] == {"selfSigned": {}}


@pytest.mark.cluster
def test_cert_manager_may_have_an_issuer():
    """Then the chart brings none, and no authority."""
    chosen = "tls.source=cert-manager,tls.certManager.issuer=of-all,tls.certManager.issuerKind=ClusterIssuer"
    assert of_kind("Issuer", f"--set={chosen}") == []
    (leaf,) = of_kind("Certificate", f"--set={chosen}")
    assert leaf["spec"]["issuerRef"] == {"kind": "ClusterIssuer", "name": "of-all"}


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
def test_helm_refuses_wrong_values():
    """Helm itself holds the values against the schema."""
    with pytest.raises(RuntimeError, match="mode"):
        template(CHART, "--set=mode=embeded")


@pytest.mark.cluster
def test_recordings_have_a_place_to_be_written():
    """Where reviews are recorded, the read-only container has a volume at that folder, and none otherwise."""
    text = template(CHART, "--set=settings.recordFolder=/var/sluice/recorded")
    (deployment,) = (d.value for d in read(text, "chart") if d.value["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounts["recorded"] == "/var/sluice/recorded"
    assert {"name": "recorded", "emptyDir": {}} in pod["volumes"]
    assert "recorded" not in template(CHART)


@pytest.mark.cluster
def test_the_journal_has_a_volume(tmp_path):
    """Where decisions are kept, `serve` writes to a volume that is mounted; which one is the user's to say."""
    claim = "journal.volume.ephemeral.volumeClaimTemplate.spec.accessModes[0]=ReadWriteOnce"
    arguments = ("--set=journal.enabled=true,journal.volume.emptyDir=null", f"--set={claim}")
    configuration, *_ = of_kind("ConfigMap", *arguments)
    file = tmp_path / "sluice.yaml"
    file.write_text(configuration["data"]["sluice.yaml"])
    (deployment,) = of_kind("Deployment", *arguments)
    pod = deployment["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounts["journal"] == str(load(file, {}, {}).journal_folder)
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "journal"]
    assert "ephemeral" in volume
    assert "emptyDir" not in volume


@pytest.mark.cluster
def test_a_journal_that_is_kept_has_a_claim_for_each_replica(tmp_path):
    """The replicas are a StatefulSet then, with the same pods; what is scaled is that."""
    arguments = (
        "--set=journal.enabled=true,journal.persistent=true",
        "--set=journal.storageClass=fast,journal.size=7Gi",
    )
    assert of_kind("Deployment", *arguments) == []
    (replicas,) = of_kind("StatefulSet", *arguments)
    (claim,) = replicas["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "7Gi"
    assert claim["spec"]["storageClassName"] == "fast"
    pod = replicas["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounts[claim["metadata"]["name"]] == str(configuration_of(tmp_path, *arguments).journal_folder)
    assert "journal" not in [volume["name"] for volume in pod["volumes"]]
    (deployment,) = of_kind("Deployment", "--set=journal.enabled=true")
    assert replicas["spec"]["selector"] == deployment["spec"]["selector"]
    (scaler,) = of_kind("HorizontalPodAutoscaler", "--set=autoscaling.enabled=true", *arguments)
    assert scaler["spec"]["scaleTargetRef"]["kind"] == "StatefulSet"


@pytest.mark.cluster
def test_replicas_are_scaled_by_the_cpu_of_our_container():
    """A sidecar without a CPU request, as in the README, would leave a share of the pod's unknown."""
    (scaler,) = of_kind("HorizontalPodAutoscaler", "--set=autoscaling.enabled=true")
    (metric,) = scaler["spec"]["metrics"]
    (deployment,) = of_kind("Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert (metric["type"], metric["containerResource"]["container"]) == ("ContainerResource", container["name"])
    assert "cpu" in container["resources"]["requests"]


def of_kind(kind, *arguments):
    """The objects of a kind that the chart renders."""
    return [d.value for d in read(template(CHART, *arguments), "chart") if d.value and d.value["kind"] == kind]


@pytest.mark.cluster
def test_only_the_webhook_port_is_open():
    """The NetworkPolicy lets everybody to the webhook port and nobody to the other, unless peers are named."""
    (policy,) = of_kind("NetworkPolicy")
    (deployment,) = of_kind("Deployment")
    assert policy["spec"]["podSelector"]["matchLabels"] == deployment["spec"]["selector"]["matchLabels"]
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    assert policy["spec"]["ingress"] == [{"ports": [{"port": "webhook"}]}]
    assert of_kind("NetworkPolicy", "--set=networkPolicy.enabled=false") == []


@pytest.mark.cluster
def test_peers_are_named_for_each_port():
    """`webhookFrom` and `metricsFrom` are the peers of their ports."""
    monitoring = "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.team=monitoring"
    arguments = (f"--set={monitoring}", "--set=networkPolicy.webhookFrom[0].ipBlock.cidr=10.0.0.10/32")
    (policy,) = of_kind("NetworkPolicy", *arguments)
    webhook, state = policy["spec"]["ingress"]
    assert webhook == {"ports": [{"port": "webhook"}], "from": [{"ipBlock": {"cidr": "10.0.0.10/32"}}]}
    assert state["ports"] == [{"port": "state"}]
    assert state["from"] == [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}]


@pytest.mark.cluster
def test_the_page_is_closed_to_pods_that_are_not_named():
    """Its port is in the policy only with the peers of `uiFrom`."""
    for arguments, ports in (
        (["--set=ui.enabled=true"], ["webhook"]),
        (["--set=networkPolicy.uiFrom[0].namespaceSelector.matchLabels.team=ingress"], ["webhook"]),
        (["--set=ui.enabled=true", "--set=networkPolicy.uiFrom[0].namespaceSelector.matchLabels.team=ingress"],
         ["webhook", "ui"]),
    ):  # fmt: skip
        (policy,) = of_kind("NetworkPolicy", *arguments)
        rules = {rule["ports"][0]["port"]: rule.get("from") for rule in policy["spec"]["ingress"]}
        assert list(rules) == ports
        assert rules.get("ui", [{"namespaceSelector": {"matchLabels": {"team": "ingress"}}}])


@pytest.mark.cluster
def test_clients_are_asked_for_a_certificate(tmp_path):
    """With a Secret of authorities the configuration names its mounted file and the names that are let in."""
    arguments = ("--set=tls.clients.secret=api-server-ca", "--set=tls.clients.names[0]=kube-apiserver")
    configuration, *_ = of_kind("ConfigMap", *arguments)
    file = tmp_path / "sluice.yaml"
    file.write_text(configuration["data"]["sluice.yaml"])
    config = load(file, {}, {})
    assert (str(config.client_ca), config.client_names) == ("/etc/sluice/clients/ca.crt", ("kube-apiserver",))
    (deployment,) = of_kind("Deployment", *arguments)
    pod = deployment["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounts["clients"] == "/etc/sluice/clients"
    assert [v["secret"]["secretName"] for v in pod["volumes"] if v["name"] == "clients"] == ["api-server-ca"]
    assert "clientCa" not in template(CHART)


@pytest.mark.cluster
def test_the_visibility_api_is_served_where_it_is_asked_for():
    """With its APIServices, the port that they name, and the right to know the front proxy; by embedded queues only."""
    text = template(CHART, "--set=visibility.enabled=true")
    objects = [document.value for document in read(text, "chart")]
    services = [o for o in objects if o["kind"] == "APIService"]
    (service,) = [o for o in objects if o["kind"] == "Service" and o["metadata"]["name"] == "sluice"]
    ports = {port["port"]: port["targetPort"] for port in service["spec"]["ports"]}
    assert [o["spec"]["service"]["port"] for o in services] == [8082, 8082]
    assert ports[8082] == "visibility"
    assert "visibilityListen: 0.0.0.0:8082" in text
    assert any(o["kind"] == "RoleBinding" and o["metadata"].get("namespace") == "kube-system" for o in objects)
    for other in (["--set=visibility.enabled=true", "--set=mode=none"], []):
        assert "visibility" not in template(CHART, *other)


@pytest.mark.cluster
@pytest.mark.parametrize("mode, asks", [("login", True), ("read-only", False)])
def test_the_page_has_a_port_and_the_rights_of_its_mode(mode, asks, tmp_path):
    """Off by default; else configuration, pod and Service have the port, and only a login asks who one is."""
    plain = template(CHART)
    assert "tokenreviews" not in plain
    assert "uiListen" not in plain
    objects = [d.value for d in read(template(CHART, "--set=ui.enabled=true", f"--set=ui.mode={mode}"), "chart")]
    by_kind = {obj["kind"]: obj for obj in objects if obj["metadata"]["name"] == "sluice"}
    assert {"name": "ui", "port": 8090, "targetPort": "ui"} in by_kind["Service"]["spec"]["ports"]
    (container,) = by_kind["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert {"name": "ui", "containerPort": 8090} in container["ports"]
    resources = {name for rule in by_kind["ClusterRole"]["rules"] for name in rule["resources"]}
    assert ("tokenreviews" in resources) is asks
    (tmp_path / "sluice.yaml").write_text(by_kind["ConfigMap"]["data"]["sluice.yaml"])
    config = load(tmp_path / "sluice.yaml", {}, {})
    assert (config.ui, config.ui_listen) == (mode, "0.0.0.0:8090")

"""The chart's values: wrong ones are refused, and whatever is chosen renders."""

import itertools
import re

import jsonschema
import pytest

from tests.chart.helm import template
from tests.chart.rendered import CHART, read_by_serve, schema, values
from tests.shared import ROOT
from webhook.documents import read


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
        {"settings": {"featureGates": "abc"}},
        {"settings": {"objectRetentionPolicies": {"workloads": "1h"}}},
        {"settings": {"visibilityServer": 8082}},
        {"settings": {"recordFolder": ["/recorded"]}},
    ],
)
def test_wrong_values_are_refused(wrong):
    """A word that is none of the allowed, a number out of range and an unknown key fail the schema."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**values(), **wrong}, schema())


@pytest.mark.cluster
def test_helm_refuses_wrong_values():
    """Helm itself holds the values against the schema."""
    with pytest.raises(RuntimeError, match="mode"):
        template(CHART, "--set=mode=embeded")


@pytest.mark.cluster
@pytest.mark.parametrize(
    "section", ["tls", "visibility", "ui", "service", "settings", "crds", "autoscaling", "journal"]
)
def test_a_section_that_is_null_is_refused_in_words(section):
    """Helm drops it, with its defaults: the template would end in an error of Go."""
    with pytest.raises(RuntimeError, match=f"missing property '{section}'"):
        template(CHART, f"--set={section}=null")


@pytest.mark.cluster
def test_a_namespace_of_digits_is_a_text():
    """YAML would read a number, which neither `serve` nor the API server takes."""
    rendered = template(CHART, "--namespace=1234", "--set=visibility.enabled=true")
    objects = [document.value for document in read(rendered, "chart") if document.value]
    (configuration,) = [o for o in objects if o["kind"] == "ConfigMap"]
    assert next(iter(read(configuration["data"]["sluice.yaml"]))).value["namespace"] == "1234"
    subjects = [subject for o in objects for subject in o.get("subjects") or ()]
    assert {subject["namespace"] for subject in subjects} == {"1234"}
    assert {o["spec"]["service"]["namespace"] for o in objects if o["kind"] == "APIService"} == {"1234"}


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

"""The CRDs, and the schemas in them, hold what the API server asks of a structural schema."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from webhook.api.crds.definitions import Webhook, definitions, top_level
from webhook.api.crds.kinds import KINDS
from webhook.api.crds.schema import editor_schema
from webhook.cli.commands.server.crds import as_file, crds
from webhook.documents import read

CHART = Path(__file__).parents[2] / "charts" / "sluice" / "crds"
ALL = [(k, v) for k in KINDS for v in k.versions]
KNOWN = {
    "type", "properties", "items", "additionalProperties", "description", "required", "default", "enum", "format",
    "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
    "anyOf", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
    "x-kubernetes-validations", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields",
}  # fmt: skip


def nodes(schema, path="spec"):
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from nodes(field, f"{path}.{name}")
    for word in ("items", "additionalProperties"):
        if word in schema:
            yield from nodes(schema[word], f"{path}.{word}")


@pytest.mark.parametrize("kind, version", ALL, ids=lambda x: getattr(x, "kind", "") or x.name)
def test_every_schema_is_structural(kind, version):
    """Each node has a type or is int-or-string, knows no other word, and lists that are maps name required keys."""
    for path, node in nodes(top_level(version.type)):
        assert set(node) <= KNOWN, path
        assert ("type" in node) != ("x-kubernetes-int-or-string" in node), path
        for key in node.get("x-kubernetes-list-map-keys", ()):
            item = node["items"]
            assert key in item.get("required", ()) or "default" in item["properties"][key], path
        assert set(node.get("required", ())) <= set(node.get("properties", ())), path
        if "properties" in node and path != "spec":
            assert node["description"], path


def test_both_versions_are_served_with_a_webhook_and_the_stored_one_alone_without():
    """Without somebody to convert, the API server must not be told to serve the other version."""
    with_webhook = {d["metadata"]["name"]: d for d in definitions(Webhook(url="https://10.0.0.1:9443", ca="QQ=="))}
    assert [v["name"] for v in with_webhook["workloads.kueue.x-k8s.io"]["spec"]["versions"]] == ["v1beta2", "v1beta1"]
    config = with_webhook["cohorts.kueue.x-k8s.io"]["spec"]["conversion"]["webhook"]["clientConfig"]
    assert config == {"url": "https://10.0.0.1:9443/convert", "caBundle": "QQ=="}
    for crd in definitions():
        assert "conversion" not in crd["spec"]
        assert [v["storage"] for v in crd["spec"]["versions"]] == [True]


def test_the_files_of_the_chart_are_current():
    """`charts/sluice/crds` is what `sluice crds --to charts/sluice/crds` writes today."""
    wanted = {f"{d['metadata']['name']}.yaml": as_file(d) for d in definitions(Webhook())}
    assert {p.name: p.read_text() for p in CHART.glob("*.yaml")} == wanted


def test_an_editor_schema_tells_a_misspelt_field_and_takes_a_right_object():
    """The JSON Schema refuses fields that nobody reads, which the API server would drop without a word."""
    kind = next(k for k in KINDS if k.kind == "ClusterQueue")
    schema = editor_schema(kind.group, "v1beta2", kind.kind, top_level(kind.versions[0].type))
    check = Draft202012Validator(schema)
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "a"}}
    assert check.is_valid({**queue, "spec": {"cohortName": "c", "resourceGroups": []}})
    assert not check.is_valid({**queue, "spec": {"cohort": "c"}})


def test_the_command_prints_one_document_per_kind_and_names_unknown_kinds():
    """`--kind` takes kinds, plurals and short names; a wrong one is a usage error that lists what there is."""
    result = CliRunner().invoke(crds, ["--kind", "cq", "--kind", "workload", "--no-conversion"])
    assert [d.value["metadata"]["name"] for d in read(result.output)] == [
        "clusterqueues.kueue.x-k8s.io",
        "workloads.kueue.x-k8s.io",
    ]
    wrong = CliRunner().invoke(crds, ["--kind", "nope"])
    assert wrong.exit_code == 2
    assert "use one of ClusterQueue" in wrong.output


def test_a_kind_in_its_current_version_only_is_not_served_in_the_older():
    """The older version stays known: objects may be stored in it. Other kinds are served in both."""
    result = CliRunner().invoke(crds, ["--kind", "cq", "--kind", "wl", "--current-only", "workloads"])
    served = {d.value["spec"]["names"]["kind"]: d.value["spec"] for d in read(result.output)}
    assert [(v["name"], v["served"], v["storage"]) for v in served["Workload"]["versions"]] == [
        ("v1beta2", True, True),
        ("v1beta1", False, False),
    ]
    assert all(v["served"] for v in served["ClusterQueue"]["versions"])
    assert served["Workload"]["conversion"]["strategy"] == "Webhook"
    wrong = CliRunner().invoke(crds, ["--current-only", "nope"])
    assert (wrong.exit_code, 'Invalid value for --current-only: no such kind "nope"' in wrong.output) == (2, True)


@pytest.mark.parametrize(
    ("kind", "columns", "wide"),
    [
        ("ClusterQueue", "Cohort, Pending Workloads", "Strategy, Admitted Workloads"),
        ("LocalQueue", "ClusterQueue, Pending Workloads, Admitted Workloads", ""),
        ("Workload", "Queue, Reserved in, Admitted, Finished, Age", "Why"),
    ],
)
def test_what_kubectl_get_shows(kind, columns, wide):
    """Kueue's columns, in every version; why a Workload waits is one of ours, with `-o wide`."""
    (crd,) = [crd for crd in definitions() if crd["spec"]["names"]["kind"] == kind]
    for version in crd["spec"]["versions"]:
        shown = {0: [], 1: []}
        for column in version["additionalPrinterColumns"]:
            shown[column.get("priority", 0)].append(column["name"])
        assert (", ".join(shown[0]), ", ".join(shown[1])) == (columns, wide)

"""The configuration that the chart writes, Kueue's own among it, is one that `serve` reads."""

import pytest

from tests.chart.helm import template
from tests.chart.rendered import CHART, configuration_of, of_kind, schema
from webhook.config import load
from webhook.documents import read


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

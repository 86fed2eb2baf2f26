"""The chart's ports, and who may speak to them: network policies, certificates, the page."""

import pytest

from tests.chart.helm import template
from tests.chart.rendered import CHART, of_kind
from webhook.config import load
from webhook.documents import read


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


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("source", "bundle", "trust"),
    [
        ("sluice", "", {"insecureSkipTLSVerify": True}),
        ("secret", "", {"insecureSkipTLSVerify": True}),
        ("secret", "UEVN", {"caBundle": "UEVN"}),
        ("cert-manager", "UEVN", {"caBundle": "UEVN"}),
        ("cert-manager", "", {}),
    ],
)
def test_who_is_trusted_at_the_visibility_api(source, bundle, trust):
    """A bundle that is given, else what cert-manager injects: it is refused beside insecureSkipTLSVerify."""
    chosen = f"--set=visibility.enabled=true,visibility.caBundle={bundle},tls.source={source}"
    for service in of_kind("APIService", chosen):
        assert {
            key: service["spec"][key] for key in ("caBundle", "insecureSkipTLSVerify") if key in service["spec"]
        } == trust
        injected = (service["metadata"].get("annotations") or {}).get("cert-manager.io/inject-ca-from")
        assert injected == (None if trust else "sluice-system/sluice")


@pytest.mark.cluster
def test_a_bundle_for_a_certificate_that_rotates_is_refused():
    """Sluice makes another authority after a year, and only the webhooks learn of it."""
    with pytest.raises(RuntimeError, match=r"visibility\.caBundle: not with tls\.source sluice"):
        template(CHART, "--set=visibility.enabled=true,visibility.caBundle=UEVN")

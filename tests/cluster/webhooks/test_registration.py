"""The webhook configurations: generated from the policies, opt-in, and never for what keeps a cluster alive."""

import asyncio
import base64
import re

import pytest
from click.testing import CliRunner

from tests.shared import ROOT
from webhook import documents
from webhook.cli.commands.server.register import register as command
from webhook.cluster.webhooks.configurations import (
    CRD,
    MUTATING,
    VALIDATING,
    Options,
    WebhookEndpoint,
    configurations,
    register,
    remove,
)
from webhook.cluster.webhooks.required_webhooks import hooks
from webhook.documents import read
from webhook.policy.loading.assemble import assemble
from webhook.policy.matching.index import NEVER_JUDGED
from webhook.policy.webhook_rules import registration
from webhook.store.errors import NotFound
from webhook.store.memory import MemoryStore

OPTIONS = Options(never=("sluice-system",))


def policy(name, resource="pods", *, failure="Fail", condition="", group="", mutating=False):
    kind = "MutatingAdmissionPolicy" if mutating else "ValidatingAdmissionPolicy"
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "failurePolicy": failure}
    binding = {"policyName": name}
    if condition:
        spec["matchConditions"] = [{"name": "c", "expression": condition}]
    if mutating:
        spec["reinvocationPolicy"] = "IfNeeded"
        expression = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"
        spec["mutations"] = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]
    else:
        spec["validations"] = [{"expression": "true"}]
        binding["validationActions"] = ["Deny"]
    api = "admissionregistration.k8s.io/v1"
    return [
        {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec},
        {"apiVersion": api, "kind": f"{kind}Binding", "metadata": {"name": name}, "spec": binding},
    ]


def made(*objects, gate=False, options=OPTIONS, target=None):
    text = "---\n".join(documents.dump(obj) for pair in objects for obj in pair)
    bundle = assemble(read(text, "p.yaml"), [])
    needed = hooks(registration(bundle.policies), gate=gate)
    found = configurations(needed, target or WebhookEndpoint(b"PEM", "https://h:1"), options)
    return {obj["kind"]: obj["webhooks"] for obj in found}


def test_an_entry_for_each_failure_policy():
    """One entry where one failurePolicy is in use; two, each with its own path, where both are, for other resources."""
    (only,) = made(policy("a"), policy("b", "services"))[VALIDATING.kind]
    assert (only["failurePolicy"], only["clientConfig"]["url"]) == ("Fail", "https://h:1/validate")
    both = made(policy("a"), policy("b", "services", failure="Ignore"))[VALIDATING.kind]
    assert [(e["failurePolicy"], e["clientConfig"]["url"]) for e in both] == [
        ("Fail", "https://h:1/validate/fail"),
        ("Ignore", "https://h:1/validate/ignore"),
    ]
    assert len({entry["name"] for entry in both}) == 2


def test_namespaces_opt_in_and_the_systems_are_left_out():
    """Every entry asks for the label and excludes kube-system, node leases and Sluice's own namespace."""
    for entries in made(policy("a"), policy("m", mutating=True)).values():
        for entry in entries:
            selector = entry["namespaceSelector"]
            assert selector["matchLabels"] == {"sluice.dev/managed": "true"}
            (never,) = selector["matchExpressions"]
            assert (never["key"], never["operator"]) == ("kubernetes.io/metadata.name", "NotIn")
            assert {"kube-system", "kube-node-lease", "sluice-system"} <= set(never["values"])


def test_leases_are_never_sent():
    """A policy for everything gets a match condition that leaves leases out."""
    (entry,) = made(policy("a", "*", group="*"))[VALIDATING.kind]
    assert "leases" in entry["matchConditions"][0]["expression"]


@pytest.mark.parametrize(
    ("group", "resource", "left_out"),
    [
        ("*", "*", {f"{group}/{name}" for group, name in NEVER_JUDGED if group != MUTATING.group}),
        ("authentication.k8s.io", "*", {"authentication.k8s.io/tokenreviews",
                                        "authentication.k8s.io/selfsubjectreviews"}),
        ("*", "tokenreviews", {"authentication.k8s.io/tokenreviews"}),
        ("apps", "*", set()),
        ("admissionregistration.k8s.io", "*", set()),
        ("", "pods", set()),
    ],
)  # fmt: skip
def test_what_no_policy_judges_is_not_sent(group, resource, left_out):
    """With all replicas down, no token could be checked in the whole cluster: these have no namespace to opt in."""
    for entries in made(policy("a", resource, group=group), policy("m", resource, group=group, mutating=True)).values():
        (entry,) = entries
        conditions = {row["name"]: row["expression"] for row in entry.get("matchConditions") or ()}
        assert set(re.findall(r"'(\w[^']*/[^']*)'", conditions.get("not-an-access-review", ""))) == left_out


def test_match_conditions_are_ored():
    """The conditions of two policies become one; a policy without any makes it unnecessary."""
    one, two = "object.metadata.name != 'x'", "object.metadata.name != 'y'"
    (entry,) = made(policy("a", condition=one), policy("b", condition=two))[VALIDATING.kind]
    (condition,) = entry["matchConditions"]
    assert one in condition["expression"]
    assert two in condition["expression"]
    assert "||" in condition["expression"]
    (entry,) = made(policy("a", condition=one), policy("b"))[VALIDATING.kind]
    assert "matchConditions" not in entry


def test_the_gate_sees_queued_jobs():
    """With the embedded queue, jobs are sent to be judged although no policy asks for them."""
    (alone,) = made(gate=True)[VALIDATING.kind]
    assert alone["failurePolicy"] == "Ignore"
    assert any(rule["resources"] == ["jobs"] and rule["apiGroups"] == ["batch"] for rule in alone["rules"])
    (entry,) = made(policy("a", condition="object.metadata.name != 'x'"), gate=True)[VALIDATING.kind]
    assert "'batch/jobs'" in entry["matchConditions"][0]["expression"]
    for kind, entries in made().items():
        assert [(entry["failurePolicy"], "rules" in entry) for entry in entries] == [("Ignore", False)], kind


def test_mutating_entries_say_when_to_call_again():
    """A policy with IfNeeded makes its entry IfNeeded; a Service and the CA stand in clientConfig."""
    target = WebhookEndpoint(b"PEM", service="s", namespace="n", port=9443)
    (entry,) = made(policy("m", mutating=True), target=target)[MUTATING.kind]
    assert entry["reinvocationPolicy"] == "IfNeeded"
    assert entry["clientConfig"]["service"] == {"name": "s", "namespace": "n", "port": 9443, "path": "/mutate"}
    assert base64.b64decode(entry["clientConfig"]["caBundle"]) == b"PEM"


def test_register_writes_and_remove_takes_away():
    """What was registered is gone after `remove`, which can be repeated."""

    async def go():
        store = MemoryStore()
        bundle = assemble(read("---\n".join(map(documents.dump, policy("m", mutating=True))), "p.yaml"), [])
        await register(store, hooks(registration(bundle.policies), gate=True), WebhookEndpoint(b""), OPTIONS)
        for gvk in (MUTATING, VALIDATING):
            (entry,) = (await store.get(gvk, "sluice"))["webhooks"]
            assert entry["rules"]
        await remove(store, "sluice")
        await remove(store, "sluice")
        for gvk in (MUTATING, VALIDATING):
            with pytest.raises(NotFound):
                await store.get(gvk, "sluice")

    asyncio.run(go())


def crd(name, **metadata):
    webhook = {"clientConfig": {"service": {"name": "sluice", "namespace": "sluice-system"}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}.kueue.x-k8s.io", **metadata},
        "spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}},
    }


def test_our_crds_are_told_where_to_convert():
    """Registering writes the Service and the CA into the chart's CRDs; those that a Kueue brought stay as they are."""

    async def go():
        store = MemoryStore()
        await store.create(crd("workloads", labels={"app.kubernetes.io/part-of": "sluice"}))
        foreign = await store.create(crd("cohorts", labels={"app.kubernetes.io/part-of": "kueue"}))
        target = WebhookEndpoint(b"PEM", service="release", namespace="n", port=8443)
        await register(store, [], target, Options(annotations={"cert-manager.io/inject-ca-from": "n/c"}))
        ours = await store.get(CRD, "workloads.kueue.x-k8s.io")
        await register(store, [], WebhookEndpoint(b"PEM", url="https://h:1/"), Options())
        by_url = await store.get(CRD, "workloads.kueue.x-k8s.io")
        return ours, by_url, foreign == await store.get(CRD, "cohorts.kueue.x-k8s.io")

    ours, by_url, untouched = asyncio.run(go())
    service = {"name": "release", "namespace": "n", "port": 8443, "path": "/convert"}
    ca = base64.b64encode(b"PEM").decode()
    assert ours["spec"]["conversion"]["webhook"]["clientConfig"] == {"service": service, "caBundle": ca}
    assert ours["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "n/c"}
    assert by_url["spec"]["conversion"]["webhook"]["clientConfig"] == {"url": "https://h:1/convert", "caBundle": ca}
    assert untouched


@pytest.mark.parametrize("registered", [True, False], ids=["it is there", "it was uninstalled"])
def test_crds_that_another_release_converts_stay_so(registered):
    """Two releases: the second takes the conversion only where the first is gone, whose Service answers no more."""

    async def go():
        store = MemoryStore()
        await store.create(crd("workloads", labels={"app.kubernetes.io/part-of": "sluice"}))
        first = WebhookEndpoint(b"ONE", service="sluice", namespace="sluice-system")
        await register(store, [], first, Options("sluice"))
        before = await store.get(CRD, "workloads.kueue.x-k8s.io")
        if not registered:
            await remove(store, "sluice")
        second = WebhookEndpoint(b"TWO", service="gate", namespace="gate")
        _, left = await register(
            store, [], second, Options("gate", annotations={"cert-manager.io/inject-ca-from": "g"})
        )
        return before, await store.get(CRD, "workloads.kueue.x-k8s.io"), left

    before, after, left = asyncio.run(go())
    if registered:
        told = "workloads.kueue.x-k8s.io: still converted at Service sluice-system/sluice, of another release; "
        assert (after, left) == (before, [f"{told}`sluice crds --take-over` changes that"])
    else:
        assert after["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["name"] == "gate"
        assert left == []


def test_the_command_prints_what_it_would_write():
    """`sluice register --print` gives both configurations of the shipped policies as YAML; a missing CA is named."""
    done = CliRunner().invoke(
        command, ["--policies", str(ROOT / "policies"), "--url", "https://h:1", "--public-ca", "--print"]
    )
    assert done.exit_code == 0, done.output
    assert {d.value["kind"] for d in read(done.stdout)} == {MUTATING.kind, VALIDATING.kind}
    failed = CliRunner().invoke(command, ["--ca-file", "/nowhere/ca.crt", "--print"])
    assert failed.exit_code == 2
    assert "/nowhere/ca.crt" in failed.output

"""Native policies refuse and let in what Sluice does, kind by kind, as far as a native policy can."""

from pathlib import Path

import pytest

from tests.offline.dryrun.files import GPU, SUSPEND
from tests.offline.running import invoke
from webhook import documents
from webhook.cli import exits
from webhook.cli.commands.policies.generate import generate_command
from webhook.jobs.kinds import KINDS
from webhook.offline.dryrun.evaluate import Input, dry_run
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.offline.dryrun.outcome import ObjectRef
from webhook.offline.dryrun.requests import Sender
from webhook.offline.lint.trial.samples import of_kind
from webhook.offline.native_policies.generate import OWNERS, native_policies
from webhook.policy.loading.assemble import assemble

EXPANDED = [k for k in KINDS if k.templates and k.templates[0].path and all(t.made is None for t in k.templates)]


def bundle_of(text: str):
    return assemble(documents.read(text, "x.yaml"))


def native_of(text: str):
    bindings = [d.value for d in documents.read(text) if d.value["kind"].endswith("Binding")]
    return native_policies(bundle_of(text), bindings)


def outcome(bundle, obj, operation="CREATE"):
    item = Input(ObjectRef(obj["kind"], "team-a", "x"), obj)
    return dry_run([item], bundle, FileFacts([], {"team": "yes"}), Sender(operation, namespace="team-a")).outcomes[0]


def halved(obj):
    text = documents.dump(obj).replace("nvidia.com/gpu: '1'", "nvidia.com/gpu: '0.5'")
    return documents.read(text)[0].value


@pytest.mark.parametrize("kind", EXPANDED, ids=lambda k: str(k.gvk))
def test_a_native_policy_judges_as_the_policy_does(kind):
    """The native policy of each kind with pod templates refuses half a GPU, and lets one in."""
    made = native_of(GPU)
    name = f"whole-gpus-{kind.resource}.{kind.group}-native"
    mine = [o for o in made.objects if o["metadata"]["name"] == name]
    assert len(mine) == 2
    native, original = assemble(documents.read(documents.dump(o))[0] for o in mine), bundle_of(GPU)
    for sample in of_kind(kind):
        for obj in (sample.obj, halved(sample.obj)):
            ours, theirs = outcome(original, obj), outcome(native, obj)
            assert (theirs.allowed, bool(theirs.policies)) == (ours.allowed, bool(ours.policies))


def test_old_objects_of_one_template_are_kept():
    """A condition on change is asked of the whole object, a validation on change of the template's old form."""
    text = GPU.replace(
        '!("exempt" in object.metadata.?labels.orValue({}))', "oldObject == null || object.spec != oldObject.spec"
    ).replace("    message: give", "  - expression: oldObject == null || size(object.spec) > 0\n    message: give")
    made = native_of(text)
    job = next(o for o in made.objects if o["metadata"]["name"] == "whole-gpus-jobs.batch-native")
    assert job["spec"]["matchConditions"][0]["expression"] == "oldObject == null || object.spec != oldObject.spec"
    assert "variables.oldPod == null" in job["spec"]["validations"][1]["expression"]
    assert ("whole-gpus for pytorchjobs.kubeflow.org", "it reads oldObject, whose templates cannot be matched with the "
            "new ones") in made.left_out  # fmt: skip


PARTS = "object.spec.containers != oldObject.spec.containers"


@pytest.mark.parametrize(
    ("asked", "compared"),
    [
        (PARTS, True),
        (f"{PARTS} || object.spec.?volumes != oldObject.spec.?volumes", True),
        ("object.spec.containers != oldObject.spec.?containers.orValue([])", False),
        (f"({PARTS} || size(oldObject.spec.containers) > 1)", False),
        ("size(oldObject.spec.containers) > 1", False),
    ],
)
def test_a_comparison_of_parts_is_one_of_the_whole_for_many_templates(asked, compared):
    """Whether parts of a template changed is asked of it where there is one, and of the whole spec where there are
    many; a condition that asks anything else of the old object has no form for these."""
    made = native_of(GPU.replace('!("exempt" in object.metadata.?labels.orValue({}))', f"oldObject == null || {asked}"))
    policies = {o["metadata"]["name"]: o["spec"] for o in made.objects if not o["kind"].endswith("Binding")}
    job, many = (policies.get(f"whole-gpus-{kind}-native") for kind in ("jobs.batch", "pytorchjobs.kubeflow.org"))
    exact = "oldObject == null || (object.spec.template).spec.containers != (oldObject.spec.template).spec.containers"
    assert job["matchConditions"][0]["expression"].startswith(exact) is compared
    whole = "oldObject == null || object.spec != oldObject.spec"
    assert (many and many["matchConditions"][0]["expression"]) == (whole if compared else None)


def test_system_namespaces_are_left_out():
    """What Sluice does by itself is written into each: kube-system is not matched."""
    for native in native_of(GPU + "---\n" + SUSPEND).objects:
        if not native["kind"].endswith("Binding"):
            selector = native["spec"]["matchConstraints"]["namespaceSelector"]
            assert "kube-system" in selector["matchExpressions"][-1]["values"]
            assert selector["matchLabels"] == {"team": "yes"}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("metadata: {name: suspend}\nspec:\n  failure", "metadata: {name: suspend, annotations: "
         "{sluice.dev/mode: warn}}\nspec:\n  failure", "mode warn exists in Sluice only"),
        ("metadata: {name: suspend}\nspec:\n  failure", "metadata: {name: suspend, annotations: "
         "{sluice.dev/skip: owned-by-workload}}\nspec:\n  failure", OWNERS),
    ],
)  # fmt: skip
def test_what_only_sluice_can_is_left_out(old, new, reason):
    """A policy that needs an extra of Sluice gets no native form, and the reason is told."""
    made = native_of(SUSPEND.replace(old, new))
    assert made.objects == ()
    assert made.left_out[0][1].startswith(reason)


def test_what_asks_for_owners_is_portable_as_its_reason_says():
    """Without the annotation, and with the condition, it has a native form."""
    metadata = "metadata: {name: suspend%s}\nspec:\n  "
    condition = "matchConditions: [{name: no-owner, expression: '!has(object.metadata.ownerReferences)'}]\n  "
    asking = SUSPEND.replace(metadata % "", metadata % ", annotations: {sluice.dev/skip: owned-by-workload}")
    assert native_of(asking).left_out == (("suspend", OWNERS),)
    made = native_of(SUSPEND.replace(metadata % "", metadata % "" + condition))
    assert (made.left_out, made.objects[0]["spec"]["matchConditions"][0]["name"]) == ((), "no-owner")


PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
UPDATES = {**PODS, "resources": ["configmaps"], "operations": ["UPDATE"]}
ASKS = 'object.spec.containers.exists(c, "nvidia.com/gpu" in c.?resources.?limits.orValue({}))'
TOLERATES = "has(object.spec.tolerations)"
FIRST = "object.spec.containers[0].resources.limits['nvidia.com/gpu']"
LONG = f" && size('{'x' * 9_000}') > 0"
"""So long that variables are not written out."""
EXEMPT = """---
apiVersion: sluice.dev/v1alpha1
kind: PolicyException
metadata: {name: e}
spec: {policyNames: [p], reason: r, expires: "2999-01-01"}
"""


def policy(
    expression: str, *rules: dict, condition: str = "", bound: tuple = (), variable: tuple = (), **match: object
) -> str:
    """A policy on Pods, expanded into job kinds, with its binding, which may be about less."""
    spec = {
        "variables": [dict(zip(("name", "expression"), variable, strict=True))] if variable else [],
        "matchConstraints": {"resourceRules": list(rules), **match},
        "matchConditions": [{"name": "c", "expression": condition}] if condition else [],
        "validations": [{"expression": expression, "message": "refused"}],
    }
    metadata = {"name": "p", "annotations": {"sluice.dev/expand": "pod-templates"}}
    group, kind = "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"
    binding = {"policyName": "p", "validationActions": ["Deny"]}
    binding |= {"matchResources": {"resourceRules": list(bound)}} if bound else {}
    return "---\n".join(
        documents.dump({"apiVersion": group, "metadata": metadata, **rest})
        for rest in ({"kind": kind, "spec": spec}, {"kind": f"{kind}Binding", "spec": binding})
    )


def template(gpus: str = "", **labels: str) -> dict:
    """A pod template; one with GPUs tolerates what nodes with GPUs have."""
    container = {"name": "c", "image": "i", **({"resources": {"limits": {"nvidia.com/gpu": gpus}}} if gpus else {})}
    spec = {"containers": [container], "restartPolicy": "Never"}
    return {
        "metadata": {"labels": labels},
        "spec": {**spec, **({"tolerations": [{"operator": "Exists"}]} if gpus else {})},
    }


def a_job(labels: dict | None = None) -> dict:
    """A Job with labels of its own."""
    metadata = {"name": "j", "namespace": "team-a", "labels": labels or {"own": "yes"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template(app="x")}}


def a_pytorch_job() -> dict:
    """A job of a master without GPUs and workers with some."""
    roles = {"Master": {"template": template()}, "Worker": {"replicas": 2, "template": template("1")}}
    metadata = {"name": "t", "namespace": "team-a"}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata,
            "spec": {"pytorchReplicaSpecs": roles}}  # fmt: skip


def without_metadata() -> dict:
    """A job of one worker, whose template has no metadata."""
    job = a_pytorch_job()
    roles = job["spec"]["pytorchReplicaSpecs"]
    return {
        **job,
        "spec": {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": roles["Worker"]["template"]["spec"]}}}},
    }


JUDGED = {
    "a comment in a variable": (
        policy("variables.v", PODS, variable=("v", "object.spec.containers.size() == 2 // two")),
        a_pytorch_job(),
        "CREATE",
    ),
    "a comment in a condition": (policy("false", PODS, condition=f"{ASKS} // GPUs"), a_pytorch_job(), "CREATE"),
    "a comment in a validation": (policy(f"{TOLERATES} // all", PODS), a_pytorch_job(), "CREATE"),
    "a variable named pod": (
        policy("size(variables.pod) == 2", PODS, variable=("pod", "object.spec.containers")),
        a_job(),
        "CREATE",
    ),
    "a variable of a macro named pod": (
        policy("object.spec.containers.exists(pod, pod.name == object.spec.containers[0].name)", PODS),
        a_pytorch_job(),
        "CREATE",
    ),
    "a template without metadata": (policy("!has(object.metadata.labels)", PODS), without_metadata(), "CREATE"),
    "a condition on a template without metadata": (
        policy("false", PODS, condition="has(object.metadata) && has(object.metadata.labels)"),
        without_metadata(),
        "CREATE",
    ),
    "the kind of a template": (policy('object.kind == "Pod"', PODS), a_job(), "CREATE"),
    "a condition that holds for one template": (policy(TOLERATES, PODS, condition=ASKS), a_pytorch_job(), "CREATE"),
    "a variable that fails for a template that does not need it": (
        policy(f"!{ASKS} || {TOLERATES} && variables.v == '1'", PODS, variable=("v", FIRST)),
        a_pytorch_job(),
        "CREATE",
    ),
    "a long variable that fails for a template without the condition": (
        policy(f"{TOLERATES} && variables.v == '1'{LONG}", PODS, condition=ASKS, variable=("v", FIRST)),
        a_pytorch_job(),
        "CREATE",
    ),
    "a long variable of one template": (
        policy(f"{TOLERATES} && variables.v.size() > 0{LONG}", PODS, variable=("v", "object.spec.containers")),
        a_pytorch_job(),
        "CREATE",
    ),
    "a long variable of none": (
        policy(f"{TOLERATES} || variables.v == 2{LONG}", PODS, variable=("v", "1 + 1")),
        a_pytorch_job(),
        "CREATE",
    ),
    "labels of the template": (
        policy("false", PODS, objectSelector={"matchLabels": {"own": "yes"}}),
        a_job(),
        "CREATE",
    ),
    "a rule about something else": (policy("false", PODS, UPDATES), a_job(), "UPDATE"),
    "a rule about a part of Pods": (
        policy("false", {**PODS, "resources": ["pods/ephemeralcontainers"], "operations": ["UPDATE"]}),
        a_job(),
        "UPDATE",
    ),
    "a rule about Pods and Jobs": (
        policy("has(object.spec.containers)", {**PODS, "apiGroups": ["", "batch"], "resources": ["pods", "jobs"]}),
        a_job(),
        "CREATE",
    ),
    "a rule about Jobs alone": (
        policy("object.spec.containers.size() > 0", {**PODS, "apiGroups": ["batch"], "resources": ["jobs"]}),
        a_job(),
        "CREATE",
    ),
    "Pods that are left out": (
        policy("false", PODS, excludeResourceRules=[{**PODS, "resourceNames": ["j"]}]),
        a_job(),
        "CREATE",
    ),
    "a binding about Pods": (policy("false", PODS, bound=(PODS,)), a_job(), "CREATE"),
    "a binding about something else": (policy("false", PODS, bound=(UPDATES,)), a_job(), "CREATE"),
    "an exception": (policy("false", PODS) + EXEMPT, a_job(), "CREATE"),
}


@pytest.mark.parametrize("name", JUDGED)
def test_a_native_policy_judges_no_more_than_the_policy_does(name):
    """What the native policies that were written refuse, the policy refuses."""
    text, obj, operation = JUDGED[name]
    native = assemble(documents.read(documents.dump(o))[0] for o in native_of(text).objects)
    ours, theirs = outcome(bundle_of(text), obj, operation), outcome(native, obj, operation)
    assert theirs.allowed == ours.allowed


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (JUDGED["labels of the template"][0], "objectSelector is about the labels of pod templates"),
        (JUDGED["an exception"][0], "PolicyException e exempts objects from it until a date"),
    ],
)
def test_what_a_native_policy_cannot_tell_apart_is_told(text, reason):
    """Selectors see the whole job, and CEL no clock."""
    assert reason in {why for _, why in native_of(text).left_out}


@pytest.mark.parametrize(
    ("ref", "names"),
    [
        ({"name": "one", "namespace": "s", "parameterNotFoundAction": "Deny"}, ["one"]),
        ({"name": "one", "parameterNotFoundAction": "Deny"}, ["one", "one"]),
        ({"selector": {"matchLabels": {"a": "b"}}, "parameterNotFoundAction": "Deny"}, ["two"]),
    ],
)
def test_parameters_in_the_files_go_along(ref, names):
    """Without them in the cluster an API server would deny everything."""
    text = policy("false", PODS).replace("spec:\n", "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n", 1)
    text = text.replace("policyName: p\n", f"policyName: p\n  paramRef: {ref}\n")
    maps = [("one", "s"), ("one", "t"), ("two", "s")]
    for name, namespace in maps:
        labels = "{a: b}" if name == "two" else "{}"
        metadata = f"{{name: {name}, namespace: {namespace}, labels: {labels}}}"
        text += f"---\n{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}}}\n"
    made = native_of(text).objects
    assert [o["metadata"]["name"] for o in made if o["kind"] == "ConfigMap"] == names
    assert [o["kind"] for o in made[: len(names)]] == ["ConfigMap"] * len(names)


def test_an_exception_that_has_expired_is_no_reason():
    """It exempts nothing any more."""
    text = JUDGED["an exception"][0].replace("2999", "2020")
    bindings = [d.value for d in documents.read(text) if d.value["kind"].endswith("Binding")]
    assert native_policies(bundle_of(text), bindings, now=2e9).left_out == ()


def test_the_command_writes_yaml_and_tells_the_rest(tmp_path, monkeypatch):
    """Standard output is YAML that loads again; what was left out is on standard error."""
    monkeypatch.chdir(tmp_path)
    Path("policies").mkdir()
    Path("policies/gpu.yaml").write_text(GPU)
    done = invoke(generate_command, "native")
    assert done.exit_code == exits.PASSED
    assert len(bundle_of(done.stdout).policies) == len(EXPANDED) + 1
    Path("policies/gpu.yaml").write_text(SUSPEND.split("---")[0])
    assert invoke(generate_command, "native").exit_code == exits.NOTHING_TO_RUN
    assert invoke(generate_command, "native", "nowhere").exit_code == exits.BAD_INPUT

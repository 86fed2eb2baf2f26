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
from webhook.offline.native_policies.generate import native_policies
from webhook.policy.loading.assemble import assemble

EXPANDED = [k for k in KINDS if k.templates and k.templates[0].path and all(t.made is None for t in k.templates)]


def bundle_of(text: str):
    return assemble(documents.read(text, "x.yaml"))


def native_of(text: str):
    bindings = [d.value for d in documents.read(text) if d.value["kind"].endswith("Binding")]
    return native_policies(bundle_of(text), bindings)


def outcome(bundle, obj):
    item = Input(ObjectRef(obj["kind"], "team-a", "x"), obj)
    return dry_run([item], bundle, FileFacts([], {"team": "yes"}), Sender(namespace="team-a")).outcomes[0]


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
         "{sluice.dev/skip: owned-by-workload}}\nspec:\n  failure", "the native API server cannot look up an owner"),
    ],
)  # fmt: skip
def test_what_only_sluice_can_is_left_out(old, new, reason):
    """A policy that needs an extra of Sluice gets no native form, and the reason is told."""
    made = native_of(SUSPEND.replace(old, new))
    assert made.objects == ()
    assert made.left_out[0][1].startswith(reason)


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

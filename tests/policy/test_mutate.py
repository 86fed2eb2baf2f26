"""Mutating policies: patches, order, reinvocation, oscillation, modes, warnings, errors, idempotence."""

import copy
import json

import jsonpatch
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.policy.support import admitted, bundle, mutating, request
from webhook.admission import mutate
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.verdict import NeedsFacts
from webhook.admission.wire import answer
from webhook.kube.equality import same

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "ns"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
JOBS = "[{apiGroups: [batch], apiVersions: [v1], resources: [jobs], operations: [CREATE]}]"


def add(path, value):
    return f'[JSONPatch{{op: "add", path: "{path}", value: {value}}}]'


def done(text, obj=POD, facts=None, **fields):
    return mutate(request(obj, **fields), bundle(text), facts or MemoryFacts())


def wire(verdict):
    return [step.wire() for step in verdict.patch]


def test_json_patch():
    """Operations are applied to the object, which itself stays as it was; the patch has what was written."""
    kept = copy.deepcopy(POD)
    verdict = done(mutating(add("/metadata/labels", '{"a": "b"}')))
    assert wire(verdict) == [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]
    assert verdict.object["metadata"]["labels"] == {"a": "b"}
    assert kept == POD


def test_apply_configuration():
    """Objects are merged in: maps by key, containers by their name."""
    patch = 'Object{spec: Object.spec{containers: [Object.spec.containers{name: "c", tty: true}], hostNetwork: true}}'
    verdict = done(mutating(patch, apply=True))
    assert verdict.object["spec"] == {"containers": [{"name": "c", "image": "i", "tty": True}], "hostNetwork": True}
    assert sorted(s["path"] for s in wire(verdict)) == ["/spec/containers/0/tty", "/spec/hostNetwork"]


def test_failed_test_operation_leaves_the_object():
    """A `test` that does not hold is no error; nothing is changed."""
    patch = (
        '[JSONPatch{op: "test", path: "/metadata/name", value: "b"}, JSONPatch{op: "remove", path: "/metadata/name"}]'
    )
    verdict = done(mutating(patch))
    assert (verdict.allowed, verdict.patch) == (True, ())


@pytest.mark.parametrize(
    ("patch", "apply", "message"),
    [
        ('[JSONPatch{op: "remove", path: "/spec/nothing"}]', False, "Unable to remove nonexistent key: nothing"),
        ("Object{spec: Object.status{a: 1}}", True, 'unexpected type name "Object.status", expected "Object.spec"'),
        ("Object{spec: Object.spec{a: object.spec.nothing}}", True, "no such key: nothing"),
    ],
)
def test_mutation_that_fails(patch, apply, message):
    """A mutation that cannot be done denies under failurePolicy Fail and is left out under Ignore."""
    verdict = done(mutating(patch, apply=apply))
    assert not verdict.allowed
    assert message in verdict.message
    ignored = done(mutating(patch, apply=apply, extra="  failurePolicy: Ignore"))
    assert (ignored.allowed, ignored.patch) == (True, ())


def test_mutations_of_a_policy_see_each_other():
    """The second mutation sees what the first one wrote, variables included."""
    text = mutating(
        add("/metadata/labels", '{"n": "1"}'),
        extra="""
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "add", path: "/metadata/labels/m", value: variables.n + "2"}]'}
  variables:
  - {name: n, expression: 'object.metadata.?labels.?n.orValue("none")'}""",
    )
    assert done(text).object["metadata"]["labels"] == {"n": "1", "m": "12"}


def test_policies_run_in_the_order_of_their_names():
    """What the files' order is does not matter."""
    first = mutating(
        add("/metadata/labels", '{"by": "a"}'),
        name="a",
        extra="  matchConditions: [{name: x, expression: '!has(object.metadata.labels)'}]",
    )
    second = mutating(
        add("/metadata/labels", '{"by": "b"}'),
        name="b",
        extra="  matchConditions: [{name: x, expression: '!has(object.metadata.labels)'}]",
    )
    assert done(first + second).object["metadata"]["labels"] == {"by": "a"}
    assert wire(done(first + second)) == wire(done(second + first))
    assert bundle(first + second).digest == bundle(second + first).digest


def test_reinvocation():
    """A policy with IfNeeded runs again after a later one changed the object; one with Never does not."""
    early = mutating(
        '[JSONPatch{op: "add", path: "/metadata/labels", value: {"seen": string(has(object.spec.hostname))}}]', name="a"
    )
    late = mutating(add("/spec/hostname", "'a'"), name="b")
    assert done(early + late).object["metadata"]["labels"] == {"seen": "true"}
    never = early.replace("IfNeeded", "Never")
    assert done(never + late).object["metadata"]["labels"] == {"seen": "false"}


def test_oscillation_is_reported():
    """Two policies that undo each other are named, and the review still ends."""

    def flip(name, mine):
        return mutating(f'[JSONPatch{{op: "add", path: "/spec/hostname", value: "{mine}"}}]', name=name)

    verdict = done(flip("a", "1") + flip("b", "2"))
    assert verdict.oscillating == ("a", "b")
    assert any("undo each other" in warning for warning in verdict.warnings)
    assert done(flip("a", "1") + flip("b", "1")).oscillating == ()


@pytest.mark.parametrize(("mode", "warned"), [("audit", False), ("warn", True)])
def test_modes_only_tell(mode, warned):
    """In the modes audit and warn nothing is changed; an annotation, and a warning, say what would be."""
    verdict = done(mutating(add("/spec/hostname", "'a'"), annotations=f"{{sluice.dev/mode: {mode}}}"))
    assert (verdict.patch, verdict.audit_annotations) == ((), {"m/would-mutate": "true"})
    assert bool(verdict.warnings) is warned


def test_warning_of_a_mutation():
    """A mutating policy words a warning by its own expression, once, and only where it changed something."""
    notes = "{sluice.dev/warning: '\"set x on \" + object.metadata.name'}"
    text = mutating(
        'has(object.spec.hostname) ? [] : [JSONPatch{op: "add", path: "/spec/hostname", value: "x"}]', annotations=notes
    )
    verdict = done(text)
    assert verdict.warnings == ("m: set x on a",)
    assert done(text, verdict.object).warnings == ()


def test_expanded_mutation_is_mapped_back():
    """A policy for Pods changes the template of a job at its own place; numbers of the user stay as they are."""
    notes = "{sluice.dev/expand: pod-templates}"
    text = mutating(
        add("/spec/x", 'quantity(object.spec.containers[0].resources.limits["g"]).isInteger()'), annotations=notes
    )
    template = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"g": 1}}}]}}
    obj = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"namespace": "ns"},
        "spec": {"tfReplicaSpecs": {"PS": {"template": template}, "Worker": {"template": template}}},
    }
    verdict = done(text, obj)
    assert wire(verdict) == [
        {"op": "add", "path": "/spec/tfReplicaSpecs/PS/template/spec/x", "value": True},
        {"op": "add", "path": "/spec/tfReplicaSpecs/Worker/template/spec/x", "value": True},
    ]
    limits = verdict.object["spec"]["tfReplicaSpecs"]["PS"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {"g": 1}


def test_an_empty_list_leaves_no_null_in_a_template():
    """Go's Pod has no nulls, so a template has none either: a null is no list to whoever reads the template next."""
    spec = "Object.spec{hostname: 'h', initContainers: object.spec.containers.filter(c, false)}"
    text = mutating(f"Object{{spec: {spec}}}", annotations="{sluice.dev/expand: pod-templates}", apply=True)
    obj = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"namespace": "ns"},
        "spec": {"tfReplicaSpecs": {"PS": {"template": {"spec": {"containers": [{"name": "c"}]}}}}},
    }
    assert wire(done(text, obj)) == [
        {"op": "add", "path": "/spec/tfReplicaSpecs/PS/template/spec/hostname", "value": "h"}
    ]


def test_a_template_that_a_policy_adds_is_seen_by_those_after_it():
    """A policy gives a RayJob a submitter; one for Pods comes to its template too, in the same call."""
    rules = "[{apiGroups: [ray.io], apiVersions: ['*'], resources: [rayjobs], operations: [CREATE]}]"
    gives = 'has(object.spec.submitterPodTemplate) ? [] : [JSONPatch{op: "add", path: "/spec/submitterPodTemplate", '
    gives += 'value: {"spec": {"containers": [{"name": "s"}]}}}]'
    named = mutating(add("/spec/hostname", "'h'"), name="b", annotations="{sluice.dev/expand: pod-templates}")
    obj = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"namespace": "ns"}}
    obj["spec"] = {"rayClusterSpec": {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "r"}]}}}}}
    spec = done(mutating(gives, rules, name="a") + "---" + named, obj).object["spec"]
    assert spec["submitterPodTemplate"] == {"spec": {"containers": [{"name": "s"}], "hostname": "h"}}
    assert spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["hostname"] == "h"


def test_a_number_that_a_policy_for_the_whole_job_writes_is_a_text_in_its_template():
    """The API server keeps numbers in a kind that it does not know; the Pods that come of the template have texts."""
    whole = mutating(
        add(
            "/spec/pytorchReplicaSpecs/Worker/template/spec/containers/0/resources",
            '{"limits": {"nvidia.com/gpu": 1}}',
        ),
        "[{apiGroups: [kubeflow.org], apiVersions: [v1], resources: [pytorchjobs], operations: [CREATE]}]",
        name="a",
    )
    reads = mutating(
        add("/spec/x", 'quantity(object.spec.containers[0].resources.limits["nvidia.com/gpu"]).isInteger()'),
        annotations="{sluice.dev/expand: pod-templates}",
        name="b",
    )
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [{"name": "c"}]}}}}},
    }
    verdict = done(whole + reads, job)
    assert verdict.allowed, verdict.message
    assert verdict.object["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["x"] is True


@pytest.mark.parametrize(
    ("patch", "apply"),
    [
        (
            "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', resources: "
            "Object.spec.containers.resources{limits: {'nvidia.com/gpu': 1}}}]}}",
            True,
        ),
        (add("/spec/containers/0/resources", "{'limits': {'nvidia.com/gpu': 1}}"), False),
    ],
)
def test_a_quantity_written_as_a_number_is_a_text_to_the_next_policy(patch, apply):
    """In a template as in a Pod; whoever writes the number again changes nothing."""
    notes = "{sluice.dev/expand: pod-templates}"
    reads = add("/spec/x", 'quantity(object.spec.containers[0].resources.limits["nvidia.com/gpu"]).isInteger()')
    text = (
        mutating(patch, name="a", annotations=notes, apply=apply) + "---" + mutating(reads, name="b", annotations=notes)
    )
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "ns"}}
    job["spec"] = {"template": {"spec": {"containers": [{"name": "c"}]}}}
    verdict = done(text, job)
    assert verdict.object["spec"]["template"]["spec"] == {
        "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
        "x": True,
    }
    assert verdict.oscillating == ()
    assert done(text, verdict.object).patch == ()


def test_templates_that_are_made_up_are_not_patched():
    """A TrainJob's and a SparkApplication's stand-in templates are read, never written."""
    notes = "{sluice.dev/expand: pod-templates}"
    obj = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"namespace": "ns"},
        "spec": {"trainer": {"numNodes": 2}},
    }
    assert done(mutating(add("/spec/hostname", "'a'"), annotations=notes), obj).patch == ()


def test_owned_objects_are_skipped_where_the_policy_says_so():
    """skip: owned-by-workload leaves alone what an admitted JobSet makes, not a CronJob's Jobs or a Job's Jobs."""
    text = mutating(
        "Object{spec: Object.spec{suspend: true}}", JOBS, annotations="{sluice.dev/skip: owned-by-workload}", apply=True
    )

    def job(kind, version):
        ref = {"controller": True, "apiVersion": version, "kind": kind, "name": "o", "uid": "u-1"}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"namespace": "ns", "ownerReferences": [ref]},
            "spec": {},
        }

    labels = {"kueue.x-k8s.io/queue-name": "q"}
    rows = [("JobSet", "jobset.x-k8s.io/v1alpha2", False), ("CronJob", "batch/v1", True), ("Job", "batch/v1", True)]
    for kind, version, changed in rows:
        metadata = {"name": "o", "namespace": "ns", "uid": "u-1", "labels": labels}
        owner = {"apiVersion": version, "kind": kind, "metadata": metadata}
        facts = MemoryFacts([owner, admitted(owner)])
        assert bool(done(text, job(kind, version), facts).patch) is changed


def configured(**fields):
    return {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **fields}


@pytest.mark.parametrize(
    ("settings", "patched"),
    [
        pytest.param([], False, id="nothing is set"),
        pytest.param([configured()], False, id="it is not set"),
        pytest.param([configured(featureGates={"Loud": True})], True, id="it is on"),
        pytest.param([configured(featureGates={"Loud": False})], False, id="it is off"),
    ],
)
def test_a_setting_is_the_value_of_its_variable(settings, patched):
    """Its expression stands where nothing is set."""
    variables = "  variables: [{name: Loud, expression: 'false'}]"
    patch = "variables.Loud ? [JSONPatch{op: 'add', path: '/spec/hostname', value: 'a'}] : []"
    text = mutating(patch, extra=variables, annotations="{sluice.dev/settings: Loud}")
    assert bool(done(text, facts=MemoryFacts(settings)).patch) is patched


def test_delete_is_not_mutated():
    """Where there is no object there is nothing to patch."""
    assert (
        mutate(request(None, POD, "DELETE"), bundle(mutating(add("/spec/hostname", "'a'"))), MemoryFacts()).patch == ()
    )


ANY = "[{apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*']}]"
KEYS = st.sampled_from(["a", "b", "c/d", "e~f"])
SPECS = st.dictionaries(KEYS, st.integers(0, 3) | st.dictionaries(KEYS, st.text("xy", max_size=2), max_size=2))


@settings(max_examples=60)
@given(SPECS)
def test_patch_gives_exactly_the_mutated_object(spec):
    """The patch, applied by the jsonpatch library to the object, gives the verdict's object; once will do."""
    policies = bundle(
        mutating(
            '[JSONPatch{op: "add", path: "/spec/" + jsonpatch.escapeKey("c/d"), value: {"k": "v"}}]', ANY, name="a"
        )
        + mutating('has(object.spec.b) ? [JSONPatch{op: "remove", path: "/spec/b"}] : []', ANY, name="b")
        + mutating(
            'Object{metadata: Object.metadata{labels: {"n": string(size(object.spec))}}}', ANY, name="c", apply=True
        )
    )
    obj = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "ns"}, "spec": spec}
    verdict = mutate(request(obj), policies, MemoryFacts())
    assert same(jsonpatch.apply_patch(obj, wire(verdict)), verdict.object)
    assert mutate(request(verdict.object), policies, MemoryFacts()).patch == ()


def test_what_is_not_utf8_is_patched_in_as_the_api_server_does():
    """A byte that is no UTF-8, in a value or a key, is U+FFFD in the patch, in the object and in the warning."""
    site = {**POD, "metadata": {**POD["metadata"], "annotations": {"site": "http://a/?k=%ff"}}}
    echo = "url(object.metadata.annotations.site).getQuery()['k'][0]"
    patch = f"Object{{metadata: Object.metadata{{labels: {{'k': {echo}, {echo}: 'v'}}}}}}"
    warning = json.dumps({"sluice.dev/warning": echo})
    for text in (
        mutating(patch, apply=True, annotations=warning),
        mutating(add("/metadata/labels", f"{{{echo}: {echo}}}")),
    ):
        verdict = done(text, site)
        assert "\ufffd" in verdict.object["metadata"]["labels"]
        assert "\ufffd" in verdict.object["metadata"]["labels"].values()
        assert orjson.loads(orjson.dumps(answer("u", verdict)))["response"]["patchType"] == "JSONPatch"
        assert verdict.warnings in ((), ("m: \ufffd",))


def test_a_warning_may_ask_the_authorizer():
    """What a warning asks is asked like any other question, and the review goes on behind its answer."""
    asks = "authorizer.group('').resource('pods').check('create').allowed() ? 'yes' : 'no'"
    text = mutating(add("/metadata/labels", '{"a": "b"}'), annotations=json.dumps({"sluice.dev/warning": asks}))
    needs = done(text)
    assert isinstance(needs, NeedsFacts)
    answers = dict.fromkeys(needs.questions, True)
    verdict = done(text, facts=MemoryFacts(authorizations=answers))
    assert (verdict.warnings, len(verdict.patch)) == (("m: yes",), 1)


@pytest.mark.parametrize(("failure", "allowed"), [("Fail", False), ("Ignore", True)])
def test_a_bug_is_one_policys_failure(failure, allowed, monkeypatch, caplog):
    """What no expression may raise is that policy's failure alone, by its failurePolicy; the others do their work."""
    broken = mutating(add("/metadata/labels", '{"a": "b"}'), name="broken")
    broken = broken.replace("spec:\n", f"spec:\n  failurePolicy: {failure}\n", 1)
    policies = bundle(broken + mutating(add("/spec/hostNetwork", "true"), name="other"))

    def boom(*_):
        raise RuntimeError("boom")

    monkeypatch.setattr(policies.policies[0].mutations[0].expression.program, "metered", boom)
    verdict = mutate(request(POD), policies, MemoryFacts())
    assert verdict.allowed is allowed
    assert wire(verdict) == ([{"op": "add", "path": "/spec/hostNetwork", "value": True}] if allowed else [])
    assert verdict.message == ("" if allowed else "broken: the policy could not be evaluated: boom")
    assert "policy broken failed" in caplog.text

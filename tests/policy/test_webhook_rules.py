"""What a webhook registration is told about a bundle."""

import itertools
import json
from pathlib import Path

import pytest
import yaml

from tests.policy.support import PODS, bundle, mutating, request, validating
from tests.shared import ROOT
from webhook import cel
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.pipeline import mutate
from webhook.admission.verdict import Verdict
from webhook.cel.env import validation_env
from webhook.cel.lib.authorizer import Authorizer, AuthorizerDecision
from webhook.cluster.webhooks.required_webhooks import hooks
from webhook.jobs.kinds import KINDS
from webhook.policy import load_bundle
from webhook.policy.webhook_rules import EXPRESSION_LIMIT, registration
from webhook.yaml_library import LOADER

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ns"}, "spec": {"containers": []}}
QUEUE = {"kueue.x-k8s.io/queue-name": "q"}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j", "namespace": "ns", "labels": QUEUE, "annotations": QUEUE},
    "spec": {"template": {"spec": {"containers": []}}},
}
FOLDERS = [p for p in sorted(Path(ROOT, "policies").iterdir()) if p.name not in ("queue", "library")]
WITH_QUEUES = [*FOLDERS, Path(ROOT, "policies", "queue")]
CONDITION = "  matchConditions: [{name: c, expression: \"object.kind == 'Pod'\"}]"


def holds(condition, asked, options=None, *, may=False):
    """Evaluate a webhook's condition as the API server does: an error is raised. The user `may` do all, or nothing."""
    return cel.compile(condition, validation_env(params=False)).evaluate(given(asked, options, may=may))


def given(asked, options=None, *, may=False):
    """What the API server gives to a condition."""
    attributes = {**asked.attributes, "options": options or {}}
    if asked.sub_resource:
        attributes["subResource"] = asked.sub_resource
    authorizer = Authorizer(lambda _: AuthorizerDecision(may))
    return {
        "object": asked.object, "oldObject": asked.old_object, "request": attributes, "authorizer": authorizer,
    }  # fmt: skip


def ignoring(rules=PODS, name="b", extra=""):
    """A validating policy with failurePolicy Ignore, as YAML text."""
    return validating("true", rules, extra, name=name).replace(
        "spec:\n  match", "spec:\n  failurePolicy: Ignore\n  match", 1
    )


def test_one_entry_per_failure_policy():
    """Policies of a phase share a webhook, unless their failure policies differ."""
    services = PODS.replace("pods", "services")
    patch = mutating("[1].map(i, JSONPatch{op: 'test'})")
    found = registration(bundle(validating("true", name="a") + ignoring(services) + patch).policies)
    assert [(e.mutating, e.failure_policy, e.policies) for e in found] == [
        (True, "Fail", ("m",)),
        (False, "Fail", ("a",)),
        (False, "Ignore", ("b",)),
    ]
    assert [e.reinvocation_policy for e in found] == ["IfNeeded", "", ""]


@pytest.mark.parametrize(
    ("failing", "ignored", "joins"),
    [
        ({}, {}, True),
        ({"operations": ["*"]}, {"operations": ["CREATE", "UPDATE"]}, True),
        ({}, {"operations": ["CREATE", "UPDATE"]}, False),
        ({"apiVersions": ["*"]}, {}, True),
        ({}, {"apiVersions": ["v1", "v2"]}, False),
        ({"apiGroups": ["", "apps"]}, {}, True),
        ({}, {"apiGroups": ["*"]}, False),
        ({"resources": ["*"]}, {}, True),
        ({"resources": ["*"]}, {"resources": ["pods/resize"]}, False),
        ({"resources": ["pods/*"]}, {"resources": ["pods/resize"]}, True),
        ({"resources": ["*/*"]}, {"resources": ["pods/resize", "pods"]}, True),
        ({"resources": ["pods/resize"]}, {"resources": ["*/resize"]}, False),
        ({"scope": "Namespaced"}, {}, False),
        ({}, {"scope": "Namespaced"}, True),
    ],
)
def test_who_ignores_failures_goes_with_who_does_not(failing, ignored, joins):
    """A policy with Ignore costs no call of its own where every request of its rules is sent for one with Fail."""
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    text = validating("true", json.dumps([{**pods, **failing}]), name="a") + ignoring(json.dumps([{**pods, **ignored}]))
    policies = bundle(text)
    found = [entry.policies for entry in registration(policies.policies)]
    assert found == ([("a", "b")] if joins else [("a",), ("b",)])
    assert [p.name for p in policies.part("fail").policies] == [*found[0]]
    assert [p.name for p in policies.part("ignore").policies] == [name for names in found[1:] for name in names]


def test_a_policy_file_mutates_in_the_order_of_the_calls():
    """Who ignores failures in a call of its own changes what the others left, whatever its name."""
    trail = "JSONPatch{op: 'add', path: '/metadata/labels/trail', value: object.metadata.labels.trail + '%s'}"
    condition = "  matchConditions: [{name: c, expression: 'object.metadata.labels.trail.size() < 3'}]"
    texts = [mutating(f"[{trail % name}]", name=name, extra=condition) for name in "ab"]
    texts[0] = texts[0].replace("spec:\n", "spec:\n  failurePolicy: Ignore\n", 1)
    policies = bundle("".join(texts).replace("IfNeeded", "Never"))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"trail": ""}}, "spec": {}}
    found = []
    for parts in (("",), ("fail", "ignore")):
        obj = pod
        for part in parts:
            verdict = mutate(request(obj), policies.part(part), MemoryFacts())
            assert isinstance(verdict, Verdict)
            assert verdict.object is not None
            obj = verdict.object
        found.append(obj["metadata"]["labels"]["trail"])
    assert found == ["ba", "ba"]


def test_a_condition_keeps_failure_policies_apart():
    """Where not every request is sent for those with Fail, one that ignores failures must not widen what is refused."""
    found = registration(bundle(validating("true", extra=CONDITION, name="a") + ignoring()).policies)
    assert [entry.policies for entry in found] == [("a",), ("b",)]
    (joined,) = registration(bundle(validating("true", name="a") + ignoring(extra=CONDITION)).policies)
    assert (joined.policies, joined.condition) == (("a", "b"), "")


def test_a_rule_that_another_covers_is_not_written():
    """Two that say the same, in other words, are written once."""
    rules = [
        {"apiGroups": [""], "apiVersions": ["v1"], "resources": resources, "operations": operations}
        for resources, operations in (
            (["pods", "services"], ["CREATE"]),
            (["services", "pods"], ["CREATE"]),
            (["pods"], ["CREATE", "UPDATE"]),
            (["pods"], ["UPDATE"]),
        )
    ]
    (entry,) = registration(bundle(validating("true", json.dumps(rules))).policies)
    assert [(rule["resources"], rule["operations"]) for rule in entry.rules] == [
        (["pods"], ["CREATE", "UPDATE"]),
        (["services", "pods"], ["CREATE"]),
    ]


def test_conditions_are_joined():
    """All policies have conditions: one of them must hold. One has none: every request comes."""
    with_one = validating("true", name="a", extra=CONDITION)
    assert registration(bundle(with_one).policies)[0].condition == (
        "((request.resource.group == '' && request.resource.resource == 'pods' && "
        "request.?subResource.orValue('') == '') && (object.kind == 'Pod'))"
    )
    assert registration(bundle(with_one + validating("true", name="b")).policies)[0].condition == ""
    uses = with_one.replace("object.kind == 'Pod'", "namespaceObject == null")
    assert registration(bundle(uses).policies)[0].condition == ""


def test_a_condition_counts_for_what_no_other_policy_asks_for():
    """One policy needs every Pod: a condition on Services keeps other Services away, and nothing else."""
    text = validating("true", name="a") + validating("true", PODS.replace("pods", "services"), CONDITION, name="b")
    (entry,) = registration(bundle(text).policies)
    service = {**POD, "kind": "Service", "spec": {}}
    assert holds(entry.condition, request(POD))
    assert not holds(entry.condition, of("services", service))
    assert holds(entry.condition, of("services", {**service, "kind": "Pod"}))


def test_a_condition_counts_for_an_operation_that_no_other_policy_asks_for():
    """One policy needs every new Pod: a condition on changes of Pods keeps other changes away."""
    creates, changes = PODS.replace("'*'", "CREATE"), PODS.replace("'*'", "UPDATE")
    (entry,) = registration(
        bundle(validating("true", creates, name="a") + validating("true", changes, CONDITION, name="b")).policies
    )
    other = {**POD, "kind": "Other"}
    made, changed = of("pods", other), of("pods", other, other)
    assert [holds(entry.condition, asked) for asked in (made, changed)] == [True, False]
    assert holds(entry.condition, request(POD, POD, "UPDATE"))


def test_a_start_of_a_job_is_not_sent_to_be_mutated():
    """All shipped policies together: what changes a job on an update wants a queue that is taken off, or a user."""
    (hook,) = [h for h in hooks(registration(load_bundle(WITH_QUEUES).policies), gate=True) if h.mutating]
    waits = {**JOB, "spec": {**JOB["spec"], "suspend": True}}
    started, unqueued = (
        {**JOB, "spec": {**JOB["spec"], "suspend": False}},
        {**waits, "metadata": {**waits["metadata"], "labels": {}}},
    )
    assert holds(hook.condition, of("jobs", waits, group="batch"))
    assert not holds(hook.condition, of("jobs", started, waits, "batch"))
    assert holds(hook.condition, of("jobs", unqueued, waits, "batch"))


@pytest.mark.parametrize(
    ("always", "groups"), [("pods", [""]), ("*", [""]), ("pods/status", [""]), ("ingresses", ["extensions"])]
)
def test_a_resource_that_another_policy_asks_for_is_always_sent(always, groups):
    """Whether it is named, taken with all others, or known by the name of another group."""
    other = "ingresses" if always == "ingresses" else "pods"
    rules = [{"apiVersions": ["*"], "operations": ["CREATE"], "apiGroups": groups, "resources": [always]}]
    conditional = [{**rules[0], "resources": [other], "apiGroups": ["networking.k8s.io"] if groups[0] else groups}]
    text = validating("true", json.dumps(rules), name="a")
    text += validating("true", json.dumps(conditional), CONDITION, name="b")
    (entry,) = registration(bundle(text).policies)
    assert entry.condition == ""


def of(resource, obj, old=None, group=""):
    """A CREATE of an object of this resource, or an UPDATE of an old one."""
    asked = request(obj, old, "UPDATE" if old else "CREATE")
    asked.attributes["resource"] = {"group": group, "version": "v1", "resource": resource}
    return asked


def test_a_call_is_saved_rather_than_a_condition():
    """One that ignores failures goes with the others, and what it asks for is always sent."""
    services = PODS.replace("pods", "services")
    text = validating("true", name="a") + validating("true", services, CONDITION, name="b")
    (entry,) = registration(bundle(text + ignoring(services, name="c")).policies)
    assert (entry.policies, entry.condition) == (("a", "b", "c"), "")


@pytest.fixture(scope="module")
def last_hook():
    """The last webhook of all shipped policies together."""
    return hooks(registration(load_bundle(WITH_QUEUES).policies), gate=True)[-1]


@pytest.mark.parametrize(
    ("manager", "may", "sent"), [("sluice", True, False), ("sluice", False, True), ("x", True, True)]
)
@pytest.mark.parametrize("sub", ["", "status"])
def test_what_sluice_writes_itself_is_not_sent(last_hook, manager, may, sent, sub):
    """A Workload is started and ended whether or not a webhook answers."""
    workload = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "w"}, "spec": {}}
    asked = request(workload, workload, "UPDATE", sub_resource=sub)
    assert holds(last_hook.condition, asked, {"fieldManager": manager}, may=may) is sent


def test_a_comment_ends_with_its_condition():
    """A condition that ends in a comment takes neither the brackets behind it away nor the conditions of others."""
    lines = "  matchConditions:\n  - name: c\n    expression: |\n      object.kind == 'Pod' // not a \"Job\""
    two = f"{lines}\n  - {{name: d, expression: \"object.metadata.name != 'x' // nor x\"}}"
    text = validating("true", name="a", extra=two) + validating("true", name="b", extra=CONDITION)
    (entry,) = registration(bundle(text).policies)
    assert holds(entry.condition, request(POD))
    assert not holds(entry.condition, request({**POD, "kind": "Service"}))


@pytest.mark.parametrize(
    ("rule", "operation", "sub_resource", "sent"),
    [
        ({"operations": ["UPDATE"]}, "CREATE", "", False),
        ({"operations": ["UPDATE"]}, "UPDATE", "", True),
        ({"operations": ["*"]}, "UPDATE", "", True),
        ({"operations": ["UPDATE"], "resources": ["pods/resize", "services"]}, "UPDATE", "", False),
        ({"operations": ["UPDATE"], "resources": ["pods/resize", "services"]}, "UPDATE", "resize", True),
        ({"operations": ["UPDATE"], "resources": ["*/*"], "apiGroups": ["*"]}, "UPDATE", "resize", True),
        ({"operations": ["UPDATE"], "apiGroups": ["apps"]}, "UPDATE", "", False),
        ({"operations": ["UPDATE"], "apiVersions": ["v9"]}, "UPDATE", "", True),
    ],
)
def test_a_condition_is_tried_on_what_its_policy_is_for(rule, operation, sub_resource, sent):
    """A condition that speaks of oldObject is not asked of a CREATE, nor of another resource or subresource."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], **rule}]
    extra = '  matchConditions: [{name: c, expression: "oldObject.metadata.name == object.metadata.name"}]'
    (entry,) = registration(bundle(validating("true", rules=json.dumps(rules), extra=extra)).policies)
    old = POD if operation == "UPDATE" else None
    assert holds(entry.condition, request(POD, old, operation, sub_resource=sub_resource)) is sent


def test_a_resource_of_two_groups_is_sent_by_either_name():
    """An Ingress that is asked for in the old group is sent for a policy that names the new one."""
    rules = "[{apiGroups: [extensions], apiVersions: [v1beta1], resources: [ingresses], operations: [CREATE]}]"
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"}}
    asked = request(ingress)
    asked.attributes["resource"]["resource"] = "ingresses"
    text = validating("true", rules=rules, extra=CONDITION.replace("Pod", "Ingress"))
    assert holds(registration(bundle(text).policies)[0].condition, asked)
    exact = text.replace("{resourceRules", "{matchPolicy: Exact, resourceRules")
    assert not holds(registration(bundle(exact).policies)[0].condition, asked)


def test_expanded_policy_asks_for_every_job_kind():
    """A policy on Pods that is expanded is registered for the job kinds as well."""
    text = validating("true").replace(
        "metadata: {name: p}", "metadata: {name: p, annotations: {sluice.dev/expand: pod-templates}}"
    )
    (entry,) = registration(bundle(text).policies)
    assert {(r["apiGroups"][0], r["resources"][0]) for r in entry.rules} == {(k.group, k.resource) for k in KINDS}


def test_unbound_policies_are_not_registered():
    """A policy without binding does nothing, so no request needs to come for it."""
    assert registration(bundle(validating("true").split("---")[0]).policies) == ()


def test_shipped_policies():
    """The shipped policies need one call of each phase."""
    for folders in (FOLDERS, WITH_QUEUES):
        found = registration(load_bundle(folders).policies)
        assert [(e.mutating, e.failure_policy) for e in found] == [(True, "Fail"), (False, "Fail")]


def requests():
    """Every job kind and what is not one, with and without a queue, by every operation and two subresources."""
    for kind in KINDS:
        for queue in ({}, {"labels": {"kueue.x-k8s.io/queue-name": "q"}}):
            meta = {"name": "a", "namespace": "ns", **queue}
            obj = {"apiVersion": kind.gvk.api_version, "kind": kind.kind, "metadata": meta, "spec": {}}
            yield from by_operation(obj, ("", "status", "scale"))
    yield from by_operation({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}})
    for folder in FOLDERS:
        for case in yaml.load((folder / "suite.yaml").read_text(), LOADER)["cases"]:
            if isinstance(obj := case.get("object"), dict):
                yield from by_operation(obj)
    options = {"apiVersion": "v1", "kind": "PodExecOptions"}
    connect = request(options, operation="CONNECT", sub_resource="exec")
    connect.attributes["resource"] = {"group": "", "version": "v1", "resource": "pods"}
    yield connect


def by_operation(obj, subs=("",)):
    for sub in subs:
        yield request(obj, sub_resource=sub)
        yield request(obj, obj, "UPDATE", sub_resource=sub)
        yield request(None, obj, "DELETE", sub_resource=sub)


def test_conditions_of_any_of_the_shipped_policies_never_fail():
    """One or two of the shipped policies, all, or all but one, with the gate or without: no condition ever fails.

    An error would refuse the request. The conditions are tried on everything, whatever their entry's rules take.
    """
    conditions = set()
    policies = {folder: load_bundle([folder]).policies for folder in WITH_QUEUES}
    for size in (1, 2, len(FOLDERS) - 1, len(FOLDERS), len(WITH_QUEUES)):
        for folders in itertools.combinations(WITH_QUEUES, size):
            chosen = [policy for folder in folders for policy in policies[folder]]
            entries = registration(chosen)
            conditions |= {hook.condition for gate in (False, True) for hook in hooks(entries, gate=gate)} - {""}
    assert len(conditions) > 3
    programs = [cel.compile(condition, validation_env(params=False)) for condition in conditions]
    for asked in requests():
        values = given(asked)
        for program in programs:
            assert type(program.evaluate(values)) is bool, asked


def test_a_condition_that_is_too_long_is_left_out():
    """The API server takes no longer expression: every request that the rules take comes then."""
    text = f"object.metadata.name != '{'n' * 1000}'"
    condition = f'  matchConditions: [{{name: c, expression: "{text}"}}]'
    few = "---".join(validating("true", extra=condition, name=f"p{i}") for i in range(3))
    many = "---".join(validating("true", extra=condition.replace("n'", f"{i}'"), name=f"p{i}") for i in range(120))
    (short,), (long,) = (registration(bundle(text).policies) for text in (few, many))
    assert 0 < len(short.condition) <= EXPRESSION_LIMIT
    assert (long.condition, len(long.policies)) == ("", 120)

"""Validating policies: messages, reasons, actions, failure policy, params, variables, budgets."""

import json

import orjson
import pytest

from tests.policy.support import PODS, admitted, bundle, request, validating, with_budget
from webhook.admission.gate import Check, Decision, GateAnswer
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.pipeline import review, validate
from webhook.admission.verdict import NeedsFacts
from webhook.admission.wire import answer
from webhook.kube.gvk import GroupVersionKind
from webhook.policy.facts import FactError, ObjectQuery, Unanswered

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "ns"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c1", "namespace": "ns", "labels": {"p": "1"}},
    "data": {"max": "1"},
}


def verdict(text, obj=POD, facts=None, **fields):
    return validate(request(obj, **fields), bundle(text), facts or MemoryFacts())


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("", "p: failed expression: false"),
        ("    message: ' say why '", "p: say why"),
        ("    messageExpression: \"'name ' + object.metadata.name\"", "p: name a"),
        ("    message: plain\n    messageExpression: object.nothing", "p: plain"),
        ("    message: plain\n    messageExpression: \"'two\\\\nlines'\"", "p: plain"),
        ("    messageExpression: \"'  '\"", "p: failed expression: false"),
    ],
)
def test_message(extra, message):
    """The message expression words a denial; where it gives nothing usable the message does, else the expression."""
    if "object.nothing" in extra:
        extra = extra.replace("object.nothing", "string(object.nothing)")
    assert verdict(validating("false", extra=extra)).message == message


@pytest.mark.parametrize(
    ("reason", "code"), [("Invalid", 422), ("Forbidden", 403), ("Unauthorized", 401), ("RequestEntityTooLarge", 413)]
)
def test_reason_gives_the_code(reason, code):
    """The reason of the first denial is the status, with its HTTP code."""
    found = verdict(validating("false", extra=f"    reason: {reason}"))
    assert (found.reason, found.code) == (reason, code)


def test_error_is_a_denial_unless_ignored():
    """An expression that fails denies under failurePolicy Fail, and is nothing under Ignore."""
    text = validating("object.spec.nothing == 1")
    assert verdict(text).message == "p: expression 'object.spec.nothing == 1' resulted in error: no such key: nothing"
    assert verdict(text.replace("spec:\n  match", "spec:\n  failurePolicy: Ignore\n  match", 1)).allowed


def test_actions():
    """Warn and Audit let the object in, and tell."""
    warned = verdict(validating("false", extra="    message: careful", actions="[Warn, Audit]"))
    assert warned.allowed
    assert warned.warnings == ("Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-b': careful",)
    (record,) = json.loads(warned.audit_annotations["validation.policy.admission.k8s.io/validation_failure"])
    assert record == {
        "message": "careful",
        "policy": "p",
        "binding": "p-b",
        "expressionIndex": 0,
        "validationActions": ["Warn", "Audit"],
    }


def test_warnings_are_whole():
    """A warning is sent whole, however long: the API server does so with those of its own policies."""
    (warning,) = verdict(validating("false", extra=f"    message: {'x' * 400}", actions="[Warn]")).warnings
    assert warning.endswith("x" * 400)


def test_all_denials_are_told():
    """Every policy that denies is named, in the order of their names."""
    both = verdict(validating("false", name="b") + validating("1 > 2", name="a"))
    assert both.denials == ("a: failed expression: 1 > 2", "b: failed expression: false")
    assert both.message == "a: failed expression: 1 > 2; b: failed expression: false"


def conditions(*texts):
    lines = "".join(f'\n  - {{name: c{i}, expression: "{t}"}}' for i, t in enumerate(texts))
    return f"  matchConditions:{lines}"


@pytest.mark.parametrize(
    ("texts", "denied"),
    [
        (["true"], True),
        (["true", "false"], False),
        (["object.spec.nothing", "false"], False),
        (["object.spec.nothing == 1", "true"], "no such key: nothing"),
    ],
)
def test_match_conditions(texts, denied):
    """A false condition skips the policy even where another fails; an error alone goes to the failure policy."""
    texts = [t if "==" in t or t in ("true", "false") else f"{t} == 1" for t in texts]
    found = verdict(validating("false", extra=conditions(*texts)))
    assert found.allowed is (denied is False)
    if isinstance(denied, str):
        assert denied in found.message
    ignored = validating("false", extra=conditions(*texts) + "\n  failurePolicy: Ignore")
    assert verdict(ignored).allowed is (denied is not True)


def test_variables_are_lazy_and_composed():
    """A variable sees those before it; one that fails only matters where it is read, and says which it was."""
    extra = """  variables:
  - {name: one, expression: "1"}
  - {name: two, expression: "variables.one + 1"}
  - {name: bad, expression: "object.spec.nothing"}"""
    assert verdict(validating("variables.two == 2", extra=extra)).allowed
    wrong = verdict(validating("variables.bad == 1", extra=extra)).message
    assert wrong.endswith('composited variable "bad" fails to evaluate: no such key: nothing')
    assert verdict(validating("true || variables.bad == 1", extra=extra)).allowed


def with_params(ref, expression="string(params.data.max) == '2'", kind="{apiVersion: v1, kind: ConfigMap}"):
    text = validating(
        expression, extra=f"    messageExpression: \"'max ' + string(params.data.max)\"\n  paramKind: {kind}"
    )
    return text.replace("validationActions: [Deny]", f"validationActions: [Deny], paramRef: {ref}")


def test_params_by_name_and_selector():
    """A parameter is found by name in the request's namespace; each one that a selector takes is evaluated."""
    other = {**CONFIG, "metadata": {"name": "c2", "namespace": "ns", "labels": {"p": "1"}}, "data": {"max": "2"}}
    facts = MemoryFacts([CONFIG, other])
    assert verdict(with_params("{name: c1, parameterNotFoundAction: Deny}"), facts=facts).message == "p: max 1"
    assert verdict(with_params("{name: c2, parameterNotFoundAction: Deny}"), facts=facts).allowed
    chosen = verdict(with_params("{selector: {matchLabels: {p: '1'}}, parameterNotFoundAction: Deny}"), facts=facts)
    assert chosen.denials == ("p: max 1",)


def test_params_that_are_not_there():
    """parameterNotFoundAction decides: Allow skips the binding, Deny denies, whatever the actions are."""
    assert verdict(with_params("{name: x, parameterNotFoundAction: Allow}")).allowed
    denied = verdict(with_params("{name: x, parameterNotFoundAction: Deny}"))
    assert denied.message == (
        "p: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    )


def test_params_in_another_namespace_and_of_cluster_scope():
    """paramRef.namespace names where to look; it does not go with a kind that stands in no namespace."""
    away = {**CONFIG, "metadata": {"name": "c1", "namespace": "away"}}
    ref = "{name: c1, namespace: away, parameterNotFoundAction: Deny}"
    assert verdict(with_params(ref), facts=MemoryFacts([away])).message == "p: max 1"
    queue = "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue}"
    assert "must not be provided for a cluster-scoped" in verdict(with_params(ref, kind=queue)).message
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    text = with_params("{name: c1, parameterNotFoundAction: Deny}").replace("[pods]", "[nodes]")
    assert "cannot use namespaced paramRef" in verdict(text, node, namespace="").message


LIMIT = "{apiVersion: example.org/v1, kind: Limit}"
LIMITS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "limits.example.org"},
    "spec": {
        "group": "example.org",
        "names": {"kind": "Limit", "plural": "limits"},
        "scope": "Cluster",
        "versions": [{"name": "v1", "served": True}, {"name": "v1alpha1", "served": False}],
    },
}


def test_params_of_a_custom_kind_in_no_namespace():
    """The CRD says that the kind is in no namespace: its object is found, for objects in namespaces and in none."""
    one = {"apiVersion": "example.org/v1", "kind": "Limit", "metadata": {"name": "c1"}, "data": {"max": "1"}}
    facts = MemoryFacts([LIMITS, one])
    text = with_params("{name: c1, parameterNotFoundAction: Deny}", kind=LIMIT)
    assert verdict(text, facts=facts).message == "p: max 1"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    assert verdict(text.replace("[pods]", "[nodes]"), node, facts=facts, namespace="").message == "p: max 1"
    elsewhere = with_params("{name: c1, namespace: ns, parameterNotFoundAction: Deny}", kind=LIMIT)
    assert "must not be provided for a cluster-scoped" in verdict(elsewhere, facts=facts).message


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("{apiVersion: example.org/v1alpha1, kind: Limit}", "example.org/v1alpha1, Kind=Limit"),
        ("{apiVersion: example.org/v2, kind: Limit}", "example.org/v2, Kind=Limit"),
        ("{apiVersion: v1, kind: ConfigMapp}", "/v1, Kind=ConfigMapp"),
        ("{apiVersion: batch/v1beta1, kind: CronJob}", "batch/v1beta1, Kind=CronJob"),
        ("{apiVersion: kueue.x-k8s.io/v1alpha1, kind: LocalQueue}", "kueue.x-k8s.io/v1alpha1, Kind=LocalQueue"),
    ],
)
def test_params_of_a_kind_that_is_not_served(kind, named):
    """The policy cannot be configured: it denies in the API server's words, or, with Ignore, lets pass."""
    facts = MemoryFacts([LIMITS])
    text = with_params("{name: c1, parameterNotFoundAction: Allow}", kind=kind)
    told = f"p: failed to configure policy: failed to find resource referenced by paramKind: '{named}'"
    assert verdict(text, facts=facts).message == told
    assert verdict(text.replace("Deny", "Audit"), facts=facts).message == told
    assert verdict(text.replace("  paramKind", "  failurePolicy: Ignore\n  paramKind"), facts=facts).allowed


class Away(MemoryFacts):
    """Facts whose Namespaces are not in memory: to be asked for, or asked for in vain."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def namespace(self, name):
        raise self.answer


def test_a_namespace_that_is_not_known_is_asked_for():
    """The review waits for it, where a policy is for the request; one in no namespace waits for nothing."""
    query = ObjectQuery(GroupVersionKind("", "v1", "Namespace"), "", "ns")
    facts = Away(Unanswered(query))
    assert verdict(validating("true"), facts=facts) == NeedsFacts((query,))
    assert verdict(validating("true", rules=PODS.replace("pods", "nodes")), facts=facts).allowed
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    assert verdict(validating("true", rules=PODS.replace("pods", "nodes")), node, facts=facts, namespace="").allowed


def test_a_namespace_that_cannot_be_had():
    """Every policy for the request fails as its failurePolicy says; policies for others do not."""
    facts = Away(FactError('namespaces "ns" not found', missing=True))
    denied = verdict(validating("true", name="p") + validating("false", name="q"), facts=facts)
    told = 'failed to configure policy: namespaces "ns" not found'
    assert denied.denials == (f"p: {told}", f"q: {told}")
    assert verdict(validating("false", extra="  failurePolicy: Ignore"), facts=facts).allowed
    named = PODS.replace("operations", "resourceNames: [other], operations")
    assert verdict(validating("false", rules=named), facts=facts).allowed


def test_audit_annotations():
    """Annotations carry the policy's name; null and blank ones are left out."""
    extra = """  auditAnnotations:
  - {key: who, valueExpression: "'user ' + request.userInfo.username"}
  - {key: blank, valueExpression: "' '"}"""
    assert verdict(validating("true", extra=extra)).audit_annotations == {"p/who": "user alice"}


def test_namespace_object_and_request():
    """Rules see the Namespace and the request; one that is not known yet has its name and the label of it."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "labels": {"team": "a"}}}
    text = validating("namespaceObject.metadata.labels['team'] == 'a' && request.operation == 'CREATE'")
    assert verdict(text, facts=MemoryFacts([namespace])).allowed
    assert verdict(validating("namespaceObject.metadata.name == 'ns'")).allowed


def test_delete_sees_the_old_object_only():
    """On DELETE object is null and oldObject is what goes."""
    text = validating("object == null && oldObject.metadata.name == 'a'")
    assert validate(request(None, POD, "DELETE"), bundle(text), MemoryFacts()).allowed


CHECK = "authorizer.group('apps').resource('deployments').namespace('ns').check('create').allowed()"


def test_authorizer_that_is_not_in_memory():
    """A check nobody has answered stops the review and is given back; with the answer the review comes to an end."""
    asked = verdict(validating(CHECK))
    assert isinstance(asked, NeedsFacts)
    (check,) = asked.questions
    assert check == Check(
        user="alice", verb="create", group="apps", resource="deployments", namespace="ns", groups=("ml",)
    )
    assert verdict(validating(CHECK), facts=MemoryFacts(authorizations={check: True})).allowed
    assert not verdict(validating(CHECK), facts=MemoryFacts(otherwise=Decision.DENIED)).allowed
    assert isinstance(verdict(validating(f"true && {CHECK}")), NeedsFacts)


def test_request_resource_authorizer():
    """`authorizer.requestResource` asks about the request itself; a service account is asked for under its own name."""
    (check,) = verdict(validating("authorizer.requestResource.check('delete').allowed()")).questions
    assert (check.resource, check.namespace, check.name, check.verb) == ("pods", "ns", "a", "delete")
    (check,) = verdict(validating(CHECK.replace("authorizer.", "authorizer.serviceAccount('ns', 'bot')."))).questions
    assert check.user == "system:serviceaccount:ns:bot"


def test_budget_of_a_policy():
    """Expressions that are cheap enough each, and too costly together, deny as the API server does."""
    text = validating("lists.range(30).all(i, i >= 0)")
    assert verdict(text).allowed
    found = validate(request(POD), with_budget(bundle(text), 50), MemoryFacts())
    assert not found.allowed
    assert "running out of cost budget" in found.message
    ignoring = text.replace("spec:\n  match", "spec:\n  failurePolicy: Ignore\n  match", 1)
    assert validate(request(POD), with_budget(bundle(ignoring), 50), MemoryFacts()).allowed


def test_budget_counts_rules_too_long_for_the_fast_form():
    """Thirty rules that each go over 300 times 300 items are within a call's limit, and not within the policy's."""
    rule = "object.spec.l.all(a, object.spec.l.all(b, a + b >= 0))"
    text = validating(rule, extra=f"  - expression: {rule}\n" * 29)
    pod = {**POD, "spec": {**POD["spec"], "l": list(range(300))}}
    assert "running out of cost budget" in verdict(text, pod).message
    assert verdict(validating(rule), pod).allowed


def test_budget_of_match_conditions():
    """Match conditions have a budget of their own: 2,500,000 units, where one expression may cost 1,000,000."""
    dear = "lists.range(400).all(i, lists.range(400).all(j, j >= 0))"  # 966,412
    assert "failed expression" in verdict(validating("false", extra=conditions(dear, dear))).message
    assert "running out of cost budget" in verdict(validating("false", extra=conditions(dear, dear, dear))).message


class Queue:
    """A gate that keeps what it was asked."""

    def __init__(self, answer):
        self.asked, self.answer = [], answer

    def ask(self, job, obj, namespace, dry_run):
        self.asked.append((job.queue, namespace, dry_run))
        return self.answer


def job(owner=None, **metadata):
    meta = {"name": "j", "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "q"}, **metadata}
    if owner:
        meta["ownerReferences"] = [
            {"controller": True, "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", **owner}
        ]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": {"spec": {}}}}


def test_gate_is_asked_for_jobs_with_a_queue():
    """The gate's refusal is a denial, its warnings are told; objects without a queue are not asked about."""
    gate = Queue(GateAnswer(False, "Forbidden", "queue q does not exist", ("look",)))
    found = review(request(job()), bundle(""), MemoryFacts(), gate)
    assert (found.allowed, found.code, found.message, found.warnings) == (
        False,
        403,
        "queue q does not exist",
        ("look",),
    )
    assert gate.asked == [("q", "ns", False)]
    assert review(request(POD), bundle(""), MemoryFacts(), gate).allowed
    assert review(request(job(), job(), "UPDATE"), bundle(""), MemoryFacts(), gate).allowed
    assert not review(request(job(), job(labels={}), "UPDATE"), bundle(""), MemoryFacts(), gate).allowed


def test_gate_is_not_asked_for_owned_jobs():
    """A Job of an admitted JobSet is not queued again; an owner that is forged, foreign or not admitted is none."""
    owner = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "s", "namespace": "ns", "uid": "u-1"},
    }
    owner["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    facts = MemoryFacts([owner, admitted(owner)])
    deny = Queue(GateAnswer(False, "Forbidden", "no"))
    assert review(request(job({"name": "s", "uid": "u-1"})), bundle(""), facts, deny).allowed
    assert not review(request(job({"name": "s", "uid": "u-2"})), bundle(""), facts, deny).allowed
    assert not review(request(job({"name": "other", "uid": "u-1"})), bundle(""), facts, deny).allowed
    assert not review(request(job({"name": "s", "uid": "u-1"})), bundle(""), MemoryFacts([owner]), deny).allowed
    away = {**owner, "metadata": {**owner["metadata"], "namespace": "away"}}
    foreign = MemoryFacts([away, admitted(away)])
    assert not review(request(job({"name": "s", "uid": "u-1"})), bundle(""), foreign, deny).allowed


def test_exception_until_it_expires():
    """A PolicyException takes its objects out of a policy until its day is over."""
    text = (
        validating("false")
        + """
apiVersion: sluice.dev/v1alpha1
kind: PolicyException
metadata: {name: legacy}
spec: {policyNames: [p], reason: migration, expires: "2026-12-31", namespaces: [n*]}
"""
    )
    policies = bundle(text)
    end = 1_798_761_600.0
    assert validate(request(POD), policies, MemoryFacts(), clock=lambda: end - 1).allowed
    assert not validate(request(POD), policies, MemoryFacts(), clock=lambda: end).allowed
    assert not validate(request(POD, namespace="other"), policies, MemoryFacts(), clock=lambda: 0.0).allowed


SITE = {**POD, "metadata": {**POD["metadata"], "annotations": {"site": "http://a/?k=%ff"}}}
ECHO = "url(object.metadata.annotations.site).getQuery()['k'][0]"
"""A byte that is no UTF-8, out of a text that is."""


@pytest.mark.parametrize("obj", [SITE, {**SITE, "spec": {"containers": [], "hostNetwork": True}}])
def test_what_is_not_utf8_is_told_as_the_api_server_tells_it(obj):
    """A denial, a warning, an audit annotation that echo such a byte have U+FFFD in its place, as Go's JSON has."""
    extra = f"""    messageExpression: "'k is ' + {ECHO}"
  auditAnnotations: [{{key: k, valueExpression: "{ECHO}"}}]"""
    denied = verdict(validating("false", extra=extra), obj)
    assert denied.message == "p: k is \ufffd"
    warned = verdict(validating("false", extra=extra, actions="[Warn, Audit]"), obj)
    assert warned.allowed
    assert warned.warnings[0].endswith("k is \ufffd")
    assert warned.audit_annotations["p/k"] == "\ufffd"
    (record,) = json.loads(warned.audit_annotations["validation.policy.admission.k8s.io/validation_failure"])
    assert record["message"] == "k is \ufffd"
    for found in (denied, warned):
        assert orjson.loads(orjson.dumps(answer("u", found)))["response"]["uid"] == "u"


def test_errors_that_quote_it_can_be_told():
    """The text of an error may quote the byte as well."""
    failed = verdict(validating(f"quantity({ECHO}).isInteger()"), SITE)
    assert not failed.allowed
    assert orjson.loads(orjson.dumps(answer("u", failed)))


@pytest.mark.parametrize(
    ("failure", "message"), [("Fail", "broken: the policy could not be evaluated: boom"), ("Ignore", "")]
)
def test_a_bug_is_one_policys_failure(failure, message, monkeypatch, caplog):
    """What no expression may raise is that policy's failure alone, by its failurePolicy; the others are evaluated."""
    broken = validating("false", name="broken").replace(
        "spec:\n  match", f"spec:\n  failurePolicy: {failure}\n  match", 1
    )
    policies = bundle(broken + validating("false", name="other"))

    def boom(*_):
        raise RuntimeError("boom")

    (policy, _) = policies.policies
    monkeypatch.setattr(policy.validations[0].expression.program, "metered", boom)
    found = validate(request(POD), policies, MemoryFacts())
    assert found.denials == (*filter(None, [message]), "other: failed expression: false")
    assert "policy broken failed" in caplog.text


def test_an_exception_that_is_not_enabled():
    """`enabled: false` puts an exception out of force, whatever its date."""
    exception = """
apiVersion: sluice.dev/v1alpha1
kind: PolicyException
metadata: {name: legacy}
spec: {policyNames: [p], reason: migration, expires: "2999-12-31", enabled: ENABLED}
"""
    for enabled, allowed in (("true", True), ("false", False), ("null", True)):
        policies = bundle(validating("false") + exception.replace("ENABLED", enabled))
        assert validate(request(POD), policies, MemoryFacts()).allowed is allowed

"""Which requests a policy is for: rules, excludes, names, scope, selectors, equivalents, expansion."""

from dataclasses import replace

import pytest

from tests.policy.support import bundle, request, validating
from webhook.admission import validate
from webhook.admission.memory_facts import MemoryFacts
from webhook.kube.gvk import GroupVersionResource
from webhook.offline.dryrun.requests import ResourceScopes, Sender, request_for

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ns", "labels": {"x": "y"}}}
DEPLOYMENT = {"apiVersion": "apps/v1beta1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "ns"}}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "labels": {"team": "a"}}}


def rule(groups="['']", versions="[v1]", resources="[pods]", operations="['*']", more=""):
    return f"[{{apiGroups: {groups}, apiVersions: {versions}, resources: {resources}, operations: {operations}{more}}}]"


def denies(rules, req, extra=""):
    policies = bundle(validating("false", rules, extra))
    return not validate(req, policies, MemoryFacts([NAMESPACE])).allowed


@pytest.mark.parametrize(
    ("rules", "hit"),
    [
        (rule(), True),
        (rule(groups="['*']", resources="['*']", versions="['*']"), True),
        (rule(operations="[UPDATE]"), False),
        (rule(operations="[UPDATE, CREATE]"), True),
        (rule(resources="['pods/exec']"), False),
        (rule(resources="['*/*']"), True),
        (rule(resources="['pods/*']"), True),
        (rule(resources="[services]"), False),
        (rule(groups="[apps]"), False),
        (rule(versions="[v2]"), True),
        (rule(more=", resourceNames: [a, b]"), True),
        (rule(more=", resourceNames: [b]"), False),
        (rule(more=", scope: Namespaced"), True),
        (rule(more=", scope: Cluster"), False),
        (rule(more=", scope: '*'"), True),
    ],
)
def test_rules(rules, hit):
    """A rule takes a request as the API server's would; the same resource in another version is an equivalent."""
    assert denies(rules, request(POD)) is hit


def test_sub_resources_are_asked_for_by_name():
    """`pods/exec` takes the subresource, `pods` does not."""
    req = request(POD, sub_resource="exec")
    assert denies(rule(resources="['pods/exec']"), req)
    assert denies(rule(resources="['*/*']"), req)
    assert not denies(rule(), req)


def match(text):
    return validating("false").replace("matchConstraints: {", "matchConstraints: {" + text + ", ")


@pytest.mark.parametrize(
    ("constraint", "hit"),
    [
        ("objectSelector: {matchLabels: {x: y}}", True),
        ("objectSelector: {matchLabels: {x: z}}", False),
        ("namespaceSelector: {matchLabels: {team: a}}", True),
        ("namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ns}}", True),
        ("namespaceSelector: {matchLabels: {team: b}}", False),
        (f"excludeResourceRules: {rule()}", False),
        (f"excludeResourceRules: {rule(more=', resourceNames: [a]')}", False),
        (f"excludeResourceRules: {rule(more=', resourceNames: [b]')}", True),
        ("matchPolicy: Exact", True),
    ],
)
def test_constraints(constraint, hit):
    """Selectors and excludes narrow a policy down; every namespace has its name as a label."""
    allowed = validate(request(POD), bundle(match(constraint)), MemoryFacts([NAMESPACE])).allowed
    assert allowed is not hit


def test_no_object_selector_takes_what_has_no_metadata():
    """The options of `kubectl exec` have no metadata: a selector for what lacks a label leaves them out."""
    rules = rule(resources="['pods/exec']", operations="[CONNECT]")
    lacking = "matchConstraints: {objectSelector: {matchExpressions: [{key: x, operator: DoesNotExist}]}, "
    policies = bundle(validating("false", rules).replace("matchConstraints: {", lacking))
    pods = GroupVersionResource("", "v1", "pods")
    options = request(
        {"apiVersion": "v1", "kind": "PodExecOptions", "stdin": True}, None, "CONNECT", sub_resource="exec"
    )
    assert validate(replace(options, resource=pods), policies, MemoryFacts([NAMESPACE])).allowed
    bare = request({**POD, "metadata": {"name": "a", "namespace": "ns"}}, None, "CONNECT", sub_resource="exec")
    assert not validate(bare, policies, MemoryFacts([NAMESPACE])).allowed


def test_exact_match_policy_does_not_take_other_versions():
    """With matchPolicy Exact, apps/v1beta1 is not apps/v1."""
    rules = rule(groups="[apps]", resources="[deployments]")
    assert denies(rules, request(DEPLOYMENT))
    exact = bundle(validating("false", rules).replace("matchConstraints: {", "matchConstraints: {matchPolicy: Exact, "))
    assert validate(request(DEPLOYMENT), exact, MemoryFacts()).allowed


APPS = "{apiGroups: [apps], resources: [deployments], operations: ['*'], apiVersions: "
NAMED, OF_SCOPE = APPS + "[v1beta1], resourceNames: [other]}", APPS + "[v1beta1], scope: Cluster}"


@pytest.mark.parametrize("passed_over", [NAMED, OF_SCOPE])
@pytest.mark.parametrize(("policy", "hit"), [("Equivalent", True), ("Exact", False)])
def test_a_rule_for_the_version_that_does_not_hold_hides_no_equivalent(passed_over, policy, hit):
    """Where the name or scope of the rule for this version does not match, rules for other versions are asked too."""
    rules = f"[{passed_over}, {APPS}[v1]}}]"
    text = validating("false", rules).replace("matchConstraints: {", f"matchConstraints: {{matchPolicy: {policy}, ")
    assert validate(request(DEPLOYMENT), bundle(text), MemoryFacts()).allowed is not hit
    excluded = validating("false", f"[{APPS}['*']}}]").replace(
        "matchConstraints: {", f"matchConstraints: {{matchPolicy: {policy}, excludeResourceRules: {rules}, "
    )
    assert validate(request(DEPLOYMENT), bundle(excluded), MemoryFacts()).allowed is hit


def test_binding_narrows_its_policy():
    """A binding's matchResources must match as well."""
    text = validating("false").replace(
        "validationActions: [Deny]",
        "validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {team: b}}}",
    )
    assert validate(request(POD), bundle(text), MemoryFacts([NAMESPACE])).allowed
    assert not validate(request(POD), bundle(text.replace("team: b", "team: a")), MemoryFacts([NAMESPACE])).allowed


def test_cluster_scoped_objects_pass_every_namespace_selector():
    """What is in no namespace is not kept out by a namespaceSelector; a Namespace is judged by its own labels."""
    text = validating("false", rule(resources="[nodes, namespaces]")).replace(
        "matchConstraints: {", "matchConstraints: {namespaceSelector: {matchLabels: {team: b}}, "
    )
    node = request({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, namespace="")
    assert not validate(node, bundle(text), MemoryFacts()).allowed
    assert validate(request(NAMESPACE, namespace="ns"), bundle(text), MemoryFacts()).allowed


@pytest.mark.parametrize(
    ("version", "kind", "judged"),
    [
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", False),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", False),
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", False),
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding", False),
        ("authorization.k8s.io/v1", "SubjectAccessReview", False),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", True),
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", True),
    ],
)
def test_policies_never_see_themselves(version, kind, judged):
    """Policies and access reviews are not judged, so that a cluster cannot lock itself out; webhooks are."""
    everything = bundle(validating("false", rule(groups="['*']", versions="['*']", resources="['*']")))
    asked = request_for({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}, ResourceScopes(), Sender())
    assert validate(asked, everything, MemoryFacts()).allowed is not judged


def test_expanded_policy_is_evaluated_in_every_template():
    """A policy on Pods that is expanded denies a PyTorchJob, and says which template is wrong."""
    text = validating("!has(object.spec.hostNetwork)").replace(
        "metadata: {name: p}", "metadata: {name: p, annotations: {sluice.dev/expand: pod-templates}}"
    )
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j", "namespace": "ns"},
        "spec": {
            "pytorchReplicaSpecs": {
                "Master": {"template": {"spec": {}}},
                "Worker": {"template": {"spec": {"hostNetwork": True}}},
            }
        },
    }
    verdict = validate(request(job), bundle(text), MemoryFacts())
    assert verdict.denials == (
        "p: spec.pytorchReplicaSpecs.Worker.template: failed expression: !has(object.spec.hostNetwork)",
    )
    assert validate(request(job), bundle(validating("false")), MemoryFacts()).allowed


def test_old_template_stands_beside_the_new_one():
    """On an update an expanded policy sees the old template as oldObject."""
    text = validating("object.spec.x == oldObject.spec.x").replace(
        "metadata: {name: p}", "metadata: {name: p, annotations: {sluice.dev/expand: pod-templates}}"
    )

    def job(value):
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"namespace": "ns"},
            "spec": {"template": {"spec": {"x": value}}},
        }

    assert validate(request(job(1), job(1), "UPDATE"), bundle(text), MemoryFacts()).allowed
    assert not validate(request(job(2), job(1), "UPDATE"), bundle(text), MemoryFacts()).allowed


@pytest.mark.parametrize(
    ("policy", "asked", "hit"),
    [
        ("Exact", "apps/v1", True),
        ("Exact", "apps/v1beta1", False),
        ("Exact", "extensions/v1beta1", False),
        ("Equivalent", "apps/v1beta1", True),
        ("Equivalent", "extensions/v1beta1", True),
    ],
)
def test_exact_goes_by_what_the_client_asked_for(policy, asked, hit):
    """The API server converts the object for the webhook; a policy that is Exact is not for such a request."""
    rules = rule(groups="[apps]", resources="[deployments]")
    text = validating("false", rules).replace("matchConstraints: {", f"matchConstraints: {{matchPolicy: {policy}, ")
    bound = validating("false", rules).replace(
        "validationActions: [Deny]",
        f"validationActions: [Deny], matchResources: {{matchPolicy: {policy}, resourceRules: {rules}}}",
    )
    group, _, version = asked.partition("/")
    converted = request(
        {**DEPLOYMENT, "apiVersion": "apps/v1"}, request_resource=GroupVersionResource(group, version, "deployments")
    )
    for policies in (bundle(text), bundle(bound)):
        assert validate(request({**DEPLOYMENT, "apiVersion": "apps/v1"}), policies, MemoryFacts()).allowed is False
        assert validate(converted, policies, MemoryFacts()).allowed is not hit


def test_exact_takes_the_version_it_names_where_another_was_sent_to_us():
    """A policy for the version that the client used matches, although the object came converted."""
    rules = rule(groups="[apps]", versions="[v1beta1]", resources="[deployments]")
    text = validating("false", rules).replace("matchConstraints: {", "matchConstraints: {matchPolicy: Exact, ")
    old = GroupVersionResource("apps", "v1beta1", "deployments")
    converted = request({**DEPLOYMENT, "apiVersion": "apps/v1"}, request_resource=old)
    assert not validate(converted, bundle(text), MemoryFacts()).allowed
    assert validate(request({**DEPLOYMENT, "apiVersion": "apps/v1"}), bundle(text), MemoryFacts()).allowed

"""What a webhook registration is told about a bundle."""

from pathlib import Path

from tests.policy.support import bundle, mutating, validating
from tests.shared import ROOT
from webhook.jobs.kinds import KINDS
from webhook.policy import load_bundle
from webhook.policy.registration import mentions_authorizer, registration

CONDITION = "  matchConditions: [{name: c, expression: \"object.kind == 'Pod'\"}]"


def test_one_entry_per_failure_policy():
    """Policies of a kind share a webhook, unless their failure policies differ."""
    ignoring = validating("true", name="b").replace("spec:\n  match", "spec:\n  failurePolicy: Ignore\n  match", 1)
    found = registration(
        bundle(validating("true", name="a") + ignoring + mutating("[1].map(i, JSONPatch{op: 'test'})")).policies
    )
    assert [(e.mutating, e.failure_policy, e.policies) for e in found] == [
        (True, "Fail", ("m",)),
        (False, "Fail", ("a",)),
        (False, "Ignore", ("b",)),
    ]
    assert [e.reinvocation_policy for e in found] == ["IfNeeded", "", ""]


def test_conditions_are_joined():
    """All policies have conditions: one of them must hold. One has none: every request comes."""
    with_one = validating("true", name="a", extra=CONDITION)
    assert registration(bundle(with_one).policies)[0].condition == (
        "(request.resource.resource in [\"pods\"] && (object.kind == 'Pod'))"
    )
    assert registration(bundle(with_one + validating("true", name="b")).policies)[0].condition == ""
    uses = with_one.replace("object.kind == 'Pod'", "namespaceObject == null")
    assert registration(bundle(uses).policies)[0].condition == ""


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
    """The shipped policies need two webhooks that fail and one that does not; one asks the authorizer."""
    policies = load_bundle(p for p in sorted(Path(ROOT, "policies").iterdir()) if p.name != "queue").policies
    found = registration(policies)
    assert [(e.mutating, e.failure_policy) for e in found] == [(True, "Fail"), (True, "Ignore"), (False, "Fail")]
    assert [policy.name for policy in policies if mentions_authorizer(policy)] == ["gated-pods"]

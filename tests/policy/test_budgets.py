"""What a policy may spend, stage by stage: validations, their messages, audit annotations, each mutation.

Rules: Validate and Evaluate of the API server's policy plugin; 10,000,000 units a stage, messages with what is left.
"""

import textwrap

import pytest

from tests.policy.support import bundle, mutating, request, validating
from webhook import cel
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.pipeline import mutate, validate
from webhook.cel.limits import POLICY_LIMIT
from webhook.policy.evaluation.failure_policy import OUT_OF_BUDGET

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "ns"},
    "spec": {"text": "x" * 20_000, "part": "x" * 4_000, "containers": []},
}
DEAR = "object.spec.text.contains(object.spec.part)"
"""An expression that holds, and costs a good part of what one call may."""


def cost(text: str) -> int:
    """What one evaluation of an expression costs on the Pod."""
    env = cel.validation_env(typed=False)
    return cel.compile(text, env).spent(tuple({"object": POD}.get(name) for name in env.variables))


def fitting() -> int:
    """How many evaluations of DEAR fit into one stage."""
    each = cost(DEAR)
    assert cel.CALL_LIMIT // 3 < each < cel.CALL_LIMIT
    return POLICY_LIMIT // each


def policy(dear: int, *rules: str, failure: str = "Fail", audits: int = 0) -> str:
    """A policy of so many dear validations that hold, with these rules behind them, and so many dear annotations."""
    more = [f"- expression: {DEAR}"] * (dear - 1) + list(rules)
    text = textwrap.indent("\n".join(more), "  ")
    notes = [f'  - {{key: k{i}, valueExpression: \'{DEAR} ? "yes" : "no"\'}}' for i in range(audits)]
    listed = "\n".join(["  auditAnnotations:", *notes] if notes else [])
    return validating(DEAR, extra=f"{text}\n{listed}\n  failurePolicy: {failure}")


def denials(text: str) -> tuple[str, ...]:
    """What is denied, without the policy's name."""
    found = validate(request(POD), bundle(text), MemoryFacts())
    return tuple(line.removeprefix("p: ") for line in found.denials)


FALSE = "- {expression: 'false', message: never}"


def test_as_many_as_fit_are_evaluated():
    """Validations that fit into the budget are judged as ever."""
    assert denials(policy(fitting())) == ()
    assert denials(policy(fitting() - 1, FALSE)) == ("never",)


def test_one_too_many_is_all_that_is_told():
    """Where validations run out of the budget, those that failed before are not told, as in the API server."""
    assert denials(policy(fitting(), FALSE, f"- expression: {DEAR}")) == (OUT_OF_BUDGET,)


def test_ignored_policy_without_budget_denies_nothing():
    """Under failurePolicy Ignore a policy that runs out denies nothing, not even what failed before."""
    assert denials(policy(fitting(), FALSE, f"- expression: {DEAR}", failure="Ignore")) == ()


@pytest.mark.parametrize("failure", ["Fail", "Ignore"])
def test_messages_spend_what_is_left(failure):
    """Messages are made for rules that hold as well; where they run out, each rule without an error has failed."""
    worded = f"- {{expression: 'true', messageExpression: '{DEAR} ? \"a\" : \"b\"'}}"
    found = denials(policy(fitting(), FALSE, worded, failure=failure))
    expected = (f"failed messageExpression: {OUT_OF_BUDGET}",)
    assert found == (expected if failure == "Fail" else ())
    assert denials(policy(fitting() - 2, FALSE, worded, failure=failure)) == ("never",)


def test_annotations_have_a_budget_of_their_own():
    """Audit annotations begin anew: as many again fit, and one more leaves only the word that it was too much."""
    fine = validate(request(POD), bundle(policy(fitting(), audits=fitting() - 1)), MemoryFacts())
    assert fine.allowed
    assert fine.audit_annotations["p/k0"] == "yes"
    assert denials(policy(1, FALSE, audits=fitting() + 1)) == (OUT_OF_BUDGET,)


def test_each_mutation_has_a_budget_of_its_own():
    """Mutations of one review do not share a budget: many dear ones are all done, one too dear is not."""
    one = f"{DEAR} ? [JSONPatch{{op: 'add', path: '/metadata/labels', value: {{'a': 'b'}}}}] : []"
    none = f"{DEAR} ? [JSONPatch{{op: 'test', path: '/kind', value: 'Pod'}}] : []"
    none = f'  - patchType: JSONPatch\n    jsonPatch: {{expression: "{none}"}}'
    text = mutating(one, extra="\n".join([none] * (fitting() + 2)))
    found = mutate(request(POD), bundle(text), MemoryFacts())
    assert found.allowed
    assert found.object["metadata"]["labels"] == {"a": "b"}

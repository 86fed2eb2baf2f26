"""What an expression reads, and the laws of running a policy again: the same with and without what is taken over."""

import copy
import gc

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.policy.support import bundle, mutating, request, with_budget
from webhook.admission import mutate
from webhook.admission.memory_facts import MemoryFacts
from webhook.cel import compile, mutation_env, validation_env
from webhook.cel.errors import CelError
from webhook.cel.types import DYN
from webhook.policy.dependencies.reads import EVERYTHING, read_paths
from webhook.policy.evaluation.mutate import all_unchanged

ENV = validation_env()


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("object.spec.a", {("spec", "a")}),
        ('object.metadata.?labels[?"x/y"].orValue("") == ""', {("metadata", "labels", "x/y")}),
        ("has(object.spec.a) && object.spec.a.b == 1", {("spec", "a")}),
        ("object.spec.l[0].name == 'a'", {("spec", "l")}),
        ("object.spec[object.spec.k] == 1", {("spec",)}),
        ("object.spec.l.all(c, c.x == object.spec.y)", {("spec", "l"), ("spec", "y")}),
        ("object == oldObject", {()}),
        ("oldObject.spec.a == 1 && request.name == 'a'", set()),
        ("[1].exists(object, object == 1)", {()}),
        ("variables.known == 1", {("spec", "of", "it")}),
        ("variables.other == 1", {()}),
        ("dyn(variables) == 1", {()}),
    ],
)
def test_paths_that_are_read(text, paths):
    """Every path of the object that the text names is found; a list is read as a whole, as is what cannot be told."""
    env = ENV if "variables" not in text else validation_env(variables=DYN)
    assert set(read_paths(compile(text, env).checked.root, {"known": (("spec", "of", "it"),)})) == paths
    assert EVERYTHING == ((),)


TEXTS = [
    "object.spec.a",
    "has(object.spec.a)",
    "has(object.spec.a.b) ? object.spec.a.b : object.spec.c",
    'object.?spec.a["b"].orValue(0)',
    "object.spec.l.map(x, object.spec.?c.orValue(x))",
    "object.spec.l[0]",
    "object.spec.a.b.c",
    "object.spec[object.spec.k]",
    "size(object.spec)",
    "[object.spec].map(s, s.a)",
]
PROGRAMS = [compile(text, ENV) for text in TEXTS]
LEAF = st.sampled_from([None, True, 0, "b", "c", []])
TREE = st.recursive(LEAF, lambda t: st.dictionaries(st.sampled_from("abckl"), t, max_size=3) | st.lists(t, max_size=2))


def outcome(program, obj):
    """What an expression gives on an object: its value, or its error."""
    try:
        return program.evaluate({"object": obj})
    except CelError as error:
        return str(error)


@settings(max_examples=300)
@given(st.sampled_from(PROGRAMS), TREE, st.lists(st.tuples(st.sampled_from("abckl"), TREE), max_size=2), st.booleans())
def test_what_is_unchanged_gives_the_same(program, spec, writes, gone):
    """Where all that an expression reads is unchanged by a write, its value or error is the same before and after."""
    before = {"spec": spec}
    after = {} if gone else {"spec": {**spec, **dict(writes)} if isinstance(spec, dict) else spec}
    paths = read_paths(program.checked.root, {})
    same = all_unchanged(before, after, paths)
    event(f"unchanged: {same}")
    if same:
        assert outcome(program, before) == outcome(program, after)


class Silent:
    """An observer: where there is one, nothing is taken over from an earlier evaluation."""

    def saw(self, policy, clause, index, outcome):
        """Take no note."""


GUARDS = ["true", "has(object.spec.a)", 'object.metadata.?labels.?a.orValue("") == ""', "!has(object.spec.b)"]
VALUES = ["variables.n", 'variables.m + "x"', '"k"', 'has(object.spec.l) ? "l" : ""']
FORMS = [
    ("jsonPatch", "JSONPatch", '[JSONPatch{op: "add", path: "/spec/%s", value: %s}]'),
    ("applyConfiguration", "ApplyConfiguration", 'Object{metadata: Object.metadata{labels: {"%s": %s}}}'),
]
STEP = st.tuples(st.sampled_from(FORMS), st.sampled_from("abc"), st.sampled_from(VALUES))
POLICY = st.tuples(st.sampled_from(GUARDS), STEP, st.lists(STEP, max_size=1), st.booleans())


def policy(at, drawn):
    """A policy with one or two mutations and two variables, one of which reads the other."""
    guard, ((_, kind, form), *wanted), more, again = drawn
    extra = "".join(
        f"\n  - patchType: {kind}\n    {field}:\n      expression: >-\n        {form % tuple(rest)}\n"
        for (field, kind, form), *rest in more
    )
    extra += f"""
  matchConditions: [{{name: g, expression: '{guard}'}}]
  variables:
  - {{name: n, expression: 'string(object.spec.?a.orValue("none"))'}}
  - {{name: m, expression: 'variables.n + object.metadata.?labels.?b.orValue("")'}}"""
    text = mutating(form % tuple(wanted), extra=extra, name=f"p{at}", apply=kind == "ApplyConfiguration")
    return text if again else text.replace("IfNeeded", "Never")


@settings(max_examples=60, deadline=None)
@given(st.lists(POLICY, min_size=1, max_size=4), st.dictionaries(st.sampled_from("abl"), st.just("v"), max_size=2))
def test_what_is_taken_over_changes_nothing(drawn, spec):
    """Verdict, object, patch, warnings and who oscillates are those of a run that computes everything again."""
    policies = bundle("".join(policy(at, one) for at, one in enumerate(drawn)))
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ns"}, "spec": spec}
    kept = copy.deepcopy(obj)
    quick = mutate(request(obj), policies, MemoryFacts())
    slow = mutate(request(obj), policies, MemoryFacts(), observer=Silent())
    event(f"changed: {bool(quick.patch)}, oscillating: {bool(quick.oscillating)}")
    assert quick == slow
    assert obj == kept


def test_budget_that_was_taken_over_never_denies_by_itself():
    """Two mutations that each cost most of a policy's budget are both done: a fresh count decides, as it always did."""
    dear = 'lists.range(30).all(i, i >= 0) ? [JSONPatch{op: "add", path: "/spec/%s", value: "x"}] : []'
    program = compile(dear % "hostname", mutation_env())
    program.evaluate({})
    cost = program.cost
    extra = f"  - patchType: JSONPatch\n    jsonPatch:\n      expression: >-\n        {dear % 'subdomain'}\n"
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ns"}, "spec": {}}
    policies = bundle(mutating(dear % "hostname", extra=extra))
    verdict = mutate(request(obj), with_budget(policies, cost * 3 // 2), MemoryFacts())
    assert (verdict.allowed, verdict.object["spec"]) == (True, {"hostname": "x", "subdomain": "x"})
    assert not mutate(request(obj), with_budget(policies, cost // 2), MemoryFacts()).allowed


def test_choice_follows_the_namespace():
    """Which policies are for a namespace is remembered by its very labels: new labels, another choice; 300 of them."""
    text = mutating('[JSONPatch{op: "add", path: "/spec/hostname", value: "a"}]').replace(
        "spec: {policyName: m}",
        "spec: {policyName: m, matchResources: {namespaceSelector: {matchLabels: {team: a}}}}",
    )
    policies = bundle(text)
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ns"}, "spec": {}}
    for at in range(300):
        labels = {"team": "ab"[at % 2]}
        facts = MemoryFacts([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "labels": labels}}])
        assert bool(mutate(request(obj), policies, facts).patch) is (at % 2 == 0)
        assert bool(mutate(request(obj), policies, facts).patch) is (at % 2 == 0)


def test_nothing_is_left_to_the_collector():
    """After a request no cycle is left: the collector finds nothing to free."""
    policies = bundle(policy(0, (GUARDS[0], (FORMS[0], "a", VALUES[1]), [(FORMS[1], "b", VALUES[0])], True)))
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ns"}, "spec": {}}
    pods, facts = request(obj), MemoryFacts()
    mutate(pods, policies, facts)
    gc.collect()
    gc.disable()
    try:
        mutate(pods, policies, facts)
        assert gc.collect() == 0
    finally:
        gc.enable()

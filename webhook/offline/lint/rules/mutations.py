"""Rules for mutations: tried on sample objects by themselves and in pairs, and one crash of the native server."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, TypeGuard

from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, CreateList, CreateMap, CreateStruct, Fold, Node, walk
from webhook.diagnostics import Severity
from webhook.kube.json_patch import diff
from webhook.offline.lint.context import Finding, LintContext, LintRule, rule
from webhook.offline.lint.hints import when_it_fails
from webhook.offline.lint.reading.touched import touched
from webhook.offline.lint.rules.unknown_fields import misspelt
from webhook.offline.lint.trial.run_policies import (
    Heard,
    Object,
    PolicyTrial,
    TrialOutcome,
    again,
    others_for,
    requests_for,
    trial_of,
)
from webhook.offline.lint.trial.samples import SampleObject
from webhook.policy.bundle import Bundle
from webhook.policy.expression import Expression
from webhook.policy.model import Policy
from webhook.policy.request import Request

_RUNS: Final = 2
_MOST_PAIRS: Final = 1000
_UNORDERED: Final = frozenset({"tolerations", "schedulingGates", "imagePullSecrets", "finalizers", "volumes"})


@dataclass(frozen=True, slots=True)
class Tried:
    """A mutating policy on one sample: the request, and the object it left."""

    policy: Policy
    bundle: Bundle
    sample: SampleObject
    request: Request
    after: Object


def _mutating(context: LintContext) -> Iterator[tuple[Policy, Bundle]]:
    runner = trial_of(context)
    for policy in context.bundle.policies:
        if policy.mutating and policy.document is not None and not _stopped(runner.ordinary(policy)):
            yield policy, runner.alone(policy)


def _stopped(outcomes: tuple[TrialOutcome, ...]) -> bool:
    return any(outcome.heard.stopped for outcome in outcomes)


def tried(runner: PolicyTrial, policy: Policy, bundle: Bundle, extra: Iterable[Object]) -> Iterator[Tried]:
    """Run a policy on every sample it is for."""
    for sample, request in (*requests_for(policy, extra), *others_for(policy)):
        after = runner.changed(bundle, request)
        if after is not None:
            yield Tried(policy, bundle, sample, request, after)


def _finding(policy: Policy, message: str, hint: str, index: int = 0) -> Iterator[Finding]:
    if policy.document is not None:
        yield Finding(policy.document, policy.mutations[index].expression.path, message, hint)


@rule("MUT001", Severity.ERROR, "a patch must not crash the native API server")
def native_panic(context: LintContext) -> Iterator[Finding]:
    """The API server's own MutatingAdmissionPolicy crashes (a panic in its CEL library at 1.36) on a JSONPatch whose
    `value` is a list of typed objects, as in `[Object.spec.tolerations{...}]`: every matching request fails with a
    dropped connection, whatever `failurePolicy` says. Sluice treats it as an expression error, so `failurePolicy`
    decides. Write the items as plain maps: `[{"key": "..."}]`.
    """
    for policy in context.bundle.policies:
        for mutation in policy.mutations if policy.document is not None else ():
            root = mutation.expression.program.checked.root
            for node in () if mutation.apply else walk(root):
                if bad := typed_list_value(node):
                    assert policy.document is not None
                    name, at = bad.type_name, bad.pos  # of the bracket behind the name
                    named = mutation.expression.text[:at].endswith(name)
                    span = (at - len(name), len(name)) if named else (at, 1)
                    message = "a list of typed objects as a patch value crashes the native API server"
                    hint = 'write plain maps in the list: [{"key": ...}]'
                    yield Finding(policy.document, mutation.expression.path, message, hint, span=span)


def typed_list_value(node: Node) -> CreateStruct | None:
    """Return the first typed object inside a list that is the value of a JSONPatch."""
    if not isinstance(node, CreateStruct) or node.type_name != "JSONPatch":
        return None
    return next((found for f in node.fields if f.name == "value" for found in [_typed_in_list(f.value)] if found), None)


def _typed_in_list(node: Node) -> CreateStruct | None:
    """Look into what the value can be: a list, a branch of a condition, a map of lists, a list made by a macro."""
    if isinstance(node, CreateList):
        return next((e for e in node.elements if _is_typed(e)), None) or _first(map(_typed_in_list, node.elements))
    if isinstance(node, Call) and node.function == nodes.CONDITIONAL:
        return _first(map(_typed_in_list, node.args[1:]))
    if isinstance(node, Call) and node.function == nodes.ADD:
        return _first(map(_typed_in_list, node.args))
    if isinstance(node, CreateMap):
        return _first(_typed_in_list(entry.value) for entry in node.entries)
    return _typed_in_list(node.step) if isinstance(node, Fold) else None


def _first(found: Iterator[CreateStruct | None]) -> CreateStruct | None:
    return next((node for node in found if node is not None), None)


def _is_typed(node: Node) -> TypeGuard[CreateStruct]:
    return isinstance(node, CreateStruct) and node.type_name.startswith("Object")


@rule("MUT002", Severity.ERROR, "a mutation must be idempotent")
def idempotent(context: LintContext) -> Iterator[Finding]:
    """A mutation may run more than once on an object: by reinvocation, on the next update, or in a pod whose template
    was already patched. Applied to its own result, it must change nothing. Check for the item before adding it:
    `object.spec.?tolerations.orValue([]).exists(t, ...) ? [] : [JSONPatch{...}]`.
    """
    runner = trial_of(context)
    for policy, bundle in _mutating(context):
        for trial in tried(runner, policy, bundle, context.bundle.objects):
            heard = Heard()
            second = runner.changed(bundle, again(trial.request, trial.after), heard)
            if second is not None and (steps := diff(trial.after, second)):
                changing = sorted(i for clause, i, result in heard.seen if (clause, result) == ("mutations", "changed"))
                index = changing[0] if changing else 0
                message = f"a second pass changes {trial.sample.title} again, at {steps[0].path}"
                yield from _finding(policy, message, "skip the mutation where it is already applied", index)
                break


@rule("MUT003", Severity.ERROR, "mutations must not undo each other")
def fights(context: LintContext) -> Iterator[Finding]:
    """Two policies write different values to the same field: the last one to run wins, and every update repeats
    the conflict. Set the field in one policy only, or skip it in one of them if it is already set.
    """
    yield from (finding for code, finding in _pairs(context) if code == "MUT003")


@rule("MUT004", Severity.WARNING, "the result must not depend on the order of mutations")
def order(context: LintContext) -> Iterator[Finding]:
    """The result depends on which of two policies runs first. Sluice runs them in the order of their names, and those
    with `failurePolicy: Ignore` that need a webhook of their own last. The order of the native API server is not
    defined, so the same object may get different results there.
    """
    yield from (finding for code, finding in _pairs(context) if code == "MUT004")


def _pairs(context: LintContext) -> list[tuple[str, Finding]]:
    """Return what became of the pairs; found out once for both rules."""
    if "pairs" not in context.memo:
        context.memo["pairs"] = list(_try_pairs(context))
    found: list[tuple[str, Finding]] = context.memo["pairs"]
    return found


def _try_pairs(context: LintContext) -> Iterator[tuple[str, Finding]]:
    """Try every two policies that run on the same sample, in both orders; tell each pair once.

    A pair is tried on the first two samples that both run on, if one writes there what the other reads or writes;
    and only so many pairs at all, since the work grows with the square of the policies. What was left out is told.
    """
    runner = trial_of(context)
    by_sample: dict[str, list[Tried]] = {}
    for policy, bundle in _mutating(context):
        for trial in tried(runner, policy, bundle, context.bundle.objects):
            if not diff(trial.after, runner.changed(bundle, again(trial.request, trial.after)) or trial.after):
                by_sample.setdefault(trial.sample.title, []).append(trial)
    runs: Counter[tuple[str, str]] = Counter()
    left: dict[tuple[str, str], Policy] = {}
    for trials in by_sample.values():
        touches = [touched(trial.policy) for trial in trials]
        for (a, of_a), (b, of_b) in combinations(zip(trials, touches, strict=True), 2):
            pair = (a.policy.name, b.policy.name)
            if runs[pair] >= _RUNS or of_a.apart(of_b):
                continue
            if not runs[pair] and sum(1 for n in runs.values() if n) >= _MOST_PAIRS:
                left[pair] = b.policy
                continue
            runs[pair] += 1
            if found := _pair(runner, a, b):
                runs[pair] = _RUNS
                yield from ((found[0], finding) for finding in found[1])
    yield from _untried(left)


def _untried(left: dict[tuple[str, str], Policy]) -> Iterator[tuple[str, Finding]]:
    """Yield a finding with the number of pairs that no case covers."""
    for (a, b), policy in list(left.items())[:1]:
        message = f'{len(left):,} pairs of mutations were not tested together; the first is "{a}" and "{b}"'
        hint = f"{_MOST_PAIRS:,} pairs are tested in one run; lint smaller groups, or narrow what they match"
        for finding in _finding(policy, message, hint):
            yield "MUT004", replace(finding, severity=Severity.NOTE)


def _pair(runner: PolicyTrial, a: Tried, b: Tried) -> tuple[str, list[Finding]] | None:
    """Run two policies after each other; None where the order does not show."""
    ab = runner.changed(b.bundle, again(a.request, a.after)) or a.after
    ba = runner.changed(a.bundle, again(b.request, b.after)) or b.after
    names = f'"{a.policy.name}" and "{b.policy.name}"'
    aba = runner.changed(a.bundle, again(a.request, ab)) or ab
    if diff(ab, aba):
        abab = runner.changed(b.bundle, again(a.request, aba)) or aba
        if steps := diff(aba, abab):
            message = f"{names} undo each other at {steps[0].path} of {a.sample.title}"
            return "MUT003", list(_finding(b.policy, message, "set the field in one of them only"))
    steps = diff(_settled(ab), _settled(ba))
    if not steps:
        return None
    message = f"the result for {a.sample.title} depends on the order of {names}: {steps[0].path}"
    return "MUT004", list(_finding(b.policy, message, "the native API server has no defined order"))


def _settled(value: Any, name: str = "") -> Any:
    """Return a value with the lists sorted whose order means nothing."""
    if isinstance(value, dict):
        return {key: _settled(child, key) for key, child in value.items()}
    if isinstance(value, list):
        items = [_settled(item) for item in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True)) if name in _UNORDERED else items
    return value


@rule("MUT005", Severity.WARNING, "a mutation must not fail on an ordinary object")
def mutation_fails(context: LintContext) -> Iterator[Finding]:
    """The mutation fails on an ordinary object of a kind that it matches: it reads a field that may be absent, or
    patches a parent that is absent (`add /spec/tolerations/-` needs the list). With `failurePolicy: Fail` such
    objects are denied.
    """
    runner = trial_of(context)
    for policy, _ in _mutating(context):
        told: set[int] = set()
        for found in runner.ordinary(policy):
            for clause, index in found.heard.failed:
                crashes = "could not marshal to JSON: ObjectValue" in found.heard.message  # MUT001 tells it
                if clause == "mutations" and index not in told and not crashes:
                    told.add(index)
                    hint = when_it_fails(
                        found.heard.message, "check with has() or ?. before reading, or add the parent"
                    )
                    yield from _finding(policy, f"this fails on {found.sample.title}{found.heard.why()}", hint, index)


@rule("CEL016", Severity.WARNING, "an expression must not fail on an ordinary object")
def validation_fails(context: LintContext) -> Iterator[Finding]:
    """The expression fails on an ordinary object of a kind that it matches, mostly because it reads an optional field
    without `has()` or `?.`. With `failurePolicy: Fail` such objects are denied with an unhelpful error; with
    `Ignore` they are allowed unchecked. It is an error where the two sides of an operator have types that never go
    together, as in `object.spec.replicas <= "5"`.
    """
    runner = trial_of(context)
    unread = {(id(s.document), (*s.root, *e.path)) for s, e, wrong in misspelt(context) if not wrong.asked}
    for policy in context.bundle.policies:
        kind = policy.param_kind
        if policy.document is None or (kind and not runner.facts.params(kind, None, None, None)):
            continue  # what stands in its params is not known
        told = set[tuple[str, int]]()
        outcomes = runner.ordinary(policy)
        for found in outcomes:
            heard = found.heard
            if heard.stopped:
                break  # CEL022 tells it
            for clause, index in heard.failed:
                if clause in ("matchConditions", "validations") and (clause, index) not in told:
                    told.add((clause, index))
                    path = _expressions(policy, clause)[index].path
                    if (id(policy.document), path) in unread and "no such key" in heard.why():
                        continue  # CEL018 tells it
                    hint = when_it_fails(heard.why(), "check with has() or ?. before reading")
                    finding = Finding(policy.document, path, f"this fails on {found.sample.title}{heard.why()}", hint)
                    sure = "no such overload" in heard.why() and _always(outcomes, clause, index)
                    yield replace(finding, severity=Severity.ERROR) if sure else finding


def _always(outcomes: tuple[TrialOutcome, ...], clause: str, index: int) -> bool:
    """Return whether a clause failed on every object on which it was evaluated."""
    seen = {result for outcome in outcomes for at, i, result in outcome.heard.seen if (at, i) == (clause, index)}
    return seen == {"error"}


def _expressions(policy: Policy, clause: str) -> list[Expression]:
    rows: dict[str, tuple[Any, ...]] = {
        "matchConditions": policy.conditions,
        "validations": policy.validations,
        "mutations": policy.mutations,
    }
    return [row.expression for row in rows[clause]]


RULES: Final[tuple[LintRule, ...]] = (native_panic, idempotent, fights, order, mutation_fails, validation_fails)

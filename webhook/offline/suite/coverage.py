"""Coverage: which rule of a policy, and which branch of its expressions, no case has run.

Expressions are evaluated a second time by a program that reports every part's value. A branch is an arm of `? :`, or
the right side of `&&` or `||`, which counts as run if the left side did not decide the result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from webhook.cel.budget import Budget
from webhook.cel.errors import CelError
from webhook.cel.interpreter.planner import Planner
from webhook.cel.program import Program
from webhook.cel.syntax import nodes
from webhook.diagnostics import Diagnostic, Severity
from webhook.policy.bundle import Bundle
from webhook.policy.expression import Expression
from webhook.policy.matching.index import Index
from webhook.policy.model import Policy


class Watcher:
    """Calls a program, and keeps which of its parts came out true, and which false."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.values: set[tuple[int, bool]] = set()
        planner = Planner(program.checked, program.env, self._observe)
        self._evaluate = planner.run()
        self._size = planner.size

    def watched(self) -> Program:
        """Return the program that is called through this."""
        return replace(self.program, call=self.call, metered=self.metered)

    def call(self, *values: object) -> object:
        """Evaluate, and watch."""
        return self.metered(values, None)

    def metered(self, values: tuple[object, ...], budget: Budget | None) -> object:
        """Evaluate within a budget, and watch."""
        with contextlib.suppress(CelError):
            self._evaluate(self.program.frame(values, size=self._size))
        return self.program.metered(values, budget)

    def _observe(self, node: nodes.Node, frame: Any, value: object) -> None:
        if isinstance(value, bool):
            self.values.add((node.id, value))


Watchers = Mapping[Program, Watcher]
"""Watched program -> what watches it."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One thing that can happen in a policy (its name): what it is, where it stands, and whether a case ran it."""

    policy: str
    what: str
    finding: Diagnostic
    ran: bool


@dataclass(slots=True)
class Coverage:
    """Collects over the cases of a suite; is the observer of their reviews."""

    policies: Sequence[Policy]
    watchers: Watchers
    outcomes: set[tuple[str, bool, str, int, str]] = field(default_factory=set)

    def saw(self, policy: Policy, clause: str, index: int, outcome: str) -> None:
        """Take note of an outcome."""
        self.outcomes.add((policy.name, policy.mutating, clause, index, outcome))

    def branches(self) -> Iterator[Branch]:
        """Yield every branch of every policy that takes effect."""
        for policy in self.policies:
            if policy.bindings:
                yield from self._rules(policy)
                for clause, expression in _named(policy):
                    yield from _parts(policy, clause, expression, self.watchers[expression.program])

    def _rules(self, policy: Policy) -> Iterator[Branch]:
        rows: tuple[tuple[str, tuple[Any, ...], tuple[str, ...]], ...] = (
            ("matchConditions", policy.conditions, ("true", "false")),
            ("validations", policy.validations, ("true", "false")),
            ("auditAnnotations", policy.audit_annotations, ("ran",)),
            ("mutations", policy.mutations, ("changed",)),
        )
        for clause, items, outcomes in rows:
            for i, item in enumerate(items):
                for outcome in outcomes:
                    ran = (policy.name, policy.mutating, clause, i, outcome) in self.outcomes
                    what = (
                        f"{clause}[{i}] was never {outcome}"
                        if outcome != "ran"
                        else f"{clause}[{i}] was never evaluated"
                    )
                    finding = _finding(policy, item.expression, 0, what)
                    yield Branch(policy.name, what, finding, ran)


def watched(bundle: Bundle) -> tuple[Bundle, Watchers]:
    """Return the bundle with expressions that are watched, and what watches them; its verdicts are the same."""
    watchers: dict[Program, Watcher] = {}
    policies = tuple(_watched(policy, watchers) for policy in bundle.policies)
    made = replace(
        bundle,
        policies=policies,
        validating=Index([p for p in policies if not p.mutating]),
        mutating=Index([p for p in policies if p.mutating]),
    )
    return made, watchers


def _watched(policy: Policy, watchers: dict[Program, Watcher]) -> Policy:
    def one(expression: Expression | None) -> Any:
        if expression is None:
            return None
        watcher = Watcher(expression.program)
        program = watcher.watched()
        watchers[program] = watcher
        return replace(expression, program=program)

    return replace(
        policy,
        variables={name: one(e) for name, e in policy.variables.items()},
        conditions=tuple(replace(c, expression=one(c.expression)) for c in policy.conditions),
        validations=tuple(
            replace(v, expression=one(v.expression), message_expression=one(v.message_expression))
            for v in policy.validations
        ),
        audit_annotations=tuple(replace(a, expression=one(a.expression)) for a in policy.audit_annotations),
        mutations=tuple(replace(m, expression=one(m.expression)) for m in policy.mutations),
        warning=one(policy.warning),
    )


def _named(policy: Policy) -> Iterator[tuple[str, Expression]]:
    for name, expression in policy.variables.items():
        yield f"variables.{name}", expression
    for i, condition in enumerate(policy.conditions):
        yield f"matchConditions[{i}]", condition.expression
    for i, validation in enumerate(policy.validations):
        yield f"validations[{i}]", validation.expression
        if validation.message_expression is not None:
            yield f"validations[{i}].messageExpression", validation.message_expression
    for i, annotation in enumerate(policy.audit_annotations):
        yield f"auditAnnotations[{i}]", annotation.expression
    for i, mutation in enumerate(policy.mutations):
        yield f"mutations[{i}]", mutation.expression


def _parts(policy: Policy, clause: str, expression: Expression, watcher: Watcher) -> Iterator[Branch]:
    """Yield the branches inside one expression."""
    for node, deciding, wanted, word in _forks(expression.program.checked.root):
        ran = (deciding.id, wanted) in watcher.values
        what = f"{clause}: {word}"
        yield Branch(policy.name, what, _finding(policy, expression, node.pos, what), ran)


def _forks(root: nodes.Node) -> Iterator[tuple[nodes.Node, nodes.Node, bool, str]]:
    """Yield (branch, the part that decides on it, the value it must have, words) below a node."""
    todo = [root]
    while todo:
        node = todo.pop()
        todo += nodes.children(node)
        if not isinstance(node, nodes.Call) or _generated(node):
            continue
        if node.function == nodes.CONDITIONAL:
            condition, yes, no = node.args
            yield yes, condition, True, "the branch after ? was never evaluated"
            yield no, condition, False, "the branch after : was never evaluated"
        elif node.function in (nodes.AND, nodes.OR):
            left, right = node.args
            yield (
                right,
                left,
                node.function == nodes.AND,
                f"what follows {node.function.strip('_')} was never evaluated",
            )


def _generated(node: nodes.Call) -> bool:
    """Return whether a macro made the node: it speaks of the macro's own accumulator."""
    inner = (arg for arg in node.args if isinstance(arg, nodes.Call))
    return any(map(_accumulates, node.args)) or any(_accumulates(a) for call in inner for a in call.args)


def _accumulates(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Ident) and node.name == nodes.ACCUMULATOR


def _finding(policy: Policy, expression: Expression, offset: int, message: str) -> Diagnostic:
    document = policy.document
    assert document is not None
    place = document.text_place(expression.path, offset)
    text = f"{policy.name}: {message}"
    return Diagnostic("COV001", place, text, Severity.NOTE, document.source(place))

"""Rules for the CEL validation rules of CRDs: whether they compile against the schema and stay within the cost limits.

The API server rejects a CustomResourceDefinition for either when it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.cel import CompileError, Env, Program, compile
from webhook.cel.check import custom_kinds
from webhook.cel.ranges import UNBOUNDED
from webhook.cel.types import BOOL, STRING
from webhook.diagnostics import Severity
from webhook.documents import Path
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule

RULE_LIMIT: Final = 10_000_000
VERSION_LIMIT: Final = 100_000_000
"""Units that one rule, and all rules of a version, may cost (StaticEstimatedCostLimit, StaticEstimatedCRDCostLimit)."""
_RULES: Final = "x-kubernetes-validations"
_HINT: Final = "set maxItems, maxProperties or maxLength on what it iterates over and reads"


@dataclass(frozen=True, slots=True)
class RulePlace:
    """A schema with rules: where it stands, and how often such a value can be in one object (None: no bound)."""

    path: Path
    schema: Mapping[str, Any]
    often: int | None
    root: bool


@dataclass(slots=True)
class VersionRules:
    """The rules of a version of a custom kind: those that compile with their costs, and what is wrong with others."""

    crd: Subject
    path: Path
    costs: dict[Path, int] = field(default_factory=dict)
    wrong: list[Finding] = field(default_factory=list)

    def look(self, place: RulePlace) -> None:
        """Compile and estimate the rules at one place."""
        declared = custom_kinds.declare(place.schema, root=place.root)
        if declared is None:
            return
        for i, row in enumerate(place.schema[_RULES]):
            env = custom_kinds.rule_env(declared, optional_old=bool(row.get("optionalOldSelf")))
            path = (*place.path, _RULES, i)
            often = custom_kinds.cardinality(declared) if place.often is None else place.often
            self.keep((*path, "rule"), self.compiled((*path, "rule"), row.get("rule"), env), often)
            message_path = (*path, "messageExpression")
            self.keep(message_path, self.compiled(message_path, row.get("messageExpression"), env), 1)

    def compiled(self, path: Path, text: object, env: Env) -> Program | None:
        """Compile an expression, and keep what is wrong with it."""
        if not isinstance(text, str) or not text.strip():
            return None
        wanted = BOOL if path[-1] == "rule" else STRING
        try:
            program = compile(text, env)
        except CompileError as error:
            for issue in error.issues:
                span = (issue.offset, issue.offset + 1) if issue.offset >= 0 else None
                self.wrong.append(self.crd.finding(path, issue.message, span=span))
            return None
        if program.type != wanted:
            message = f"expected {wanted}, got {program.type}"
            self.wrong.append(self.crd.finding(path, message))
            return None
        return program

    def keep(self, path: Path, program: Program | None, often: int) -> None:
        """Take note of what a program may cost at most, for as many values as there can be."""
        if program is not None:
            self.costs[path] = min(program.estimate.max * often, UNBOUNDED)


def places(schema: object, path: Path, often: int | None = 1, *, root: bool = True) -> Iterator[RulePlace]:
    """Find the schemas that have rules, at and below one."""
    if not isinstance(schema, Mapping):
        return
    if isinstance(schema.get(_RULES), list):
        yield RulePlace(path, schema, often, root)
    more = _product(often, _most(schema))
    below: list[tuple[Path, Any]] = [
        (("properties", name), inner) for name, inner in (schema.get("properties") or {}).items()
    ]
    below += [((step,), schema[step]) for step in ("items", "additionalProperties") if step in schema]
    for steps, inner in below:
        whole = isinstance(inner, Mapping) and bool(inner.get("x-kubernetes-embedded-resource"))
        yield from places(inner, (*path, *steps), more, root=whole)


def _most(schema: Mapping[str, Any]) -> int | None:
    """How many values of the schemas below can be in one of this schema."""
    kind = schema.get("type")
    bound = {"array": "maxItems", "object": "maxProperties"}.get(str(kind))
    if bound is None or (kind == "object" and schema.get("additionalProperties") is None):
        return 1
    most = schema.get(bound)
    return None if most is None else max(int(most), 0)


def _product(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a * b, UNBOUNDED)


def versions(context: LintContext) -> Iterator[VersionRules]:
    """Compile and estimate the rules of all versions of the custom kinds among the files."""
    for crd in context.of("apiextensions.k8s.io", "CustomResourceDefinition"):
        for path, version in crd.each("spec", "versions"):
            found = VersionRules(crd, path)
            try:
                where: Path = (*path, "schema", "openAPIV3Schema")
                for place in places((version.get("schema") or {}).get("openAPIV3Schema"), where):
                    found.look(place)
            except (AttributeError, KeyError, TypeError, ValueError):
                continue  # it is no schema: the server says so in its own words
            yield found


@rule("CEL019", Severity.ERROR, "the validation rules of a custom kind must compile")
def rules_compile(context: LintContext) -> Iterator[Finding]:
    """The API server checks each rule of `x-kubernetes-validations` against its schema. It rejects the whole
    CustomResourceDefinition if a rule reads an unknown field, compares values of different types or does not return
    bool. Escape names that are not CEL identifiers: `self.__namespace__`, `self.my__dash__field`.
    """
    for version in versions(context):
        yield from version.wrong


@rule("CEL020", Severity.ERROR, "the validation rules of a custom kind must stay within the API server's cost limits")
def rules_fit(context: LintContext) -> Iterator[Finding]:
    """The API server estimates the cost of a rule from the bounds of its schema, multiplied by the number of such
    values in an object. It rejects the CustomResourceDefinition above 10,000,000 units for one rule, or 100,000,000 for
    all rules of a version. An unbounded value counts as the largest that fits into a 3 MiB request. Set
    `maxItems` of lists, `maxProperties` of maps and `maxLength` of strings, or move the rule below the list it iterates
    over.
    """
    for version in versions(context):
        total = min(sum(version.costs.values()), UNBOUNDED)
        dear = {path: cost for path, cost in version.costs.items() if cost > RULE_LIMIT}
        for path, cost in dear.items():
            message = f"this is estimated at {_shown(cost)} units, {_times(cost, RULE_LIMIT)} the limit of a rule"
            yield version.crd.finding(path, message, _HINT)
        if total > VERSION_LIMIT and not dear:
            message = f"the rules of this version are estimated at {_shown(total)} units together"
            beyond = f"{_times(total, VERSION_LIMIT)} the limit"
            yield version.crd.finding((*version.path, "name"), f"{message}, {beyond}", _HINT)


def _shown(cost: int) -> str:
    return f"{cost:,}" if cost < UNBOUNDED else "an unbounded number of"


def _times(cost: int, limit: int) -> str:
    times = cost / limit
    return "more than 100 times" if times > 100 else f"{times:.1f} times"


RULES: Final[tuple[LintRule, ...]] = (rules_compile, rules_fit)

"""One policy document to a `Policy`: every expression compiled, every mistake told at its place in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from webhook.cel.compose import TYPE_NAME
from webhook.cel.env import Env, mutation_env, validation_env
from webhook.cel.errors import CompileError
from webhook.cel.program import compile as compile_text
from webhook.cel.types import BOOL, DYN, NULL, STRING, Type, TypeKind, list_of, object_type
from webhook.diagnostics import Diagnostic, did_you_mean
from webhook.documents import Document, Path
from webhook.kube.gvk import kind_named, split_api_version
from webhook.kube.selectors import SelectorError, compile_selector
from webhook.policy.dependencies.reads import read_paths
from webhook.policy.dependencies.writes import written_paths
from webhook.policy.expression import Expression
from webhook.policy.loading import policy_kinds
from webhook.policy.match_resources import MatchResources
from webhook.policy.model import (
    AuditAnnotation,
    Binding,
    MatchCondition,
    Mutation,
    ParamRef,
    Policy,
    Validation,
)

_OBJECT: Final = object_type("Object")
_PATCHES: Final = list_of(object_type("JSONPatch"))
NO_MATCH: Final = MatchResources((), (), None, None, equivalent=False)


def compile_policy(document: Document, *, mutating: bool) -> tuple[Policy | None, list[Diagnostic]]:
    """Compile a policy whose shape has been checked; None, and what is wrong, where it cannot be used."""
    return _Compiler(document, mutating=mutating).policy()


def compile_binding(document: Document) -> tuple[Binding | None, list[Diagnostic]]:
    """Read a binding whose shape has been checked; None, and what is wrong, where it cannot be used."""
    findings: list[Diagnostic] = []
    spec = document.value["spec"]
    resources = spec.get("matchResources")
    match = read_match(document, ("spec", "matchResources"), findings) if resources else None
    ref = _param_ref(document, findings) if spec.get("paramRef") is not None else None
    actions = tuple(spec.get("validationActions") or ())
    if "Deny" in actions and "Warn" in actions:
        message = "Deny and Warn cannot be combined: the API server rejects it"
        findings.append(document.diagnostic("POL005", ("spec", "validationActions"), message))
    if findings:
        return None, findings
    return Binding(document.value["metadata"]["name"], actions, ref, match), []


def read_match(document: Document, path: Path, findings: list[Diagnostic]) -> MatchResources:
    """Read matchConstraints or matchResources; a wrong selector becomes a finding."""
    spec = document.at(path) or {}
    for name in ("namespaceSelector", "objectSelector"):
        try:
            compile_selector(spec.get(name))
        except SelectorError as error:
            findings.append(document.diagnostic("POL004", (*path, name, *error.path), str(error)))
            return NO_MATCH
    return MatchResources.of(spec)


def _param_ref(document: Document, findings: list[Diagnostic]) -> ParamRef | None:
    path: Path = ("spec", "paramRef")
    ref = document.at(path)
    name, selector = ref.get("name"), ref.get("selector")
    if bool(name) == (selector is not None):
        message = "paramRef must set exactly one of name and selector"
        findings.append(document.diagnostic("POL005", path, message, key=True))
        return None
    try:
        chosen = compile_selector(selector) if selector is not None else None
    except SelectorError as error:
        findings.append(document.diagnostic("POL004", (*path, "selector", *error.path), str(error)))
        return None
    return ParamRef(name or None, ref.get("namespace") or None, chosen, ref.get("parameterNotFoundAction") == "Deny")


def environment_at(path: Path, variables: Mapping[str, Type], *, params: bool) -> Env:
    """Return the environment of the API server for the expression at a path of a policy.

    `variables` are those that are declared before it, `params` says that the policy has a paramKind.
    """
    make = mutation_env if path[:2] == ("spec", "mutations") else validation_env
    authorizer = path[-1] != "messageExpression"
    env = make(params=params, authorizer=authorizer, variables=object_type(TYPE_NAME))
    if path[:2] == ("spec", "matchConditions"):  # the API server refuses a condition that speaks of `variables`
        env = replace(env, variables={name: kind for name, kind in env.variables.items() if name != "variables"})
    return replace(env, objects={**env.objects, TYPE_NAME: variables})


class _Compiler:
    """Compiles one document and collects what is wrong."""

    def __init__(self, document: Document, *, mutating: bool) -> None:
        self.document, self.mutating = document, mutating
        self.spec: dict[str, Any] = document.value["spec"]
        self.findings: list[Diagnostic] = []
        self.types: dict[str, Type] = {}
        self.read: dict[str, tuple[tuple[str, ...], ...]] = {}

    def policy(self) -> tuple[Policy | None, list[Diagnostic]]:
        spec, metadata = self.spec, self.document.value["metadata"]
        notes = metadata.get("annotations") or {}
        self.annotations(notes)
        variables = self.variables()
        kind = spec.get("paramKind")
        policy = Policy(
            name=metadata["name"],
            mutating=self.mutating,
            match=read_match(self.document, ("spec", "matchConstraints"), self.findings),
            conditions=self.conditions(),
            variables=variables,
            validations=self.validations(),
            audit_annotations=self.audit_annotations(),
            mutations=self.mutations(),
            param_kind=kind_named(*split_api_version(kind["apiVersion"]), kind["kind"]) if kind else None,
            ignore_failure=spec.get("failurePolicy") == "Ignore",
            reinvoke=spec.get("reinvocationPolicy") == "IfNeeded",
            expand=policy_kinds.EXPAND in notes,
            mode=notes.get(policy_kinds.MODE, "enforce"),
            skip_owned=policy_kinds.SKIP in notes,
            skip_unmanaged=notes.get(policy_kinds.SKIP) == policy_kinds.UNMANAGED,
            settings=self.settings(notes),
            warning=self.warning(notes),
            docs=notes.get(policy_kinds.DOCS, ""),
            document=self.document,
            spec=spec,
        )
        return (None if self.findings else policy), self.findings

    def expression(self, path: Path, wanted: tuple[Type, ...] = ()) -> Expression | None:
        """Compile the expression at a path; its issues become findings."""
        text = self.document.at(path)
        try:
            program = compile_text(text, environment_at(path, self.types, params=bool(self.spec.get("paramKind"))))
        except CompileError as error:
            self.findings += [self.issue(path, i.offset, i.length, i.message) for i in error.issues]
            return None
        if wanted and program.type not in wanted:
            words = " or ".join(map(str, wanted))
            self.findings.append(self.issue(path, 0, 0, f"must evaluate to {words}, not {program.type}"))
            return None
        return Expression(text, program, path, read_paths(program.checked.root, self.read))

    def issue(self, path: Path, offset: int, length: int, message: str) -> Diagnostic:
        place = self.document.text_place(path, max(offset, 0), max(length, 1))
        return Diagnostic("CEL001", place, message, source=self.document.source(place))

    def annotations(self, notes: dict[str, Any]) -> None:
        for key, value in notes.items():
            path: Path = ("metadata", "annotations", key)
            if not key.startswith("sluice.dev/"):
                continue
            if key not in policy_kinds.ANNOTATIONS:
                hint = (
                    did_you_mean(key, policy_kinds.ANNOTATIONS) or f"use one of {', '.join(policy_kinds.ANNOTATIONS)}"
                )
                message = f'unknown annotation "{key}"'
                self.findings.append(self.document.diagnostic("POL001", path, message, key=True, hint=hint))
            elif value is None:
                self.findings.append(
                    self.document.diagnostic("POL003", path, "an annotation must be a string", key=True)
                )
            elif policy_kinds.ANNOTATIONS[key] and value not in policy_kinds.ANNOTATIONS[key]:
                hint = f"use one of {', '.join(policy_kinds.ANNOTATIONS[key])}"
                self.findings.append(self.document.diagnostic("POL003", path, f'invalid value "{value}"', hint=hint))

    def variables(self) -> dict[str, Expression]:
        """Compile the variables in their order; each sees those before it."""
        found: dict[str, Expression] = {}
        for i, item in enumerate(self.spec.get("variables") or ()):
            name = item["name"]
            expression = self.expression(("spec", "variables", i, "expression"))
            self.types = {**self.types, name: field_type(expression.program.type) if expression else DYN}
            if expression:
                found[name] = expression
                self.read[name] = expression.reads
        return found

    def conditions(self) -> tuple[MatchCondition, ...]:
        made = []
        for i, item in enumerate(self.spec.get("matchConditions") or ()):
            if expression := self.expression(("spec", "matchConditions", i, "expression"), (BOOL,)):
                made.append(MatchCondition(item["name"], expression))
        return tuple(made)

    def validations(self) -> tuple[Validation, ...]:
        items = self.spec.get("validations") or ()
        if not self.mutating and not items and not self.spec.get("auditAnnotations"):
            message = "a policy must have validations or auditAnnotations"
            self.findings.append(self.document.diagnostic("POL002", ("spec",), message, key=True))
        made = []
        for i, item in enumerate(items):
            path: Path = ("spec", "validations", i)
            expression = self.expression((*path, "expression"), (BOOL,))
            worded = None
            if item.get("messageExpression"):
                worded = self.expression((*path, "messageExpression"), (STRING,))
            if expression:
                made.append(Validation(expression, item.get("message") or "", worded, item.get("reason") or "Invalid"))
        return tuple(made)

    def audit_annotations(self) -> tuple[AuditAnnotation, ...]:
        made = []
        for i, item in enumerate(self.spec.get("auditAnnotations") or ()):
            path: Path = ("spec", "auditAnnotations", i, "valueExpression")
            if expression := self.expression(path, (STRING, NULL)):
                made.append(AuditAnnotation(item["key"], expression))
        return tuple(made)

    def mutations(self) -> tuple[Mutation, ...]:
        made = []
        for i, item in enumerate(self.spec.get("mutations") or ()):
            apply = item["patchType"] == "ApplyConfiguration"
            field, other = ("applyConfiguration", "jsonPatch") if apply else ("jsonPatch", "applyConfiguration")
            path: Path = ("spec", "mutations", i)
            if not (item.get(field) or {}).get("expression") or item.get(other):
                message = f"patchType {item['patchType']} requires {field}.expression, and no {other}"
                self.findings.append(self.document.diagnostic("POL005", path, message, key=True))
            elif expression := self.expression((*path, field, "expression"), (_OBJECT if apply else _PATCHES,)):
                made.append(Mutation(apply, expression, written_paths(expression.program.checked.root)))
        return tuple(made)

    def settings(self, notes: dict[str, Any]) -> tuple[str, ...]:
        """Read the names of the variables that the settings give a value; each must be there, and true or false."""
        names = tuple(name.strip() for name in (notes.get(policy_kinds.SETTINGS) or "").split(",") if name.strip())
        for name in names:
            if self.types.get(name) != BOOL:
                path: Path = ("metadata", "annotations", policy_kinds.SETTINGS)
                hint = f"declare a variable {name} whose expression is its value without settings, such as false"
                self.findings.append(self.document.diagnostic("POL003", path, f'no bool variable "{name}"', hint=hint))
        return names

    def warning(self, notes: dict[str, Any]) -> Expression | None:
        if notes.get(policy_kinds.WARNING) is None:
            return None
        return self.expression(("metadata", "annotations", policy_kinds.WARNING), (STRING,))


_KEPT: Final = frozenset({TypeKind.PRIMITIVE, TypeKind.NULL, TypeKind.WELL_KNOWN})


def field_type(kind: Type) -> Type:
    """Return the type a variable has as a field: plain types, lists and maps are kept, the rest is dyn."""
    if kind.kind in (TypeKind.LIST, TypeKind.MAP):
        return Type(kind.name, tuple(map(field_type, kind.params)), kind.kind)
    return kind if kind.kind in _KEPT else DYN

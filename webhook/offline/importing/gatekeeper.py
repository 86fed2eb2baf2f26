"""Converts Gatekeeper's CEL templates to policies, and its constraints to params and bindings.

A constraint stays an object of its own kind, whose CRD is made from the template as Gatekeeper makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from webhook.diagnostics import Place
from webhook.documents import Document, Path
from webhook.offline.dryrun.requests import ResourceScopes
from webhook.offline.importing.gator_suites import GATOR
from webhook.offline.importing.imported import Converted, Fate, ImportNote, Object, misnamed
from webhook.offline.importing.matching import (
    KNOWN_OPERATIONS,
    bound_rules,
    guesses,
    operations_of,
    selectors,
    unsupported,
)
from webhook.offline.importing.parameters import ANYTHING, defaulted, structural
from webhook.policy.loading.list_items import below
from webhook.policy.loading.policy_kinds import BINDING, EXPAND, GROUP, VALIDATING

TEMPLATES: Final = "templates.gatekeeper.sh"
CONSTRAINTS: Final = "constraints.gatekeeper.sh"
MUTATIONS: Final = "mutations.gatekeeper.sh"
OWN: Final = frozenset({"status.gatekeeper.sh", GATOR})
"""Groups of what Gatekeeper writes itself, and of suites, which are read elsewhere."""
ENGINE: Final = "K8sNativeValidation"
PARAM_VERSION: Final = "v1beta1"
GIVEN: Final = {
    "anyObject": "object == null ? oldObject : object",
    "params": "has(params.spec) && has(params.spec.parameters) ? params.spec.parameters : null",
}
"""The variables that a template has without writing them."""
ACTIONS: Final = {"deny": "Deny", "warn": "Warn", "dryrun": "Audit"}
POINTS: Final = frozenset({"*", "vap.k8s.io", "validation.gatekeeper.sh"})
"""Where scoped actions act on an admission review."""
TARGET: Final = frozenset({"target", "code", "rego", "libs", "operations"})
NOT_CEL: Final = {
    CONSTRAINTS: "its ConstraintTemplate is not among the files",
    TEMPLATES: "only ConstraintTemplate is imported",
    "config.gatekeeper.sh": "there are no settings for all policies; write selectors into the bindings",
    MUTATIONS: "rewrite it as a MutatingAdmissionPolicy",
    "expansion.gatekeeper.sh": f"set the annotation {EXPAND} on policies for Pods",
    "externaldata.gatekeeper.sh": "the API server has no external data",
    "syncset.gatekeeper.sh": "a policy of the API server reads no other objects",
}
"""Why the objects of a group are not imported, unless they are used by what is."""
SOURCE: Final = frozenset({"validations", "failurePolicy", "matchCondition", "variables", "generateVAP"})


def is_template(document: Document) -> bool:
    """Return whether a document is a ConstraintTemplate."""
    return _group(document) == TEMPLATES and document.at(("kind",)) == "ConstraintTemplate"


def is_constraint(document: Document) -> bool:
    """Return whether a document is a constraint, of whatever template."""
    return _group(document) == CONSTRAINTS


def constraint_kind(template: Document) -> str:
    """Return the kind of the constraints of a template."""
    return str(template.at(("spec", "crd", "spec", "names", "kind")))


def is_mutator(document: Document) -> bool:
    """Return whether a document is one of Gatekeeper's mutations."""
    return _group(document) == MUTATIONS


def left_out(document: Document) -> str:
    """Return why an object of Gatekeeper is not imported; nothing for what it writes itself, and for other objects."""
    group = _group(document)
    ours = group.endswith(".gatekeeper.sh") and group not in OWN
    return NOT_CEL.get(group, "it has no counterpart") if ours else ""


def converted(
    template: Document, constraints: Sequence[tuple[str, Document]], names: ResourceScopes
) -> tuple[Converted | None, list[ImportNote]]:
    """Return a template's policy, and for each of its constraints, given by the name of its file, the binding.

    `names` are the resources of the kinds that constraints match.
    """
    name = str(template.at(("metadata", "name")))
    what = f"ConstraintTemplate {name}"
    source = _source(template)
    if obstacles := list(_obstacles_of_template(template, source)):
        return None, [ImportNote(place, Fate.LEFT_OUT, what, why) for place, why in obstacles]
    operations = operations_of(template.at((*source[:3], "operations")))
    told: list[ImportNote] = []
    differs: list[ImportNote] = []
    files: dict[str, tuple[Document, ...]] = {}
    rules: list[Object] = []
    for stem, constraint in constraints:
        kept = f"{constraint.value['kind']} {constraint.at(('metadata', 'name'))}"
        if reasons := list(_obstacles(constraint)):
            told += [ImportNote(constraint.place(path), Fate.LEFT_OUT, kept, why) for path, why in reasons]
            continue
        match = constraint.at(("spec", "match")) or {}
        for path, why in guesses(match, names):
            differs.append(ImportNote(constraint.place(("spec", "match", *path)), Fate.DIFFERS, kept, why))
        mine = _unique(bound_rules(match, operations, names))
        files[f"{stem}.yaml"] = _bound(constraint, name, mine, stem, _schema(template))
        rules += mine
    if not files:
        why = (
            "none of its constraints can be imported"
            if constraints
            else "no constraint uses it; add its constraints to the files"
        )
        return None, [*told, ImportNote(template.place(), Fate.LEFT_OUT, what, why)]
    files = {"policy.yaml": (_policy(template, below(template, source), rules), _crd(template)), **files}
    return Converted(what, name, template.file, files, tuple(differs)), told


def _source(template: Document) -> Path:
    """Return where a template has its CEL, in one of its targets; nothing where it has none."""
    targets = template.at(("spec", "targets"))
    for i, target in enumerate(targets if isinstance(targets, list) else ()):
        codes = target.get("code") if isinstance(target, dict) else None
        for j, code in enumerate(codes if isinstance(codes, list) else ()):
            if isinstance(code, dict) and code.get("engine") == ENGINE and isinstance(code.get("source"), dict):
                return ("spec", "targets", i, "code", j, "source")
    return ()


def _obstacles_of_template(template: Document, source: Path) -> Iterator[tuple[Place, str]]:
    """Yield what prevents a conversion of a template, each with the reason."""
    if why := misnamed(str(template.at(("metadata", "name")))):
        yield template.place(("metadata", "name")), why
    if not source:
        yield template.place(("spec", "targets")), "it has Rego only; rewrite it in CEL"
        return
    target = source[:3]
    for field in sorted(template.at(target).keys() - TARGET):
        yield template.place((*target, field), key=True), f"unknown field {field}"
    operations = template.at((*target, "operations"))
    if operations is not None and not (isinstance(operations, list) and operations):
        yield template.place((*target, "operations")), "operations must be a list"
    for i, given in enumerate(operations if isinstance(operations, list) else ()):
        if given not in KNOWN_OPERATIONS:
            why = f'operation "{given}" is not one of {", ".join(KNOWN_OPERATIONS)}'
            yield template.place((*target, "operations", i)), why
    if strange := sorted(template.at(source).keys() - SOURCE):
        yield template.place(source), f"unknown fields: {', '.join(strange)}"


def _policy(template: Document, source: Document, rules: list[Object]) -> Document:
    """Return the policy; what was written in the template knows its place there."""
    given = [{"name": n, "expression": e} for n, e in GIVEN.items() if _mentions(source.value, f"variables.{n}")]
    spec: Object = {
        "failurePolicy": source.value.get("failurePolicy") or "Fail",
        "paramKind": {"apiVersion": f"{CONSTRAINTS}/{PARAM_VERSION}", "kind": constraint_kind(template)},
        "matchConstraints": {"resourceRules": _unique(rules)},
    }
    if conditions := source.value.get("matchCondition"):
        spec["matchConditions"] = conditions
    if variables := [*given, *(source.value.get("variables") or ())]:
        spec["variables"] = variables
    spec["validations"] = source.value.get("validations")
    annotations = template.at(("metadata", "annotations"))
    metadata: Object = {"name": template.at(("metadata", "name"))}
    metadata |= {"annotations": annotations} if annotations else {}
    value = {"apiVersion": f"{GROUP}/v1", "kind": VALIDATING, "metadata": metadata, "spec": spec}
    nodes = {("spec", *_shifted(path, len(given))): node for path, node in source.nodes.items()}
    return Document(value, template.file, template.lines, nodes)


def _shifted(path: Path, by: int) -> Path:
    """Return the path in the policy of what stands at a path of the template's source."""
    match path:
        case ("variables", int(at), *rest):
            return ("variables", at + by, *rest)
        case ("matchCondition", *rest):
            return ("matchConditions", *rest)
        case _:
            return path


def _crd(template: Document) -> Document:
    """Return the CRD of a template's constraints, as parameters of the policy."""
    kind = constraint_kind(template)
    properties = {"parameters": _schema(template), "match": ANYTHING, "enforcementAction": {"type": "string"}}
    properties["scopedEnforcementActions"] = {"type": "array", "items": ANYTHING}
    whole = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    version = {"name": PARAM_VERSION, "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    names = {"kind": kind, "listKind": f"{kind}List", "plural": kind.lower(), "singular": kind.lower()}
    spec = {"group": CONSTRAINTS, "scope": "Cluster", "names": names, "versions": [version]}
    metadata = {"name": f"{kind.lower()}.{CONSTRAINTS}"}
    value = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return Document({**value, "metadata": metadata, "spec": spec}, template.file)


def _schema(template: Document) -> Object:
    schema: Object = structural(template.at(("spec", "crd", "spec", "validation", "openAPIV3Schema")) or ANYTHING)
    return schema


def _bound(constraint: Document, policy: str, rules: list[Object], stem: str, schema: Object) -> tuple[Document, ...]:
    """Return a constraint, by the name of its file, and the binding that applies the policy with it."""
    match = constraint.at(("spec", "match")) or {}
    spec: Object = {
        "policyName": policy,
        "paramRef": {"name": stem, "parameterNotFoundAction": "Allow"},
        "validationActions": _actions(constraint.value["spec"]),
        "matchResources": {**selectors(match), "resourceRules": rules},
    }
    binding = {"apiVersion": f"{GROUP}/v1", "kind": f"{VALIDATING}{BINDING}"}
    kept = {**constraint.value, "apiVersion": f"{CONSTRAINTS}/{PARAM_VERSION}"}
    kept["metadata"] = {**constraint.value["metadata"], "name": stem}
    if "parameters" in constraint.value["spec"]:
        filled = defaulted(constraint.value["spec"]["parameters"], schema)
        kept["spec"] = {**constraint.value["spec"], "parameters": filled}
    named = {"metadata": {"name": f"{policy}-{stem}"}, "spec": spec}
    return Document({**binding, **named}, constraint.file), Document(kept, constraint.file)


def _obstacles(constraint: Document) -> Iterator[tuple[Path, str]]:
    """Yield the fields that prevent a conversion of a constraint, each with the reason."""
    if why := misnamed(constraint.at(("metadata", "name"))):
        yield ("metadata", "name"), why
    spec = constraint.value.get("spec") or {}
    if not isinstance(spec, dict) or not isinstance(spec.get("match") or {}, dict):
        yield ("spec",), "spec and match must be maps"
        return
    if not _actions(spec):
        why = f"it has none of the actions {', '.join(ACTIONS)} at admission"
        yield ("spec", "enforcementAction"), why
    yield from ((("spec", "match", field), why) for field, why in unsupported(spec.get("match") or {}))


def _actions(spec: Mapping[str, Any]) -> list[str]:
    """Return the validation actions of a constraint: none where it has one that no binding has."""
    action = spec.get("enforcementAction") or "deny"
    if action != "scoped":
        return [ACTIONS[action]] if action in ACTIONS else []
    rows = [row for row in spec.get("scopedEnforcementActions") or () if isinstance(row, dict)]
    here = [row for row in rows if POINTS & {p.get("name") for p in row.get("enforcementPoints") or ()}]
    found = [ACTIONS[row["action"]] for row in here if row.get("action") in ACTIONS]
    return [a for a in dict.fromkeys(found) if a != "Warn" or "Deny" not in found]


def _group(document: Document) -> str:
    return str(document.at(("apiVersion",))).partition("/")[0]


def _mentions(value: Any, word: str) -> bool:
    if isinstance(value, dict | list):
        return any(_mentions(part, word) for part in (value.values() if isinstance(value, dict) else value))
    return word in str(value)


def _unique(rules: Iterable[Object]) -> list[Object]:
    """Return each rule once."""
    found: list[Object] = []
    for rule in rules:
        if rule not in found:
            found.append(rule)
    return found

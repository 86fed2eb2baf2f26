"""Rules for what the API server's own validation refuses in a policy or binding: names, texts, lists of a rule.

Source: pkg/apis/admissionregistration/validation of 1.36. What this finds, no cluster takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from webhook.cel.lib.formats import FORMATS
from webhook.diagnostics import Severity
from webhook.documents import Path
from webhook.offline.lint.context import Finding, LintContext, LintRule, Subject, rule
from webhook.offline.lint.reading.policies import BINDINGS, bindings, match_rules, policies, words
from webhook.policy.loading.policy_kinds import BINDING

_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*", re.ASCII)
_RESERVED: Final = frozenset(
    ("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
     "package", "namespace", "null", "return", "true", "var", "void", "while")
)  # fmt: skip
_NAME_FORM: Final = "write lower-case letters, digits, '-' and '.', with a letter or digit at both ends"
_QUALIFIED_FORM: Final = "write letters, digits, '-', '_' and '.', after one optional domain and '/'"
_LABEL_FORM: Final = "write at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
_MOST_CONDITIONS: Final = 64
_MOST_ANNOTATIONS: Final = 20
_MOST_BYTES: Final = 5 * 1024
"""Of a valueExpression."""


def _both(context: LintContext) -> Iterator[Subject]:
    yield from policies(context)
    yield from bindings(context)


def _refused(form: str, text: object) -> bool:
    """Return whether a text is none of a named format; what is no text is another finding."""
    return isinstance(text, str) and text != "" and bool(FORMATS[form].check(text))


@rule("POL006", Severity.ERROR, "a name must be accepted by the API server")
def names(context: LintContext) -> Iterator[Finding]:
    """Policies and bindings have names such as `gpu-limits`: lower-case letters, digits, `-` and `.`. Names of match
    conditions have the form of a label key (`exclude-leases`, `example.com/exclude-leases`), keys of audit annotations
    that of a label key without a domain, names of variables that of a CEL identifier (`maxReplicas`). A name may be
    used once in its list. The API server rejects any other name when the file is applied.
    """
    for subject in _both(context):
        yield from _own_names(subject)
        for path, item in subject.each("spec", "variables"):
            name = item.get("name")
            if isinstance(name, str) and name and not (_IDENTIFIER.fullmatch(name) and name not in _RESERVED):
                hint = "write letters, digits and '_', but no reserved word"
                yield subject.finding((*path, "name"), f'"{name}" is not a valid variable name', hint)
        yield from _named(subject, "matchConditions", "name")
        yield from _named(subject, "auditAnnotations", "key")


def _own_names(subject: Subject) -> Iterator[Finding]:
    for path in (("metadata", "name"), ("spec", "policyName")):
        name = subject.at(*path)
        if _refused("dns1123Subdomain", name):
            kind = subject.gvk.kind if path[0] == "metadata" else subject.gvk.kind.removesuffix(BINDING)
            yield subject.finding(path, f'"{name}" is not a valid name of a {kind}', _near(str(name)))
    version = subject.text("spec", "paramKind", "apiVersion")
    if version.count("/") > 1:
        hint = "write GROUP/VERSION, or v1"
        yield subject.finding(("spec", "paramKind", "apiVersion"), f'"{version}" is not a valid apiVersion', hint)


def _near(name: str) -> str:
    """Return the nearest name that is accepted."""
    near = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")
    return f'write "{near}"' if near and not FORMATS["dns1123Subdomain"].check(near) else _NAME_FORM


def _named(subject: Subject, field: str, key: str) -> Iterator[Finding]:
    """Check the names in a list, each of which may be there once."""
    seen: set[str] = set()
    for path, item in subject.each("spec", field):
        name = item.get(key)
        if not isinstance(name, str) or not name:
            continue
        if name in seen:
            yield subject.finding((*path, key), f'"{name}" is defined twice', "give it another name")
        elif FORMATS["qualifiedName"].check(name) or (key == "key" and "/" in name):
            form = _LABEL_FORM if key == "key" else _QUALIFIED_FORM
            yield subject.finding((*path, key), f'"{name}" is not a valid name in {field}', form)
        seen.add(name)


@rule("POL007", Severity.ERROR, "labels and annotations must be accepted by the API server")
def labels(context: LintContext) -> Iterator[Finding]:
    """A key is a name with an optional domain before it: `team`, `example.com/team`. A label value has at most 63
    letters, digits, `-`, `_` and `.`, and begins and ends with a letter or digit. The same holds for the labels in a
    selector.
    """
    for subject in _both(context):
        for field in ("labels", "annotations"):
            yield from _labels(subject, ("metadata", field), values=field == "labels")
        where = "matchResources" if subject.gvk.kind in BINDINGS else "matchConstraints"
        for selector in (("spec", where, "namespaceSelector"), ("spec", where, "objectSelector")):
            yield from _labels(subject, (*selector, "matchLabels"), values=True)
            for path, item in subject.each(*selector, "matchExpressions"):
                if _refused("qualifiedName", item.get("key")):
                    yield subject.finding((*path, "key"), f'"{item["key"]}" is not a valid label key', _QUALIFIED_FORM)


def _labels(subject: Subject, path: Path, *, values: bool) -> Iterator[Finding]:
    for key, value in subject.map(*path).items():
        if FORMATS["qualifiedName"].check(str(key).lower() if path[-1] == "annotations" else str(key)):
            yield subject.finding(
                (*path, key), f'"{key}" is not a valid {str(path[-1]).removesuffix("s")} key', _QUALIFIED_FORM, key=True
            )
        elif values and _refused("labelValue", value):
            yield subject.finding((*path, key), f'"{value}" is not a valid label value', _LABEL_FORM)


@rule("POL008", Severity.ERROR, "texts and lists must be within the API server's limits")
def limits(context: LintContext) -> Iterator[Finding]:
    """A `message` is one line and not blank; `messageExpression` can compute it from the object. A policy has at most
    64 match conditions and 20 audit annotations, and a `valueExpression` at most 5 KiB.
    """
    for policy in policies(context):
        for path, item in policy.each("spec", "validations"):
            message = item.get("message")
            if isinstance(message, str) and message and not message.strip():
                yield policy.finding((*path, "message"), "the message is blank", "say what to change, or remove it")
            elif isinstance(message, str) and "\n" in message.strip():
                hint = "write it on one line; `>-` folds lines into one"
                yield policy.finding((*path, "message"), "the message has a line break", hint)
        for field, most in (("matchConditions", _MOST_CONDITIONS), ("auditAnnotations", _MOST_ANNOTATIONS)):
            found = policy.at("spec", field)
            if isinstance(found, list) and len(found) > most:
                message = f"{len(found)} {field}; the maximum is {most}"
                yield policy.finding(("spec", field), message, "combine some of them", key=True)
        for path, item in policy.each("spec", "auditAnnotations"):
            text = item.get("valueExpression")
            if isinstance(text, str) and len(text.encode()) > _MOST_BYTES:
                yield policy.finding(
                    (*path, "valueExpression"), "this is longer than 5 KiB", "move parts of it to variables"
                )


@rule("POL009", Severity.ERROR, "a resource rule must be accepted by the API server")
def resource_rules(context: LintContext) -> Iterator[Finding]:
    """`matchConstraints` needs at least one entry in `resourceRules`. `*` must be the only entry of its list: the API
    server rejects any other entry beside it, `pods/status` beside `pods/*`, and a duplicate in `resourceNames`.
    """
    for subject in _both(context):
        constraints = subject.at("spec", "matchConstraints")
        if isinstance(constraints, dict) and not constraints.get("resourceRules") and subject.gvk.kind not in BINDINGS:
            message = "matchConstraints has no resourceRules"
            hint = "add resourceRules with the resources that the policy covers"
            yield subject.finding(("spec", "matchConstraints"), message, hint, key=True)
        for field in ("resourceRules", "excludeResourceRules"):
            for path, found in match_rules(subject, field):
                yield from _stars(subject, path, found)


def _stars(subject: Subject, path: Path, found: dict[str, Any]) -> Iterator[Finding]:
    for field in ("apiGroups", "apiVersions", "operations"):
        listed = words(found, field)
        if "*" in listed and len(listed) > 1:
            yield subject.finding((*path, field), '"*" must be the only entry of this list', 'write ["*"]', key=True)
    resources = words(found, "resources")
    for i, word in enumerate(resources):
        if wider := _wider(word, resources):
            message = f'"{word}" is redundant and rejected: "{wider}" is in this list'
            yield subject.finding((*path, "resources", i), message, f'remove "{word}" or "{wider}"')
    listed = words(found, "resourceNames")
    for i, name in enumerate(listed):
        if name in listed[:i]:
            yield subject.finding((*path, "resourceNames", i), f'"{name}" is listed twice', "remove one")


def _wider(word: str, resources: list[str]) -> str:
    """Return the other word of a list beside which the API server does not take this one."""
    name, slash, part = word.partition("/")
    wild = ["*/*"] if word != "*/*" else []
    wild += ["*"] if not slash and word != "*" else []
    wild += [f"{name}/*", f"*/{part}"] if slash and "*" not in (name, part) else []
    return next((w for w in wild if w in resources), "")


RULES: Final[tuple[LintRule, ...]] = (names, labels, limits, resource_rules)

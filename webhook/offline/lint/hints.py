"""Hints for compile errors of expressions: the name that was meant, the call without parentheses."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from webhook.cel.env import ADMISSION_OBJECTS
from webhook.cel.functions import rows
from webhook.cel.lib.regex import PatternError, compiled
from webhook.diagnostics import Diagnostic, Place, SourceError, did_you_mean
from webhook.documents import Document
from webhook.policy.loading.load_bundle import read_file

VARIABLES: Final = ("object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer")
MACROS: Final = ("all", "exists", "exists_one", "filter", "map", "has", "optMap", "optFlatMap")
KYVERNO: Final = frozenset({
    "resource", "http", "globalContext", "images", "image", "isImage", "parseImageReference", "imageData", "json",
    "yaml", "math", "time", "exceptions", "parseServiceAccount", "listObjToMap", "md5", "sha1", "sha256", "random",
    "x509", "generator", "truncate", "toCron", "now", "verifyImageSignatures", "verifyAttestationSignatures",
    "extractPayload", "getImageData", "hash", "transform", "user",
})  # fmt: skip
"""Names of Kyverno's own CEL libraries that Kubernetes has none of."""
_KYVERNO: Final = "this is a function of Kyverno; the API server does not have it"
_KYVERNO_METHODS: Final = re.compile(
    r"\b(?:resource|http|globalContext|generator|json|yaml|math|time|x509|hash)\.(\w+)\(|\bimage\(.*\)\.(\w+)\("
)
_SYNTAX: Final = (
    (
        re.compile(r"(token recognition error at|extraneous input|mismatched input|missing '\(' at): ?'=[ ']"),
        "use == to compare",
    ),
    (re.compile(r"token recognition error at: '&"), "use && for and"),
    (re.compile(r"(token recognition error at: '\||extraneous input '\|')"), "use || for or"),
    (re.compile(r"input 'and'"), "use && for and"),
    (re.compile(r"input 'or'"), "use || for or"),
    (re.compile(r"input 'not'"), "use ! for not"),
    (
        re.compile(r"mismatched input '[^']*' expecting \{'\['"),
        "an operand is missing before this",
    ),
    (
        re.compile(r"mismatched input '<EOF>' expecting"),
        "unexpected end of expression: a bracket is not closed, or an operand is missing",
    ),
    (re.compile(r"extraneous input '[])}]'"), "this bracket was never opened"),
    (re.compile(r"input '(if|else|then)'"), "use CONDITION ? A : B"),
    (
        re.compile(r"token recognition error at: '[\"'`]"),
        "a string is not closed",
    ),
)
_FORMS: Final = {
    **dict.fromkeys(("all", "exists", "exists_one", "filter"), "{0} takes a name and a condition: .{0}(x, x > 1)"),
    **dict.fromkeys(("map", "optMap", "optFlatMap"), "{0} takes a name and a result: .{0}(x, x + 1)"),
    "has": "has takes a field selection: has(object.spec.replicas)",
}
"""How the macros are called: one with other arguments is read as a function, of which there is none."""
_TYPES: Final = (
    (re.compile(r"must evaluate to bool"), "expected a condition; compare it with a value, as in x == 1"),
    (re.compile(r"must evaluate to string"), "expected a string; use string(...)"),
    (re.compile(r"Object, not list\(JSONPatch"), "set patchType: JSONPatch, with the expression under jsonPatch"),
    (re.compile(r"must evaluate to Object"), "write Object{spec: Object.spec{replicas: 1}}; name each map by its path"),
    (
        re.compile(r"list\(JSONPatch\), not Object"),
        "set patchType: ApplyConfiguration, with the expression there",
    ),
    (re.compile(r"must evaluate to list\(JSONPatch"), 'write [JSONPatch{op: "add", path: "/spec/replicas", value: 1}]'),
)
_UNITS: Final = "a quantity ends in m, k, M, G, T, Ki, Mi, Gi or Ti: 1Gi, not 1Gb"
_RUN: Final = (
    (
        re.compile(r"no such overload"),
        "the two sides have different types: write numbers without quotes, strings with quotes",
    ),
    (re.compile(r"quantities must match|unable to parse quantity"), _UNITS),
    (
        re.compile(r"unexpected type name|not declared in schema"),
        "name each Object{...} by the path of its field",
    ),
    (re.compile(r"Unexpected kind"), "op is one of add, remove, replace, move, copy, test"),
    (re.compile(r"atomic"), "use a JSONPatch to replace a whole list"),
)
"""Ways out of what fails on an object."""
_WAYS: Final = {
    "params": "set spec.paramKind in the policy and paramRef in its binding",
    "variables": "define it in spec.variables, a list of names and expressions",
    "oldObject": "oldObject is not available here",
}
_FIELD: Final = re.compile(r"undefined field '([^']+)'")
_NAME: Final = re.compile(r"undeclared reference to '([^']+)'")
_OPEN: Final = re.compile(r"'<EOF>' expecting '([)\]}])'")
_BRACKETS: Final = {")": "(", "]": "[", "}": "{"}
_OVERLOAD: Final = re.compile(r"found no matching overload for '([^']+)'")
_TWO: Final = re.compile(r"overload for '_[^a-z]+_' applied to '\(([a-z]+), ([a-z]+)\)'")
_TEXT: Final = re.compile(r"""r?(["'])(.+?)\1""")
_ENOUGH: Final = 3
"""Letters of a name by which a longer one is guessed."""


@cache
def functions() -> frozenset[str]:
    """Name every function and macro that an expression may call."""
    return frozenset(row.name for row in rows() if row.name.isidentifier()) | frozenset(MACROS)


def with_hint(finding: Diagnostic, documents: Iterable[Document]) -> Diagnostic:
    """Add the way out to a finding of the CEL compiler (CEL001, RUL003); others, and those that have one, stay."""
    if finding.code not in ("CEL001", "RUL003") or finding.hint:
        return finding
    finding = replace(finding, place=_at_name(finding))
    own = [d for d in documents if d.file == finding.place.file]
    hint = (
        _pattern(finding)
        or _swapped(finding)
        or _foreign(finding, own)
        or _hint(finding.message, own, _before(finding))
    )
    return replace(finding, hint=hint) if hint else finding


def with_hints(error: SourceError) -> SourceError:
    """Add the way out to each mistake in an expression; the files are read once more for the names in them."""
    known: list[Document] = []
    for file in sorted({d.place.file for d in error.diagnostics if d.code == "CEL001"}):
        with contextlib.suppress(SourceError):  # a text from elsewhere, such as another git revision
            known += read_file(Path(file))
    return SourceError(with_hint(finding, known) for finding in error.diagnostics)


def _at_name(finding: Diagnostic) -> Place:
    """Return the place of a name: the compiler points at the dot before a field, the bracket behind a function."""
    match, place = _NAME.search(finding.message) or _OVERLOAD.search(finding.message), finding.place
    field = _FIELD.search(finding.message)
    if field and finding.source[place.column - 1 :].startswith(f".{field[1]}"):
        return replace(place, column=place.column + 1, length=len(field[1]))
    if match is None or not finding.source[: place.column - 1].endswith(match[1]):
        return place
    return replace(place, column=place.column - len(match[1]), length=len(match[1]))


def when_it_fails(message: str, otherwise: str) -> str:
    """Return the way out of an expression that fails on an object; `otherwise` is that of most."""
    return next((way for pattern, way in _RUN if pattern.search(message)), otherwise)


def _pattern(finding: Diagnostic) -> str:
    """Return why RE2 rejects a literal regular expression."""
    text = _TEXT.match(finding.source[finding.place.column - 1 :])
    if text is None or not finding.message.endswith("invalid matches argument"):
        return ""
    try:
        compiled(text[2])
    except PatternError as error:
        return str(error)
    return ""


def _swapped(finding: Diagnostic) -> str:
    """Return how a comparison is written whose two signs are the wrong way round."""
    around = finding.source[max(finding.place.column - 2, 0) : finding.place.column + 1]
    if "recognition error" not in finding.message:
        return ""
    return next(
        (f"write {right}" for wrong, right in (("=<", "<="), ("=>", ">="), ("=!", "!=")) if wrong in around), ""
    )


def _foreign(finding: Diagnostic, documents: list[Document]) -> str:
    """Return the names of Kyverno's libraries, and the functions called on them."""
    match = _NAME.search(finding.message)
    if match is None or match[1] in _declared(documents):
        return ""
    called = {name for names in _KYVERNO_METHODS.findall(finding.source) for name in names}
    return _KYVERNO if match[1] in KYVERNO | called else ""


def _before(finding: Diagnostic) -> str:
    """Return the text of the line before a finding."""
    return finding.source[: finding.place.column - 1]


def _hint(message: str, documents: list[Document], before: str = "") -> str:
    if match := _OPEN.search(message):
        return f"a {_BRACKETS[match[1]]} is not closed"
    for pattern, way in (*_SYNTAX, *_TYPES):
        if pattern.search(message):
            return way
    if match := _FIELD.search(message):
        return _field(match[1], documents, before)
    if match := _NAME.search(message):
        name = match[1]
        if name in _declared(documents):
            return f"use variables.{name} to read a variable of the policy"
        if name in _FORMS:
            return _FORMS[name].format(name)
        return _WAYS.get(name) or did_you_mean(name, {*VARIABLES, *functions()} - {name}) or _longer(name)
    if match := _TWO.search(message):
        return f"{match[1]} and {match[2]} cannot be combined; convert one, as with int() or string()"
    if match := _OVERLOAD.search(message):
        known = next((row for row in rows() if row.name == match[1]), None)
        examples = getattr(known, "examples", ())
        return f"for example: {_text(examples[0])}" if examples else ""
    return ""


def _longer(name: str) -> str:
    """Guess a function by how its name begins, where only one begins so."""
    found = [known for known in functions() if known.lower().startswith(name.lower())]
    return f'did you mean "{found[0]}"?' if len(found) == 1 and len(name) >= _ENOUGH else ""


def _text(example: object) -> str:
    """Return the text of an example, whatever else the row says of it."""
    first = example[0] if isinstance(example, tuple) else example
    return str(getattr(first, "expression", first))


_USER: Final = {"name": 'write "username"', "user": 'write "username"', "group": 'write "groups"'}
"""Fields that people look for in `request.userInfo`."""


def _field(name: str, documents: list[Document], before: str = "") -> str:
    if before.endswith("userInfo.") and name in _USER:
        return _USER[name]
    if name in functions():
        return f"{name} is a function: write {name}()"
    known = {*_declared(documents), *(field for fields in ADMISSION_OBJECTS.values() for field in fields)}
    return did_you_mean(name, known) or did_you_mean(name, functions())


def _declared(documents: list[Document]) -> set[str]:
    """Name the variables that the policies of a file declare."""
    found: set[str] = set()
    for document in documents:
        variables = document.at(("spec", "variables"))
        for item in variables if isinstance(variables, list) else ():
            if isinstance(item, dict) and isinstance(item.get("name"), str):
                found.add(item["name"])
    return found

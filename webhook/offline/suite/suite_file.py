"""Reads and checks suite files (sluice.dev/v1alpha1): named cases that state what policies do with an object.

Cases are run by `run_case.py`. Unknown fields are errors with a line, as in policy files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from webhook import documents
from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.documents import Document
from webhook.documents import Path as Route
from webhook.offline.files import text_of
from webhook.policy.loading.load_bundle import SUFFIXES, files_of, is_passed_by, is_suite, read_file
from webhook.policy.loading.shapes import ANY, BOOL, INT, TEXT, Items, NameOr, Record, Table, Text, check, record
from webhook.policy.loading.shipped import located
from webhook.policy.matching.exceptions import read_date

GROUP: Final = "sluice.dev/v1alpha1"
LAW: Final = "law"
"""Marks the cases that are made of the laws of queue rules, not written in the suite."""
_OBJECTS: Final = ("object", "oldObject", "params", "cluster")
"""The fields of a case that hold objects, or name files of them."""
_USER: Final = record(name=TEXT, groups=Items(TEXT), uid=TEXT, extra=Table(Items(TEXT)))
_NAMESPACE: Final = NameOr(Record({"name": TEXT, "labels": Table(TEXT), "annotations": Table(TEXT)}, open=True))
_CHECK: Final = record(
    "verb",
    verb=TEXT,
    group=TEXT,
    resource=TEXT,
    subresource=TEXT,
    namespace=TEXT,
    name=TEXT,
    path=TEXT,
    user=TEXT,
    allowed=BOOL,
)
_QUEUE: Final = record(
    "decision",
    decision=Text(("admitted", "pending", "none")),
    queue=TEXT,
    position=INT,
    reason=TEXT,
    message=TEXT,
    victims=Items(TEXT),
)
_EXPECT: Final = record(
    allowed=BOOL,
    message=TEXT,
    reason=TEXT,
    code=INT,
    matched=BOOL,
    patched=ANY,
    contains=ANY,
    patch=ANY,
    warnings=Items(TEXT),
    auditAnnotations=Table(TEXT),
    queue=_QUEUE,
)
_CASE: Final = record(
    "name",
    name=TEXT,
    skip=TEXT,
    object=ANY,
    oldObject=ANY,
    operation=Text(("CREATE", "UPDATE", "DELETE", "CONNECT")),
    subresource=TEXT,
    fieldManager=TEXT,
    user=_USER,
    namespace=_NAMESPACE,
    params=ANY,
    cluster=ANY,
    authorizer=Items(_CHECK),
    now=TEXT,
    invalid=TEXT,
    expect=_EXPECT,
)
SHAPE: Final = record(
    "cases",
    apiVersion=TEXT,
    kind=TEXT,
    metadata=record(name=TEXT, labels=Table(TEXT), annotations=Table(TEXT)),
    policies=Items(TEXT),
    cluster=ANY,
    user=_USER,
    namespace=_NAMESPACE,
    now=TEXT,
    cases=Items(_CASE, 1),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One case: its fields as written (`spec`), with the suite's defaults under them, and where it stands."""

    suite: str
    name: str
    spec: dict[str, Any]
    route: Route
    document: Document
    folder: Path
    skip: str = ""

    @property
    def title(self) -> str:
        """The name to pick it by: `suite//case`."""
        return f"{self.suite}//{self.name}"

    @property
    def place(self) -> Place:
        """Where the case stands."""
        return self.document.place((*self.route, "name"))

    def diagnostic(self, code: str, message: str, *path: str | int, hint: str = "") -> Diagnostic:
        """A finding about a part of the case; about its name where the part is not there."""
        route = (*self.route, *path)
        return self.document.diagnostic(
            code, route if route in self.document.nodes else (*self.route, "name"), message, hint=hint
        )


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite file: `policies` are the paths of what is tested, `rules` the queue rules where those hold none."""

    name: str
    file: Path
    policies: tuple[Path, ...]
    cases: tuple[Case, ...]
    document: Document = field(repr=False)
    rules: tuple[str, ...] = ()


def suites_of(paths: Iterable[Path], findings: list[Diagnostic], rules: tuple[str, ...] = ()) -> list[Suite]:
    """Read the suites that can be read, and collect what is wrong with the others.

    SUI001: no file, SUI002: wrong content, POL001 to POL003. `rules` are for suites that bring no queue rules.
    """
    suites: list[Suite] = []
    tried: set[Path] = set()
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            findings.append(Diagnostic("SUI001", Place(str(path)), "no such file or folder"))
        for file in [path] if path.is_file() else sorted(_below(path)):
            if file.resolve() in seen:
                continue
            seen.add(file.resolve())
            try:
                suites += [replace(suite, rules=rules) for suite in _suites_of(file, findings, tried)]
            except SourceError as error:
                findings += error.diagnostics
    return suites


def _below(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and (_passes_by_suites(path) or _holds_tests(path)):
            yield path


def _passes_by_suites(path: Path) -> bool:
    """Return whether a folder that is passed by may hold suites: a working folder has links to all sorts of things."""
    return is_passed_by(path) and (not path.is_symlink() or any(map(_holds_tests, path.rglob("*"))))


def _holds_tests(path: Path) -> bool:
    return path.suffix in SUFFIXES and is_suite(path)


def _suites_of(file: Path, findings: list[Diagnostic], tried: set[Path]) -> Iterator[Suite]:
    for document in read_file(file):
        value = document.value
        if not isinstance(value, dict) or value.get("kind") != "Suite" or value.get("apiVersion") != GROUP:
            findings.append(document.diagnostic("SUI002", (), f"not a {GROUP} Suite"))
            continue
        suite = _checked(document, findings)
        if suite is not None:
            yield replace(suite, cases=(*suite.cases, *_laws(suite, tried)))


def mistakes_in(document: Document) -> list[Diagnostic]:
    """Return what is wrong with a suite by itself, without the files that it names."""
    findings: list[Diagnostic] = []
    suite = _checked(document, findings)
    cases = suite.cases if suite is not None else ()
    inline = ((case, item) for case in cases for field in _OBJECTS for item in _listed(case.spec.get(field)))
    wrong = (_not_an_object(case) for case, item in inline if not isinstance(item, str) and not _is_object(item))
    return [*findings, *dict.fromkeys(wrong)]


def _checked(document: Document, findings: list[Diagnostic]) -> Suite | None:
    """Read a suite; None, and what is wrong with it, where it cannot be run."""
    wrong = list(check(document, SHAPE))
    suite = None
    if not wrong:
        try:
            suite = _suite(document, Path(document.file))
            wrong += _mistakes(suite)
        except SourceError as error:
            wrong += error.diagnostics
    findings += wrong
    return None if wrong else suite


def _suite(document: Document, file: Path) -> Suite:
    value, folder = document.value, file.parent
    name = (value.get("metadata") or {}).get("name") or folder.resolve().name
    common = {k: value[k] for k in ("user", "namespace", "now") if k in value}
    cases = []
    for i, raw in enumerate(value["cases"]):
        spec = {**common, **raw, "cluster": [*_listed(value.get("cluster")), *_listed(raw.get("cluster"))]}
        cases.append(Case(name, raw["name"], spec, ("cases", i), document, folder, raw.get("skip", "")))
    policies = tuple(_policies(document, folder, at) for at in range(len(value.get("policies") or ()))) or (
        _short(folder / "."),
    )
    return Suite(name, file, policies, tuple(cases), document)


def _policies(document: Document, folder: Path, at: int) -> Path:
    """Return the path of an entry of `policies`: beside the suite, or of a shipped policy. Raises SourceError."""
    route: Route = ("policies", at)
    named = document.at(route)
    try:
        found = located(named)
    except ValueError as error:
        raise SourceError([document.diagnostic("SUI002", route, str(error))]) from None
    return found if found != Path(named) else _short(folder / named)


def _laws(suite: Suite, tried: set[Path]) -> Iterator[Case]:
    """Yield a case for each law that the suite's rules of the queue keep, unless an earlier suite has tried them."""
    for file in files_of(suite.policies, []):
        if file.resolve() in tried or not _names_laws(file):
            continue
        tried.add(file.resolve())
        for document in read_file(file):
            kept = document.at(("spec", "laws", "keeps")) if document.at(("kind",)) == "QueuePolicy" else None
            for at, law in enumerate(kept if isinstance(kept, list) else ()):
                route: Route = ("spec", "laws", "keeps", at)
                yield Case(suite.name, f"law {law}", {LAW: law}, route, document, suite.file.parent)


def _names_laws(file: Path) -> bool:
    try:
        data = file.read_bytes()
    except OSError:  # loading the policies tells
        return False
    return b"QueuePolicy" in data and b"laws" in data


def _short(path: Path) -> Path:
    """Leave `x/..` out of a path where that means the same, so that suites in several folders share a policy's path."""
    short = Path(os.path.normpath(path))
    return short if short.resolve() == path.resolve() else path


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _mistakes(suite: Suite) -> Iterator[Diagnostic]:
    """Yield what the shape cannot say: names that come twice, cases without an object, dates that are none."""
    seen: set[str] = set()
    for case in suite.cases:
        if case.name in seen:
            yield case.diagnostic("SUI002", f'duplicate case name "{case.name}"', "name")
        seen.add(case.name)
        if "invalid" not in case.spec and "object" not in case.spec and "oldObject" not in case.spec:
            yield case.diagnostic("SUI002", "a case needs object, oldObject or invalid", "name")
        if case.spec.get("now") is not None and read_date(case.spec["now"]) is None:
            yield case.diagnostic("SUI002", "not a valid time", "now", hint="write 2026-11-21T08:00:00Z")
        expect = case.spec.get("expect") or {}
        if len({"patched", "patch"} & expect.keys()) == 2:
            yield case.diagnostic("SUI002", "use either patched or patch, not both", "expect", "patch")


def resolve(case: Case, value: Any) -> list[Any]:
    """Return the objects of a field: inline ones as they are, texts as files beside the suite. Raises SourceError."""
    found: list[Any] = []
    for item in _listed(value):
        if isinstance(item, str):
            path = case.folder / item
            if not _is_file(path):
                raise SourceError([case.diagnostic("SUI001", f'no file "{item}" next to the suite')])
            found += [d.value for d in documents.read(text_of(path, str(path)), str(path))]
        else:
            found.append(item)
    if not all(_is_object(item) for item in found):
        raise SourceError([_not_an_object(case)])
    return found


def _not_an_object(case: Case) -> Diagnostic:
    hint = "an object is a map with apiVersion, kind and metadata"
    return case.diagnostic("SUI003", "not a Kubernetes object", hint=hint)


def resolve_one(case: Case, value: Any) -> Any:
    """Return the one object of a field, None where the field is not there. Raises SourceError."""
    found = resolve(case, value)
    if len(found) > 1 or (value is not None and not found):
        named = value if isinstance(value, str) else "this field"
        raise SourceError([case.diagnostic("SUI003", f"{named} has {len(found)} objects; a case has one")])
    return found[0] if found else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # such as a name that is too long
        return False


def _is_object(value: Any) -> bool:
    """Return whether a value can be an object, complete or not."""
    if not isinstance(value, dict) or not isinstance(value.get("metadata") or {}, dict):
        return False
    return all(isinstance(value.get(field, ""), str) for field in ("apiVersion", "kind"))

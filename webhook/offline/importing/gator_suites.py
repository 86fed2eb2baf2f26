"""Converts suites of gator (test.gatekeeper.sh): a test covers one template and one constraint."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from webhook.diagnostics import SourceError
from webhook.documents import Document
from webhook.kube.gvk import gvk_of
from webhook.offline.importing.imported import Converted, Fate, ForeignTest, ImportNote, Object, Read
from webhook.policy.evaluation.result import FAILURE_KEY
from webhook.policy.loading.list_items import entries

GATOR: Final = "test.gatekeeper.sh"
Key = tuple[str, str, str]
"""A constraint in a file: the file, its kind, its name."""
Kind = tuple[str, str]
"""A kind: its group, its name."""


def is_suite(document: Document) -> bool:
    """Return whether a document is a suite of gator."""
    group = str(document.at(("apiVersion",))).partition("/")[0]
    return group == GATOR and document.at(("kind",)) == "Suite"


def key_of(document: Document) -> Key:
    """Name a constraint by its file, kind and name."""
    return os.path.normpath(document.file), str(document.at(("kind",))), str(document.at(("metadata", "name")))


def add_tests(
    suite: Document, folders: Mapping[Key, tuple[Converted, str]], definitions: Mapping[Kind, Object], read: Read
) -> list[ImportNote]:
    """Add the tests of a suite to the constraints that went over; gives what is told of the others.

    `folders` has each constraint's folder, and the name of its file there; `definitions` has the CRDs of kinds.
    """
    told: list[ImportNote] = []
    folder = Path(suite.file).parent
    tests = suite.at(("tests",))
    for i, test in enumerate(tests if isinstance(tests, list) and not suite.value.get("skip") else ()):
        what, place = f"test {suite.at(('metadata', 'name'))}/{test.get('name')}", suite.place(("tests", i))
        try:
            named = [entry for whole in read(_path(folder, test.get("constraint"))) for entry in entries(whole)]
            into = next((folders[key_of(d)] for d in named if key_of(d) in folders), None)
            if into is None or test.get("skip"):
                continue
            if unusual := [field for field in ("invalid", "expansion") if test.get(field)]:
                told.append(
                    ImportNote(place, Fate.LEFT_OUT, what, f"a test with {unusual[0]} is not an admission review")
                )
                continue
            told += _differences(suite, i, test)
            made = [_defined(test, definitions) for test in _cases(suite, i, test, into, read)]
        except SourceError as error:
            told.append(ImportNote(place, Fate.LEFT_OUT, what, error.diagnostics[0].message))
            continue
        converted, stem = into
        converted.suites.setdefault(f"{stem}.suite", []).extend(made)
        converted.tested[f"{stem}.suite"] = ("policy.yaml", f"{stem}.yaml")
    return told


def _cases(suite: Document, at: int, test: Object, into: tuple[Converted, str], read: Read) -> Iterator[ForeignTest]:
    folder = Path(suite.file).parent
    converted, stem = into
    actions = converted.files[f"{stem}.yaml"][0].value["spec"]["validationActions"]
    for i, case in enumerate(test.get("cases") or ()):
        place = suite.place(("tests", at, "cases", i))
        if case.get("skip"):
            continue
        (obj, *_) = [d.value for d in read(_path(folder, case.get("object")))] or [{}]
        spec: Object = {"object": obj}
        if obj.get("kind") == "AdmissionReview":  # of which gator needs no more than these
            request = obj.get("request") or {}
            spec = {key: request[key] for key in ("operation", "object", "oldObject") if request.get(key)}
        if inventory := [d.value for name in case.get("inventory") or () for d in read(_path(folder, name))]:
            spec["cluster"] = inventory
        yield ForeignTest(f"{test.get('name')}: {case.get('name')}", place, spec, tuple(_expects(case, actions)))


def _defined(test: ForeignTest, definitions: Mapping[Kind, Object]) -> ForeignTest:
    """Return a test with the CRD of its object's kind in its cluster: it names the resource."""
    gvk = gvk_of(test.case.get("object") or test.case.get("oldObject") or {})
    if (crd := definitions.get((gvk.group, gvk.kind))) is None:
        return test
    return replace(test, case={**test.case, "cluster": [*test.case.get("cluster", ()), crd]})


def _expects(case: Object, actions: list[str]) -> Iterator[Object]:
    """Yield what the assertions of a case stand for: a violation is what the constraint's action makes of it."""
    violated, messages = _violated(case)
    if not violated:
        yield {"allowed": True}
        yield {"matched": False}
        return
    message = next(iter(messages), "")
    if "Deny" in actions:
        yield {"allowed": False, **({"message": message} if message else {})}
    elif "Warn" in actions:
        yield {"warnings": [message]}
    else:
        yield {"auditAnnotations": {FAILURE_KEY: message}}


def _violated(case: Object) -> tuple[list[Object], list[str]]:
    """Return the assertions of a case that expect violations, and the messages that they expect."""
    violated = [a for a in _assertions(case) if a.get("violations", "yes") not in ("no", False, 0)]
    return violated, [str(a["message"]) for a in violated if a.get("message")]


def _assertions(case: Object) -> list[Object]:
    return [a for a in case.get("assertions") or () if isinstance(a, dict)]


def _differences(suite: Document, at: int, test: Object) -> Iterator[ImportNote]:
    """Yield what the assertions of the cases say beyond one violation with one message."""
    for i, case in enumerate(test.get("cases") or ()):
        violated, messages = _violated(case)
        if case.get("skip") or not violated:
            continue
        place, what = suite.place(("tests", at, "cases", i)), f"{test.get('name')}: {case.get('name')}"
        for count in (a.get("violations") for a in violated):
            if isinstance(count, int) and count > 1:
                yield ImportNote(place, Fate.DIFFERS, what, f"one violation is expected, not {count}")
        if messages and len([a for a in _assertions(case) if a.get("message")]) > 1:
            yield ImportNote(place, Fate.DIFFERS, what, f"only the message {messages[0]!r} is expected")


def _path(folder: Path, name: Any) -> Path:
    return Path(os.path.normpath(folder / str(name)))

"""A whole import: documents of another project's repository in, folders of our files out. Nothing is written here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from webhook.documents import Document
from webhook.offline.importing import gatekeeper, kyverno
from webhook.offline.importing.checked import imported
from webhook.offline.importing.gator_suites import Key, add_tests, is_suite, key_of
from webhook.offline.importing.kyverno_tests import is_test, tests_of
from webhook.offline.importing.model import Converted, Fate, Import, Read, Told

T = TypeVar("T")


def from_kyverno(documents: Iterable[Document], read: Read) -> Import:
    """Import Kyverno's policies and the tests of its CLI."""
    given = list(documents)
    made: dict[str, Converted] = {}
    first: dict[str, Document] = {}
    told: list[Told] = []
    policies = [d for d in given if kyverno.is_kyverno(d)]
    for document in policies:
        one, notes = _safely(document, lambda d=document: kyverno.converted(d))
        told += notes
        if one is None:
            continue
        if one.name in made:
            why = f"a policy of this name is at {first[one.name].place()}"
            told.append(Told(document.place(("metadata", "name")), Fate.LEFT_OUT, f"policy {one.name}", why))
            continue
        made[one.name], first[one.name] = one, document
    for document in filter(is_test, given):
        tests, notes = _safely(document, lambda d=document: tests_of(d, made, read))
        told += notes
        for name, test in tests or ():
            made[name].suites.setdefault("suite", []).append(test)
    return imported(made.values(), told, len(policies))


def from_gatekeeper(documents: Iterable[Document], read: Read) -> Import:
    """Import Gatekeeper's templates in CEL with their constraints and the suites of gator."""
    given = list(documents)
    templates = [d for d in given if gatekeeper.is_template(d)]
    constraints = [d for d in given if gatekeeper.is_constraint(d)]
    told: list[Told] = []
    made: list[Converted] = []
    folders: dict[Key, tuple[Converted, str]] = {}
    for template in templates:
        kind = template.at(("spec", "crd", "spec", "names", "kind"))
        mine = [d for d in constraints if d.at(("kind",)) == kind]
        stems = _stems(mine)
        unique = {stem: d for d, stem in zip(reversed(mine), reversed(stems), strict=True)}
        bound = [(stem, unique[stem]) for stem in dict.fromkeys(stems)]
        one, notes = _safely(template, lambda t=template, b=bound: gatekeeper.converted(t, b))
        told += notes
        if one is None:
            continue
        made.append(one)
        folders |= {key_of(d): (one, stem) for d, stem in zip(mine, stems, strict=True) if f"{stem}.yaml" in one.files}
        told += _renamed(mine, stems)
    for document in filter(is_suite, given):
        _, notes = _safely(document, lambda d=document: (None, add_tests(d, folders, read)))
        told += notes
    return imported(made, told, len(templates))


def _safely(document: Document, convert: Callable[[], tuple[T | None, list[Told]]]) -> tuple[T | None, list[Told]]:
    """Convert a document; where a field of it is of a wrong type, which no API server would have taken, tell that."""
    try:
        return convert()
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        what = f"{document.at(('kind',))} {document.at(('metadata', 'name'))}"
        return None, [Told(document.place(), Fate.LEFT_OUT, what, f"a field is of a wrong type: {error}")]


def _stems(constraints: list[Document]) -> list[str]:
    """Name each constraint's file: by its name, with a number where another one has that name already."""
    known: dict[str, list[object]] = {}
    stems = []
    for document in constraints:
        name = str(document.at(("metadata", "name")))
        others = known.setdefault(name, [])
        spec = document.value.get("spec")
        if spec not in others:
            others.append(spec)
        number = others.index(spec)
        stems.append(f"{name}-{number + 1}" if number else name)
    return stems


def _renamed(constraints: list[Document], stems: list[str]) -> list[Told]:
    found = []
    for document, stem in zip(constraints, stems, strict=True):
        name = str(document.at(("metadata", "name")))
        if stem != name:
            why = f"another one has this name; it is {stem} now"
            what = f"{document.value['kind']} {name}"
            found.append(Told(document.place(("metadata", "name")), Fate.DIFFERS, what, why))
    return found

"""A whole import: documents of another engine's repository in, folders of Sluice's files out. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from webhook.documents import Document
from webhook.offline.dryrun.requests import ResourceScopes
from webhook.offline.importing import gatekeeper, kyverno
from webhook.offline.importing.checked import imported
from webhook.offline.importing.gator_suites import Key, add_tests, is_suite, key_of
from webhook.offline.importing.imported import Converted, Fate, Import, ImportNote, Read
from webhook.offline.importing.kyverno_tests import is_test, tests_of

TAKEN: Final = ("policy",)
"""File names beside the constraints: the policy of their template."""


def from_kyverno(documents: Iterable[Document], read: Read) -> Import:
    """Import Kyverno's policies and the tests of its CLI."""
    given = list(documents)
    made: dict[str, Converted] = {}
    first: dict[str, Document] = {}
    told: list[ImportNote] = []
    policies = [d for d in given if kyverno.is_kyverno(d)]
    for document in policies:
        with _wrong_types_told(document, told):
            one, notes = kyverno.converted(document)
            told += notes
            if one is not None and one.name in made:
                why = f"a policy with this name is defined at {first[one.name].place()}"
                told.append(ImportNote(document.place(("metadata", "name")), Fate.LEFT_OUT, one.what, why))
            elif one is not None:
                made[one.name], first[one.name] = one, document
    for document in filter(is_test, given):
        with _wrong_types_told(document, told):
            tests, notes = tests_of(document, made, read)
            told += notes
            for name, test in tests:
                made[name].suites.setdefault("suite", []).append(test)
    return imported(made.values(), told, len(policies))


def from_gatekeeper(documents: Iterable[Document], read: Read) -> Import:
    """Import Gatekeeper's templates in CEL with their constraints and the suites of gator."""
    given = list(documents)
    templates = [d for d in given if gatekeeper.is_template(d)]
    constraints = [d for d in given if gatekeeper.is_constraint(d)]
    crds = [d for d in given if d.at(("kind",)) == "CustomResourceDefinition"]
    names = ResourceScopes.of(d.value for d in crds)
    definitions = {(str(d.at(("spec", "group"))), str(d.at(("spec", "names", "kind")))): d.value for d in crds}
    told: list[ImportNote] = []
    made: list[Converted] = []
    folders: dict[Key, tuple[Converted, str]] = {}
    for template in templates:
        kind = gatekeeper.constraint_kind(template)
        mine = [d for d in constraints if d.at(("kind",)) == kind]
        stems = _stems(mine)
        unique = {stem: d for d, stem in zip(reversed(mine), reversed(stems), strict=True)}
        bound = [(stem, unique[stem]) for stem in dict.fromkeys(stems)]
        with _wrong_types_told(template, told):
            one, notes = gatekeeper.converted(template, bound, names)
            told += notes
            if one is None:
                continue
            made.append(one)
            mates = zip(mine, stems, strict=True)
            folders |= {key_of(d): (one, stem) for d, stem in mates if f"{stem}.yaml" in one.files}
            told += _renamed(mine, stems)
    for document in filter(is_suite, given):
        with _wrong_types_told(document, told):
            told += add_tests(document, folders, definitions, read)
    told += _left_out(given, set(map(gatekeeper.constraint_kind, templates)))
    return imported(made, told, len(templates) + sum(map(gatekeeper.is_mutator, given)))


def _left_out(given: Iterable[Document], kinds: set[str]) -> Iterator[ImportNote]:
    """Yield a note for each object that is no template, and no constraint of the kinds that templates define."""
    for document in given:
        kind = str(document.at(("kind",)))
        used = gatekeeper.is_template(document) or (gatekeeper.is_constraint(document) and kind in kinds)
        if not used and (why := gatekeeper.left_out(document)):
            what = f"{kind} {document.at(('metadata', 'name'))}"
            yield ImportNote(document.place(), Fate.LEFT_OUT, what, why)


@contextmanager
def _wrong_types_told(document: Document, told: list[ImportNote]) -> Iterator[None]:
    """Run a block that reads a document; where a field is of a type that no API server would take, tell that."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        what = f"{document.at(('kind',))} {document.at(('metadata', 'name'))}"
        told.append(ImportNote(document.place(), Fate.LEFT_OUT, what, f"invalid type of a field: {error}"))


def _stems(constraints: list[Document]) -> list[str]:
    """Name each constraint's file: by its name, with a number where another file has that name already."""
    known: dict[str, list[object]] = {stem: [None] for stem in TAKEN}
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


def _renamed(constraints: list[Document], stems: list[str]) -> list[ImportNote]:
    found = []
    for document, stem in zip(constraints, stems, strict=True):
        name = str(document.at(("metadata", "name")))
        if stem != name:
            why = f"another file has this name; renamed to {stem}"
            what = f"{document.value['kind']} {name}"
            found.append(ImportNote(document.place(("metadata", "name")), Fate.DIFFERS, what, why))
    return found

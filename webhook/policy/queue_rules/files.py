"""Queue rules by name or by file: finds the files, and those they extend, and gives them to `rules` in order.

Names mean loaded documents first, where there are any, then the rules that come with Sluice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from webhook.diagnostics import Diagnostic, Place, SourceError, did_you_mean
from webhook.documents import Document
from webhook.policy.loading.files import read_file
from webhook.policy.queue_rules.load import load_rules
from webhook.queue.rules import Rules

PACKAGE: Final = Path(__file__).resolve().parents[2]
SHIPPED: Final = (PACKAGE / "_policies" / "queue", PACKAGE.parent / "policies" / "queue")
"""Where the rules that come with Sluice stand: in an installed package, and in a checkout."""
DEFAULT: Final = "kueue"
NAMED: Final = -1
"""Stands for the place in a file, of a document that is known by its name."""


def rules_named(
    sources: Iterable[str | Path] = (DEFAULT,),
    parameters: Mapping[str, object] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Rules:
    """Compile rules from shipped names (`kueue`, `fifo` ...) and files, a later one over an earlier one.

    Each brings what it `extends` along, once. Raises SourceError where a file is wrong or not there.
    """
    documents: dict[tuple[str, int], Document] = {}
    for source in sources:
        _gather(source, documents, ())
    return load_rules(documents.values(), parameters, settings)


def rules_among(documents: Iterable[Document], names: Sequence[str] | None = None) -> Rules:
    """Compile the rules of these names from loaded documents, a later one over an earlier one.

    Without names it is `kueue` alone where that is among the documents or there are none, as `sluice serve` has it,
    else all of them. Raises SourceError where a file is wrong or a name unknown.
    """
    known = list(documents)
    if names is None:
        names = names_of(known)
        names = (DEFAULT,) if DEFAULT in names or not names else names
    if tuple(names) == (DEFAULT,) and DEFAULT not in names_of(known):
        return _default()
    return load_rules(chosen(known, names))


def names_of(documents: Iterable[Document]) -> tuple[str, ...]:
    """Give the names of QueuePolicies in their order."""
    return tuple(str(document.at(("metadata", "name"))) for document in documents)


def chosen(documents: Iterable[Document], names: Iterable[str]) -> list[Document]:
    """Give the QueuePolicies of these names, each once and behind those it `extends`: what comes later wins.

    Raises SourceError on a name that is neither among the documents nor shipped.
    """
    known = {name: document for document in documents for name in names_of([document])}
    found: dict[tuple[str, int], Document] = {}

    def add(name: str, below: Document | None, way: tuple[str, ...]) -> None:
        if name in way or (name, NAMED) in found:
            return
        if name not in known:
            found.update(_elsewhere(name, below, known))
            return
        for base in known[name].at(("spec", "extends")) or ():
            add(str(base), known[name], (*way, name))
        found[name, NAMED] = known[name]

    for name in names:
        add(name, None, ())
    return list(found.values())


def _elsewhere(name: str, below: Document | None, known: Iterable[str]) -> dict[tuple[str, int], Document]:
    """Give rules that are not among the loaded documents: shipped ones, or a file beside the one that extends it."""
    gathered: dict[tuple[str, int], Document] = {}
    beside = Path(below.place().file).parent / name if below is not None else None
    if name in shipped():
        _gather(name, gathered, ())
    elif beside is not None and beside.exists():
        _gather(beside, gathered, ())
    else:
        place = Place("queueRules") if below is None else below.place(("spec", "extends"))
        message = f'there is no QueuePolicy "{name}" among the policy files'
        raise SourceError([Diagnostic("RUL006", place, message, hint=did_you_mean(name, [*known, *shipped()]))])
    return gathered


@lru_cache(maxsize=1)
def _default() -> Rules:
    return rules_named()


def shipped() -> list[str]:
    """Give the names of the rules that come with Sluice, sorted."""
    return sorted({p.parent.name for folder in SHIPPED for p in folder.glob("*/policy.yaml")})


def _gather(source: str | Path, documents: dict[tuple[str, int], Document], above: tuple[Path, ...]) -> None:
    file = _file(source)
    if file in above:
        raise SourceError([Diagnostic("RUL007", Place(str(file)), "this file extends itself, by way of others")])
    for index, document in enumerate(read_file(file)):
        if document.at(("kind",)) != "QueuePolicy":
            continue
        for base in document.at(("spec", "extends")) or ():
            _gather(base if base in shipped() else file.parent / base, documents, (*above, file))
        documents.setdefault((str(file), index), document)


def _file(source: str | Path) -> Path:
    for folder in SHIPPED:
        file = folder / str(source) / "policy.yaml"
        if file.is_file():
            return file
    file = Path(source)
    if file.is_dir():
        file = file / "policy.yaml"
    if file.is_file():
        return file
    hint = did_you_mean(str(source), shipped()) or f"shipped are {', '.join(shipped())}"
    raise SourceError(
        [Diagnostic("RUL006", Place(str(source)), "there are no rules of this name, nor a file", hint=hint)]
    )

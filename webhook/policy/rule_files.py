"""Queue rules by name or by file: finds the files, and those they extend, and gives them to `rules` in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from webhook.diagnostics import Diagnostic, Place, SourceError, did_you_mean
from webhook.documents import Document
from webhook.policy.load import read_file
from webhook.policy.rules import load_rules
from webhook.queue.rules import Rules

PACKAGE: Final = Path(__file__).resolve().parent.parent
SHIPPED: Final = (PACKAGE / "_policies" / "queue", PACKAGE.parent / "policies" / "queue")
"""Where the rules that come with Sluice stand: in an installed package, and in a checkout."""
DEFAULT: Final = "kueue"


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


def shipped() -> list[str]:
    """Give the names of the rules that come with Sluice, sorted."""
    return sorted({p.parent.name for folder in SHIPPED for p in folder.glob("*/policy.yaml")})


def _gather(source: str | Path, documents: dict[tuple[str, int], Document], above: tuple[Path, ...]) -> None:
    file = _file(source)
    if file in above:
        raise SourceError([Diagnostic("QUE006", Place(str(file)), "this file extends itself, by way of others")])
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
        [Diagnostic("QUE007", Place(str(source)), "there are no rules of this name, nor a file", hint=hint)]
    )

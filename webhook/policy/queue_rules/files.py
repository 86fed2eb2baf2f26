"""Queue rules by name or by file: finds the files, and those they extend, and gives them to `load.py` in order.

Below every file that extends nothing lies `kueue`. Names mean loaded documents first, where there are any, then the
rules that come with Sluice, then a file or folder beside the file that names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from webhook.api.configuration.sections import QueueSettings
from webhook.diagnostics import Diagnostic, Place, SourceError, did_you_mean
from webhook.documents import Document
from webhook.policy.loading.load_bundle import read_file
from webhook.policy.loading.shipped import FOLDERS, QUEUE
from webhook.policy.queue_rules.configured import Configured, configured
from webhook.policy.queue_rules.load import rules_from
from webhook.policy.queue_rules.rule_file import RuleFile, in_order
from webhook.queue.rules import Rules

SHIPPED: Final = tuple(folder / QUEUE for folder in FOLDERS)
"""Where the rules that come with Sluice stand: in an installed package, and in a checkout."""
DEFAULT: Final = "kueue"
Settings = Mapping[str, Any]


def rules_named(
    sources: Iterable[str | Path] = (DEFAULT,),
    parameters: Mapping[str, object] | None = None,
    settings: Settings | None = None,
) -> Rules:
    """Compile rules from shipped names (`kueue`, `fifo` ...) and files, a later one over an earlier one.

    Each brings what it `extends` along, once. Raises SourceError where a file is wrong or not there.
    """
    finder = _Finder(())
    return finder.rules(finder.all_asked(map(str, sources)), parameters, settings)


def rules_configured(documents: Iterable[Document], wanted: Configured) -> Rules:
    """Compile what settings ask for, from loaded documents and shipped files. Raises SourceError as `rules_among`."""
    if not wanted.parameters and not wanted.settings:
        return rules_among(documents, wanted.names)
    finder = _Finder(documents)
    return finder.rules(finder.all_asked(wanted.names), wanted.parameters, wanted.settings)


def rules_by_settings(documents: Iterable[Document], names: Sequence[str], settings: QueueSettings | None) -> Rules:
    """Compile the rules of these names, as a Configuration has them where there is one. As `rules_among`."""
    if settings is None:
        return rules_among(documents, names)
    return rules_configured(documents, configured(settings, names))


def rules_among(documents: Iterable[Document], names: Sequence[str] | None = None) -> Rules:
    """Compile the rules of these names from loaded documents, a later one over an earlier one.

    Where `names` is None it is `kueue` alone where that is among the documents or there are none, as `sluice serve`
    has it, else all of them; with no name at all it is the shipped `kueue`. Raises SourceError where a file is wrong
    or a name unknown.
    """
    known = list(documents)
    if names is None:
        names = names_of(known)
        names = (DEFAULT,) if DEFAULT in names or not names else names
    if tuple(names) in ((), (DEFAULT,)) and DEFAULT not in names_of(known):
        return _default()
    finder = _Finder(known)
    return finder.rules(finder.all_asked(names))


def chosen(documents: Iterable[Document], names: Iterable[str]) -> list[RuleFile]:
    """Return the QueuePolicies of these names, each once and behind those it `extends`: what comes later wins.

    Raises SourceError on a name that is neither among the documents nor shipped.
    """
    return in_order(_Finder(documents).all_asked(names))


def mistakes_in(documents: Iterable[Document]) -> list[Diagnostic]:
    """Return what is wrong with QueuePolicies, each loaded by itself over what it extends among them."""
    found: dict[Diagnostic, None] = {}
    known = list(documents)
    for document in known:
        finder = _Finder(known)
        try:
            finder.rules([finder.file(document)])
        except SourceError as error:
            found.update(dict.fromkeys(error.diagnostics))
    return list(found)


def names_of(documents: Iterable[Document]) -> tuple[str, ...]:
    """Return the names of QueuePolicies in their order."""
    return tuple(str(document.at(("metadata", "name"))) for document in documents)


def shipped() -> list[str]:
    """Return the names of the rules that come with Sluice, sorted."""
    files = (path for folder in SHIPPED for path in folder.glob("*/policy.yaml"))
    return sorted({path.parent.name for path in files if "\nkind: QueuePolicy\n" in path.read_text(encoding="utf-8")})


@lru_cache(maxsize=1)
def _default() -> Rules:
    return rules_named()


class _Finder:
    """Finds files and what they extend, each once; collects what is not there."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.known = {name: document for document in documents for name in names_of([document])}
        self.problems: list[Diagnostic] = []
        self._made: dict[int, RuleFile] = {}
        self._read: dict[Path, list[Document]] = {}
        self._way: list[int] = []

    def rules(
        self,
        files: Sequence[RuleFile],
        parameters: Mapping[str, object] | None = None,
        settings: Settings | None = None,
    ) -> Rules:
        """Compile files and all they extend. Raises SourceError."""
        if not files and self.problems:
            raise SourceError(self.problems)
        return rules_from(in_order(files), parameters, settings, self.problems)

    def all_asked(self, names: Iterable[str]) -> list[RuleFile]:
        """Return the files of names or paths that a user gave. Raises SourceError where there is none."""
        return [file for name in names for file in self.asked(name)]

    def asked(self, name: str) -> list[RuleFile]:
        """Return the files of a name or path that a user gave. Raises SourceError where there is none."""
        if name in self.known:
            return [self.file(self.known[name])]
        if (path := _found(name, Path())) is not None:
            documents = self.read(path)
            if not documents:
                raise SourceError([Diagnostic("RUL006", Place(str(path)), "no QueuePolicy in this file")])
            return [self.file(document) for document in documents]
        names = [*self.known, *shipped()]
        hint = did_you_mean(name, names) or f"available: {', '.join(names)}"
        message = "no rules and no file have this name"
        raise SourceError([Diagnostic("RUL006", Place(name), message, hint=hint)])

    def read(self, path: Path) -> list[Document]:
        """Return the QueuePolicies of a file."""
        path = path.resolve()
        if path not in self._read:
            self._read[path] = [d for d in read_file(path) if d.at(("kind",)) == "QueuePolicy"]
        return self._read[path]

    def file(self, document: Document) -> RuleFile:
        """Return a document with all that it extends."""
        if id(document) not in self._made:
            self._way.append(id(document))
            named = document.at(("spec", "extends"))
            wanted = [str(name) for name in named] if isinstance(named, list) else []
            bases = [base for at, name in enumerate(wanted) for base in self._base(name, document, at)]
            if not wanted:
                bases = self._lowest(document)
            self._way.pop()
            self._made[id(document)] = RuleFile(document, tuple(bases))
        return self._made[id(document)]

    def _base(self, name: str, above: Document, at: int) -> list[RuleFile]:
        """Return the files of a name in the `extends` of a document."""
        path = ("spec", "extends", at)
        if name in self.known and self.known[name] is not above:
            found = [self.known[name]]
        elif (file := _found(name, Path(above.file).parent)) is not None:
            found = self.read(file)
        else:
            names = {*self.known, *shipped()} - {str(above.at(("metadata", "name")))}
            hint = did_you_mean(name, names) or f"available: {', '.join(sorted(names))}"
            self.problems.append(above.diagnostic("RUL006", path, f'QueuePolicy "{name}" does not exist', hint=hint))
            return []
        if any(id(document) in self._way for document in found):
            self.problems.append(
                above.diagnostic("RUL007", path, f'"{name}" extends this file, directly or through others')
            )
            return []
        return [self.file(document) for document in found]

    def _lowest(self, document: Document) -> list[RuleFile]:
        """Return what lies below a file that extends nothing: `kueue`, unless the file is that or a copy of it."""
        mine, file = self.known.get(DEFAULT), _found(DEFAULT, Path())
        if mine is not None and id(mine) not in self._way:
            return [self.file(mine)]
        if file is None or file.resolve() == Path(document.file).resolve():
            return []
        return [self.file(lowest) for lowest in self.read(file) if lowest.value != document.value]


def _found(name: str, folder: Path) -> Path | None:
    """Return the file of shipped rules of this name, else the file, or the one in a folder, at this path."""
    if name in shipped():
        return next(file for where in SHIPPED if (file := where / name / "policy.yaml").is_file())
    try:
        path = folder / name
        path = path / "policy.yaml" if path.is_dir() else path
        return path if path.is_file() else None
    except (OSError, ValueError):  # such as a name that is too long
        return None

"""The policies and queue rules in force, for every command alike: options, else the repository's `.sluice.yaml`.

That file is a configuration of `sluice serve` (`--config .sluice.yaml`), read from the working folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from webhook.api.configuration.read import settings_among
from webhook.api.configuration.sections import QueueSettings
from webhook.cli.paths import shorter
from webhook.config import PREFIX, REPOSITORY, load, settings_said
from webhook.diagnostics import Diagnostic, Place, SourceError
from webhook.documents import Document
from webhook.offline.dryrun.against import then
from webhook.offline.dryrun.revisions import GitError
from webhook.policy.bundle import Bundle
from webhook.policy.loading.load_bundle import files_of, load_bundle, read_file
from webhook.policy.queue_rules.configured import Configured
from webhook.policy.queue_rules.files import DEFAULT, names_of, rules_by_settings, rules_configured
from webhook.queue.rules import Rules

FILE: Final = Path(REPOSITORY)
NAMESPACE: Final = f"{PREFIX}NAMESPACE"
"""The variable that names Sluice's namespace in the cluster, for people whose release is in another one."""
POLICIES: Final = (Path("policies"),)
"""Where policies are when neither an option nor the file says."""


@dataclass(frozen=True, slots=True)
class Repository:
    """Paths of the policies in force, and the names of the queue rules; `said`: a file or an option named the rules.

    `namespace` is Sluice's own in the cluster.
    """

    policies: tuple[Path, ...]
    rules: tuple[str, ...]
    said: bool = False
    namespace: str = ""
    settings: QueueSettings | None = None
    """What the file says of the queues, its `kueueConfig` included; None where it says nothing."""

    def settings_for(self, objects: Iterable[Mapping[str, Any]]) -> QueueSettings | None:
        """Return the settings of the queues: of a Configuration among the objects, else the repository's."""
        return settings_among(objects) or self.settings


def repository(policies: Sequence[Path] = (), rules: Sequence[str] = (), file: Path = FILE) -> Repository:
    """Return what is in force where options give these. Raises SourceError where the file cannot be used.

    Of the variables of `sluice serve` only that of the namespace counts here: the others are about a process.
    """
    there = file.is_file()
    if not there and file == FILE and os.path.lexists(file):
        wrong = "leads nowhere" if file.is_symlink() else "is not a file"
        raise SourceError([Diagnostic("FILE001", Place(str(file)), wrong)])
    named = {NAMESPACE: name} if (name := os.environ.get(NAMESPACE)) else {}
    config = load(file if there else None, named, {"queue_rules": tuple(rules)} if rules else {})
    found = tuple(policies) or tuple(map(shorter, config.policies)) or POLICIES
    return Repository(found, config.queue_rules, bool(rules) or there, config.namespace, settings_said(config))


def bundle_of(within: Repository) -> Bundle:
    """Load the policies in force. Raises SourceError, with the way out where nobody has said which they are."""
    if within.policies == POLICIES and not POLICIES[0].exists():
        hint = f"name policies with -p, or in {FILE}; `sluice init` starts a repository"
        raise SourceError([Diagnostic("FILE001", Place(str(POLICIES[0])), "no such file or folder", hint=hint)])
    return load_bundle(within.policies)


def repository_at(revision: str, policies: Sequence[Path], rules: Sequence[str]) -> Repository:
    """Return what was in force at a git revision, where options give these. Raises SourceError, RevisionError."""
    try:
        with then(revision, [FILE]) as there:
            return repository(policies, rules, there[0] if there else Path())
    except GitError:  # the working folder is in no repository
        return repository(policies, rules)


def idle_rules(documents: Sequence[Document], within: Repository) -> Iterator[str]:
    """Yield a note on QueuePolicies that are not in force, if neither option nor file names the ones that are."""
    idle = names_of(documents)
    if idle and not within.said and DEFAULT not in idle:
        yield f"queue rules not in force: {', '.join(idle)}; name them with --rules, or as queueRules in {FILE}"


def queue_rules(within: Repository, settings: QueueSettings | None = None) -> Rules:
    """Compile the queue rules in force: QueuePolicies of the repository, shipped ones, files; as settings have them.

    Raises SourceError.
    """
    return rules_by_settings(_queue_policies(within.policies) if FILE.is_file() else (), within.rules, settings)


def rules_for(objects: Iterable[Mapping[str, Any]], bundle: Bundle, within: Repository) -> Rules:
    """Compile the rules in force from loaded policies, as the settings for the objects have them. As above."""
    return rules_by_settings(bundle.queue_policies, within.rules, within.settings_for(objects))


def rules_as_configured(within: Repository, wanted: Configured) -> Rules:
    """Compile the rules that a server had in force, from the repository's files and the shipped ones. As above."""
    return rules_configured(_queue_policies(within.policies) if FILE.is_file() else (), wanted)


def rule_sources(within: Repository) -> tuple[str, ...]:
    """Return the queue rules that the repository's file names, as files where they are its own; none without a file."""
    if not FILE.is_file():
        return ()
    own = {str(d.at(("metadata", "name"))): d.file for d in _queue_policies(within.policies)}
    return tuple(own.get(name, name) for name in within.rules)


def _queue_policies(paths: Sequence[Path]) -> list[Document]:
    files = files_of(paths, [])
    return [d for file in files for d in read_file(file) if d.at(("kind",)) == "QueuePolicy"]

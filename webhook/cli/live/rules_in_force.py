"""The rules and settings that a cluster decides by: its leader names them on its Lease; files are compiled here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from webhook.api.configuration.sections import QueueSettings
from webhook.cli.repository import FILE, NAMESPACE, Repository, queue_rules, repository, rules_as_configured
from webhook.cluster.api.kinds import LEASE
from webhook.cluster.api.leader import LEASE_NAME
from webhook.diagnostics import SourceError
from webhook.policy.queue_rules.configured import PUBLISHED, Published, read_published
from webhook.policy.queue_rules.file_rules import FileRules
from webhook.queue.rules import Rules
from webhook.store.errors import NotFound, Refused
from webhook.store.objects import ObjectStore

UNKNOWN: Final = "the rules in force are not known"
NO_SETTINGS: Final = "the settings of the queues in force are not known"


@dataclass(frozen=True, slots=True)
class InForce:
    """What a cluster decides by, as far as it is known; a note says where it may be something else."""

    rules: Rules
    settings: QueueSettings | None
    notes: Sequence[str] = ()


async def in_force(store: ObjectStore, names: Sequence[str]) -> InForce:
    """Return the rules of `--rules`, else those that the leader decides by, else those of this folder.

    Requests are counted by the leader's settings, else by those of this folder: a note says so with `--rules` too.
    Raises SourceError, StoreError, ValueError.
    """
    within = repository((), names)
    found, why = await _published(store, within.namespace)
    settings, notes = within.settings, []
    if found is not None and found.queues is not None:
        settings = found.queues
    elif found is not None:
        notes = [f"{NO_SETTINGS}: counted by {_source()}"]
    elif names:
        notes = [f"{NO_SETTINGS}: {why}; counted by {_source()}"]
    if names:
        return InForce(queue_rules(within, settings), settings, notes)
    if found is None:
        rules, told = _of_this_folder(within, settings, f"{UNKNOWN}: {why}")
    else:
        rules, told = _as_published(within, found, settings)
    return InForce(rules, settings, [*told, *notes])


def _as_published(within: Repository, found: Published, settings: QueueSettings | None) -> tuple[Rules, list[str]]:
    names = ", ".join(found.rules.names)
    try:
        rules = rules_as_configured(within, found.rules)
    except SourceError:
        return _of_this_folder(within, settings, f"the rules in force, {names}, are not all found here")
    if isinstance(rules, FileRules) and rules.digest != found.digest:
        told = f"the files of the rules {names} differ here from those in force"
        return rules, [f"{told}: run this in the repository that they come from, or with its version of Sluice"]
    return rules, []


async def _published(store: ObjectStore, namespace: str) -> tuple[Published | None, str]:
    """Read what the leader says; None, and why, where that cannot be read."""
    lease = f"Lease {namespace}/{LEASE_NAME}"
    try:
        found = await store.get(LEASE, LEASE_NAME, namespace)
    except NotFound:
        return None, f"{lease} does not exist ({NAMESPACE} names the namespace of Sluice)"
    except Refused:
        return None, f"you may not read {lease}"
    text = (found["metadata"].get("annotations") or {}).get(PUBLISHED)
    try:
        return (None, f"{lease} does not name them") if text is None else (read_published(text), "")
    except ValueError as error:
        return None, f"{lease}: {error}"


def _of_this_folder(within: Repository, settings: QueueSettings | None, why: str) -> tuple[Rules, list[str]]:
    return queue_rules(within, settings), [f"{why}; decided by {_source()}: {', '.join(within.rules)}"]


def _source() -> str:
    return f"those of {FILE}" if FILE.is_file() else "Sluice's own"

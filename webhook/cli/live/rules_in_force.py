"""The queue rules that a cluster decides by: its leader names them on its Lease, and their files are compiled here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from webhook.cli.repository import FILE, Repository, queue_rules, repository, rules_as_configured
from webhook.cluster.api.kinds import LEASE
from webhook.cluster.api.leader import LEASE_NAME
from webhook.diagnostics import SourceError
from webhook.policy.queue_rules.configured import PUBLISHED, Configured, read_published
from webhook.policy.queue_rules.file_rules import FileRules
from webhook.queue.rules import Rules
from webhook.store.errors import NotFound, Refused
from webhook.store.objects import ObjectStore

Published = tuple[Configured, str]
"""What was asked for, and the digest of the rules that it gave."""
UNKNOWN: Final = "the rules in force are not known"


async def rules_in_force(store: ObjectStore, names: Sequence[str]) -> tuple[Rules, list[str]]:
    """Return the rules of `--rules`, else those that the leader decides by, else those of this folder; and notes.

    A note says where the rules may be others than those in force. Raises SourceError, StoreError, ValueError.
    """
    within = repository((), names)
    if names:
        return queue_rules(within), []
    found, why = await _published(store, within.namespace)
    if found is None:
        return _of_this_folder(within, f"{UNKNOWN}: {why}")
    wanted, digest = found
    try:
        rules = rules_as_configured(within, wanted)
    except SourceError:
        return _of_this_folder(within, f"the rules in force, {', '.join(wanted.names)}, are not all found here")
    if isinstance(rules, FileRules) and rules.digest != digest:
        told = f"the files of the rules {', '.join(wanted.names)} differ here from those in force"
        return rules, [f"{told}: run this in the repository that they come from, or with its version of Sluice"]
    return rules, []


async def _published(store: ObjectStore, namespace: str) -> tuple[Published | None, str]:
    """Read what the leader says; None, and why, where that cannot be read."""
    lease = f"Lease {namespace}/{LEASE_NAME}"
    try:
        found = await store.get(LEASE, LEASE_NAME, namespace)
    except NotFound:
        return None, f"{lease} does not exist"
    except Refused:
        return None, f"you may not read {lease}"
    text = (found["metadata"].get("annotations") or {}).get(PUBLISHED)
    return (None, f"{lease} does not name them") if text is None else (read_published(text), "")


def _of_this_folder(within: Repository, why: str) -> tuple[Rules, list[str]]:
    source = f"those of {FILE}" if FILE.is_file() else "Sluice's own"
    return queue_rules(within), [f"{why}; decided by {source}: {', '.join(within.rules)}"]

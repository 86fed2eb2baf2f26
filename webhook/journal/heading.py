"""What heads each file of a journal: who decides and by what, and how user names are written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from webhook.policy.queue_rules.configured import Configured


@dataclass(frozen=True, slots=True)
class Decider:
    """The deciding replica, its leader epoch, the rules in force, the digest of all policies, and the lease's age."""

    identity: str
    epoch: int
    rules: Configured
    digest: str
    lease: str = ""


class UserNames(StrEnum):
    """How user names are written to a journal."""

    KEEP = "keep"
    HASH = "hash"

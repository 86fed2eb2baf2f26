"""Policy files as they change on disk: a new set is loaded beside the running one and swapped in as one.

A change is found by looking at names, sizes and times, and confirmed by a hash of the contents. A set with a mistake
is not used: the last good one stays in force, and `problem` says what is wrong.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from webhook.diagnostics import Diagnostic, SourceError
from webhook.policy.bundle import Bundle
from webhook.policy.load import files_of, load_bundle
from webhook.policy.rule_files import DEFAULT, rules_among
from webhook.queue.rules import Rules

log = logging.getLogger(__name__)

EVERY: Final = 1.0
"""Seconds between two looks at the files."""

RULES: Final = (DEFAULT,)
"""The rules of the queues where nothing else is said: they come with Sluice, as a file like any other."""


@dataclass(frozen=True, slots=True)
class Policies:
    """One set of files in force: admission policies, and the rules of the queues."""

    bundle: Bundle
    rules: Rules
    parts: Mapping[str, Bundle]
    """The policies by failurePolicy, `fail` and `ignore`: each has a path of its own at the server."""

    def part(self, only: str) -> Bundle:
        """Give the bundle of one part, or of all for the empty name."""
        return self.parts[only] if only else self.bundle

    @property
    def gate_part(self) -> str:
        """The part whose requests go on to the gate: that of the first entry that is registered."""
        return "fail" if any(not p.mutating for p in self.parts["fail"].policies) else "ignore"


def load(paths: Iterable[Path], names: Sequence[str] = RULES) -> Policies:
    """Load a set of files, with the QueuePolicies of these names as the rules of the queues.

    Raises SourceError with all that is wrong.
    """
    bundle = load_bundle(paths)
    rules = rules_among(bundle.queue_policies, names)
    return Policies(bundle, rules, {only: bundle.part(only) for only in ("fail", "ignore")})


class PolicyFiles:
    """The set in force and what became of the last attempt to replace it."""

    def __init__(
        self, paths: tuple[Path, ...], changed: Callable[[Policies], None], names: Sequence[str] = RULES
    ) -> None:
        """Load the first set. Raises SourceError: there is no good set to fall back to."""
        self._paths, self._changed, self._names = paths, changed, names
        self.current = load(paths, names)
        self.problem = ""
        self.loads = {"success": 1, "failure": 0}
        self._look = self._glance()
        self._digest = self._hash()

    async def follow(self, every: float = EVERY) -> None:
        """Look for changes for ever."""
        while True:
            await asyncio.sleep(every)
            await self.look()

    async def look(self) -> bool:
        """Load the files anew if they have changed; say whether another set is in force now.

        Loading runs in a thread, so that admission goes on meanwhile; the swap is one assignment.
        """
        glance = await asyncio.to_thread(self._glance)
        if glance == self._look:
            return False
        digest = await asyncio.to_thread(self._hash)
        self._look = glance
        if digest == self._digest:
            return False
        self._digest = digest
        try:
            policies = await asyncio.to_thread(load, self._paths, self._names)
        except SourceError as error:
            self._refuse(error.render())
            return False
        self.problem = ""
        self.loads["success"] += 1
        same = policies.bundle.digest == self.current.bundle.digest
        self.current = policies
        log.info("policies reloaded: %d in force, %s", len(policies.bundle.policies), policies.bundle.digest)
        self._changed(policies)
        return not same

    def _refuse(self, problem: str) -> None:
        self.problem = problem
        self.loads["failure"] += 1
        log.error("the new policy files are not used, the last good set stays in force:\n%s", problem)

    def _glance(self) -> tuple[tuple[str, int, int], ...]:
        return tuple((str(path), s.st_size, s.st_mtime_ns) for path in self._files() if (s := _stat(path)) is not None)

    def _hash(self) -> bytes:
        digest = hashlib.sha256()
        for path in self._files():
            digest.update(f"{path}\0".encode())
            try:
                digest.update(hashlib.sha256(path.read_bytes()).digest())
            except OSError:
                digest.update(b"unreadable")
        return digest.digest()

    def _files(self) -> list[Path]:
        findings: list[Diagnostic] = []
        files = list(files_of(self._paths, findings))
        return [*files, *(path for path in self._paths if not path.exists())]


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None

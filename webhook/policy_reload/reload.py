"""Policy files as they change on disk: a new set is loaded beside the running one and swapped in as one.

A change is found by looking at names, sizes and times, and confirmed by a hash of the contents. A set with a mistake
is not used, nor one whose files changed while they were read (half of it may be of another commit), one that lacks
something waits: the last good one stays in force, and `problem` says what is wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import stat
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from time import monotonic, perf_counter
from typing import Final

from webhook.diagnostics import Diagnostic, SourceError
from webhook.policy.loading.load_bundle import NOT_IN_FORCE, SUFFIXES, files_of
from webhook.policy.queue_rules.configured import Configured
from webhook.policy_reload.policies import REST, RULES, LoaderError, Policies, fetch, load, paced

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
"""Seconds between two looks at the files, at least."""
RELOAD_SECONDS: Final = 60.0
"""Seconds after which files are loaded once more where not they failed, but the process that loads them."""
REVIEWED: Final = 60.0
"""Seconds after which no review of a replaced set is under way: the API server waits thirty at most."""
FileMark = tuple[str, int, int, int]
"""A file's name, size and times."""


async def _nothing(policies: Policies) -> str:
    return ""


class PolicyFiles:
    """The set in force and what became of the last attempt to replace it."""

    def __init__(
        self,
        paths: tuple[Path, ...],
        changed: Callable[[Policies], None],
        wanted: Configured = RULES,
        lacks: Callable[[Policies], Awaitable[str]] = _nothing,
    ) -> None:
        """Load the first set. Raises SourceError or LoaderError: there is no good set to fall back to.

        `lacks` says what a new set needs before it can come into force; empty for nothing.
        """
        self._paths, self._changed, self._wanted, self._lacks = paths, changed, wanted, lacks
        self._next: Policies | None = None
        self._releases: set[asyncio.Task[None]] = set()
        self._look: tuple[FileMark, ...] = self._glance()
        self._took, self._again = 0.0, float("inf")
        self._digest = self._hash()  # before they are read: a change meanwhile is found by the first look
        self.current = load(paths, wanted)
        self.problem = ""
        self.loads = {"success": 1, "failure": 0}

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files and folders that are loaded."""
        return self._paths

    async def follow(self, every: float = LOOK_SECONDS) -> None:
        """Look for changes for ever: less often where looks take long, as a busy server is delayed by them."""
        while True:
            await asyncio.sleep(max(every, REST * self._took))
            await self.look()

    async def look(self) -> bool:
        """Load the files anew if they have changed; say whether another set is in force now.

        Admission goes on meanwhile; the swap is one assignment.
        """
        if await self._differ() or monotonic() >= self._again:
            await self._load()
        return await self._swap()

    async def _differ(self) -> bool:
        start = perf_counter()
        glance = await asyncio.to_thread(self._glance)
        self._took = perf_counter() - start
        if glance == self._look:
            return False
        digest = await asyncio.to_thread(self._hash)
        self._look = glance
        before, self._digest = self._digest, digest
        return digest != before

    async def _load(self) -> None:
        self._next, self._again = None, float("inf")
        try:
            found = await fetch(self._paths, self._wanted, self.current)
            if await asyncio.to_thread(self._hash) == self._digest:
                self._next = found
            else:
                log.info("the policy files changed while they were read; they are read again")
                self._look, self._digest = (), b""  # whatever the next look sees is a change
        except SourceError as error:
            self._refuse(error.render())
        except (LoaderError, OSError) as error:
            self._again = monotonic() + RELOAD_SECONDS
            self._refuse(str(error))

    async def _swap(self) -> bool:
        """Take the next set into force, if there is one and it lacks nothing; else the next look tries again."""
        policies = self._next
        if policies is None:
            return False
        if lacks := await self._lacks(policies):
            if lacks != self.problem:
                log.warning("the new policy files are not in force yet; the last good set stays in force: %s", lacks)
            self.problem = lacks
            return False
        self._next, self.problem = None, ""
        self.loads["success"] += 1
        same, replaced = policies.bundle.digest == self.current.bundle.digest, len(self.current.bundle.policies)
        self._release(self.current)
        self.current = policies
        log.info("policies reloaded: %d in force, %s", len(policies.bundle.policies), policies.bundle.digest)
        if replaced and not policies.bundle.policies:
            log.warning("no policies are in force: the changed files hold none, the replaced ones held %d", replaced)
        self._changed(policies)
        return not same

    def _release(self, old: Policies) -> None:
        """Release a replaced set once no review uses it, rather than by a garbage collection of the whole heap."""
        task = asyncio.create_task(_release(old), name="release the replaced policies")
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)

    def _refuse(self, problem: str) -> None:
        self.problem = problem
        self.loads["failure"] += 1
        log.error("the new policy files are not used, the last good set stays in force:\n%s", problem)

    def _glance(self) -> tuple[FileMark, ...]:
        return tuple(sorted(_marks(map(str, self._paths))))

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


async def _release(old: Policies) -> None:
    await asyncio.sleep(REVIEWED)
    await paced(old.releasing())


def _marks(paths: Iterable[str]) -> Iterator[FileMark]:
    """Yield the marks of all files that may hold policies, and of their folders. Done every second or so.

    The second time tells what the first does not: that a file may be read now, or was copied with its time.
    """
    for path in paths:
        with contextlib.suppress(OSError):
            found = os.stat(path)
            if not stat.S_ISDIR(found.st_mode):
                yield path, found.st_size, found.st_mtime_ns, found.st_ctime_ns
                continue
            yield path, 0, 0, 0  # one that is empty differs from one that is not there
            with os.scandir(path) as entries:
                inner = [e for e in entries if not e.name.startswith(".") or e.name == NOT_IN_FORCE]
            links = [e.path for e in inner if e.is_symlink() and e.is_dir()]  # refused, so not entered
            yield from ((link, 0, 0, 0) for link in links)
            yield from _marks(e.path for e in inner if e.path not in links and _counts(e))


def _counts(entry: os.DirEntry[str]) -> bool:
    """Return whether what is loaded depends on an entry of a folder: one apart from the others has a mark in it."""
    suffix = os.path.splitext(entry.name)[1]
    return entry.is_dir(follow_symlinks=False) or suffix in SUFFIXES or entry.name == NOT_IN_FORCE

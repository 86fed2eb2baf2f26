"""Policy files as they change on disk: a new set is loaded beside the running one and swapped in as one.

A change is found by looking at names, sizes and times, and confirmed by a hash of the contents. A set with a mistake
is not used: the last good one stays in force, and `problem` says what is wrong. Loading is done by a child process
(`webhook.loader`); here its pieces are taken over, in steps of a millisecond or so, so that admission goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import pickle
import stat
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Final

from webhook.diagnostics import Diagnostic, SourceError
from webhook.loader import END, FINDINGS, LENGTH
from webhook.policy.bundle import Bundle
from webhook.policy.load import SUFFIXES, files_of, load_bundle
from webhook.policy.match import Target
from webhook.policy.parcel import Shelf
from webhook.policy.request import Request
from webhook.policy.rule_files import DEFAULT, rules_among
from webhook.queue.rules import Rules

log = logging.getLogger(__name__)

EVERY: Final = 1.0
"""Seconds between two looks at the files."""
PATIENCE: Final = 300.0
"""Seconds that the child may take: a thousand policies take it six, with a processor of its own."""
IDLE: Final = 4
"""Taking over rests this many times as long as it works."""
HOME: Final = str(Path(__file__).resolve().parent.parent)
"""Where this package stands."""
KINDS: Final = 2048
"""Kinds of requests to remember; a cluster has a few hundred resources."""

RULES: Final = (DEFAULT,)
"""The rules of the queues where nothing else is said: they come with Sluice, as a file like any other."""

Kind = tuple[str, str, str, str, str, str]
"""A kind of request: group, version, resource, subresource, operation; and the failurePolicy asked for, or none."""


class LoaderError(Exception):
    """The child that loads gave no set of policies; the text says why."""


@dataclass(frozen=True, slots=True)
class Policies:
    """One set of files in force: admission policies, and the rules of the queues.

    Of a set that a child process loaded, the policies in `bundle` have no expressions; `shelf` has them.
    """

    bundle: Bundle
    rules: Rules
    parts: Mapping[str, Bundle]
    """The policies by failurePolicy, `fail` and `ignore`: each has a path of its own at the server."""
    shelf: Shelf | None = None
    known: dict[Kind, Bundle] = field(default_factory=dict)
    """What there is for the kinds of requests that came."""

    def part(self, request: Request, only: str = "") -> Bundle:
        """Give the policies for a request like this one: of one part, or of all for the empty name."""
        resource = request.resource
        kind = (
            resource.group,
            resource.version,
            resource.resource,
            request.sub_resource,
            request.operation,
            only,
        )
        found = self.known.get(kind)
        if found is None:
            if len(self.known) >= KINDS:
                self.known.clear()
            found = self.known[kind] = self._find(kind)
        return found

    def _find(self, kind: Kind) -> Bundle:
        if self.shelf is not None:
            return self.shelf.bundle(Target(*kind[:5]), kind[5])
        return self.parts[kind[5]] if kind[5] else self.bundle

    @property
    def gate_part(self) -> str:
        """The part whose requests go on to the gate: that of the first entry that is registered."""
        return "fail" if any(not p.mutating for p in self.parts["fail"].policies) else "ignore"


def load(paths: Iterable[Path], names: Sequence[str] = RULES) -> Policies:
    """Load a set of files here and now, with the QueuePolicies of these names as the rules of the queues.

    Raises SourceError with all that is wrong.
    """
    bundle = load_bundle(paths)
    rules = rules_among(bundle.queue_policies, names)
    return Policies(bundle, rules, _parts(bundle))


def _parts(bundle: Bundle) -> dict[str, Bundle]:
    return {only: bundle.part(only) for only in ("fail", "ignore")}


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

        Admission goes on meanwhile; the swap is one assignment.
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
            policies = await self._fetch()
        except SourceError as error:
            self._refuse(error.render())
            return False
        except (LoaderError, OSError) as error:
            self._refuse(str(error))
            return False
        self.problem = ""
        self.loads["success"] += 1
        same = policies.bundle.digest == self.current.bundle.digest
        self.current = policies
        log.info("policies reloaded: %d in force, %s", len(policies.bundle.policies), policies.bundle.digest)
        self._changed(policies)
        return not same

    async def _fetch(self) -> Policies:
        """Let a child load the files, and take the set over. Raises SourceError, LoaderError, OSError."""
        shelf = Shelf()
        async with contextlib.AsyncExitStack() as stack:
            child = await self._child()
            stack.push_async_callback(_end, child)
            try:
                async with asyncio.timeout(PATIENCE):
                    await _receive(child, shelf)
            except TimeoutError:
                raise LoaderError(f"the files were not loaded within {PATIENCE:g} s") from None
        rules = self.current.rules
        if _values(shelf.whole) != _values(self.current.bundle):
            rules = await asyncio.to_thread(rules_among, shelf.whole.queue_policies, self._names)
        policies = Policies(shelf.whole, rules, _parts(shelf.whole), shelf)
        await _rouse(policies, tuple(self.current.known))
        return policies

    async def _child(self) -> Process:
        """Start a child with the very code that runs here, whatever the working directory holds."""
        command = (sys.executable, "-P", "-m", "webhook.loader", ",".join(self._names), *map(str, self._paths))
        path = os.pathsep.join(filter(None, (HOME, os.environ.get("PYTHONPATH"))))
        return await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, stderr=PIPE, env={**os.environ, "PYTHONPATH": path}
        )

    def _refuse(self, problem: str) -> None:
        self.problem = problem
        self.loads["failure"] += 1
        log.error("the new policy files are not used, the last good set stays in force:\n%s", problem)

    def _glance(self) -> tuple[tuple[str, int, int], ...]:
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


async def _receive(child: Process, shelf: Shelf) -> None:
    """Take over what the child writes. Raises SourceError, LoaderError."""
    assert child.stdout is not None
    try:
        while True:
            kind, length = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))
            data = await child.stdout.readexactly(length)
            if kind == END:
                return
            if kind == FINDINGS:
                raise SourceError(pickle.loads(data))  # noqa: S301 - written by our own child
            start = perf_counter()
            shelf.take(data)
            await asyncio.sleep(IDLE * (perf_counter() - start))
    except asyncio.IncompleteReadError:
        raise LoaderError(await _epitaph(child)) from None


async def _epitaph(child: Process) -> str:
    """Say how a child ended that ended too early."""
    assert child.stderr is not None
    told = (await child.stderr.read()).decode(errors="replace").strip().splitlines()
    return f"the process that loads policies ended with {await child.wait()}" + (f": {told[-1]}" if told else "")


async def _end(child: Process) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()


async def _rouse(policies: Policies, kinds: Iterable[Kind]) -> None:
    """Compile what requests of these kinds will need before it is in force, one policy at a time."""
    assert policies.shelf is not None
    for kind in kinds:
        start = perf_counter()
        for bundle in policies.shelf.waking(Target(*kind[:5]), kind[5]):
            if bundle is not None:
                policies.known[kind] = bundle
            await asyncio.sleep(IDLE * (perf_counter() - start))
            start = perf_counter()


def _values(bundle: Bundle) -> list[object]:
    return [document.value for document in bundle.queue_policies]


def _marks(paths: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Give name, size and time of all files that may hold policies. Cheap: it is done every second."""
    for path in paths:
        with contextlib.suppress(OSError):
            found = os.stat(path)
            if not stat.S_ISDIR(found.st_mode):
                yield path, found.st_size, found.st_mtime_ns
                continue
            with os.scandir(path) as entries:
                inner = [e for e in entries if not e.name.startswith(".")]
            yield from _marks(
                e.path for e in inner if e.is_dir(follow_symlinks=False) or os.path.splitext(e.name)[1] in SUFFIXES
            )

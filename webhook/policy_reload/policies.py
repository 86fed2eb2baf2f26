"""Takes a set of policies over from the child process that loads and checks it (`compile_worker`).

The serving process never compiles a whole set: it reads heads, and compiles a policy when it is first needed. What the
child does cannot stop an admission; what it leaves is taken in steps of a millisecond or so.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

from webhook.diagnostics import SourceError
from webhook.policy.bundle import Bundle
from webhook.policy.loading.lazy_bundle import LazyBundle
from webhook.policy.match_resources import Fields, ResourceOperation
from webhook.policy.model import Policy
from webhook.policy.queue_rules.configured import Configured
from webhook.policy.queue_rules.files import rules_configured
from webhook.policy_reload.compile_worker import END, FINDINGS, LENGTH
from webhook.queue.rules import Rules

LOAD_SECONDS: Final = 300.0
"""Seconds that the child may take: a thousand policies take it six, with a processor of its own."""
REST: Final = 4
"""Taking over, and looking at the files, rests this many times as long as it works."""
CALLS: Final = ("", "fail", "ignore")
FEW: Final = 100
"""So many policies are compiled before they are in force, whether requests have asked for them or not."""
HOME: Final = str(Path(__file__).resolve().parents[2])
"""Where this package stands."""
RULES: Final = Configured()
"""The rules of the queues where nothing else is said: they come with Sluice, as a file like any other."""

Kind = tuple[Fields, str]
"""A kind of request, and the webhook call asked for, or none."""


class LoaderError(Exception):
    """The child that loads gave no set of policies; the text says why."""


@dataclass(frozen=True, slots=True)
class Policies:
    """One set of files in force: admission policies, and the rules of the queues.

    The policies in `bundle` have no expressions; `lazy` has them.
    """

    bundle: Bundle
    rules: Rules
    lazy: LazyBundle
    parts: Mapping[str, Bundle]
    """The policies of each webhook call, and all of them by the empty name."""
    gate_part: str
    """The webhook call whose requests go on to the gate: that of the first entry that is registered."""

    @classmethod
    def of(cls, lazy: LazyBundle, rules: Rules) -> Policies:
        """Make them of what was taken over."""
        failing = any(policy.call == "fail" and not policy.stub.mutating for policy in lazy.policies)
        parts = {only: lazy.part(only) for only in CALLS}
        return cls(lazy.whole, rules, lazy, parts, "fail" if failing else "ignore")

    def kinds(self) -> set[Kind]:
        """Return the kinds of requests that came."""
        return {
            (fields, only)
            for only, part in self.parts.items()
            for index in (part.mutating, part.validating)
            for fields in index.known
        }

    def compiled(self) -> Iterator[Policy]:
        """Return the policies that requests have asked for so far, with their expressions."""
        return (lazy.compiled for lazy in self.lazy.policies if lazy.compiled is not None)

    def releasing(self) -> Iterator[None]:
        """Release what was compiled, a policy in a step: for a set that no review uses any more.

        What was handed on to a newer set stays.
        """
        for lazy in self.lazy.policies:
            if lazy.compiled is not None and not lazy.handed_on:
                for expression in lazy.compiled.expressions():
                    expression.program.release()
            yield


def load(paths: Iterable[Path], wanted: Configured = RULES) -> Policies:
    """Load a set of files, with the QueuePolicies that are wanted as the rules of the queues, and wait for it.

    Raises SourceError with all that is wrong, LoaderError, OSError.
    """
    lazy = LazyBundle()
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            _command(paths, wanted.names),
            stdin=DEVNULL,
            capture_output=True,
            env=_environment(),
            timeout=LOAD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LoaderError(_late()) from None
    rest = memoryview(done.stdout)
    while len(rest) >= LENGTH.size:
        kind, length = LENGTH.unpack(rest[: LENGTH.size])
        if _take(lazy, kind, bytes(rest[LENGTH.size : LENGTH.size + length])):
            for _ in lazy.compiling_few(FEW):
                pass
            return Policies.of(lazy, rules_configured(lazy.whole.queue_policies, wanted))
        rest = rest[LENGTH.size + length :]
    raise LoaderError(_ended(done.returncode, done.stderr))


async def fetch(paths: Iterable[Path], wanted: Configured, old: Policies) -> Policies:
    """Do the same beside the set that is in force.

    Of policies that are unchanged, what was compiled is used again; the others that requests have asked for are
    compiled.

    Raises SourceError, LoaderError, OSError.
    """
    lazy = LazyBundle()
    async with contextlib.AsyncExitStack() as stack:
        child = await asyncio.create_subprocess_exec(
            *_command(paths, wanted.names), stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=_environment()
        )
        stack.push_async_callback(_end, child)
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                await _receive(child, lazy)
        except TimeoutError:
            raise LoaderError(_late()) from None
    rules = old.rules
    if _values(lazy.whole) != _values(old.bundle):
        rules = await asyncio.to_thread(rules_configured, lazy.whole.queue_policies, wanted)
    lazy.take_over(old.lazy)
    policies = Policies.of(lazy, rules)
    await paced(_compile_used(policies, old.kinds()))
    return policies


def _command(paths: Iterable[Path], names: Sequence[str]) -> list[str]:
    """Run the very code that runs here, whatever the working directory holds."""
    return [sys.executable, "-P", "-m", "webhook.policy_reload.compile_worker", ",".join(names), *map(str, paths)]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (HOME, os.environ.get("PYTHONPATH"))))}


async def _receive(child: Process, lazy: LazyBundle) -> None:
    """Take over what the child writes. Raises SourceError, LoaderError."""
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        while True:
            kind, length = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))
            data = await child.stdout.readexactly(length)
            start = perf_counter()
            if _take(lazy, kind, data):
                return
            await asyncio.sleep(REST * (perf_counter() - start))
    except asyncio.IncompleteReadError:
        told = await child.stderr.read()
        raise LoaderError(_ended(await child.wait(), told)) from None


def _take(lazy: LazyBundle, kind: bytes, data: bytes) -> bool:
    """Take a piece; True when there are no more. Raises SourceError."""
    if kind == FINDINGS:
        raise SourceError(pickle.loads(data))  # noqa: S301 - written by our own child
    if kind != END:
        lazy.take(data)
    return kind == END


def _late() -> str:
    return f"the files were not loaded within {LOAD_SECONDS:g} s"


def _ended(code: int, told: bytes) -> str:
    """Return how a child ended that ended too early."""
    lines = told.decode(errors="replace").strip().splitlines()
    return f"the process that loads policies exited with code {code}" + (f": {lines[-1]}" if lines else "")


async def _end(child: Process) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()


def _compile_used(policies: Policies, kinds: Iterable[Kind]) -> Iterator[None]:
    """Compile what requests of these kinds will need, one policy in a step."""
    yield from policies.lazy.compiling_few(FEW)
    for kind in kinds:
        yield from policies.lazy.compiling(ResourceOperation(*kind[0]), kind[1])


async def paced(steps: Iterator[None]) -> None:
    """Take steps, and rest between them."""
    start = perf_counter()
    for _ in steps:
        await asyncio.sleep(REST * (perf_counter() - start))
        start = perf_counter()


def _values(bundle: Bundle) -> list[object]:
    return [document.value for document in bundle.queue_policies]

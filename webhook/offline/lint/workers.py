"""Runs per-policy rules in several processes, each for a part of the policies.

The findings do not depend on the number of processes.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final

from webhook.diagnostics import Diagnostic
from webhook.offline import processes
from webhook.offline.lint.context import LintContext, LintRule
from webhook.policy.bundle import Bundle

ONE_POLICY_CODES: Final = frozenset({"CEL010", "CEL011", "CEL012", "CEL013", "CEL014", "CEL015", "CEL016", "CEL017",
                                     "CEL021", "CEL022", "MUT001", "MUT002", "MUT005"})  # fmt: skip
"""Codes of rules whose findings about a policy do not depend on the other policies, and that mend nothing."""
_ENOUGH: Final = 40
"""Policies that are worth a process."""


def process_count(policies: int, jobs: int | None) -> int:
    """Return how many processes to use: `jobs`, or one per core if there are enough policies."""
    if not processes.FORKS:
        return 1  # compiled policies are handed on by a fork alone
    return max(1, min(jobs or min(processes.cores(), policies // _ENOUGH), policies))


def told(context: LintContext, rules: Iterable[LintRule]) -> list[Diagnostic]:
    """Return what some rules find, as findings with their places."""
    return [found.diagnostic(rule.code, rule.severity) for rule in rules for found in rule.check(context)]


class WorkSplit:
    """The shares of all processes but this one; `findings` waits for them, `stop` ends them."""

    def __init__(self, context: LintContext, rules: Sequence[LintRule], jobs: int) -> None:
        """Start a process for each share after the first, which is left to the caller: `own`."""
        self.rules = rules
        contexts = [context] if jobs == 1 else [_share(context, at, jobs) for at in range(jobs)]
        self.own = contexts[0]
        self.running = [(share, *_started(share, rules)) for share in contexts[1:]]

    def findings(self) -> list[Diagnostic]:
        """Return the findings of all shares. One whose process died is looked at here."""
        findings = told(self.own, self.rules)
        for share, door, process in self.running:
            received: list[Diagnostic] | None = None
            with suppress(EOFError, OSError):
                received = door.recv()
            process.join()
            findings += told(share, self.rules) if received is None else received
        return findings

    def stop(self) -> None:
        """End the processes that are left, after an interruption."""
        for _, door, process in self.running:
            process.kill()
            process.join()
            door.close()


def _share(context: LintContext, at: int, jobs: int) -> LintContext:
    bundle = Bundle.of(context.bundle.policies[at::jobs], (), context.bundle.objects)
    return replace(context, bundle=bundle, memo={})


def _started(share: LintContext, rules: Sequence[LintRule]) -> tuple[Connection, BaseProcess]:
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = processes.start(_work, theirs, share, rules)
    theirs.close()
    return ours, process


def _work(door: Connection, share: LintContext, rules: Sequence[LintRule]) -> None:
    """Be a worker."""
    door.send(told(share, rules))
    door.close()

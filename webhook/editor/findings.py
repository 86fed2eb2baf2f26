"""What is wrong with a file as it is written: the rules of `sluice lint`, but those that try policies out."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

from webhook.diagnostics import Diagnostic
from webhook.editor.workspace import Workspace
from webhook.offline.files import Files
from webhook.offline.lint.all_rules import RULES
from webhook.offline.lint.apply_rules import LintReport, lint
from webhook.offline.lint.workers import ONE_POLICY_CODES
from webhook.policy.loading.shipped import located

WHOLE: Final = ONE_POLICY_CODES | {"BYP004", "BYP009", "MUT003", "MUT004", "QUE025", "REF001", "REF002", "REF007"}
"""Codes of rules that run policies on objects, or compare all policies: `sluice lint` looks when a file is saved."""
QUICK: Final = tuple(rule for rule in RULES if rule.code not in WHOLE)
OF_ONE_FILE: Final = tuple(
    rule
    for rule in QUICK
    if not rule.code.startswith(("QUE", "REF")) and rule.code not in ("SCH003", "CEL018", "RCH002")
)
"""Rules whose findings about a file do not depend on queues, parameters and kinds that other files define."""
_POLICY: Final = "sluice.dev/gpu-integer"
"""A policy that comes with Sluice, to be looked at before any other."""


def findings_of(workspace: Workspace, path: Path, now: datetime) -> LintReport:
    """Find what is wrong with one file, and the edits that would mend it.

    While other files have not been read, only what they cannot change is found.
    """
    parsed = workspace.files[path]
    if parsed.wrong:
        return LintReport(parsed.wrong)
    rules = QUICK if workspace.is_read else OF_ONE_FILE
    report = lint(Files(tuple(workspace.around(path)), ()), now, rules, workspace.settings)
    mine = tuple(finding for finding in report.findings if finding.place.file == str(path))
    return LintReport(mine, tuple(edit for edit in report.edits if edit.document.file == str(path)))


def prepare(now: datetime) -> None:
    """Find what is wrong with a policy, so that the first to be opened need not wait for what is built once.

    These are the schemas of our own kinds, and parts of the CEL library.
    """
    path, workspace = located(_POLICY) / "policy.yaml", Workspace()
    workspace.reread(path)
    findings_of(workspace, path, now)


def stays(finding: Diagnostic) -> bool:
    """Return whether a finding is one that only a run over the saved files gives."""
    return finding.code in WHOLE

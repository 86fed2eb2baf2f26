"""The policies and rules in force."""

from __future__ import annotations

from typing import Literal

from webhook.dashboard.model.json_view import JsonView

PartKind = Literal["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy", "QueuePolicy", "PolicyException"]


class PolicyRow(JsonView, frozen=True):
    """A policy in force. Counts are since `since` of the answer, of this replica.

    It was `evaluated` in that many reviews, and `denied` or `changed` some. `mean` and `slowest` are microseconds,
    measured in `timed` of the reviews; both are 0 if there is none. `file` is a path below the folder that was loaded,
    here and in what follows, and `digest` that of what is written there.
    """

    name: str
    mutating: bool
    file: str
    line: int
    digest: str
    failure_policy: str
    mode: str
    evaluated: int = 0
    denied: int = 0
    changed: int = 0
    timed: int = 0
    mean: int = 0
    slowest: int = 0


class ExceptionRow(JsonView, frozen=True):
    """A PolicyException. It is in force until `expires`, unless it is `disabled`."""

    name: str
    policies: tuple[str, ...]
    reason: str
    expires: int
    file: str
    line: int
    namespaces: tuple[str, ...] = ()
    disabled: bool = False


class RuleFileRow(JsonView, frozen=True):
    """A QueuePolicy in force; later ones win. `file` is empty for those that come with Sluice."""

    name: str
    file: str = ""


class ReloadChange(JsonView, frozen=True):
    """A policy, rule file or exception that a reload changed, and where it is, or was, written."""

    change: Literal["added", "removed", "changed"]
    kind: PartKind
    name: str
    file: str
    line: int


class ReloadRow(JsonView, frozen=True):
    """The last change of the files, sorted by file; `before` is the digest that was in force."""

    at: int
    before: str
    changes: tuple[ReloadChange, ...] = ()


class PoliciesView(JsonView, frozen=True):
    """`/ui/api/policies`: what is in force; times are measured in one review of `timed_of`.

    `problem` says why changed files are not used; else it is empty.
    """

    digest: str
    at: int
    since: int
    timed_of: int
    policies: tuple[PolicyRow, ...]
    rules: tuple[RuleFileRow, ...]
    exceptions: tuple[ExceptionRow, ...] = ()
    reload: ReloadRow | None = None
    problem: str = ""

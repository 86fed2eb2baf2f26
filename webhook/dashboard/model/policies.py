"""The policies and rules in force."""

from __future__ import annotations

from webhook.dashboard.model.json_view import JsonView


class PolicyRow(JsonView, frozen=True):
    """A policy in force. Counts are since `since` of the answer, of this replica.

    `evaluated` reviews reached it; it `denied` or `changed` so many. `mean` and `slowest` are microseconds, measured
    in `timed` of the reviews (one in sixteen); both are 0 while there is none.
    """

    name: str
    mutating: bool
    file: str
    line: int
    failure_policy: str
    mode: str
    evaluated: int = 0
    denied: int = 0
    changed: int = 0
    timed: int = 0
    mean: int = 0
    slowest: int = 0


class ExceptionRow(JsonView, frozen=True):
    """A PolicyException. `expires` may be past: then, and where it is `disabled`, it is not in force."""

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


class ReloadRow(JsonView, frozen=True):
    """The last change of the files: which policies came, went, or are others now, by name."""

    at: int
    before: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class PoliciesView(JsonView, frozen=True):
    """`/ui/api/policies`: what is in force. `problem` says why changed files are not used, empty where all is well."""

    digest: str
    at: int
    since: int
    policies: tuple[PolicyRow, ...]
    rules: tuple[RuleFileRow, ...]
    exceptions: tuple[ExceptionRow, ...] = ()
    reload: ReloadRow | None = None
    problem: str = ""

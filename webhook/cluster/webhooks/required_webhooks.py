"""Which requests the API server must send us: the webhooks of the policies, each with its path, and the gate's. Pure.

What the policies want is `policy.webhook_rules`'s answer; here are the paths, and the jobs that the gate must see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from webhook.cluster.api.kinds import MANAGED
from webhook.jobs.kinds import KINDS
from webhook.jobs.read_job import QUEUE
from webhook.policy.webhook_rules import IGNORE, RESOURCE, SUB_RESOURCE, Rule, WebhookEntry, is_covered

_QUEUED: Final = tuple(kind for kind in KINDS if kind.gvk in MANAGED)
_NAMES_A_QUEUE: Final = " || ".join(
    f"(has(object.metadata.{where}) && '{QUEUE}' in object.metadata.{where})" for where in ("labels", "annotations")
)
"""Asked of the kinds that a gate holds: most Pods of a cluster name no queue, and are not sent."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One entry: what is sent to `path` (below the server's root), and what happens when we do not answer."""

    mutating: bool
    failure: str
    path: str
    rules: tuple[Rule, ...]
    condition: str
    reinvocation: str = ""

    @property
    def name(self) -> str:
        """The entry's name, a domain name as the API server wants it."""
        return f"{self.failure.lower()}.{'mutate' if self.mutating else 'validate'}.sluice.dev"


def hooks(entries: Sequence[WebhookEntry], *, gate: bool) -> list[Hook]:
    """Return the webhooks for those of the policies; with `gate`, queued jobs are sent to be judged in any case.

    Where there are two calls of a phase, each has a path of its own, at which only its policies are evaluated. The gate
    is asked at the first validating entry only. Where it is the only one, its failurePolicy is Ignore: a job that is
    not judged waits in its queue like any other. A phase without policies has an entry without rules, which matches
    nothing and says where the server is: policies may come later.
    """
    found = []
    for mutating, path in ((True, "mutate"), (False, "validate")):
        here = [entry for entry in entries if entry.mutating is mutating] or [_nothing(mutating)]
        for index, entry in enumerate(here):
            own = path if len(here) == 1 else f"{path}/{entry.failure_policy.lower()}"
            found.append(_hook(entry, own, gate=gate and not mutating and index == 0))
    return found


def _nothing(mutating: bool) -> WebhookEntry:
    return WebhookEntry(mutating, IGNORE, (), "", "", ())


def _hook(entry: WebhookEntry, path: str, *, gate: bool) -> Hook:
    rules, condition = list(entry.rules), entry.condition
    if gate:
        queued = (_rule(kind.group, kind.versions, kind.resource) for kind in _QUEUED)
        rules += [rule for rule in queued if not is_covered(rule, rules)]
        if entry.policies and condition:
            condition = f"{condition} || {_is_queued()}"
    return Hook(entry.mutating, entry.failure_policy, path, tuple(rules), condition, entry.reinvocation_policy)


def _rule(group: str, versions: Sequence[str], resource: str) -> Rule:
    return {
        "apiGroups": [group],
        "apiVersions": sorted(versions),
        "operations": ["CREATE", "UPDATE"],
        "resources": [resource],
        "scope": "*",
    }


def _is_queued() -> str:
    names = ", ".join(f"'{kind.group}/{kind.resource}'" for kind in _QUEUED if not kind.gate)
    gated = ", ".join(f"'{kind.group}/{kind.resource}'" for kind in _QUEUED if kind.gate)
    written = f"request.operation in ['CREATE', 'UPDATE'] && {SUB_RESOURCE} == ''"
    return f"({written} && ({RESOURCE} in [{names}] || ({RESOURCE} in [{gated}] && ({_NAMES_A_QUEUE}))))"

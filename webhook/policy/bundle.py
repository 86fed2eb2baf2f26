"""A set of policy files after loading: immutable, and named by a digest of what is in it, not of how it is laid out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from webhook.diagnostics import Diagnostic
from webhook.documents import Document
from webhook.kube.gvk import GroupVersionKind
from webhook.policy.matching.exceptions import PolicyException
from webhook.policy.matching.index import Index
from webhook.policy.model import Policy
from webhook.policy.webhook_rules import IGNORE, calls


@dataclass(frozen=True, slots=True)
class Bundle:
    """Everything that was loaded.

    `policies` are sorted by name, mutating before validating where names are equal. `objects` are the other kinds:
    parameters and facts of a cluster. `queue_policies` are handed on as documents. `notes` are findings that do not
    keep the bundle from being used. `validating` and `mutating` find the policies for a request. Its repr is the
    digest alone: what is in it runs to megabytes.
    """

    digest: str
    policies: tuple[Policy, ...] = field(repr=False)
    objects: tuple[dict[str, Any], ...] = field(repr=False)
    queue_policies: tuple[Document, ...] = field(repr=False)
    exceptions: tuple[PolicyException, ...] = field(repr=False)
    notes: tuple[Diagnostic, ...] = field(repr=False)
    validating: Index = field(repr=False)
    mutating: Index = field(repr=False)

    @property
    def param_kinds(self) -> tuple[GroupVersionKind, ...]:
        """The kinds that its policies take parameters from."""
        return tuple(dict.fromkeys(p.param_kind for p in self.policies if p.param_kind is not None))

    def part(self, only: str) -> Bundle:
        """Return the policies of one webhook call, `fail` or `ignore`, with all else; the whole for the empty name."""
        if not only:
            return self
        policies = chain.from_iterable(
            found for (_, name), found in calls(self.policies).items() if name.lower() == only
        )
        return Bundle.of(policies, objects=self.objects, exceptions=self.exceptions)

    def in_call_order(self) -> Bundle:
        """Return the bundle with mutations in the order of the webhooks' calls: a call of those that ignore failures
        comes after the others. Within a call they go by name."""
        late = {id(policy) for policy in calls(self.policies).get((True, IGNORE), ())}
        if not late:
            return self
        mutating = [policy for policy in self.policies if policy.mutating]
        return replace(self, mutating=Index(sorted(mutating, key=lambda policy: id(policy) in late)))

    @classmethod
    def of(
        cls,
        policies: Iterable[Policy],
        documents: Iterable[Any] = (),
        objects: Iterable[dict[str, Any]] = (),
        queue_policies: Iterable[Document] = (),
        exceptions: Iterable[PolicyException] = (),
        notes: Iterable[Diagnostic] = (),
    ) -> Bundle:
        """Make a bundle; `documents` are the values the digest is taken of, in any order."""
        ordered = tuple(sorted(policies, key=lambda p: (p.name, not p.mutating)))
        return cls(
            digest_of(documents),
            ordered,
            tuple(objects),
            tuple(queue_policies),
            tuple(exceptions),
            tuple(notes),
            Index([p for p in ordered if not p.mutating]),
            Index([p for p in ordered if p.mutating]),
        )


def digest_of(values: Iterable[Any]) -> str:
    """Return `sha256:` and the digest of some JSON values, whatever their order."""
    texts = sorted(json.dumps(v, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for v in values)
    return "sha256:" + hashlib.sha256("\n".join(texts).encode()).hexdigest()


EMPTY = Bundle.of(())
"""The bundle without files: everything is let through as it is."""

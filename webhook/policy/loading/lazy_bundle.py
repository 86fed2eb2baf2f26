"""A checked set of policies as plain bytes, for a process that takes it over without compiling it.

The process that checked the files packs; the one that serves unpacks, piece by piece. Of each policy the head is read
at once, the rest is compiled when a request of a kind that it is for first comes: most of a thousand never are.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from webhook.diagnostics import Place
from webhook.documents import Document
from webhook.kube.gvk import GroupVersionKind, gvk_of, kind_named
from webhook.policy.bundle import Bundle, digest_of
from webhook.policy.loading import policy_kinds
from webhook.policy.loading.assemble import assemble
from webhook.policy.match_resources import MatchResources, ResourceOperation
from webhook.policy.matching.index import Index, entry_for
from webhook.policy.model import Binding, Mode, Policy
from webhook.policy.webhook_rules import WebhookEntry, calls, registration

PIECE: Final = 20
"""Policies in a piece: reading one takes a fraction of a millisecond."""
_ANY: Final = (Binding("", (), None, None),)


@dataclass(frozen=True, slots=True)
class PolicyHead:
    """What of a policy is needed to know whether it is for a kind of request. `body` holds its documents, pickled.

    `call` is the webhook call that it is evaluated in, `fail` or `ignore`; empty where it is not bound. `place` is
    where it is written, `digest` that of its documents.
    """

    name: str
    mutating: bool
    match: dict[str, Any]
    expand: bool
    ignore_failure: bool
    call: str
    param_kind: GroupVersionKind | None
    mode: Mode
    place: Place
    digest: str
    body: bytes


@dataclass(frozen=True, slots=True)
class BundleRest:
    """The parts of a bundle other than its policies, and the source lines that its documents share.

    `webhooks` are those that the API server has to call for its policies.
    """

    digest: str
    webhooks: tuple[WebhookEntry, ...]
    queue_policies: tuple[Document, ...]
    exceptions: tuple[Document, ...]
    lines: dict[str, tuple[str, ...]]


Piece = BundleRest | list[PolicyHead] | list[dict[str, Any]]
"""Heads of policies, or objects that are parameters and facts, or, last, the rest."""


def pack(bundle: Bundle, documents: Iterable[Document]) -> Iterator[bytes]:
    """Yield a bundle in pieces; `documents` are those that it was assembled of, Lists taken apart."""
    bindings: dict[tuple[bool, str], list[Document]] = {}
    lines = {}
    for document in documents:
        lines[document.file] = document.lines
        gvk = gvk_of(document.value)
        if gvk.group == policy_kinds.GROUP and gvk.kind.endswith(policy_kinds.BINDING):
            key = gvk.kind.startswith(policy_kinds.MUTATING), str(document.at(("spec", "policyName")))
            bindings.setdefault(key, []).append(document)
    called = {id(policy): name.lower() for (_, name), found in calls(bundle.policies).items() for policy in found}
    heads = [
        _head(policy, called.get(id(policy), ""), bindings.get((policy.mutating, policy.name), []))
        for policy in bundle.policies
    ]
    for pieces in (heads, bundle.objects):
        for start in range(0, len(pieces), PIECE):
            yield pickle.dumps(list(pieces[start : start + PIECE]), pickle.HIGHEST_PROTOCOL)
    exceptions = tuple(_bare(e.document) for e in bundle.exceptions if e.document is not None)
    webhooks = registration(bundle.policies)
    rest = BundleRest(bundle.digest, webhooks, tuple(map(_bare, bundle.queue_policies)), exceptions, lines)
    yield pickle.dumps(rest, pickle.HIGHEST_PROTOCOL)


def _head(policy: Policy, call: str, bindings: Sequence[Document]) -> PolicyHead:
    assert policy.document is not None
    documents = [_bare(document) for document in (policy.document, *bindings)]
    return PolicyHead(
        policy.name,
        policy.mutating,
        policy.spec.get("matchConstraints") or {},
        policy.expand,
        policy.ignore_failure,
        call,
        policy.param_kind,
        policy.mode,
        policy.document.place(("metadata", "name")),
        digest_of(document.value for document in documents),
        pickle.dumps(documents, pickle.HIGHEST_PROTOCOL),
    )


def _bare(document: Document) -> Document:
    return replace(document, lines=())


@dataclass(slots=True, eq=False)
class LazyPolicy:
    """A policy of which only the head is known; `compile` compiles it, once.

    `source` identifies its documents with their places. `handed_on` says that a newer set uses what was compiled here.
    """

    stub: Policy
    call: str
    place: Place
    digest: str
    source: bytes
    body: bytes
    lines: dict[str, tuple[str, ...]]
    files: frozenset[str] = frozenset()
    compiled: Policy | None = None
    handed_on: bool = False

    def compile(self) -> Policy:
        """Return the whole policy. It was compiled before, by the process that packed it: this does not fail."""
        if self.compiled is None:
            documents = [replace(d, lines=self.lines.get(d.file, ())) for d in pickle.loads(self.body)]  # noqa: S301
            (self.compiled,) = assemble(documents).policies
            self.files = frozenset(document.file for document in documents)
            self.body = b""
        return self.compiled

    def take_over(self, old: LazyPolicy) -> None:
        """Use what was compiled of the same policy in an older set, if neither it nor its files have changed."""
        if old.compiled is None or self.compiled is not None or old.source != self.source:
            return
        if all(old.lines.get(file) == self.lines.get(file) for file in old.files):
            self.compiled, self.files, self.body = old.compiled, old.files, b""
            old.handed_on = True


@dataclass(slots=True, eq=False)
class LazyBundle:
    """Policies compiled when first asked for."""

    policies: list[LazyPolicy] = field(default_factory=list)
    objects: list[dict[str, Any]] = field(default_factory=list)
    lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    whole: Bundle = field(default_factory=lambda: Bundle.of(()))
    """All policies, without their expressions, and all else."""
    webhooks: tuple[WebhookEntry, ...] = ()

    def take(self, piece: bytes) -> bool:
        """Unpack one piece, from a process of our own; True when that was the last."""
        found: Piece = pickle.loads(piece)  # noqa: S301 - written by our own child, over a pipe
        if isinstance(found, BundleRest):
            self._finish(found)
            return True
        for item in found:
            if isinstance(item, PolicyHead):
                source = hashlib.sha256(item.body).digest()
                lazy = LazyPolicy(_stub(item), item.call, item.place, item.digest, source, item.body, self.lines)
                self.policies.append(lazy)
            else:
                self.objects.append(item)
        return False

    def _finish(self, rest: BundleRest) -> None:
        self.lines.update(rest.lines)
        self.webhooks = rest.webhooks
        exceptions = assemble(replace(d, lines=rest.lines.get(d.file, ())) for d in rest.exceptions).exceptions
        queue_policies = [replace(d, lines=rest.lines.get(d.file, ())) for d in rest.queue_policies]
        stubs = [policy.stub for policy in self.policies]
        made = Bundle.of(stubs, (), self.objects, queue_policies, exceptions)
        self.whole = replace(made, digest=rest.digest)

    def take_over(self, old: LazyBundle) -> None:
        """Use what was compiled in an older set of the policies that are unchanged."""
        before = {(policy.stub.name, policy.stub.mutating): policy for policy in old.policies}
        for policy in self.policies:
            if (same := before.get((policy.stub.name, policy.stub.mutating))) is not None:
                policy.take_over(same)

    def compiling_few(self, most: int) -> Iterator[None]:
        """Compile all policies one by one where there are no more than `most`."""
        for policy in self.policies if len(self.policies) <= most else ():
            policy.compile()
            yield

    def compiling(self, target: ResourceOperation, only: str) -> Iterator[None]:
        """Compile the policies for a kind of request one by one; `only` as in `part`."""
        for policy in self.policies:
            if only in ("", policy.call) and policy.compiled is None and entry_for(policy.stub, target) is not None:
                policy.compile()
                yield

    def part(self, only: str) -> Bundle:
        """Return the policies of one webhook call, `fail` or `ignore`, or all; each is compiled on first use."""
        found = {id(policy.stub): policy for policy in self.policies if only in ("", policy.call)}
        stubs = [policy.stub for policy in found.values()]
        made = Bundle.of(stubs, objects=self.objects, exceptions=self.whole.exceptions)
        validating, mutating = (
            Index([p for p in made.policies if p.mutating is phase], lambda stub: found[id(stub)].compile())
            for phase in (False, True)
        )
        return replace(made, validating=validating, mutating=mutating)


def _stub(head: PolicyHead) -> Policy:
    """Return a policy that matches as the whole one does, bindings left aside.

    The kind of its parameters is the very object that the whole one has: each review looks it up, and equal is slower.
    """
    kind = head.param_kind
    return Policy(
        name=head.name,
        mutating=head.mutating,
        match=MatchResources.of(head.match),
        conditions=(),
        variables={},
        bindings=_ANY,
        expand=head.expand,
        ignore_failure=head.ignore_failure,
        param_kind=None if kind is None else kind_named(kind.group, kind.version, kind.kind),
        mode=head.mode,
    )

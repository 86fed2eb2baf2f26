"""The rule for queue rules that count by user: the user must come from the request, not from the job's file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.api.snapshot.workload import USER
from webhook.cel import host
from webhook.cel.program import Program
from webhook.cel.syntax.nodes import Node, Select, children
from webhook.cel.types import TypeKind
from webhook.diagnostics import Severity, SourceError
from webhook.documents import Document, Path
from webhook.offline.lint.context import Finding, LintContext, LintRule, rule
from webhook.policy.bundle import Bundle
from webhook.policy.queue_rules.file_rules import FileRules
from webhook.policy.queue_rules.files import names_of, rules_among

_SENDER: Final = "request.userInfo"


@rule("BYP009", Severity.WARNING, "a policy must not trust a user name that users can write")
def user_by_hand(context: LintContext) -> Iterator[Finding]:
    """Rules that read `workload.user`, or the usage of a user, take the user from the annotation `sluice.dev/user` of
    the job. Users can write another name there to avoid their limits. A policy must set the annotation from
    `request.userInfo`; the shipped `sluice.dev/job-user` does, and denies later changes. Name it under `policies` in
    `.sluice.yaml`, or lint the rules together with the policies that are in force with them.
    """
    if sets_user(context.bundle):
        return
    for document in context.bundle.queue_policies:
        if (path := _reads_user(document, context.bundle)) is not None:
            message = f"this counts by {USER}, which users can write; no policy in these files sets it"
            hint = f"name sluice.dev/job-user under policies in .sluice.yaml, or add one that sets it from {_SENDER}"
            yield Finding(document, path, message, hint)


def sets_user(bundle: Bundle) -> bool:
    """Return whether a policy that is bound writes who sent a job into the job."""
    for policy in bundle.policies:
        texts = [expression.text for expression in policy.expressions()]
        if policy.mutating and policy.bindings and all(any(w in text for text in texts) for w in (USER, _SENDER)):
            return True
    return False


def _reads_user(document: Document, bundle: Bundle) -> Path | None:
    """Return where rules read the user: an expression of the document, or `extends` where those that it extends do."""
    try:
        rules = rules_among(bundle.queue_policies, names_of([document]))
    except SourceError:
        return None
    assert isinstance(rules, FileRules)
    found = [(origin, _read_at(program, program.checked.root)) for program, origin in rules.origins.items()]
    own = [origin.path_at(at) for origin, at in found if at is not None and origin.document is document]
    if own:
        return min(own, key=str)
    return ("spec", "extends") if any(at is not None for _, at in found) else None


def _read_at(program: Program, node: Node) -> int | None:
    """Return where an expression reads a field about the user, None where it does not."""
    if isinstance(node, Select) and node.field.startswith("user"):
        over = program.checked.types.get(node.operand.id)
        if over is not None and over.kind is TypeKind.OBJECT and host.known(over.name):
            return node.pos
    return next((at for child in children(node) if (at := _read_at(program, child)) is not None), None)


RULES: Final[tuple[LintRule, ...]] = (user_by_hand,)

"""Where what a place names is written: variables, parameters, policies, suites and files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from webhook.diagnostics import Place
from webhook.editor.cursor import Spot
from webhook.editor.scan import cursor, word_at
from webhook.editor.workspace import Workspace
from webhook.offline.lint.context import Subject
from webhook.offline.lint.reading.policies import BINDINGS, POLICIES

_FILES = ("policies", "object", "oldObject", "invalid", "cluster", "params")
"""Fields of a suite that may name files."""


def definitions(workspace: Workspace, path: Path, spot: Spot) -> list[Place]:
    """Return the places where what stands at a spot is defined; from a policy's name, the suites that test it."""
    return list(_found(workspace, path, spot))


def _found(workspace: Workspace, path: Path, spot: Spot) -> Iterator[Place]:
    subject, field = spot.subject, spot.path
    kind = subject.gvk.kind
    if kind in POLICIES and spot.offset is not None and field[:1] == ("spec",) and field[:2] != ("spec", "paramKind"):
        yield from _in_expression(workspace, spot)
    elif kind in POLICIES and field == ("metadata", "name"):
        yield from _suites(workspace, path)
    elif kind in BINDINGS and field == ("spec", "policyName"):
        yield from _names(workspace.named(kind.removesuffix("Binding"), spot.text))
    elif kind in BINDINGS and field[:2] == ("spec", "paramRef"):
        yield from _parameters(workspace, subject)
    elif kind == "PolicyException" and field[:2] == ("spec", "policyNames"):
        yield from _names(s for policy in POLICIES for s in workspace.named(policy, spot.text))
    elif kind == "QueuePolicy" and field[:2] == ("spec", "extends"):
        yield from _names(workspace.named("QueuePolicy", spot.text))
    elif kind == "Suite" and spot.text and any(step in _FILES for step in field):
        named = path.parent / spot.text
        yield from (Place(str(file), 1, 1) for file in (named, named / "policy.yaml") if file.is_file())


def _in_expression(workspace: Workspace, spot: Spot) -> Iterator[Place]:
    token = word_at(spot.text, spot.offset or 0)
    at = cursor(spot.text, token.end) if token is not None else None
    if token is None or at is None:
        return
    if at.receiver == "variables":
        for route, item in spot.subject.each("spec", "variables"):
            if item.get("name") == token.text:
                yield spot.subject.document.place((*spot.subject.root, *route, "name"))
    elif at.receiver is None and token.text == "params":
        bindings = (s for s in workspace.subjects() if s.gvk.kind == f"{spot.subject.gvk.kind}Binding")
        own = (b for b in bindings if b.text("spec", "policyName") == spot.subject.name)
        yield from (place for binding in own for place in _parameters(workspace, binding))


def _parameters(workspace: Workspace, binding: Subject) -> Iterator[Place]:
    """Yield the parameter object that a binding names."""
    policies = workspace.named(binding.gvk.kind.removesuffix("Binding"), binding.text("spec", "policyName"))
    for kind in {policy.text("spec", "paramKind", "kind") for policy in policies}:
        yield from _names(workspace.named(kind, binding.text("spec", "paramRef", "name")))


def _suites(workspace: Workspace, path: Path) -> Iterator[Place]:
    for file, parsed in workspace.files.items():
        for suite in (s for s in parsed.subjects if s.gvk.kind == "Suite"):
            tested = [file.parent / name for name in suite.strings("spec", "policies") or suite.strings("policies")]
            if any(path in (place, *place.rglob("*")) for place in (p.resolve() for p in tested or [file.parent])):
                yield suite.document.place(suite.root)


def _names(found: Iterator[Subject]) -> Iterator[Place]:
    return (s.document.place((*s.root, "metadata", "name")) for s in found)

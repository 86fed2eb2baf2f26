"""Reads the quotas of ClusterQueues and Cohorts leniently, for the lint rules on queues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webhook.documents import Path
from webhook.kube.quantity import Quantity
from webhook.kube.well_known import KUEUE
from webhook.offline.lint.context import LintContext, Subject
from webhook.offline.lint.reading.amounts import amount

Cell = tuple[str, str]
"""A flavor and a resource."""


@dataclass(frozen=True, slots=True)
class QuotaEntry:
    """One `resources` entry of a flavor of a ClusterQueue or Cohort: where it stands, and its three amounts."""

    owner: Subject
    path: Path
    flavor: str
    resource: str
    nominal: Quantity | None
    borrowing: Quantity | None
    lending: Quantity | None

    @property
    def cell(self) -> Cell:
        """Its flavor and resource."""
        return self.flavor, self.resource


def holders(context: LintContext) -> Iterator[Subject]:
    """Return the objects that own quota: ClusterQueues and Cohorts."""
    return context.of(KUEUE, "ClusterQueue", "Cohort")


def entries(subject: Subject) -> Iterator[QuotaEntry]:
    """Yield the quota of a ClusterQueue or Cohort, entry by entry."""
    for path, flavor in flavors(subject):
        for deeper, resource in subject.each(*path, "resources"):
            yield QuotaEntry(
                subject,
                deeper,
                str(flavor.get("name")),
                str(resource.get("name")),
                amount(resource.get("nominalQuota")),
                amount(resource.get("borrowingLimit")),
                amount(resource.get("lendingLimit")),
            )


def flavors(subject: Subject) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the flavors of all resource groups, each with its path."""
    for path, _ in subject.each("spec", "resourceGroups"):
        yield from subject.each(*path, "flavors")


def cohort_field(subject: Subject) -> str:
    """Name the field that puts the object under a cohort: v1beta1 has `cohort` where v1beta2 has `cohortName`."""
    if subject.gvk.kind == "Cohort":
        return "parent" if subject.gvk.version == "v1alpha1" else "parentName"
    early = subject.gvk.version == "v1beta1" or "cohort" in subject.map("spec")
    return "cohort" if early and "cohortName" not in subject.map("spec") else "cohortName"


def cohort_of(subject: Subject) -> str:
    """Name the cohort above a ClusterQueue or Cohort; empty where there is none."""
    return subject.text("spec", cohort_field(subject))


@dataclass(frozen=True, slots=True)
class QuotaTree:
    """Who stands under which cohort: name -> its ClusterQueues and Cohorts, each parent, and the Cohorts."""

    members: dict[str, tuple[Subject, ...]]
    parents: dict[str, str]
    cohorts: dict[str, Subject]

    def root(self, cohort: str) -> str:
        """Name the top of the tree that a cohort belongs to; on a cycle, some cohort of it."""
        seen = {cohort}
        while (parent := self.parents.get(cohort, "")) and parent not in seen:
            cohort = parent
            seen.add(cohort)
        return cohort

    def below(self, cohort: str) -> Iterator[Subject]:
        """Yield everything under a cohort, at any depth, cycles or not."""
        waiting, seen = [cohort], {cohort}
        while waiting:
            for member in self.members.get(waiting.pop(), ()):
                yield member
                if member.gvk.kind == "Cohort" and member.name not in seen:
                    seen.add(member.name)
                    waiting.append(member.name)


def tree(context: LintContext) -> QuotaTree:
    """Read the tree of cohorts; a cohort that is only named exists as well."""
    members: dict[str, list[Subject]] = {}
    for subject in holders(context):
        if cohort := cohort_of(subject):
            members.setdefault(cohort, []).append(subject)
    cohorts = {c.name: c for c in context.of(KUEUE, "Cohort")}
    parents = {name: cohort_of(cohort) for name, cohort in cohorts.items()}
    return QuotaTree({name: tuple(found) for name, found in members.items()}, parents, cohorts)


def borrowable(cohorts: QuotaTree, cohort: str, entry: QuotaEntry) -> Quantity:
    """Add up what the rest of the tree owns of an entry's flavor and resource, each no more than it lends."""
    total = Quantity(0)
    root = cohorts.root(cohort)
    top = cohorts.cohorts.get(root)
    seen = {id(member): member for member in (*cohorts.below(root), *([top] if top else []))}
    for member in seen.values():
        for other in entries(member) if member is not entry.owner else ():
            if other.cell == entry.cell and other.nominal is not None:
                lends = other.lending if other.lending is not None else other.nominal
                total = total + (lends if lends.compare(other.nominal) < 0 else other.nominal)
    return total

"""Rules for ClusterQueues, Cohorts and ResourceFlavors: quota that cannot be used, or that is likely a mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from webhook.api.amounts import from_nanos
from webhook.diagnostics import Severity, did_you_mean
from webhook.documents import Path
from webhook.kube.well_known import KUEUE
from webhook.offline.lint.context import Finding, LintContext, LintRule, rule
from webhook.offline.lint.reading.amounts import amount, is_extended, is_whole
from webhook.offline.lint.reading.quotas import (
    borrowable,
    cohort_field,
    cohort_of,
    entries,
    flavors,
    holders,
    tree,
)

_AMOUNTS: Final = ("nominalQuota", "borrowingLimit", "lendingLimit")


@rule("QUE001", Severity.ERROR, "a flavor of a queue must exist")
def flavor_missing(context: LintContext) -> Iterator[Finding]:
    """A ClusterQueue whose flavor has no ResourceFlavor object is inactive: it accepts workloads and never admits any.
    If the flavor is defined elsewhere (another repository), lint those files together with these.
    """
    known = context.names(KUEUE, "ResourceFlavor")
    for subject in holders(context):
        for path, flavor in flavors(subject):
            name = flavor.get("name")
            if isinstance(name, str) and name not in known:
                hint = did_you_mean(name, known) or f'add a ResourceFlavor "{name}"'
                yield subject.finding((*path, "name"), f'no ResourceFlavor "{name}" is in these files', hint)


@rule("QUE002", Severity.ERROR, "cohorts must form a tree")
def cohort_cycle(context: LintContext) -> Iterator[Finding]:
    """A cohort that is its own ancestor has no root: every queue below it stops admitting."""
    parents = tree(context).parents
    for subject in context.of(KUEUE, "Cohort"):
        way = [subject.name]
        while (parent := parents.get(way[-1], "")) and parent not in way:
            way.append(parent)
        if parent and parent == subject.name:
            message = "cohort cycle: " + " -> ".join([*way, parent])
            yield subject.finding(("spec", cohort_field(subject)), message, "remove the parent of one of them")


@rule("QUE003", Severity.ERROR, "a queue that borrows or lends must be in a cohort")
def borrowing_alone(context: LintContext) -> Iterator[Finding]:
    """`borrowingLimit` and `lendingLimit` refer to the other queues of the cohort. Kueue rejects a ClusterQueue that
    has a borrowing limit and no cohort.
    """
    for subject in context.of(KUEUE, "ClusterQueue"):
        if cohort_of(subject):
            continue
        for entry in entries(subject):
            for field, value in (("borrowingLimit", entry.borrowing), ("lendingLimit", entry.lending)):
                if value is not None:
                    message = f"{field} of {entry.resource}, but {subject} is not in a cohort"
                    hint = f"set spec.{cohort_field(subject)}, or remove the limit"
                    yield subject.finding((*entry.path, field), message, hint, key=True)


@rule("QUE004", Severity.WARNING, "a borrowing limit must not exceed what the cohort can lend")
def borrowing_too_much(context: LintContext) -> Iterator[Finding]:
    """A `borrowingLimit` above what all other members of the cohort own (and lend) promises capacity that does not
    exist: a job that relies on it passes the limit check and then stays pending.
    """
    cohorts = tree(context)
    for subject in context.of(KUEUE, "ClusterQueue"):
        cohort = cohort_of(subject)
        for entry in entries(subject) if cohort else ():
            if entry.borrowing is None:
                continue
            there = borrowable(cohorts, cohort, entry)
            if entry.borrowing.compare(there) > 0:
                limit = subject.at(*entry.path, "borrowingLimit")
                message = (
                    f"borrowingLimit is {limit} {entry.resource} of {entry.flavor}, "
                    f'but the others in cohort "{cohort}" can lend {there}'
                )
                hint = f"set {there} or less, or add quota to the cohort"
                yield subject.finding((*entry.path, "borrowingLimit"), message, hint)


@rule("QUE005", Severity.ERROR, "each flavor must list the covered resources in order")
def covered(context: LintContext) -> Iterator[Finding]:
    """Within a resource group every flavor must list exactly the `coveredResources`, in the same order; Kueue rejects
    any other list. For a resource without quota in a flavor, set `nominalQuota: 0`.
    """
    for subject in holders(context):
        for path, _ in subject.each("spec", "resourceGroups"):
            wanted = subject.strings(*path, "coveredResources")
            for deeper, flavor in subject.each(*path, "flavors"):
                given = [str(item.get("name")) for _, item in subject.each(*deeper, "resources")]
                if given != wanted:
                    message = (
                        f'flavor "{flavor.get("name")}" has quotas for {_list(given)}, covered are {_list(wanted)}'
                    )
                    yield subject.finding((*deeper, "resources"), message, _difference(given, wanted), key=True)


def _list(names: list[str]) -> str:
    return ", ".join(names) or "nothing"


def _difference(given: list[str], wanted: list[str]) -> str:
    if missing := [name for name in wanted if name not in given]:
        near = [did_you_mean(name, missing) for name in given if name not in wanted]
        return next(filter(None, near), f"add {_list(missing)}, with nominalQuota: 0 if there is no quota")
    if extra := [name for name in given if name not in wanted]:
        return f"add {_list(extra)} to coveredResources, or remove it here"
    return f"put them in the order {_list(wanted)}"


@rule("QUE006", Severity.ERROR, "a resource or flavor must be in one resource group")
def once(context: LintContext) -> Iterator[Finding]:
    """If a resource is covered by two groups, or a flavor is in two groups, it is unclear which quota applies. Kueue
    rejects the queue.
    """
    for subject in holders(context):
        resources: Counter[str] = Counter()
        names: Counter[str] = Counter()
        for path, _ in subject.each("spec", "resourceGroups"):
            for i, resource in enumerate(subject.strings(*path, "coveredResources")):
                resources[resource] += 1
                if resources[resource] == 2:
                    where: Path = (*path, "coveredResources", i)
                    yield subject.finding(where, f"{resource} is in two resource groups", "keep it in one group")
            for deeper, flavor in subject.each(*path, "flavors"):
                names[str(flavor.get("name"))] += 1
                if names[str(flavor.get("name"))] == 2:
                    message = f'flavor "{flavor.get("name")}" is listed twice'
                    yield subject.finding((*deeper, "name"), message, "keep it in one group")


@rule("QUE007", Severity.ERROR, "a quota must be a quantity of 0 or more, whole for devices")
def quota_amounts(context: LintContext) -> Iterator[Finding]:
    """Quotas are quantities. A negative quota is rejected. Devices are whole: a quota of 7.5 GPUs counts as 8."""
    for subject in holders(context):
        for entry in entries(subject):
            for field in _AMOUNTS:
                value = subject.at(*entry.path, field)
                found = amount(value)
                where: Path = (*entry.path, field)
                if found is None:
                    if value is not None:
                        hint = "a number with a suffix such as m, k, Ki, Mi or Gi"
                        yield subject.finding(where, f"{field} is not a valid quantity: {value!r}", hint)
                elif found.sign < 0:
                    yield subject.finding(where, f"{field} is negative: {value}", "write 0 or more")
                elif is_extended(entry.resource) and not is_whole(found):
                    whole = from_nanos(entry.resource, found.nanos)
                    message = f"{field} of {entry.resource} is {value}: devices must be whole numbers"
                    finding = subject.finding(where, message, f"write {whole}: it counts the same")
                    yield replace(finding, edit=subject.edit(where, str(whole)))


@rule("QUE008", Severity.WARNING, "a lending limit must not exceed the nominal quota")
def lending_too_much(context: LintContext) -> Iterator[Finding]:
    """`lendingLimit` is the part of a queue's own quota that others may use. Above `nominalQuota` it has no effect,
    and Kueue rejects it.
    """
    for subject in context.of(KUEUE, "ClusterQueue"):
        for entry in entries(subject):
            if entry.lending and entry.nominal and entry.lending.compare(entry.nominal) > 0:
                value = subject.at(*entry.path, "lendingLimit")
                message = f"lendingLimit of {entry.resource} is {value}, above nominalQuota"
                yield subject.finding((*entry.path, "lendingLimit"), message, "remove it to lend everything")


@rule("QUE009", Severity.WARNING, "a queue must select some namespace")
def open_to_none(context: LintContext) -> Iterator[Finding]:
    """A ClusterQueue without `namespaceSelector` selects no namespace: every job sent to it is inadmissible.
    `namespaceSelector: {}` selects every namespace.
    """
    for subject in context.of(KUEUE, "ClusterQueue"):
        if subject.at("spec", "namespaceSelector") is None and subject.at("spec") is not None:
            message = f"{subject} has no namespaceSelector, so it selects no namespace"
            yield subject.finding(("spec",), message, "set namespaceSelector: {} to select all namespaces", key=True)


@rule("QUE010", Severity.ERROR, "borrowWithinCohort requires reclaimWithinCohort")
def borrow_without_reclaim(context: LintContext) -> Iterator[Finding]:
    """`borrowWithinCohort` lets a workload preempt in other queues while it borrows. If `reclaimWithinCohort` is
    Never, the queue may not even reclaim its own quota, and Kueue rejects the combination.
    """
    for subject in context.of(KUEUE, "ClusterQueue"):
        preemption = subject.map("spec", "preemption")
        policy = subject.text("spec", "preemption", "borrowWithinCohort", "policy")
        if policy not in ("", "Never") and preemption.get("reclaimWithinCohort", "Never") == "Never":
            message = f"borrowWithinCohort is {policy}, but reclaimWithinCohort is Never"
            hint = "set reclaimWithinCohort to LowerPriority or Any"
            yield subject.finding(("spec", "preemption", "borrowWithinCohort", "policy"), message, hint)


@rule("QUE011", Severity.WARNING, "a cohort must have more than one member")
def lonely_cohort(context: LintContext) -> Iterator[Finding]:
    """A cohort exists to share quota. With one ClusterQueue in its whole tree and no quota of its own, nothing can be
    borrowed or lent. Often the other queue has a different spelling of the cohort's name.
    """
    cohorts = tree(context)
    used = sorted(cohorts.members)
    for name in used:
        members = list(cohorts.below(cohorts.root(name)))
        queues = [m for m in members if m.gvk.kind == "ClusterQueue"]
        with_quota = [m for m in holders(context) if m.gvk.kind == "Cohort" and any(entries(m))]
        if len(queues) == 1 and cohort_of(queues[0]) == name and not with_quota:
            message = f'{queues[0]} is the only member of cohort "{name}", so it cannot borrow'
            hint = did_you_mean(name, (n for n in used if n != name)) or "add another queue, or remove the cohort"
            yield queues[0].finding(("spec", cohort_field(queues[0])), message, hint)


@rule("QUE012", Severity.ERROR, "an admission check of a queue must exist")
def check_missing(context: LintContext) -> Iterator[Finding]:
    """A ClusterQueue that references a missing AdmissionCheck is inactive: it accepts workloads and admits none."""
    known = context.names(KUEUE, "AdmissionCheck")
    for subject in context.of(KUEUE, "ClusterQueue"):
        named: list[tuple[Path, str]] = [
            (("spec", "admissionChecks", i), name) for i, name in enumerate(subject.strings("spec", "admissionChecks"))
        ]
        for path, item in subject.each("spec", "admissionChecksStrategy", "admissionChecks"):
            named.append(((*path, "name"), str(item.get("name"))))
        for path, name in named:
            if name not in known:
                hint = did_you_mean(name, known) or f'add an AdmissionCheck "{name}"'
                yield subject.finding(path, f'no AdmissionCheck "{name}" is in these files', hint)


RULES: Final[tuple[LintRule, ...]] = (
    flavor_missing,
    cohort_cycle,
    borrowing_alone,
    borrowing_too_much,
    covered,
    once,
    quota_amounts,
    lending_too_much,
    open_to_none,
    borrow_without_reclaim,
    lonely_cohort,
    check_missing,
)

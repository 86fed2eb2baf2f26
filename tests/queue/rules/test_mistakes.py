"""Rule files are read strictly: what is wrong in one is told at its place, with the way out, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.queue.build import job, names, queue, state
from tests.queue.load_rules import load_rules
from webhook.diagnostics import SourceError
from webhook.documents import read
from webhook.policy.queue_rules.files import mistakes_in, rules_named
from webhook.queue.cycle.decide import decide

HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: mine}\nspec:\n"
CAP = "  extends: [user-caps]\n"
ROWS = [
    ("fairSharing: {enabled: true, strategies: [Nope]}", "RUL009", "5:45", 'unknown comparison "Nope"', ""),
    ("extends: [kueue-fair]\n  fairSharing: {strategies: [LessThanInitalShare]}", "RUL009", "6:30",
     "", 'did you mean "LessThanInitialShare"?'),
    ("fairSharing: {enabled: true}", "RUL009", "5:3", "fair sharing requires tournament", "extends: [kueue-fair]"),
    ("fairSharing: {enabled: 1}", "RUL002", "5:26", "must be true or false, not a number", ""),
    ("partialAdmission: 'false'", "RUL002", "5:21", "must be true or false, not a string", "without quotes"),
    ("strict: true", "RUL002", "5:11", "spec.strict must be a string, not true or false", 'write "true"'),
    ("order: workload.priority", "RUL002", "5:10", "must be a list", "write [workload.priority]"),
    ("admit: [now]", "RUL002", "5:11", "must be a map", ""),
    ("admit: [{reason: Late}]", "RUL002", "5:11", "spec.admit[0] requires expression", ""),
    ("admit: [{expresion: 'true'}]", "RUL001", "5:12", "admit[0].expresion", 'did you mean "expression"?'),
    ("preempt: {allowed: [{expression: 'true'}]}", "RUL002", "5:23", "requires name", ""),
    ("reserve: {for: Ever}", "RUL002", "5:18", 'invalid value "Ever"', "one of Cycle, UntilAdmitted"),
    ("history: {halfLife: 1week}", "RUL002", "5:23", '"1week" is not a duration such as 90s', ""),
    ("history: {halfLife: ''}", "RUL002", "5:23", '"" is not a duration', ""),
    ("history: {samplingInterval: 1.2.3h}", "RUL002", "5:31", "is not a duration", ""),
    ("history: {resourceWeights: {gpu: two}}", "RUL002", "5:36", "must be a number", ""),
    ("laws: {keeps: [QuotaKep]}", "RUL002", "5:18", 'invalid value "QuotaKep"', 'did you mean "QuotaKept"?'),
    ("laws: {keeps: [LivingIsFresh]}", "RUL002", "5:18", 'invalid value "LivingIsFresh"', "use SameAfterRestart"),
    ("laws: {givesUp: [{law: LivingIsFresh, why: no}]}", "RUL002", "5:26", "LivingIsFresh", "use SameAfterRestart"),
    ("laws: {givesUp: [{law: '', why: no}]}", "RUL002", "5:26", "law", ""),
    ("headsPerCycle: -3", "RUL001", "5:3", "headsPerCycle", ""),
    ("histroy: {}", "RUL001", "5:3", "histroy", 'did you mean "history"?'),
    ("extends: kueue", "RUL002", "5:12", "must be a list", "write [kueue]"),
    ("extends: [kueu]", "RUL006", "5:13", 'QueuePolicy "kueu" does not exist', 'did you mean "kueue"?'),
    ("extends: [mine]", "RUL006", "5:13", 'QueuePolicy "mine" does not exist', ""),
    ("extends: [user-caps]\n  parameters: {workload: 9}", "RUL005", "6:16", "no rule reads parameters.workload",
     'did you mean "workloads"?'),
    ("extends: [user-caps]\n  parameters: {workloads: many}", "RUL005", "6:27",
     '"user-caps" declares workloads as int, not string', ""),
    ("extends: [user-caps]\n  parameters: {most: {cpu: 1.5}}", "RUL005", "6:22", "as map(string, int)", ""),
    ("extends: [time-window]\n  parameters: {zone: Mars/X}", "RUL005", "6:22", "unknown time zone Mars/X",
     "such as Asia/Shanghai"),
    ("parameters: {zone: Mars/X}\n  strict: now.getHours(parameters.zone) > 3", "RUL005", "5:22", "unknown time zone",
     "such as Asia/Shanghai"),
    ("parameters: {unread: 1}", "RUL005", "5:16", "no rule reads parameters.unread", ""),
    ("strict: parameters.on", "RUL003", "5:22", "undefined field 'on'", ""),
    ("strict: startsWth('a')", "RUL003", "5:11", "unknown name 'startsWth'", 'did you mean "startsWith"?'),
    ("strict: queue == 'a'", "RUL003", "5:17", "'(clusterQueue, string)'", "clusterQueue is an object with the fields"),
    ("strict: queue.preemption.borrowWithinCohort != 'Never'", "RUL003", "5:47", "'(borrowWithinCohort, string)'",
     "with the fields policy, maxPriorityThreshold"),
    ("strict: queue.namespaceSelector.matchExpression == []", "RUL003", "5:35", "undefined field",
     'did you mean "matchExpressions"?'),
    ("strict: workload.priority", "RUL004", "5:11", "this returns int, expected bool", ""),
    ("order: [\"{'a': 1}\"]", "RUL004", "5:11", "has no order", ""),
    ("order: [1, '']", "RUL002", "5:11", "must be a string", ""),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "code", "place", "told", "way_out"), ROWS, ids=[row[0][:40] for row in ROWS])
def test_a_mistake_is_told_at_its_place(spec: str, code: str, place: str, told: str, way_out: str) -> None:
    """A finding has the code, line and column of the mistake, a sentence and a hint."""
    with pytest.raises(SourceError) as caught:
        load_rules(read(HEAD + f"  {spec}\n", "rules.yaml"))
    every = {(d.code, f"{d.place.line}:{d.place.column}"): d for d in reversed(caught.value.diagnostics)}
    assert (code, place) in every
    found = every[code, place]
    assert told in found.message
    assert way_out in found.hint
    assert found.source
    assert found in mistakes_in(read(HEAD + f"  {spec}\n", "rules.yaml"))


OLD_NAMES = [
    ("queue.strategy == ''", "queueingStrategy"),
    ("queue.cohort == ''", "cohortName"),
    ("queue.groups == []", "resourceGroups"),
    ("queue.checks == []", "admissionChecksStrategy.admissionChecks"),
    ("queue.admissionChecksStrategy.admissionChecks[0].flavors == []", "onFlavors"),
    ("queue.preemption.maxPriorityThreshold == null", "borrowWithinCohort.maxPriorityThreshold"),
    ("queue.preemption.max_priority_threshold == null", "borrowWithinCohort.maxPriorityThreshold"),
    ("queue.namespaceSelector.requirements == []", "matchExpressions"),
    ("queue.resourceGroups[0].resources == []", "coveredResources"),
    ("queue.resourceGroups.exists(g, g.flavors.exists(f, f.flavor == ''))", "name"),
    ("queue.resourceGroups[0].flavors[0].quotas == {}", "resources"),
    ("queue.resourceGroups[0].flavors[0].resources['cpu'].nominal == 1", "nominalQuota"),
    ("workload.queue == ''", "queueName"),
    ("workload.admission.podSets == []", "podSetAssignments"),
    ("workload.admission.podSetAssignments.all(p, p.usage == {})", "resourceUsage"),
]


@pytest.mark.parametrize(("expression", "new"), OLD_NAMES, ids=[row[0] for row in OLD_NAMES])
def test_a_field_that_was_renamed_says_the_new_name(expression: str, new: str) -> None:
    """Fields that had another name than in the API are an error that gives the new one, behind null too."""
    (found,) = mistakes_in(read(HEAD + f'  strict: "{expression}"\n', "rules.yaml"))
    assert (found.code, found.hint) == ("RUL003", f"use {new}: fields are named as in the API")


def test_a_file_that_is_no_spec_is_told() -> None:
    """A QueuePolicy whose spec is a list is one mistake, not many."""
    (found,) = mistakes_in(read(HEAD.replace("spec:\n", "spec: []\n"), "rules.yaml"))
    assert (found.code, found.message) == ("RUL002", "a QueuePolicy must have a spec")


def test_files_that_extend_each_other_are_told(tmp_path: Path) -> None:
    """A circle of files is told where it closes."""
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{one}.yaml").write_text(HEAD + f"  extends: [{other}.yaml]\n")
    with pytest.raises(SourceError, match=r"b.yaml:5:13: error\[RUL007\]"):
        rules_named([tmp_path / "a.yaml"])


@pytest.mark.parametrize(
    ("below", "over", "wanted"),
    [
        ("history: {halfLife: 1h}", "history: {samplingInterval: 1m}", {"half_life": 3_600_000, "sampling": 60_000}),
        ("history: {resourceWeights: {a: 2}}", "history: {resourceWeights: {b: 3}}",
         {"resource_weights": {"a": 2.0, "b": 3.0}}),
        ("history: {always: true}", "history: {halfLife: 1h}", {"metered": True, "half_life": 3_600_000}),
        ("reserve: {for: UntilAdmitted}", "reserve: {amount: '1'}", {"hold": True}),
        ("reserve: {for: UntilAdmitted}", "reserve: {for: Cycle}", {"hold": False}),
        ("recomputeVictims: false", "partialAdmission: false", {"recompute": False, "partial": False}),
        ("fairSharing: {enabled: false}", "fairSharing: {strategies: []}", {"fair": False}),
        ("extends: [kueue-fair]", "fairSharing: {strategies: [LessThanInitialShare]}",
         {"fair": True, "strategies": ("LessThanInitialShare",)}),
        ("extends: [kueue-fair]", "preempt: {allowed: [{name: Always, expression: 'true'}]}",
         {"fair": True, "strategies": ("Always",)}),
    ],
)  # fmt: skip
def test_settings_are_put_over_each_other_one_by_one(below: str, over: str, wanted: dict[str, object]) -> None:
    """A file that extends another changes the settings it names, and leaves the others of the section."""
    rules = load_rules(HEAD.replace("mine", "low") + f"  {below}\n---\n" + HEAD + f"  extends: [low]\n  {over}\n")
    assert {name: getattr(rules, name) for name in wanted} == wanted


def starts(text: str) -> int:
    """How many of five jobs of one user start under these files, the last over the others."""
    work = [job(f"j{i}", "a", user="ann") for i in range(5)]
    return len(decide(state([queue("a", 9)], work), load_rules(text), 0).admitted)


BASE = HEAD.replace("mine", "base") + (
    "  parameters: {most: 1}\n  admit:\n    - expression: facts.userWorkloads < parameters.most\n---\n"
)


def test_parameters_reach_the_files_below_by_way_of_others() -> None:
    """A parameter of a file replaces that of what its own base extends; one that only stands beside it does not."""
    middle = HEAD.replace("mine", "middle") + "  extends: [base]\n---\n"
    assert starts(BASE + middle + HEAD + "  extends: [middle]\n  parameters: {most: 3}\n") == 3
    stranger = HEAD + "  parameters: {most: 3}\n  strict: parameters.most > 3\n"
    assert starts(BASE + middle + stranger) == 1


def test_rules_read_the_parameters_of_what_they_extend() -> None:
    """A file need not declare again what it reads; the last that replaces it is heard by all."""
    reader = HEAD.replace("mine", "reader") + (
        "  extends: [base]\n  admit:\n    - expression: facts.userWorkloads + 1 < parameters.most\n---\n"
    )
    assert starts(BASE + reader) == 0
    assert starts(BASE + reader + HEAD + "  extends: [base]\n  parameters: {most: 3}\n") == 2


def test_an_int_is_taken_where_a_double_was_declared() -> None:
    """`most: 16.0` may be replaced by 2."""
    text = HEAD.replace("mine", "base") + (
        "  parameters: {most: 1.0, by: {x: 1.0}}\n"
        "  admit:\n    - expression: double(facts.userWorkloads) < parameters.most + parameters.by['x']\n---\n"
    )
    assert starts(text + HEAD + "  extends: [base]\n  parameters: {most: 2, by: {x: 2}}\n") == 4


def test_an_edit_of_kueue_is_below_every_file() -> None:
    """A file that extends nothing lies over the loaded `kueue`, which lies over the shipped one."""
    kueue = HEAD.replace("mine", "kueue") + "  order: [workload.name]\n"
    mine = HEAD + "  partialAdmission: true\n"
    work = [job("a", "a", 1, priority=1), job("b", "a", 1, priority=9)]
    for text, first in ((mine, "b"), (kueue + "---\n" + mine, "a"), (mine + "---\n" + kueue, "a")):
        assert names(decide(state([queue("a", 1)], work), load_rules(text), 0)) == [first]

"""QueuePolicy files: what they may change, how they combine, and how mistakes in them are told."""

from __future__ import annotations

import pytest

from tests.queue.build import job, names, queue, running, state
from tests.queue.load_rules import load_rules
from tests.shared import ROOT
from webhook.diagnostics import SourceError
from webhook.documents import read
from webhook.policy.queue_rules.file_rules import FileRules
from webhook.policy.queue_rules.files import rules_among, rules_named, shipped
from webhook.queue.cycle.decide import decide
from webhook.queue.decisions import Reason
from webhook.queue.events import WorkloadGone
from webhook.queue.explain import pending

HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {name: test}\nspec:\n"


def test_every_shipped_file_loads_and_states_its_laws() -> None:
    """The rules that come with Sluice compile, and each says which laws it keeps."""
    for name in shipped():
        assert rules_named([name]) is not None, name
    for name in ("kueue", "kueue-fair", "fifo"):
        (document,) = read((ROOT / f"policies/queue/{name}/policy.yaml").read_text(), name)
        assert document.at(("spec", "laws", "keeps")), name


def test_a_file_changes_the_order_without_python() -> None:
    """One line of CEL lets the smallest job go first."""
    rules = load_rules(HEAD + "  order:\n    - workload.podSets[0].requests['gpu']\n    - workload.name\n")
    core = state([queue("a", 2)], [job("big", "a", 2, priority=9), job("small", "a", 1)])
    assert names(decide(core, rules, 0)) == ["small"]


def test_conditions_of_admit_add_up_over_files() -> None:
    """Two files with a condition each: both must hold, and the one that does not is told with its message."""
    cap = HEAD + (
        "  admit:\n    - expression: facts.userWorkloads < 1\n      reason: UserCap\n"
        "      messageExpression: \"'user ' + workload.user + ' runs enough'\"\n"
    )
    window = (
        HEAD.replace("test", "night")
        + "  admit:\n    - {expression: now.getHours() < 6, reason: Night, message: only at night}\n"
    )
    rules = load_rules([*read(cap, "cap"), *read(window, "window")])
    core = state([queue("a", 9)], [running("r", "a", user="ann"), job("j", "a", user="ann"), job("k", "a", user="bob")])
    assert names(decide(core, rules, 0)) == ["k"]
    told = {p.workload: p for p in pending(core)}["team/j"]
    assert (told.reason, told.message) == (Reason.DENIED_BY_RULE, "user ann runs enough")
    noon = state([queue("a", 9)], [job("k", "a", user="bob")])
    assert names(decide(noon, rules, 12 * 3_600_000)) == []


def test_a_denied_workload_is_looked_at_again() -> None:
    """When the user's other job ends, the next one starts."""
    rules = load_rules(HEAD + "  admit:\n    - {expression: facts.userWorkloads < 1, reason: UserCap}\n")
    core = state([queue("a", 9)], [job("j", "a", user="ann"), job("k", "a", user="ann")])
    assert names(decide(core, rules, 0)) == ["j"]
    assert names(decide(core, rules, 1)) == []
    core.apply(WorkloadGone("team/j"))
    assert names(decide(core, rules, 2)) == ["k"]


def test_parameters_are_replaced_by_name() -> None:
    """A parameter of a file takes the value that is given when it is loaded."""
    text = HEAD + "  parameters: {most: 1}\n  admit:\n    - expression: facts.userWorkloads < parameters.most\n"
    work = [job(f"j{i}", "a", user="ann") for i in range(3)]
    assert len(decide(state([queue("a", 9)], work), load_rules(text), 0).admitted) == 1
    assert len(decide(state([queue("a", 9)], work), load_rules(text, {"most": 2}), 0).admitted) == 2


def test_all_mistakes_are_told_at_their_places() -> None:
    """A wrong point, a wrong field and a wrong type: three findings, each with line and column."""
    text = HEAD + "  ordr: []\n  strict: workload.prio > 1\n  park: workload.name\n"
    with pytest.raises(SourceError) as caught:
        load_rules(text)
    found = [(d.code, d.place.line) for d in caught.value.diagnostics]
    assert found == [("RUL001", 5), ("RUL003", 6), ("RUL004", 7)]
    assert 'did you mean "order"?' in caught.value.render()


def test_fifo_lets_nobody_overtake() -> None:
    """Under `fifo` the second waits behind the first, whatever its priority."""
    waiting = [job("one", "a", 3, queued_at=1), job("two", "a", 1, priority=9, queued_at=2)]
    core = state([queue("a", 4)], [running("r", "a", 2), *waiting])
    assert names(decide(core, rules_named(["fifo"]), 0)) == []


def test_loaded_files_bring_along_what_they_extend() -> None:
    """A file that only extends `fifo` lets nobody overtake; files with `kueue` among them rule by `kueue` alone."""
    waiting = [job("one", "a", 3, queued_at=1), job("two", "a", 1, priority=9, queued_at=2)]
    given = [queue("a", 4)], [running("r", "a", 2), *waiting]
    mine = read(HEAD + "  extends: [fifo]\n", "mine.yaml")
    loaded = [*mine, *read((ROOT / "policies/queue/kueue/policy.yaml").read_text(), "kueue.yaml")]
    assert names(decide(state(*given), rules_among(mine), 0)) == []
    assert names(decide(state(*given), rules_among([]), 0)) == ["two"]
    assert names(decide(state(*given), rules_among(loaded), 0)) == ["two"]
    assert names(decide(state(*given), rules_among(loaded, ["test"]), 0)) == []
    with pytest.raises(SourceError, match=r'mine.yaml.*QueuePolicy "fifa" does not exist'):
        rules_among(read(HEAD + "  extends: [fifa]\n", "mine.yaml"))


def test_a_copy_of_the_shipped_rules_is_these_rules() -> None:
    """As in the image, whose policies stand in a folder of their own: they are not put over themselves."""
    text = (ROOT / "policies/queue/kueue/policy.yaml").read_text()
    copied, shipped_ones = rules_among(read(text, "elsewhere/policy.yaml"), ["kueue"]), rules_named(["kueue"])
    assert isinstance(copied, FileRules)
    assert isinstance(shipped_ones, FileRules)
    assert copied.digest == shipped_ones.digest


def test_an_unknown_name_is_told_with_the_known_ones() -> None:
    """A typing mistake in a name of rules is answered with the nearest."""
    with pytest.raises(SourceError, match='did you mean "kueue"'):
        rules_named(["kueu"])


@pytest.mark.parametrize(
    ("spec", "line", "column", "told", "way_out"),
    [
        ("strict: workload.queued_at > 0", 5, 20, "undefined field 'queued_at'", "use queuedAt"),
        ("strict: queue.preemption.within_cluster_queue == ''", 5, 28, "undefined field", "use withinClusterQueue"),
        ("order:\n    - workload.uid\n    - queue.fungibility.when_can_preempt", 7, 25, "", "use whenCanPreempt"),
        ("strict: workload.podSets.exists(p, p.min_count > 1)", 5, 40, "undefined field", "use minCount"),
        ("strict: workload.prio > 1", 5, 20, "undefined field 'prio'", ""),
        ("strict: workload.priorty > 1", 5, 20, "undefined field", 'did you mean "priority"?'),
        ("strict: wrkload.priority > 1", 5, 11, "unknown name 'wrkload'", 'did you mean "workload"?'),
        ("park: outcom == 'NoFit'", 5, 9, "unknown name 'outcom'", 'did you mean "outcome"?'),
        ("strict: workload.user.startWith('a')", 5, 25, "unknown name 'startWith'", 'did you mean "startsWith"?'),
        ("flavor: {mayPreempt: below_root}", 5, 24, "unknown name 'below_root'", "use belowRoot"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_told_with_the_right_one(spec: str, line: int, column: int, told: str, way_out: str) -> None:
    """An old spelling, a misspelt field, variable or function: file, line, column, caret, and what to write."""
    with pytest.raises(SourceError) as caught:
        load_rules(read(HEAD + f"  {spec}\n", "rules.yaml"))
    (found,) = caught.value.diagnostics
    assert (found.code, found.place.line, found.place.column) == ("RUL003", line, column)
    assert told in found.message
    assert way_out in found.hint
    assert "^~" in caught.value.render()

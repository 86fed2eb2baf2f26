"""The comment on a pull request: whom a change concerns, the same told once, folded diffs, and room for no more."""

import pytest

from webhook.offline.dryrun.comment import MARK, MOST_CHARACTERS, comparison_markdown
from webhook.offline.dryrun.compare import compare
from webhook.offline.dryrun.outcome import ObjectOutcome, ObjectRef, QueueOutcome


def stored(name, namespace="ml", spec=None, **fields):
    """A Job that is let in, as it would be stored."""
    obj = {"kind": "Job", "metadata": {"name": name}, "spec": spec or {}}
    return ObjectOutcome(ObjectRef("Job", namespace, name), True, before=obj, after=obj, **fields)


def denied(name, *messages, namespace="ml"):
    return ObjectOutcome(ObjectRef("Job", namespace, name), False, denials=messages, code=403)


def comment(pairs, notes=()):
    old, new = zip(*pairs, strict=True)
    return comparison_markdown(compare(old, new), "main", notes)


def test_nothing_changes():
    """A comment that says so in a line."""
    assert comment([(stored("a"), stored("a"))]) == (
        f"{MARK}\n### Sluice: changes against `main`\n\n- No change for 1 object.\n\n"
    )


def test_the_same_denial_is_told_once():
    """Objects that are refused with the same words stand below them, the most numerous first; so do namespaces."""
    pairs = [(stored(n, s), denied(n, why, namespace=s)) for n, s, why in
             (("a", "ml", "three GPUs"), ("b", "ml", "no limit"), ("c", "nlp", "no limit"))]  # fmt: skip
    assert (
        comment([*pairs, (stored("d"), stored("d"))], ["a note"])
        == f"""\
{MARK}
### Sluice: changes against `main`

- 3 of 4 objects would now be denied.

| namespace | now denied |
|---|---|
| ml | 2 |
| nlp | 1 |

#### Now denied

- no limit
  - Job ml/b, Job nlp/c
- three GPUs
  - Job ml/a
> a note
"""
    )


def test_changes_of_words_are_told_with_what_was():
    """A message that is replaced, one that is gone, and a new warning."""
    text = comment([
        (denied("a", "old words"), denied("a", "new words")),
        (denied("b", "old words"), stored("b")),
        (stored("c"), stored("c", warnings=("soon refused",))),
    ])  # fmt: skip
    assert "#### Denied with a different message\n\n- no longer: old words\n- new words\n  - Job ml/a\n" in text
    assert "#### Now allowed\n\n- no longer: old words\n  - Job ml/b\n" in text
    assert "#### Allowed with different warnings\n\n- soon refused\n  - Job ml/c\n" in text


def test_a_job_that_waits_now_and_is_warned_is_told_as_both():
    """That it is queued differently is graver than the warning that says why."""
    waits = stored("a", warnings=("closed for repairs",), queue=QueueOutcome("pending"))
    pairs = [(stored("a", queue=QueueOutcome("admitted")), waits)]
    assert compare(*zip(*pairs, strict=True)).sentences() == ["1 of 1 objects would be queued differently."]
    assert "#### Allowed with different warnings\n\n- closed for repairs\n" in (text := comment(pairs))
    assert "#### Queued differently\n" in text


def test_equal_diffs_are_folded_into_one():
    """Jobs that are changed alike share a diff, which names the policy."""
    pairs = [(stored(n, spec={"a": 1}), stored(n, spec={"a": 2}, changed_by=("more",))) for n in ("x", "y")]
    text = comment(pairs)
    assert "<summary>2 objects: +1 -1 lines, by more</summary>\n\nJob ml/x, Job ml/y\n\n```diff\n" in text
    assert "-  a: 1\n+  a: 2\n```\n\n</details>\n" in text


def test_a_long_diff_is_cut():
    """Of a diff of hundreds of lines the first are shown, and how many more there are."""
    spec = {f"field{n}": n for n in range(100)}
    text = comment([(stored("x", spec=spec), stored("x", spec={k: -v - 1 for k, v in spec.items()}))])
    assert "… 16" in text
    assert text.count("field") < 100


def test_queue_decisions_are_a_table():
    """Before and now, also for a job that is stored differently; a job in no queue is said to be in none."""
    waits = QueueOutcome("pending", "gpus", 2, message="no | free")
    text = comment([
        (stored("a", queue=QueueOutcome("admitted", "gpus")), stored("a", spec={"b": 1}, queue=waits)),
        (stored("c"), stored("c", queue=QueueOutcome("admitted", "gpus"))),
    ])  # fmt: skip
    assert "| job | before | now |\n|---|---|---|\n" in text
    assert "| Job ml/a | admitted in gpus | pending in gpus at position 2: no \\| free |\n" in text
    assert "| Job ml/c | no queue | admitted in gpus |\n" in text


@pytest.mark.parametrize("words", ["@everyone look", "![x](https://example.com/y.png)", "<img src=x>", "a `b` *c*"])
def test_words_of_others_stay_words(words):
    """A message cannot call people, load a picture or begin a tag."""
    text = comment([(stored("a"), denied("a", words))])
    assert words not in text
    assert "Job ml/a" in text


def test_there_is_room_for_so_much():
    """Thousands of different changes become a comment that a site takes, the gravest first, the rest counted."""
    many = [
        (stored(f"j{n}", f"team-{n}"), denied(f"j{n}", f"{n} " + "x" * 300, namespace=f"team-{n}")) for n in range(900)
    ]
    many += [(stored(f"s{n}", spec={"a": 1}), stored(f"s{n}", spec={"a": n + 2})) for n in range(900)]
    text = comment(many, ["n" * 300] * 90)
    assert len(text) <= MOST_CHARACTERS
    assert len(text) > MOST_CHARACTERS - 3_000
    told = text.count("\n  - Job") + text.count("<details>")
    assert f"\n\n{1800 - told:,} more objects not shown; use `-o json` to list all." in text
    assert "and 881 more namespaces" in text

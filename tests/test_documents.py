"""YAML in, values with places out."""

import pytest

from webhook.diagnostics import SourceError, did_you_mean
from webhook.documents import dump, read

FOLDED = """\
spec:
  expression: >-
    first.line &&

      second.line
  quoted: "a\\tb c"
  plain: one two
"""


@pytest.mark.parametrize(
    ("path", "word", "line", "column"),
    [
        (("spec", "expression"), "first", 3, 5),
        (("spec", "expression"), "&&", 3, 16),
        (("spec", "expression"), "second", 5, 7),
        (("spec", "plain"), "two", 7, 14),
        (("spec", "quoted"), "b c", 6, 15),
    ],
)
def test_character_is_found_in_its_file(path, word, line, column):
    """A character of a folded, quoted or plain scalar has the line and column it has in the file."""
    (document,) = read(FOLDED)
    place = document.text_place(path, document.at(path).index(word))
    assert (place.line, place.column) == (line, column)


def test_merge_gives_way_to_what_is_written():
    """`<<` brings keys in; a key that is written out wins, in an alias too."""
    text = "a: &a {x: 1, y: 2}\nb: &b\n  <<: *a\n  x: 3\nc: {<<: *b, y: 4}\n"
    assert read(text)[0].value == {"a": {"x": 1, "y": 2}, "b": {"x": 3, "y": 2}, "c": {"x": 3, "y": 4}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\nb: 2\na: 3\n", "<input>:3:1: error[YAML001]: the key"),
        ("a: [1, 2\n", "<input>:2:1: error[YAML001]"),
        ("? [a]\n: 1\n", "a key must be a plain string"),
        ("- " * 5000 + "a", "nested too deeply"),
        ("[" * 5000 + "]" * 5000, "nested too deeply"),
        ("a: &x [*x]", "nested too deeply"),
        ("x: !!python/object:os.system a", "could not determine a constructor"),
        ("a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(8)
        ), "too large"),
    ],
)  # fmt: skip
def test_bad_text_is_told_at_its_place(text, told):
    """Whatever is wrong with a file is an error with a place; nothing hangs or recurses out."""
    with pytest.raises(SourceError) as caught:
        read(text)
    assert told in caught.value.render()


def test_values_are_those_of_kubernetes():
    """Dates stay text, numbers are numbers, empty documents are left out."""
    text = "---\n---\nat: 2026-01-01\nn: 1\nf: 0.5\nb: true\nnone: ~\n"
    assert [d.value for d in read(text)] == [{"at": "2026-01-01", "n": 1, "f": 0.5, "b": True, "none": None}]


def test_dump_reads_back():
    """What is dumped reads as the same value."""
    value = {"b": [1, {"c": "x: y"}], "a": "文\n字"}
    assert read(dump(value))[0].value == value


def test_nearest_word_is_offered():
    """A near word is offered, a far one is not."""
    assert did_you_mean("expresion", ["expression", "message"]) == 'did you mean "expression"?'
    assert did_you_mean("zzz", ["expression"]) == ""

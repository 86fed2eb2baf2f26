"""YAML in, values with places out."""

import pytest

from webhook.diagnostics import Diagnostic, Place, SourceError, caret, did_you_mean
from webhook.documents import decode, dump, read

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


SPELLINGS = [
    ("a: &x >-\n  one\n  two three\n", 2 + 1, 7),
    ('a: "one \\\n   two\\u0020three \\"q"\n', 2, 13),
    ("a: !!str &x 'one''s three'\n", 1, 21),
    ("a: &x one\n  two three\n", 2, 7),
    ('a: "中文 \\t three"\n', 1, 11),
    ("a:\tb \t three\n", 1, 8),
    ("a: |2\n    one\n\n    three\n", 4, 5),
    ("a: >+ # comment\n\n   one\n     indented\n   three\n", 5, 4),
    ("\ufeffa: one three\r\nb: 2\r\n", 1, 8),
    ('{"a": "\\ud83d\\ude00 three"}', 1, 19),
    ("a: \n  &x\n  # a comment\n  one three\n", 4, 7),
]


@pytest.mark.parametrize(("text", "line", "column"), SPELLINGS)
def test_a_character_is_found_in_every_spelling(text, line, column):
    """Anchors, tags, quotes, escapes, joined lines, indents, marks and pairs do not lead the caret astray."""
    (document,) = read(text)
    place = document.text_place(("a",), document.at(("a",)).index("three"))
    assert (place.line, place.column) == (line, column)
    assert document.source(place)[column - 1 :].startswith("three")


def test_the_caret_counts_wide_characters_twice():
    """A Chinese character takes two cells of a terminal, and the mark stands below the text all the same."""
    assert caret("限制: x", 5)[1] == "    " + " " * 6 + "^"
    assert caret("\ta: x", 5)[1] == "    \t   ^"


def test_control_characters_are_escaped():
    """What a file says cannot write over the terminal, nor turn its text around."""
    told = Diagnostic("X", Place("f", 1, 1), "a\x1b[31m\u202eb", source="\x07").render()
    assert told == "f:1:1: error[X]: a\\x1b[31m\\u202eb\n    \\x07\n    ^"


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("a: @x", "quote a value that starts with"),
        ("a: b: c", "quote a value"),
        ("a:\n\t- b", "indent with spaces"),
        ("a: {{ .Values.x }}\n", "template"),
        ("a:\n  - b\n c: d\n", "the indentation differs"),
        ('a: "x\\d"', "single quotes"),
        ('a: "x\n', "never closed"),
        ("a: *.io", "quote a value that starts with"),
        ("a: .inf", "quote it if it is a string"),
        ("a: " + "1" * 5000, "quote it if it is a string"),
    ],
)
def test_a_syntax_error_leads_to_the_way_out(text, way):
    """The hint of a syntax error says what to write."""
    with pytest.raises(SourceError) as caught:
        read(text)
    assert way in caught.value.diagnostics[0].hint


def test_bytes_that_are_no_utf8_are_told_at_their_place():
    """The line and column of the first bad byte, and what to do."""
    with pytest.raises(SourceError) as caught:
        decode(b"a: 1\nb: \xe9\n", "f")
    assert caught.value.render() == "f:2:4: error[FILE001]: not UTF-8 text\n    = save it as UTF-8"


def test_merges_of_merges_are_read_once():
    """A mapping that merges another ten times over, twelve levels deep, is read at once."""
    text = "m0: &m0 {x: 1}\n"
    text += "".join(f"m{i}: &m{i}\n  <<: [{', '.join([f'*m{i - 1}'] * 10)}]\n" for i in range(1, 12))
    assert read(text)[0].value["m11"] == {"x": 1}


def test_merge_gives_way_to_what_is_written():
    """`<<` brings keys in; a key that is written out wins, in an alias too."""
    text = "a: &a {x: 1, y: 2}\nb: &b\n  <<: *a\n  x: 3\nc: {<<: *b, y: 4}\n"
    assert read(text)[0].value == {"a": {"x": 1, "y": 2}, "b": {"x": 3, "y": 2}, "c": {"x": 3, "y": 4}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\nb: 2\na: 3\n", "<input>:3:1: error[YAML001]: duplicate key"),
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


@pytest.mark.parametrize(
    ("again", "place"), [("- ", (1, 403)), ("? - ", (1, 403)), ("[", (1, 202)), ("\n[{a: ", (102, 2))], ids=repr
)
def test_what_is_nested_without_an_end_does_not_end_the_process(again, place):
    """PyYAML calls itself in C for each level: 40,000 brackets were more than its stack, and no exception."""
    with pytest.raises(SourceError) as caught:
        read(again * 100_000)
    (found,) = caught.value.diagnostics
    assert ((found.place.line, found.place.column), found.message) == (place, "nested too deeply")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("20:30", "20:30"),
        ("190:20:30.5", "190:20:30.5"),
        ("12e4", 120_000.0),
        ("1.5e3", 1500.0),
        ("9e99999", "9e99999"),
        ("0o17", 15),
        ("017", 15),
        ("089", 89.0),
        ("-0x1F", -31),
        ("1_000", 1000),
        ("2026-01-01 10:00:00", "2026-01-01 10:00:00"),
        ("=", "="),
        ("y", "y"),
    ],
)
def test_plain_words_are_those_of_kubernetes(written, value):
    """go.yaml.in/yaml/v2 `resolve.go`: no numbers to the base of 60, exponents without a sign, octals in both forms."""
    (document,) = read(f"a: {written}\n")
    assert document.value == {"a": value}
    assert type(document.value["a"]) is type(value)


@pytest.mark.parametrize("word", ["y", "N", "on", "20:30", "12e4", "0o17", "089", "2026-01-01", "1", "~"])
def test_what_is_dumped_is_quoted_where_another_reader_would_not_take_it_as_a_string(word):
    """`kubectl apply` reads what `sluice register --print` writes: a label `y` must not become a truth there."""
    assert dump({word: word}) == f"'{word}': '{word}'\n"


def test_dump_reads_back():
    """What is dumped reads as the same value."""
    value = {"b": [1, {"c": "x: y"}], "a": "文\n字"}
    assert read(dump(value))[0].value == value


def test_nearest_word_is_offered():
    """A near word is offered, a far one is not."""
    assert did_you_mean("expresion", ["expression", "message"]) == 'did you mean "expression"?'
    assert did_you_mean("mian", ["main"]) == 'did you mean "main"?'
    assert did_you_mean("zzz", ["expression"]) == ""

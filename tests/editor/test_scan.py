"""Where a cursor stands in an expression that is not finished."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.editor.marked import MARK
from webhook.editor.scan import Cursor, MacroVariables, cursor

CASES = {
    "": Cursor("", 0),
    "ob": Cursor("ob", 0),
    "object.": Cursor("", 7, "object"),
    "object.spec.con": Cursor("con", 12, "object.spec"),
    "object.?spec": Cursor("spec", 8, "object"),
    "a && object.spec.": Cursor("", 17, "object.spec"),
    "f(a, b).": Cursor("", 8, "f(a, b)"),
    "a.b[0].": Cursor("", 7, "a.b[0]"),
    "a['x'].b(c)[1].": Cursor("", 15, "a['x'].b(c)[1]"),
    "(a + b).": Cursor("", 8, "(a + b)"),
    "[1, 2].": Cursor("", 7, "[1, 2]"),
    "'x'.": Cursor("", 4, "'x'"),
    "!a.": Cursor("", 3, "a"),
    "x ? a.": Cursor("", 6, "a"),
    "items.all(i, i.": Cursor("", 15, "i", "", (MacroVariables(("i",), "items"),)),
    "items.all(i, i.ok) && i.": Cursor("", 24, "i"),
    "m.all(k, v, v.": Cursor("", 14, "v", "", (MacroVariables(("k", "v"), "m"),)),
    "a.exists(x, x.b.map(y, y.": Cursor("", 25, "y", "", (MacroVariables(("x",), "a"), MacroVariables(("y",), "x.b"))),
    "cel.bind(t, object.spec, t.": Cursor("", 27, "t", "", (MacroVariables(("t",), "object.spec", let=True),)),
    "o.optMap(v, v.": Cursor("", 14, "v", "", (MacroVariables(("v",), "o.value()", let=True),)),
    "Object{": Cursor("", 7, None, "Object"),
    "Object{spec: Object.spec{sus": Cursor("sus", 25, None, "Object.spec"),
    "Object{spec: a": Cursor("a", 13),
    "{'a': b": Cursor("b", 6),
    "'object.": None,
    '"a" + "b.': None,
    "12": None,
    "// object.": Cursor("", 10),
}


@pytest.mark.parametrize("text", CASES)
def test_cursor(text):
    assert cursor(text, len(text)) == CASES[text]


def test_what_stands_behind_does_not_matter():
    assert cursor("object.sp && x.y", 9) == Cursor("sp", 7, "object")


@given(st.text(alphabet=f"ab.(),[]{{}}'\"? 0&!{MARK}", max_size=40), st.integers(0, 40))
def test_any_text_is_stood(text, offset):
    found = cursor(text, min(offset, len(text)))
    assert found is None or text[found.start : found.start + len(found.word)] == found.word

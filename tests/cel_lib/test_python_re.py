"""Patterns that Python's `re` runs mean what RE2 means by them, and everything else stays with RE2."""

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.cel.lib.python_re import matcher
from webhook.cel.lib.regex import PatternError, compile_constant, compiled, find_all, matches

FAST = (
    r"^registry\.example\.com/[a-z0-9/._-]+:[a-z0-9.]+$",
    "^[a-z]+$",
    "^(GET|PUT)$",
    "^v[0-9]+\\.[0-9]+$",
    "^nvidia\\.com/",
    "^a{2,3}b$",
    "latest",
    "^(?:dev|prod)-[0-9]{1,3}$",
)
SLOW = (
    "^(a+)+$",
    "a+b",
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    "^a*a$",
    "^.*x$",
    "^[^a]+$",
    "(?i)^a$",
    "^a|b$",
    r"^\bx$",
    "^é$",
    "^[[:alpha:]]$",
    "^a??$",
    "^a{0}$",
    "^a**$",
)
PIECES = st.sampled_from(
    [
        "a",
        "b",
        "[ab]",
        "[a-c]",
        "[c-e]+",
        "b*",
        "a?",
        "x{1,2}",
        r"\.",
        r"\d+",
        r"\w",
        r"\s?",
        "(a|b)",
        "(?:ab|c)?",
        "[-.]",
        "-",
    ]
)
TEXTS = st.text(alphabet="abcdex.-1 \n_\v日", max_size=12)


@pytest.mark.parametrize("pattern", FAST)
def test_common_patterns_are_fast(pattern):
    """What policies write most is in the subset."""
    assert matcher(pattern) is not None


@pytest.mark.parametrize("pattern", SLOW)
def test_what_cannot_be_proven_stays_with_re2(pattern):
    """Loops that could backtrack, and syntax with another meaning, are not in the subset."""
    assert matcher(pattern) is None


@settings(max_examples=1500, deadline=None)
@given(st.lists(PIECES, max_size=5), st.booleans(), TEXTS)
def test_the_subset_means_what_re2_means(pieces, closed, text):
    """A pattern of the subset matches exactly where RE2 matches."""
    pattern = "^" + "".join(pieces) + ("$" if closed else "")
    fast = matcher(pattern)
    if fast is not None:
        assert fast(text) == (re2.search(pattern, text) is not None)


def test_catastrophic_patterns_end():
    """A pattern that takes exponential time in `re` is answered by RE2, with no more steps than characters."""
    assert not compile_constant("^(a+)+$")("a" * 5000 + "b")
    assert not matches("a" * 5000 + "b", "^(a|a)*$")


def test_errors_are_in_go_words():
    """A bad pattern is named as Go names it, and RE2's own extensions are refused."""
    with pytest.raises(PatternError, match="missing closing \\]: `\\[a`"):
        compiled("[a")
    with pytest.raises(PatternError, match="invalid escape sequence"):
        compiled("\\C")


def test_find_all_skips_empty_matches_behind_a_match():
    """Empty matches count, but not right behind another match; the count cuts."""
    assert find_all("baac", "a*") == ["", "aa", ""]
    assert find_all("日本", "") == ["", "", ""]
    assert find_all("aaa", "a", 2) == ["a", "a"]
    assert find_all("aaa", "a", 0) == []

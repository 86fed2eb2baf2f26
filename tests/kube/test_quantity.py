"""Quantities read, print, add and compare as k8s.io/apimachinery does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.kube.quantity import Quantity, QuantityError, parse

CANONICAL = {
    "1.5Gi": "1536Mi", "0.5Ki": "512", "1000m": "1", "1500m": "1500m", "5.": "5.", ".5": "500m", "1e3": "1e3",
    "12e6": "12e6",
    "1.5e2": "150", "1E-9": "1E-9", "0.0000000001": "1n", "16Ei": "9223372036854775807", "1.1Mi": "1153433600m",
    "+1": "+1",
    ".": "0", "-": "0", "0.0": "0", "1Ei": "1Ei", "1000E": "1", "100000000000000000000": "100E", "-0": "0",
    "1e100": "10e99",
}  # fmt: skip
BAD = ("", "abc", "1 ", "1GB", "1mi", "1.2.3", "--1", "1_000", "0x10", "１", "1e", "1Gii")


@pytest.mark.parametrize(("text", "canonical"), CANONICAL.items())
def test_canonical_text(text, canonical):
    """The text is kept where it is canonical, and otherwise the shortest without loss is printed."""
    assert str(parse(text)) == canonical


@pytest.mark.parametrize("text", BAD)
def test_bad_texts(text):
    """What ParseQuantity refuses is refused."""
    with pytest.raises(QuantityError):
        parse(text)


def test_numbers_count_as_their_text():
    """`nvidia.com/gpu: 1` in a file is the quantity 1."""
    assert parse(1) == parse("1")
    assert parse(0.5) == parse("500m")


def test_integers_leave_the_fast_path():
    """1Ei is whole, but the API server does not hold it in an int64, so it is no integer there."""
    assert parse("1Pi").as_int64() is None
    assert parse("1Ti").as_int64() == 2**40
    assert parse("1500m").as_int64() is None
    assert parse("1E").as_int64() == 10**18


def test_arithmetic_keeps_the_first_format():
    """The sum is written as the first quantity that is not zero is."""
    assert str(parse("1Gi") + parse("1Gi")) == "2Gi"
    assert str(parse("0") + parse("1Gi")) == "1Gi"
    assert str(parse("100m") + parse("1")) == "1100m"
    assert str(parse("1") - parse("1000m")) == "0"


def test_huge_exponents_cost_nothing():
    """Comparing does not write digits out; what would need them ends in an error."""
    assert parse("1e2000000000") > parse("1Ei")
    with pytest.raises(QuantityError):
        parse("1e2000000000") + parse("1")


NUMBERS = st.builds(
    "{}{}".format,
    st.integers(-(10**8), 10**8),
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "e3", "E-3"]),
)


@given(NUMBERS, NUMBERS)
def test_order_and_sum_agree(a, b):
    """Order, hash and sum are those of the exact numbers, and printing loses nothing."""
    x, y = parse(a), parse(b)
    assert (x < y) == (x.nanos < y.nanos)
    assert (x == y) == (x.nanos == y.nanos)
    assert x != y or hash(x) == hash(y)
    assert (x + y).nanos == x.nanos + y.nanos
    assert (x - y).nanos == x.nanos - y.nanos
    assert parse(str(x)) == x
    assert parse(Quantity(x.unscaled, x.scale, x.format).canonical()) == x

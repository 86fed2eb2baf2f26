"""The reference page is what the rows say now."""

from tests.cel_lib.reference import TARGET, page


def test_page_is_current():
    """`python -m tests.cel_lib.reference` would change nothing."""
    assert TARGET.read_text() == page()

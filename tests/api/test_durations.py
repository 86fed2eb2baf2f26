"""Durations of settings, rules and traces."""

import pytest

from webhook.api.durations import duration_ms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", 90_000),
        ("1h30m", 5_400_000),
        ("1.5s", 1500),
        ("250ms", 250),
        (" 5m ", 300_000),
        ("7d", 604_800_000),
        ("1.5d", 129_600_000),
        ("1d12h", 129_600_000),
        ("0", 0),
    ],
)
def test_durations_are_milliseconds(text, expected):
    """Go's form, and days before it."""
    assert duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "5", "5 minutes", "-1s", "1.2.3h", "1week", "d", "12h1d", None, 5, True])
def test_what_is_no_duration_is_refused_with_examples(text):
    """A number alone has no unit."""
    with pytest.raises(ValueError, match="is not a duration such as 90s, 5m, 1h30m or 7d"):
        duration_ms(text)

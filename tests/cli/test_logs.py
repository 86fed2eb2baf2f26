"""The log as JSON: one object a line, whatever is logged."""

import io
import json
import logging
import sys
from datetime import datetime

import pytest

from webhook.cli.logs import TEXT, JsonLines, TextLines


@pytest.fixture
def logged():
    """A logger, and what gives the lines that were logged, parsed."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("tests.logs")
    logger.addHandler(handler)
    logger.propagate = False
    yield logger, lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logger.removeHandler(handler)
    logger.propagate = True


def test_a_record_is_one_object(logged):
    """Time, level, logger and message; uid and policy only where they are known."""
    logger, lines = logged
    logger.warning("the lease cannot be renewed: %s", "no\nanswer")
    logger.error("failed", extra={"uid": "u-1", "policy": "gpu-ceiling"})
    first, second = lines()
    assert datetime.fromisoformat(first.pop("time")).utcoffset() is not None
    assert first == {"level": "warning", "logger": "tests.logs", "message": "the lease cannot be renewed: no\nanswer"}
    assert (second["uid"], second["policy"]) == ("u-1", "gpu-ceiling")


def test_a_traceback_stays_on_its_line(logged):
    """The traceback is a field, and bytes that are no text do not stop the log."""
    logger, lines = logged
    try:
        raise ValueError("half a \udcff character")
    except ValueError:
        logger.exception("broken")
    (line,) = lines()
    assert line["error"].startswith("Traceback")
    assert "\n" in line["error"]


def as_text(message, *values):
    return TextLines(TEXT).format(logging.LogRecord("webhook.daemon", logging.INFO, "", 0, message, values, None))


def test_text_is_for_people():
    """The other form is one line of words."""
    assert as_text("serving on port %d", 9443).endswith(" INFO webhook.daemon: serving on port 9443")


def test_no_text_of_a_user_looks_like_a_record():
    """What it continues on is indented, and what would move a terminal's cursor is seen."""
    lines = as_text("evicted: %s", "over\n2026-11-28 10:00:00,000 INFO webhook: \x1b[2Jadmitted\r").splitlines()
    assert [line[:1] for line in lines] == ["2", " "]
    assert lines[1] == "  2026-11-28 10:00:00,000 INFO webhook: \\x1b[2Jadmitted\\x0d"


def test_a_traceback_is_indented():
    """It is Python's own, under its line; the text of an error may be a user's."""
    try:
        raise ValueError("broken\n2026-11-28 10:00:00,000 INFO webhook: admitted")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "failed", (), sys.exc_info())
    first, *others = TextLines(TEXT).format(record).splitlines()
    assert first.endswith(" ERROR x: failed")
    assert others[0] == "  Traceback (most recent call last):"
    assert all(line.startswith("  ") for line in others)

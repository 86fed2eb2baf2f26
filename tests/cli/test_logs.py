"""The log as JSON: one object a line, whatever is logged."""

import io
import json
import logging
from datetime import datetime

import pytest

from webhook.cli.logs import TEXT, JsonLines


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
    """It is a field, and bytes that are no text do not stop the log."""
    logger, lines = logged
    try:
        raise ValueError("half a \udcff character")
    except ValueError:
        logger.exception("broken")
    (line,) = lines()
    assert line["error"].startswith("Traceback")
    assert "\n" in line["error"]


def test_text_is_for_people():
    """The other form is one line of words."""
    record = logging.LogRecord("webhook.daemon", logging.INFO, "", 0, "serving on port %d", (9443,), None)
    assert logging.Formatter(TEXT).format(record).endswith(" INFO webhook.daemon: serving on port 9443")

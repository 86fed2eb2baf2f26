"""The log of `sluice serve`, on stderr: lines of text for people, or one JSON object a line for collectors."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from textwrap import indent
from typing import Any, Final

from webhook.cli.terminal_text import visible

TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
FIELDS: Final = ("uid", "policy")
"""What a record may be given beside its message: the request's uid, and the policy that it is about."""


def start_logging(level: str, form: str) -> None:
    """Log from this level on, as `text` or `json`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines(TEXT))
    logging.basicConfig(level=level.upper(), handlers=[handler])


class TextLines(logging.Formatter):
    """Makes a record a line; what a message continues on is indented, so that no text of a user looks like a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line before a traceback."""
        record.message = visible(record.message.replace("\n", "\n  "))
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:
        """Return a traceback, indented: the text of an error may be a user's too."""
        return visible(indent(super().formatException(ei), "  "))


class JsonLines(logging.Formatter):
    """Makes a record one line: `time` (RFC 3339, UTC), `level`, `logger`, `message`, and what else is known of it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line. A traceback is the field `error`, with its own line breaks escaped."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name in FIELDS if (value := record.__dict__.get(name))}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)

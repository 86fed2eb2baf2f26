"""The exit codes of every command, in one place."""

from typing import Final

PASSED: Final = 0
FAILED: Final = 1
"""A check failed: a test, a denial where none was expected, a lint error."""
BAD_INPUT: Final = 2
"""A file or an option cannot be used; what and where was printed."""
NOTHING_TO_RUN: Final = 3
INTERNAL: Final = 70
"""A bug of Sluice itself; what to report was printed."""
INTERRUPTED: Final = 130
CLOSED: Final = 141
"""Whoever read the output has gone away, as `head` does."""

"""The exit codes of every command, in one place.

No `Final` here: to load `typing` takes ten milliseconds, and this is loaded before Ctrl-C is safe.
"""

PASSED = 0
FAILED = 1
"""A check failed: a test, a denial where none was expected, a lint error."""
BAD_INPUT = 2
"""A file or an option cannot be used; what and where was printed."""
NOTHING_TO_RUN = 3
INTERNAL = 70
"""A bug of Sluice itself; what to report was printed."""
INTERRUPTED = 130
CLOSED = 141
"""Whoever read the output has gone away, as `head` does."""

"""The exit codes of every command, in one place.

No `Final` here: to load `typing` takes ten milliseconds, and this is loaded before Ctrl-C is safe.
"""

PASSED = 0
FAILED = 1
"""A check failed: a test, an unexpected denial, a lint error."""
BAD_INPUT = 2
"""A file or an option cannot be used; the error says which."""
NOTHING_TO_RUN = 3
INTERNAL = 70
"""An internal error: a bug in Sluice."""
INTERRUPTED = 130
CLOSED = 141
"""The reader of the output closed the pipe, as `head` does."""

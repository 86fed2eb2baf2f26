"""Ctrl-C before and after a command's own work: the process ends at once, without Python's traceback.

An exception would not do: raised in the middle of an import it is wrapped, printed or lost. Little is imported here:
while that is done, Ctrl-C is still Python's.
"""

from __future__ import annotations

import os
import signal
import sys

from webhook.cli import exits


def at_once() -> None:
    """Restore the default of Ctrl-C, which ends the process; a process that ignores it still does."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def as_usual() -> None:
    """Raise KeyboardInterrupt on Ctrl-C again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: object) -> None:
    """Write out what was said, and a line end after the terminal's `^C`; whatever goes wrong there, this is the end."""
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stderr.write("\n")
        sys.stderr.flush()
    finally:
        os._exit(exits.INTERRUPTED)

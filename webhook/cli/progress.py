"""How far a long command is: one line on standard error that is written over, on a terminal only."""

from __future__ import annotations

import shutil
import sys
from types import TracebackType
from typing import Final, Self

_CLEAR: Final = "\r\x1b[K"


class Progress:
    """A line such as ` 57 of 159  gpu-integer`; leaving the `with` wipes it out."""

    def __init__(self) -> None:
        """Show nothing where standard error is no terminal."""
        self._shown = sys.stderr.isatty()
        self._done = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown and self._done:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()

    def step(self, total: int, name: str) -> None:
        """Show that one more of `total` is done, and which."""
        self._done += 1
        if self._shown:
            line = f" {self._done} of {total}  {name}"
            sys.stderr.write(_CLEAR + line[: shutil.get_terminal_size().columns - 1])
            sys.stderr.flush()

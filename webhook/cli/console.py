"""What the commands print by: rich's console, but a closed pipe is the command line's to handle."""

from __future__ import annotations

from rich import console


class Console(console.Console):
    """Raises BrokenPipeError, where rich would end the process with 1, the exit code of a check that failed."""

    def on_broken_pipe(self) -> None:
        """Let the error go on: this is called while it is handled."""
        raise  # noqa: PLE0704 - rich calls this in its `except`

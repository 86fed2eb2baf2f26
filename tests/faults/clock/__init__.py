"""The clocks of a replica, which a test sets while it runs: they run fast or slow, or jump."""

import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


class Clock:
    """Real time until it is `set`; `environment` makes it the clock of a process and of its children."""

    def __init__(self, file: Path) -> None:
        self._file, self._jumped = file, 0.0
        self.set()

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs beside its own PYTHONPATH."""
        return {"SLUICE_CLOCK": str(self._file)}

    def set(self, rate: float = 1.0, jump: float = 0.0, date: float = 0.0) -> None:
        """Let all clocks run so many times as fast from now on, and jump `jump` seconds ahead; they never go back.

        Dates alone are `date` seconds ahead, or behind, of that.
        """
        self._jumped += jump
        draft = self._file.with_suffix(".draft")
        draft.write_text(f"{rate} {self._jumped} {date}")
        os.replace(draft, self._file)


def path_of(environment: dict[str, str]) -> str:
    """PYTHONPATH with the folder of `sitecustomize` before what is there."""
    return os.pathsep.join(filter(None, (str(FOLDER), environment.get("PYTHONPATH"))))

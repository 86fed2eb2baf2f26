"""What options take besides choices: checked at the door, so that a mistake is told with the name of its option.

An empty text is refused, unless the option says that it means something.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from webhook import setting_values
from webhook.policy.loading.shipped import PREFIX, located


class Read(click.ParamType[Any]):
    """A value that a function reads, or refuses by a ValueError; `name` is shown in the help."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name, self._read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the value; what is wrong becomes a usage error."""
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class PathOption(click.Path):
    """A path that is not empty: an empty one would be this folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the path; what is wrong becomes a usage error."""
        if not str(value).strip():
            self.fail("must not be empty; give a path or leave it out", param, ctx)
        return super().convert(value, param, ctx)


class FolderOption(PathOption):
    """A folder, which may be yet to be made."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the path; what is wrong becomes a usage error."""
        path: Path = super().convert(value, param, ctx)
        there = next(above for above in path.absolute().parents if os.path.exists(above))
        if not there.is_dir():
            self.fail(f"'{there}' is a file, where a folder is needed.", param, ctx)
        return path


class PoliciesOption(PathOption):
    """Policies: a file, a folder, or the reference of a shipped policy."""

    def __init__(self) -> None:
        super().__init__(exists=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the path; what is wrong becomes a usage error."""
        if str(value).startswith(PREFIX):
            try:
                return located(value)
            except ValueError as error:
                self.fail(str(error), param, ctx)
        return super().convert(value, param, ctx)


class Made(PathOption):
    """A file to be written, in a folder that is there: told before the work, not after it."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the path; what is wrong becomes a usage error."""
        path: Path = super().convert(value, param, ctx)
        if not path.parent.is_dir():
            self.fail(f"Folder '{path.parent}' does not exist.", param, ctx)
        return path


def number(low: float, high: float, unit: str = "") -> Read:
    """Give the type of a number from `low` to `high`."""
    return Read("number", lambda value: setting_values.number(value, low, high, unit))


def whole(low: int, high: int, unit: str = "") -> Read:
    """Give the type of a whole number from `low` to `high`."""
    return Read("integer", lambda value: setting_values.whole(value, low, high, unit))


TEXT: Final = Read("text", setting_values.text)
ANY_TEXT: Final = Read("text", str)
"""Of a filter, of which an empty one lets all through."""
NAMESPACE: Final = Read("name", setting_values.label)
LABELS: Final = Read("key=value,...", setting_values.labels)
FILE: Final = PathOption(exists=True, dir_okay=False, path_type=Path)
THERE: Final = PathOption(exists=True, path_type=Path)
"""A file or a folder."""
POLICIES: Final = PoliciesOption()
"""A file, a folder, or a reference such as `sluice.dev/gpu-integer`."""
GIVEN: Final = PathOption(path_type=Path)
"""A path of which the command says what is wrong with it, as one of the findings."""
FOLDER: Final = FolderOption()
ROWS: Final = PathOption(exists=True, dir_okay=False, allow_dash=True)
"""A file, or - for standard input; as text."""
INPUT: Final = PathOption(exists=True, allow_dash=True)
"""A file, a folder, or - for standard input; as text."""
POLICIES_HELP: Final = (
    "Policies: files, folders, or sluice.dev/NAME for a shipped one.  [default: those of .sluice.yaml, else policies]"
)
RULES_HELP: Final = (
    "Queue rules. Can be repeated; later ones win.  [default: the queueRules of .sluice.yaml, else kueue]"
)

"""What stands for a value that is not there, where None is a value of JSON."""

from __future__ import annotations

from typing import Final


class Absent:
    """The type of ABSENT, of which there is one, also after pickling."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()

"""`ABSENT` marks a missing value where None means JSON's null."""

from __future__ import annotations

from typing import Final


class Absent:
    """The type of ABSENT; there is one instance, also after pickling."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()

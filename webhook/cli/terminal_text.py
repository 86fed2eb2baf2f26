"""Texts of others on a terminal and in a log."""

from __future__ import annotations

from typing import Final

_SHOWN: Final = {number: f"\\x{number:02x}" for number in (*range(9), *range(11, 32), *range(127, 160))}
"""Control characters but tab and line feed."""


def visible(text: str) -> str:
    """Return a text from a cluster such that its control characters are seen and do nothing to a terminal."""
    return text.translate(_SHOWN)

"""Iteration over lists of structs in an object that may be malformed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def structs(holder: dict[str, Any], *fields: str) -> Iterator[dict[str, Any]]:
    """Yield the structs in the lists of these fields; anything of another type is skipped."""
    for field in fields:
        items = holder.get(field)
        yield from (item for item in items if isinstance(item, dict)) if isinstance(items, list) else ()

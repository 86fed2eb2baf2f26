"""What all answers have in common."""

from __future__ import annotations

import msgspec


class JsonView(msgspec.Struct, frozen=True, rename="camel"):
    """What all structs here have in common."""

"""The table of all functions: the operators, and every library module's `FUNCTIONS`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from webhook.cel import lib, standard
from webhook.cel.function_types import Function

_ORDER = [
    "conversions",
    "times",
    "urls",
    "regex",
    "lists",
    "authorizer",
    "quantities",
    "strings",
    "formatting",
    "sets",
    "ips",
    "cidrs",
    "formats",
    "jsonpatch",
    "semvers",
]
"""The order the API server declares its libraries in: the first overload that fits decides a type that is open."""


def _rank(module: str) -> tuple[int, str]:
    return (_ORDER.index(module) if module in _ORDER else len(_ORDER), module)


@cache
def rows() -> tuple[Function, ...]:
    """Every row, operators first, then the library's modules by name. Overload ids are unique per function."""
    out: list[Function] = list(standard.FUNCTIONS)
    for module in sorted((m.name for m in pkgutil.iter_modules(lib.__path__)), key=_rank):
        out += getattr(importlib.import_module(f"{lib.__name__}.{module}"), "FUNCTIONS", ())
    return tuple(out)

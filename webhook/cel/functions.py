"""All rows of the language: the operators' and those of every module of the library that has a table `FUNCTIONS`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from webhook.cel import lib, standard
from webhook.cel.overloads import Function


@cache
def rows() -> tuple[Function, ...]:
    """Every row, operators first, then the library's modules by name. Overload ids are unique per function."""
    out: list[Function] = list(standard.FUNCTIONS)
    for module in sorted(m.name for m in pkgutil.iter_modules(lib.__path__)):
        out += getattr(importlib.import_module(f"{lib.__name__}.{module}"), "FUNCTIONS", ())
    return tuple(out)

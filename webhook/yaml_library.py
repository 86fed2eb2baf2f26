"""PyYAML with what it lacks: scalars as Kubernetes reads them, and an end to texts that are nested without an end.

Kubernetes' YAML library (go.yaml.in/yaml/v2) differs from PyYAML: `20:30` is a string, and `12e4`, `0o17` and `089` are
numbers. One difference is left: `y` and `n`, which are truths there, are read as strings, and quoted when written.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import yaml

_SAFE: Final = 2_000
"""So many levels never exhaust the stack of the process, which PyYAML's composer does not look at: it would crash."""
_COMPACT: Final = re.compile(r"[-?][ \t]+[-?][ \t]")
"""A list or key within another one on the same line; other blocks need a line and its indentation for each level."""
_TAG: Final = "tag:yaml.org,2002:"
_SIGNS: Final = "-+0123456789"
_INT: Final = re.compile(
    r"[-+]?(?:0[bB]_*[01][01_]*|0[oO]_*[0-7][0-7_]*|0[xX]_*[0-9a-fA-F][0-9a-fA-F_]*|0[0-7_]*|[1-9][0-9_]*)\Z"
)
_NAMED: Final = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9][0-9_]*)?\Z")
_BOOL: Final = re.compile(r"(?:yes|Yes|YES|true|True|TRUE|on|On|ON|no|No|NO|false|False|FALSE|off|Off|OFF)\Z")
_LETTER: Final = re.compile(r"[yYnN]\Z")
_ROWS: Final = (
    ("bool", _BOOL, "yYnNtTfFoO"),
    ("int", _INT, _SIGNS),
    ("float", _NAMED, "-+."),
    ("float", _FLOAT, _SIGNS + "."),
    ("null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""]),
    ("merge", re.compile(r"<<\Z"), "<"),
)
"""What a plain scalar is, by its first letter, in the order in which it is tried; anything else is a string."""


def _resolvers(*more: tuple[str, re.Pattern[str], str]) -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    found: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for name, pattern, letters in (*_ROWS, *more):
        for letter in letters:
            found.setdefault(letter, []).append((_TAG + name, pattern))
    return found


def _int(loader: Any, node: Any) -> int:
    digits = node.value.replace("_", "").lower()
    octal = re.fullmatch(r"([-+]?)0([0-7]+)", digits)
    return int(octal[1] + octal[2], 8) if octal else int(digits, 0)


def _float(loader: Any, node: Any) -> Any:
    """A number; one that is too large for a double is a string, such as the hash of a commit `12e4567`."""
    if _NAMED.match(node.value):
        return float(node.value.replace(".", "").lower())
    value = float(node.value.replace("_", ""))
    return node.value if math.isinf(value) else value


LOADER: Final[Any] = type(
    "Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {"yaml_implicit_resolvers": _resolvers()}
)
LOADER.add_constructor(_TAG + "int", _int)
LOADER.add_constructor(_TAG + "float", _float)
_QUOTED: Final = _resolvers(("bool", _LETTER, "yYnN"))
_OTHERS: Final = yaml.SafeDumper.yaml_implicit_resolvers
DUMPER: Final[Any] = type(
    "Dumper",
    (yaml.SafeDumper,),
    {"yaml_implicit_resolvers": {at: [*_QUOTED.get(at, ()), *_OTHERS.get(at, ())] for at in {**_QUOTED, **_OTHERS}}},
)
"""Quotes a string that Kubernetes, or another reader of YAML, would take for something else."""


def too_deep(text: str, most: int) -> Any:
    """Return the mark of the first node below more than `most` others, if the text may be nested deeply; else None.

    Raises yaml.YAMLError.
    """
    if text.count("[") + text.count("{") + 2 * len(_COMPACT.findall(text)) <= _SAFE:
        return None
    loader, depth = LOADER(text), 0
    try:
        while loader.check_event():
            event = loader.get_event()
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > most:
                    return event.start_mark
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    finally:
        loader.dispose()
    return None

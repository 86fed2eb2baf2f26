"""The table of all rules, in the order of their codes' pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.diagnostics import Severity
from webhook.offline.lint import bypass, doors, limits, queues, reach, references, safety
from webhook.offline.lint.model import Rule, World

_MODULES: Final = (limits, queues, doors, references, reach, safety, bypass)


def nothing(world: World) -> tuple[()]:
    """Find nothing: the check of codes that are found before any rule runs."""
    return ()


READING: Final[tuple[Rule, ...]] = (
    Rule(
        "FILE001",
        Severity.ERROR,
        "a file can be read",
        nothing,
        "The file is not there, may not be read, is not UTF-8 text, or is larger than 64 MiB.",
    ),
    Rule(
        "YAML001",
        Severity.ERROR,
        "a file is YAML or JSON",
        nothing,
        "The text cannot be read as YAML: the caret stands where reading stopped, which may be after the mistake.\n"
        "A key that is there twice is an error too (the last would win in silence), and so is nesting without end.",
    ),
)
"""Codes that reading a file gives."""

RULES: Final[tuple[Rule, ...]] = tuple(rule for module in _MODULES for rule in module.RULES)
"""Every rule that looks at documents."""

BY_CODE: Final[Mapping[str, Rule]] = {rule.code: rule for rule in (*READING, *RULES)}
TITLES: Final[Mapping[str, str]] = {code: rule.title for code, rule in BY_CODE.items()}

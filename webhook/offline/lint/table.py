"""The table of all rules, in the order of their codes' pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.offline.lint import (
    bypass,
    costs,
    custom,
    doors,
    fields,
    limits,
    logic,
    mutations,
    queues,
    reach,
    references,
    safety,
    shapes,
)
from webhook.offline.lint.loading import READING
from webhook.offline.lint.model import Rule

_MODULES: Final = (
    shapes,
    limits,
    queues,
    doors,
    references,
    reach,
    logic,
    fields,
    costs,
    custom,
    mutations,
    safety,
    bypass,
)


RULES: Final[tuple[Rule, ...]] = tuple(rule for module in _MODULES for rule in module.RULES)
"""Every rule that looks at documents."""

ON_REQUEST: Final[tuple[Rule, ...]] = costs.ON_REQUEST
"""Rules that only say something: `--costs`."""

BY_CODE: Final[Mapping[str, Rule]] = {rule.code: rule for rule in (*READING, *RULES, *ON_REQUEST)}
TITLES: Final[Mapping[str, str]] = {code: rule.title for code, rule in BY_CODE.items()}

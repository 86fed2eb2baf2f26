"""The table of all rules, in the order of their codes' pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.offline.lint.context import LintRule
from webhook.offline.lint.loading import READING
from webhook.offline.lint.rules import (
    api_validation,
    bypass,
    costs,
    custom_kinds,
    document_fields,
    job_requests,
    jobs,
    limit_ranges,
    logic,
    mutations,
    queues,
    references,
    safety,
    unknown_fields,
    unreachable,
    unsupported,
    users,
)

_MODULES: Final = (
    document_fields,
    api_validation,
    limit_ranges,
    queues,
    jobs,
    job_requests,
    references,
    unreachable,
    logic,
    unknown_fields,
    costs,
    custom_kinds,
    mutations,
    safety,
    bypass,
    unsupported,
    users,
)


RULES: Final[tuple[LintRule, ...]] = tuple(rule for module in _MODULES for rule in module.RULES)
"""Every rule that looks at documents."""

ON_REQUEST: Final[tuple[LintRule, ...]] = costs.ON_REQUEST
"""Rules that only say something: `--costs`."""

BY_CODE: Final[Mapping[str, LintRule]] = {rule.code: rule for rule in (*READING, *RULES, *ON_REQUEST)}
TITLES: Final[Mapping[str, str]] = {code: rule.title for code, rule in BY_CODE.items()}

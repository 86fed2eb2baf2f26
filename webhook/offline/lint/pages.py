"""Makes the page of each rule from its row and its example file: `docs/findings/CODE.md`, and `lint --explain`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Final

from webhook import documents
from webhook.offline.lint.all_rules import BY_CODE
from webhook.offline.lint.context import LintRule

_FAMILIES: Final = {
    "FILE": "Reading files",
    "YAML": "Reading files",
    "LOAD": "Loading policies",
    "POL": "Loading policies",
    "REV": "Reading files",
    "INP": "Reading files",
    "JRN": "Reading files",
    "CFG": "Settings",
    "TRACE": "Traces (`sluice simulate`)",
    "SUI": "Suites and coverage (`sluice test`)",
    "COV": "Suites and coverage (`sluice test`)",
    "SCH": "Fields and kinds",
    "LIM": "LimitRange and ResourceQuota",
    "QUE": "Queues",
    "RUL": "Rules of the queue (QueuePolicy files)",
    "REF": "Policies, bindings, params, exceptions: names",
    "RCH": "Rules that never or always apply",
    "EXC": "Exceptions",
    "CEL": "Expressions",
    "MUT": "Mutations",
    "SAF": "Safety of the cluster",
    "BYP": "Holes in quota and policy",
    "SUP": "What Sluice does not support",
}


def examples(code: str) -> Mapping[str, str]:
    """Return a rule's `wrong` and `right` example as YAML text; nothing where it has none."""
    file = resources.files("webhook.offline.lint") / "examples" / f"{code}.yaml"
    if not file.is_file():
        return {}
    (found,) = documents.read(file.read_text(encoding="utf-8"), f"{code}.yaml")
    return {key: text for key, text in found.value.items() if isinstance(text, str)}


def page(rule: LintRule) -> str:
    """Return a rule's page in Markdown."""
    parts = [f"# {rule.code}: {rule.title}", f"Severity: {rule.severity}.", rule.why]
    shown = examples(rule.code)
    for key, title in (("wrong", "Wrong"), ("right", "Right")):
        if text := shown.get(key):
            parts.append(f"## {title}\n\n```yaml\n{text.rstrip()}\n```")
    return "\n\n".join(part for part in parts if part) + "\n"


def index() -> str:
    """Return the page that lists all codes."""
    lines = [
        "# Findings",
        "",
        "Every finding of `sluice lint`, `sluice test` and policy loading. `sluice lint --explain CODE` prints a page.",
        "These pages are generated from the rules (`sluice lint --pages`); do not edit them.",
    ]
    families = dict.fromkeys(_family(code) for code in BY_CODE)
    for family in families:
        lines += ["", f"## {family}", "", "| code | severity | requirement |", "|---|---|---|"]
        rules = (rule for rule in BY_CODE.values() if _family(rule.code) == family)
        lines += [f"| [{r.code}]({r.code}.md) | {r.severity} | {r.title} |" for r in rules]
    return "\n".join(lines) + "\n"


def _family(code: str) -> str:
    return _FAMILIES.get(code.rstrip("0123456789"), "Others")


def pages() -> dict[str, str]:
    """Return every page by its file name in `docs/findings/`."""
    return {"README.md": index(), **{f"{code}.md": page(rule) for code, rule in BY_CODE.items()}}

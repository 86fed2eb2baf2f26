"""What a shell offers for options whose values have names: shipped rules, finding codes. Nothing is compiled for it."""

from __future__ import annotations

import importlib

import click

from webhook.cli import shipped
from webhook.policy.loading.shipped import library_names


def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of the shipped queue rules."""
    folders = (shipped.policies() / "queue").iterdir()
    return sorted(f.name for f in folders if f.is_dir() and f.name.startswith(incomplete))


def library_policies(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of the policies of the library."""
    return [name for name in library_names() if name.startswith(incomplete)]


def finding_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the codes of lint findings; of several with commas, the last is completed."""
    before, comma, last = incomplete.rpartition(",")
    codes = importlib.import_module("webhook.offline.lint.all_rules").BY_CODE
    return [f"{before}{comma}{code}" for code in sorted(codes) if code.startswith(last.upper())]


def rule_sets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of the shipped queue rules; of several with `+`, the last is completed."""
    before, plus, last = incomplete.rpartition("+")
    return [f"{before}{plus}{name}" for name in rules(ctx, param, last)]


def crd_kinds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the kinds that have a CRD."""
    kinds = importlib.import_module("webhook.api.crds.kinds").KINDS
    return sorted(kind.kind for kind in kinds if kind.kind.lower().startswith(incomplete.lower()))


def schema_kinds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the kinds that have a JSON Schema."""
    kinds = importlib.import_module("webhook.offline.reference.json_schema").of_kinds()
    return sorted({kind for _, kind in kinds if kind.lower().startswith(incomplete.lower())})

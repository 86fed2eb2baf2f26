"""The page of shipped policies and queue rules, from the files in `policies/`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.shared import ROOT
from webhook.yaml_library import LOADER

HEAD = """\
# Shipped policies and queue rules

What comes with Sluice, each with its suite. The chart loads all policies (`policies.shipped`) and the queue rules of
`queueRules`. In a repository, list policies as `sluice.dev/NAME` and queue rules by name in `.sluice.yaml`. This page
is generated from the files by `python -m tests.docs.reference`.

## Policies

| policy | what it does |
|---|---|
"""
OF_QUEUES = """
## Policies of the queue's own objects

In `policies/queue`, for clusters where Sluice runs the queues.

| policy | what it does |
|---|---|
"""
RULES = """
## Queue rules

Change parameters in a file of your own that `extends` the shipped one ([how](../how-to/queue-rule.md)).

| rules | what they do | parameters |
|---|---|---|
"""


def page() -> str:
    """The page: policies by what they say of themselves, queue rules by the first sentence of their file."""
    folders = sorted((ROOT / "policies").glob("*/policy.yaml"))
    queues = sorted((ROOT / "policies/queue").glob("*/policy.yaml"))
    rules = [file for file in queues if any(d["kind"] == "QueuePolicy" for d in _documents(file))]
    guards = [file for file in queues if file not in rules]
    return "".join(
        [
            HEAD,
            *map(_policy, folders),
            OF_QUEUES,
            *map(_policy, guards),
            RULES,
            *(row for f in rules for row in _rule(f)),
        ]
    )


def _documents(file: Path) -> list[dict[str, Any]]:
    return [d for d in yaml.load_all(file.read_text(encoding="utf-8"), LOADER) if d]


def _policy(file: Path) -> str:
    notes = (d["metadata"].get("annotations", {}).get("sluice.dev/docs", "") for d in _documents(file))
    return f"| `{file.parent.name}` | {' '.join(dict.fromkeys(filter(None, notes)))} |\n"


def _rule(file: Path) -> Iterator[str]:
    comment = re.match(r"(?:#.*\n)+", file.read_text(encoding="utf-8"))
    text = re.sub(r"\n?# ?", " ", comment[0] if comment else "").strip()
    first = re.split(r"(?<=[.:]) (?=[A-Z`])|\. An add-on|: an add-on", text)[0].rstrip(" .:")
    for document in _documents(file):
        parameters = document["spec"].get("parameters", {})
        shown = ", ".join(f"`{name}`: {json.dumps(value)}" for name, value in parameters.items())
        yield f"| `{document['metadata']['name']}` | {first}. | {shown} |\n"

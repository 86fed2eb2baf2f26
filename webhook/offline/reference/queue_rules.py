"""The reference page of queue rules, from the table of rule points, the schema and the core's own types."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.api.queuepolicy import QueuePolicy
from webhook.api.schema import structural
from webhook.cel.host import camel_case
from webhook.policy.queue_rules.points import ADMIT, ALLOWED, POINTS
from webhook.queue.model import ClusterQueue, PodSet, Workload
from webhook.queue.quota.cell import Cell
from webhook.queue.rules import Contest, Facts, Found, Match, Option, Placement, Reach, Shares, Victim

HEAD: Final = """# Queue rules

What a QueuePolicy (`sluice.dev/v1alpha1`) may say. Every rule is a CEL expression. What a file leaves out is that of
the files it `extends`, and in the end Kueue's: [policies/queue/kueue](../../policies/queue/kueue/policy.yaml) has
every point. `parameters.<name>` are the file's own constants; a file that extends another by its name may replace them.
Amounts are ints: thousandths of a cpu, whole units of everything else. Times are ints, milliseconds since 1970, but
`now` is a timestamp.

Sort keys may be of any type that has an order. Keys of several types are ordered by type first: null, bool, number,
string, bytes, timestamp, duration, list; NaN counts as infinity. A rule that gives what its point cannot take has
failed, as one that cannot be evaluated has: what it was asked about waits, and says which rule and where it stands.

This page is made by `python -m webhook.offline.reference.queue_rules`.
"""
TYPES: Final = {
    "workload": Workload,
    "queue": ClusterQueue,
    "podSet": PodSet,
    "node": Cell,
    "placement": Placement,
    "contest": Contest,
    "option": Option,
    "match": Match,
    "victim": Victim,
    "reach": Reach,
    "found": Found,
    "shares": Shares,
    "facts": Facts,
}


def page() -> str:
    """Give the page as Markdown."""
    return "\n".join([HEAD, *_points(), "", "## What a rule sees", "", *_types()])


def _points() -> Iterator[str]:
    yield "| point | gives | sees | what it decides |"
    yield "|---|---|---|---|"
    for point in POINTS:
        gives = "sort keys" if point.keys else str(point.result)
        yield _row(".".join(point.path), gives, point.sees)
    yield _row("admit", "bool", ADMIT)
    yield _row("preempt.allowed", "bool", ALLOWED)


def _row(path: str, gives: str, sees: Mapping[str, Any]) -> str:
    names = ", ".join(f"`{n}`" for n in sees)
    return f"| `{path}` | {gives} | {names} | {_said(path.split('.'))} |"


def _said(path: list[str]) -> str:
    """Give the schema's sentence about a point, without what the table says already."""
    node = structural(QueuePolicy)["properties"]["spec"]
    for step in path:
        node = node["properties"][step]
    text = str(node["description"])
    head, colon, rest = text.partition(": ")
    return rest if colon and head.startswith("CEL") else text.removeprefix("CEL, ")


def _types() -> Iterator[str]:
    for name, cls in TYPES.items():
        summary = inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        fields = [camel_case(f.name) for f in dataclasses.fields(cls) if not f.name.startswith("_")]
        yield f"- **{name}**: {summary} Fields: {', '.join(f'`{f}`' for f in fields)}."


if __name__ == "__main__":
    print(page())

"""The reference page of queue rules, from the rule points, the schema, the shipped files and the core's types."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import types
import typing
from collections.abc import Iterator, Mapping
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any, Final

from webhook.api.queuepolicy import QueuePolicy
from webhook.api.schema import structural
from webhook.cel.host import camel_case
from webhook.documents import Document, read
from webhook.offline.laws.checks import LAWS
from webhook.offline.reference.rule_examples import EXAMPLES
from webhook.offline.reference.rule_values import ARGUMENTS, MODES, OUTCOMES, VARIANTS
from webhook.policy.queue_rules.files import SHIPPED
from webhook.policy.queue_rules.points import ADMIT, ALLOWED, EVICT, POINTS, Point
from webhook.queue.model import ClusterQueue, LocalQueue, PodSet, Workload
from webhook.queue.quota.cell import Cell
from webhook.queue.rules import Contest, Facts, Found, Match, Option, Placement, Reach, Shares, Victim

HEAD: Final = """# Queue rules

What a QueuePolicy (`sluice.dev/v1alpha1`) may say. Every rule is a CEL expression over the objects below; fields are
spelled as in the API. What a file leaves out is that of the files it `extends`. Below all of them lies
[kueue](../../policies/queue/kueue/policy.yaml), which has every point but those of fair sharing; those are in
[kueue-fair](../../policies/queue/kueue-fair/policy.yaml). `parameters.<name>` are constants of the file and of those it
extends. Amounts are ints: thousandths of a cpu, whole units of everything else. Times are ints, milliseconds since
1970, but `now` is a timestamp.

Sort keys may be of any type that has an order. Keys of several types are ordered by type first: null, bool, number,
string, bytes, timestamp, duration, list; NaN counts as infinity. A rule that errors or returns the wrong type leaves
its workload pending; the reason names the rule, its file and line. Reading a map key that is absent is an error, as in
all CEL: write `workload.labels[?'tier'].orValue('')`. A field that may be null is compared with null first, or read as
`facts.namespace.?labels`.

`sluice lint` compiles rule files, `sluice test` runs their suites and tries their laws, `sluice plan --rules FILE`
shows what they decide. This page is made by `python -m webhook.offline.reference.queue_rules`.
"""
VARIABLES: Final[Mapping[type, str]] = {
    Workload: "workload",
    ClusterQueue: "queue",
    LocalQueue: "localQueue",
    PodSet: "podSet",
    Cell: "node",
    Placement: "placement",
    Contest: "contest",
    Option: "option",
    Match: "match",
    Victim: "victim",
    Reach: "reach",
    Found: "found",
    Shares: "shares",
    Facts: "facts",
}
SETTINGS: Final = (
    ("extends", "`[]`: lies over `kueue`"),
    ("parameters", "`{}`"),
    ("partialAdmission", "`true`"),
    ("recomputeVictims", "`true`"),
    ("reserve.for", "`Cycle`"),
    ("fairSharing.enabled", "`false`; `true` where `strategies` are named"),
    ("fairSharing.strategies", "the names of the last file that has `preempt.allowed`"),
    ("history.halfLife", "`0s`: nothing fades, and nothing is added up"),
    ("history.samplingInterval", "`5m`"),
    ("history.resourceWeights", "`{}`: each resource counts 1"),
    ("laws.keeps", "`[]`"),
    ("laws.givesUp", "`[]`"),
)
EVICT_TEXT: Final = (
    "Each item has a `reason`, an `expression` (bool), and if wanted `notBefore` (int, sees the same): it goes",
    "at that time, to the millisecond. An item replaces that of the same reason in the files below; others add up. An",
    "expression that reads `now` is asked about all that runs: each quarter of an hour for hours and days, each minute",
    "for minutes, else at each decision; `notBefore` costs less. Others are asked when their Workload or queue",
    "changes. An item that fails evicts nobody; the log tells of it. Evictions come before all else in a round,",
    "whether or not somebody waits. A reason that begins with `DeactivatedDueTo` sets the Workload inactive too.",
)
_PLAIN: Final = {int: "int", str: "string", bool: "bool", float: "double", type(None): "null"}


def page() -> str:
    """Give the page as Markdown."""
    parts = [HEAD, *_overview(), "", "## Settings", "", *_settings(), "", "## Laws", "", *_laws(), "", "## Points", ""]
    return "\n".join([*parts, *_points(), *_values(), "## Objects", "", *_objects()])


def points() -> Iterator[Point]:
    """Give every point, `admit`, `evict` and `preempt.allowed` among them."""
    from_files = (
        Point(("admit",), "admit", ADMIT, None),
        Point(("evict",), "evict", EVICT, None),
        Point(("preempt", "allowed"), "allowed", ALLOWED, None),
    )
    yield from (*POINTS, *from_files)


def _overview() -> Iterator[str]:
    yield "| point | gives | sees | what it decides |"
    yield "|---|---|---|---|"
    for point in points():
        path = ".".join(point.path)
        names = ", ".join(f"`{n}`" for n in point.sees)
        yield f"| [`{path}`](#{path.replace('.', '').lower()}) | {_gives(point)} | {names} | {_said(point.path)} |"


def _gives(point: Point) -> str:
    return "sort keys" if point.keys else "bool" if point.result is None else str(point.result)


def _settings() -> Iterator[str]:
    yield "| setting | type | left out | what it is |"
    yield "|---|---|---|---|"
    for path, absent in SETTINGS:
        node = _schema(path.split("."))
        yield f"| `{path}` | {_schema_type(node)} | {absent} | {node['description']} |"
    yield ""
    yield "A file that extends another changes the settings it names, each by itself; `resourceWeights` by resource."


def _laws() -> Iterator[str]:
    yield "`laws.keeps` names what can be relied on, `laws.givesUp` what cannot, and why. `sluice test` tries each law"
    yield "that is kept on random clusters, 25 or as many as `--examples` says, always the same; where one breaks, it"
    yield "prints a cluster, as small as can be, that `sluice plan -f` reads."
    yield ""
    yield "| law | what it says |"
    yield "|---|---|"
    for name, law in LAWS.items():
        yield f"| `{name}` | {law.sentence} |"


def _points() -> Iterator[str]:
    bases = {name: _shipped(name) for name in ("kueue", "kueue-fair")}
    for point in points():
        path = ".".join(point.path)
        yield f"### {path}"
        yield ""
        yield f"{_said(point.path)[:1].upper()}{_said(point.path)[1:]} Gives {_gives(point)}."
        yield ""
        for name, type_ in point.sees.items():
            yield f"- `{name}`: {_argument(name, str(type_))}"
        yield ""
        yield from _absent(point, bases)
        example = EXAMPLES[path]
        yield f"Example: `{example.expression}`. {example.words}"
        yield ""


def _argument(name: str, type_: str) -> str:
    if name in ARGUMENTS:
        return f"{type_.removeprefix('google.protobuf.').lower()}. {ARGUMENTS[name]}"
    return f"see [{name}](#{name.lower()})."


def _absent(point: Point, bases: Mapping[str, Document]) -> Iterator[str]:
    """Say what holds where the point is left out: what the shipped file has."""
    for name, document in bases.items():
        stated = document.at(("spec", *point.path))
        if stated:
            yield f"Left out, under `{name}`:"
            yield ""
            yield "```"
            yield from _lines(stated)
            yield "```"
            yield ""
    if point.path == ("admit",):
        yield "Left out, nothing is denied. The conditions of all files add up, and all must hold."
        yield ""
    if point.path == ("evict",):
        yield from EVICT_TEXT
        yield ""


def _lines(stated: Any) -> Iterator[str]:
    if isinstance(stated, str):
        yield stated.strip()
        return
    for item in stated:
        if not isinstance(item, dict):
            yield f"- {item}"
            continue
        after = f", not before {item['notBefore']}" if "notBefore" in item else ""
        yield f"- {item.get('name') or item.get('reason')}: {item['expression']}{after}"


def _shipped(name: str) -> Document:
    file = next(file for folder in SHIPPED if (file := folder / name / "policy.yaml").is_file())
    (document,) = read(Path(file).read_text(encoding="utf-8"), str(file))
    return document


def _values() -> Iterator[str]:
    tables: tuple[tuple[str, Mapping[Any, str]], ...] = (
        ("outcome", OUTCOMES), ("variant", VARIANTS), ("mode", MODES),
    )  # fmt: skip
    yield "## Values"
    yield ""
    for title, rows in tables:
        yield f"### {title}"
        yield ""
        yield "| value | what it means |"
        yield "|---|---|"
        for value, text in rows.items():
            yield f"| `{value.value}` | {text} |"
        yield ""


def _objects() -> Iterator[str]:
    waiting: list[type] = list(VARIABLES)
    seen: set[type] = set()
    while waiting:
        cls = waiting.pop(0)
        if cls in seen:
            continue
        seen.add(cls)
        summary = inspect.cleandoc(cls.__doc__ or "").replace("\n\n", "\n").replace("\n", " ")
        yield f"### {_name(cls)}"
        yield ""
        yield _spelled(summary, cls)
        yield ""
        yield "| field | type |"
        yield "|---|---|"
        hints = typing.get_type_hints(cls)
        for field in (f.name for f in dataclasses.fields(cls) if not f.name.startswith("_")):
            yield f"| `{camel_case(field)}` | {_shown(hints[field])} |"
            waiting += _classes(hints[field])
        yield ""


def _name(cls: type) -> str:
    return VARIABLES.get(cls, cls.__name__[:1].lower() + cls.__name__[1:])


def _spelled(text: str, cls: type) -> str:
    """Write the names of fields in a docstring as rules do."""
    for field in dataclasses.fields(cls):
        text = text.replace(f"`{field.name}`", f"`{camel_case(field.name)}`")
    return text.replace("None", "null")


def _shown(hint: Any) -> str:
    """Write a type as rules see it."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_shown(arg) for arg in args)
    if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        return f"map({_shown(args[0])}, {_shown(args[1])})"
    if isinstance(origin, type) and issubclass(origin, collections.abc.Iterable):
        return f"list({_shown(args[0])})"
    if dataclasses.is_dataclass(hint):
        name = _name(typing.cast("type", hint))
        return f"[{name}](#{name.lower()})"
    if isinstance(hint, type) and issubclass(hint, StrEnum | IntEnum):
        return "string" if issubclass(hint, StrEnum) else "int"
    return "dyn"


def _classes(hint: Any) -> list[type]:
    """Give the data classes in a type."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return [hint]
    return [cls for arg in typing.get_args(hint) for cls in _classes(arg)]


def _schema(path: typing.Sequence[str]) -> dict[str, Any]:
    node: dict[str, Any] = structural(QueuePolicy)["properties"]["spec"]
    for step in path:
        node = node["properties"][step]
    return node


def _schema_type(node: Mapping[str, Any]) -> str:
    if "enum" in node:
        return " or ".join(f"`{value}`" for value in node["enum"])
    if node["type"] == "array":
        items = node["items"]
        return "list of laws" if "enum" in items else f"list of {items['type']}s"
    return {"boolean": "bool", "object": "map"}.get(node["type"], str(node["type"]))


def _said(path: typing.Sequence[str]) -> str:
    """Give the schema's sentence about a point, without what the page says already."""
    text = str(_schema(path)["description"])
    head, colon, rest = text.partition(": ")
    return rest if colon and head.startswith("CEL") else text.removeprefix("CEL, ")


if __name__ == "__main__":
    print(page())

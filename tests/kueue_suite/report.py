"""What ginkgo's JSON reports say: how many specs of a suite passed, and why the others did not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

OUT_OF_REACH: Final = Path(__file__).parent / "not_judged.txt"
LEFT: Final = Path(__file__).parent / "left.txt"
LINES: Final = 12
"""So many lines of a failure are shown."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One spec that ran. `why_not` says why it cannot be judged from outside, empty if it can.

    `left` is the feature of the compatibility tables by which Sluice does not pass it, empty for all others.
    """

    name: str
    state: str
    place: str
    message: str
    gates: tuple[str, ...]
    why_not: str
    left: str


def specs_of(file: Path) -> dict[str, list[Spec]]:
    """Give the specs that ran, by suite."""
    found: dict[str, list[Spec]] = {}
    for report in json.loads(file.read_text(encoding="utf-8")):
        suite = report["SuitePath"].rpartition("singlecluster/")[2]
        ran = [s for s in report["SpecReports"] or () if s["State"] not in ("skipped", "pending")]
        found[suite] = [_spec(suite, spec) for spec in ran if spec["LeafNodeType"] == "It" or spec["State"] != "passed"]
    return found


def written(file: Path, *, failures: bool) -> Iterator[str]:
    """Write a report for people: a line for each suite, and with `failures` each spec that failed."""
    for suite, specs in specs_of(file).items():
        judged = [spec for spec in specs if not spec.why_not]
        passed = sum(spec.state == "passed" for spec in judged)
        beyond = len(specs) - len(judged)
        yield f"{suite:45} {passed:4} of {len(judged):4} passed" + (f", {beyond} not judged" if beyond else "")
        for spec in judged if failures else ():
            if spec.state != "passed":
                yield f"  {spec.place} {spec.name} {' '.join(spec.gates)}".rstrip()
                yield f"      known: {spec.left}" if spec.left else "      NOT KNOWN"
                yield from (f"      {line[:160]}" for line in spec.message.splitlines()[:LINES] if line.strip())


def _spec(suite: str, spec: dict[str, Any]) -> Spec:
    name = " / ".join([*(spec["ContainerHierarchyTexts"] or ()), spec["LeafNodeText"]])
    failure = spec.get("Failure") or {}
    where = failure.get("Location") or spec.get("LeafNodeLocation") or {}
    place = f"{Path(where.get('FileName', '')).name}:{where.get('LineNumber', 0)}"
    gates = tuple(
        json.loads(entry["Value"].get("AsJSON") or '""')
        for entry in spec.get("ReportEntries") or ()
        if entry["Name"] == "gate"
    )
    message = failure.get("Message", "")
    text = f"{suite} {name} {place}"
    why_not, left = _first(OUT_OF_REACH, text, message), _first(LEFT, text, message)
    return Spec(name, spec["State"], place, message, gates, why_not, left)


def rows(file: Path) -> Iterator[tuple[str, str]]:
    """Give what a list of specs says, and the regular expression of those that it says it of."""
    for line in file.read_text(encoding="utf-8").splitlines():
        what, _, pattern = (part.strip() for part in line.partition("|"))
        if pattern and not line.startswith("#"):
            yield what, pattern


def _first(file: Path, text: str, message: str) -> str:
    for what, pattern in rows(file):
        judged = message if pattern.startswith("message:") else text
        if re.search(pattern.removeprefix("message:").strip(), judged):
            return what
    return ""

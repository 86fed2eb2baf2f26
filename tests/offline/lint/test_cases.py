"""Realistic files with mistakes, in every spelling YAML has, beside right ones: what lint says, and where."""

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
import yaml

from webhook.api.snapshot.queue_objects import cluster_queue
from webhook.diagnostics import Diagnostic
from webhook.documents import read
from webhook.offline.files import Files, read_stream
from webhook.offline.lint.all_rules import BY_CODE, TITLES
from webhook.offline.lint.apply_rules import LintReport, lint, mended
from webhook.offline.reports.findings import as_json
from webhook.offline.reports.github import commands
from webhook.offline.reports.sarif import sarif

HERE = Path(__file__).parent
CASES = sorted(p.relative_to(HERE / "cases").as_posix() for p in (HERE / "cases").glob("*/*"))
NOW = datetime(2026, 9, 1, tzinfo=UTC)
MENDED = (
    "api_validation/version.yaml",
    "limit_ranges/fraction-strings.yaml",
    "limit_ranges/quota-json.json",
    "limit_ranges/quota-limits.yaml",
    "queues/fraction.yaml",
    "resources/kind.yaml",
)
"""The cases with something that `--fix` mends, by name: nothing is linted while tests are collected."""


@cache
def expected() -> dict[str, list[str]]:
    """What is to be said of each file: code, line:column, and what the caret stands under."""
    text = (HERE / "expected.yaml").read_text(encoding="utf-8")
    return {name: rows for document in read(text) for name, rows in document.value.items()}


@cache
def linted(name: str) -> LintReport:
    """What lint says of a case."""
    return lint(files(raw(name), name), NOW)


def files(data: bytes, name: str) -> Files:
    return read_stream(data, name)


def raw(name: str) -> bytes:
    return (HERE / "cases" / name).read_bytes()


def row(found: Diagnostic) -> str:
    place = found.place
    return f"{found.code} {place.line}:{place.column} {found.source[place.column - 1 :][:24].rstrip()}"


@pytest.mark.parametrize("name", CASES)
def test_each_mistake_is_found_at_its_place_and_nothing_else(name):
    """Every finding of a file, in order, with the text under its caret; a right file has none."""
    assert [row(f) for f in linted(name).findings] == expected()[name]


@pytest.mark.parametrize("name", [n for n in CASES if expected()[n]])
def test_the_caret_stands_under_the_text(name):
    """In the text form the marks are below the characters that they mean, and no longer than the line."""
    for found in linted(name).findings:
        _, source, marks, *_ = found.render().split("\n")
        assert marks.strip() == "^" + "~" * (len(marks.strip()) - 1)
        assert found.place.length <= len(found.source) - found.place.column + 1
        assert source.strip()


def test_only_these_cases_are_mended():
    """The others have nothing that has just one repair."""
    assert [name for name in CASES if linted(name).edits] == list(MENDED)


@pytest.mark.parametrize("name", MENDED)
def test_a_repair_is_made_once_and_changes_nothing_else(name):
    """Mended once, a file lints clean of what was mended, has the same lines, ends, comments, and stays as it is."""
    codes = {f.code for f in linted(name).findings if f.hint.endswith("(use --fix)")}
    before = raw(name)
    after = fixed(before, name)
    assert after != before
    assert fixed(after, name) == after
    report = lint(files(after, name), NOW)
    assert not {f.code for f in report.findings if f.hint.endswith("(use --fix)")} & codes
    assert not {f.code for f in report.findings} & {"YAML001", "FILE001"}
    assert [line[-2:] for line in after.split(b"\n")][-1:] == [line[-2:] for line in before.split(b"\n")][-1:]
    assert (after.count(b"\r\n"), after.count(b"\n"), after.count(b"#")) == (
        before.count(b"\r\n"), before.count(b"\n"), before.count(b"#"),
    )  # fmt: skip
    if name.endswith(".json"):
        json.loads(after)


def fixed(data: bytes, name: str) -> bytes:
    report = lint(files(data, name), NOW)
    return mended(report.edits, lambda _: data.decode()).get(name, data.decode()).encode()


def test_what_fix_writes_for_a_part_of_a_device_counts_the_same():
    """Quotas and limits of devices are rounded up when they are read, so they are rounded up in the file."""
    text = (
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: a}\nspec:\n  cohortName: c\n"
        "  resourceGroups:\n  - coveredResources: [nvidia.com/gpu]\n    flavors:\n    - name: f\n      resources:\n"
        "      - {name: nvidia.com/gpu, nominalQuota: 7500m, borrowingLimit: '500m', lendingLimit: 0.001}\n"
    )
    after = fixed(text.encode(), "queue.yaml").decode()
    assert "nominalQuota: 8, borrowingLimit: '1', lendingLimit: 1}" in after
    before, now = (cluster_queue(yaml.safe_load(each)) for each in (text, after))
    assert before.resource_groups == now.resource_groups


def test_an_alias_is_not_mended_behind_its_users_back():
    """A value that two places share is told, and left to its author: what is right for one is wrong for the other."""
    assert {f.code for f in linted("limit_ranges/anchor-shared.yaml").findings} >= {"LIM001"}
    assert not linted("limit_ranges/anchor-shared.yaml").edits


@pytest.mark.parametrize("name", [n for n in CASES if expected()[n]])
def test_every_output_form_tells_the_same(name):
    """JSON, SARIF and the GitHub form have one record a finding, with its line, column and code."""
    found = linted(name).findings
    records = as_json(found)["findings"]
    assert [(r["code"], r["line"], r["column"]) for r in records] == [
        (f.code, f.place.line, f.place.column) for f in found
    ]
    (run,) = json.loads(json.dumps(sarif(found, TITLES)))["runs"]
    assert [r["id"] for r in run["tool"]["driver"]["rules"]] == sorted({f.code for f in found})
    for result, finding in zip(run["results"], found, strict=True):
        (location,) = result["locations"]
        region = location["physicalLocation"]["region"]
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == finding.code
        assert (region["startLine"], region["startColumn"]) == (finding.place.line, finding.place.column)
        assert region.get("endColumn", region["startColumn"] + 1) > region["startColumn"]
    lines = commands(found).splitlines()
    assert len(lines) == len(found)
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)


def test_every_class_of_mistake_has_cases():
    """The cases cover each family of codes that looks at documents, and right files are among them."""
    said = {line.partition(" ")[0] for rows in expected().values() for line in rows}
    families = {code.rstrip("0123456789") for code in said}
    assert {"YAML", "SCH", "POL", "CEL", "REF", "RCH", "MUT", "LIM", "QUE", "BYP", "SAF"} <= families
    assert said <= set(BY_CODE)
    assert sum(not rows for rows in expected().values()) >= 30

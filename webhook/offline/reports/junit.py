"""Test results as JUnit XML: one `testsuites` document in the form that Jenkins, GitLab and GitHub actions agree on.

Only elements and attributes that every common schema allows are written; text is made safe for XML 1.0 first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from xml.etree import ElementTree

_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class CaseOutcome(StrEnum):
    """How a case ended. `ERROR`: it could not be run; `FAILURE`: it ran, and an expectation did not hold."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class JunitCase:
    """One test: `group` is where it stands (policy or file), `message` one line, `details` the whole story."""

    name: str
    group: str
    outcome: CaseOutcome = CaseOutcome.PASSED
    message: str = ""
    details: str = ""
    seconds: float = 0.0
    output: str = ""


@dataclass(frozen=True, slots=True)
class JunitSuite:
    """Cases that belong together, mostly those of one file."""

    name: str
    cases: tuple[JunitCase, ...]


def junit(suites: Sequence[JunitSuite], name: str = "sluice") -> str:
    """Return the XML document, with its declaration and a line break at the end."""
    cases = [case for suite in suites for case in suite.cases]
    root = ElementTree.Element("testsuites", {"name": clean(name), **_totals(cases, ("failures", "errors"))})
    for suite in suites:
        counted = _totals(suite.cases, ("failures", "errors", "skipped"))
        element = ElementTree.SubElement(root, "testsuite", {"name": clean(suite.name), **counted})
        for case in suite.cases:
            _case(element, case)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def clean(text: str) -> str:
    """Write characters that XML 1.0 cannot hold as their escape, such as `\\x1b`."""
    return _NOT_XML.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def _totals(cases: Sequence[JunitCase], names: tuple[str, ...]) -> dict[str, str]:
    kinds = {"failures": CaseOutcome.FAILURE, "errors": CaseOutcome.ERROR, "skipped": CaseOutcome.SKIPPED}
    counts = {name: str(sum(c.outcome is kinds[name] for c in cases)) for name in names}
    return {"tests": str(len(cases)), **counts, "time": f"{sum(c.seconds for c in cases):.3f}"}


def _case(suite: ElementTree.Element, case: JunitCase) -> None:
    attributes = {"name": clean(case.name), "classname": clean(case.group), "time": f"{case.seconds:.3f}"}
    element = ElementTree.SubElement(suite, "testcase", attributes)
    if case.outcome is CaseOutcome.SKIPPED:
        ElementTree.SubElement(element, "skipped", {"message": clean(case.message)})
    elif case.outcome is not CaseOutcome.PASSED:
        said = {"message": clean(case.message), "type": str(case.outcome)}
        ElementTree.SubElement(element, str(case.outcome), said).text = clean(case.details or case.message)
    if case.output:
        ElementTree.SubElement(element, "system-out").text = clean(case.output)

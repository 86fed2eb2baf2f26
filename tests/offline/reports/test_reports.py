"""The machine-readable reports are valid documents of their kinds, whatever stands in the texts."""

import json
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.diagnostics import Diagnostic, Place, Severity
from webhook.offline.reports.findings import as_json, sentence
from webhook.offline.reports.github import annotation, commands
from webhook.offline.reports.junit import CaseOutcome, JunitCase, JunitSuite, junit
from webhook.offline.reports.sarif import sarif, uri

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
COUNT = {"type": "integer", "minimum": 1}
SARIF = {
    "type": "object",
    "required": ["version", "runs", "$schema"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "uniqueItems": True,
                                        "items": {"required": ["id"], "properties": {"shortDescription": TEXT}},
                                    }
                                },
                            }
                        },
                    },
                    "results": {
                        "items": {
                            "required": ["message"],
                            "properties": {
                                "message": TEXT,
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "locations": {
                                    "items": {
                                        "properties": {
                                            "physicalLocation": {
                                                "required": ["artifactLocation"],
                                                "properties": {
                                                    "artifactLocation": {
                                                        "properties": {"uri": {"pattern": "^[!-~]+$"}}
                                                    },
                                                    "region": {
                                                        "required": ["startLine"],
                                                        "properties": {
                                                            "startLine": COUNT,
                                                            "startColumn": COUNT,
                                                            "endColumn": COUNT,
                                                        },
                                                    },
                                                },
                                            }
                                        }
                                    }
                                },
                            },
                        }
                    },
                },
            },
        },
    },
}

files = st.text(min_size=1).filter(lambda f: f.strip("/."))
places = st.builds(Place, files, st.integers(0, 99), st.integers(0, 99), st.integers(0, 9))
findings = st.builds(
    Diagnostic,
    st.sampled_from(["LIM001", "CEL002", "X"]),
    places,
    st.text(min_size=1),
    st.sampled_from(list(Severity)),
    hint=st.text(),
)
LIM = Diagnostic("LIM001", Place("a b/x.yaml", 3, 5, 2), "half a GPU: 50%\nno", hint="say 1")


@given(st.lists(findings, max_size=5))
def test_sarif_is_valid_and_complete(found):
    """Any list of findings becomes a valid log with a result each, whose rule index leads to its own code."""
    log = sarif(found, {"LIM001": "whole units"})
    jsonschema.validate(json.loads(json.dumps(log)), SARIF)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[r["ruleIndex"]]["id"] for r in run["results"]] == [f.code for f in found]


def test_sarif_region_and_title():
    """A finding's place becomes a region with an exclusive end, its code's title the rule's description."""
    (run,) = sarif([LIM], {"LIM001": "whole units"})["runs"]
    assert run["tool"]["driver"]["rules"] == [{"id": "LIM001", "shortDescription": {"text": "whole units"}}]
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location == {
        "artifactLocation": {"uri": "a%20b/x.yaml"},
        "region": {"startLine": 3, "startColumn": 5, "endColumn": 7},
    }


def test_absolute_paths_become_file_uris():
    """An absolute path gets a scheme, as SARIF asks for."""
    assert uri("/srv/a b.yaml") == "file:///srv/a%20b.yaml"


def test_annotation_escapes_what_the_runner_reads():
    """Percent signs, line breaks, colons and commas cannot break out of their field."""
    odd = Diagnostic("X,1", Place("a:b,c.yaml", 1, 2, 3), "50%\nend", Severity.WARNING)
    assert annotation(odd) == "::warning file=a%3Ab%2Cc.yaml,line=1,col=2,title=X%2C1,endColumn=4::50%25%0Aend"


@given(st.lists(findings, max_size=5))
def test_annotations_are_one_line_each(found):
    """Every finding is one line that starts with a command, whatever its text."""
    lines = commands(found).split("\n")
    assert len(lines) == len(found) + 1
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines[:-1])


ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}
"""The part of the common JUnit schema that is written: nothing but these, `testcase` children at most once each."""


def check_junit(element):
    assert set(element.attrib) == ATTRIBUTES[element.tag]
    children = [child.tag for child in element]
    assert set(children) <= CHILDREN.get(element.tag, set())
    if element.tag == "testcase":
        assert len(children) == len(set(children))
    for child in element:
        check_junit(child)


cases = st.builds(
    JunitCase,
    st.text(),
    st.text(),
    st.sampled_from(list(CaseOutcome)),
    st.text(),
    st.text(),
    st.floats(0, 9),
    st.text(),
)


@given(st.lists(st.builds(JunitSuite, st.text(), st.lists(cases, max_size=4).map(tuple)), max_size=3))
def test_junit_is_valid(suites):
    """Any suites become well-formed XML within the schema, and the counts add up."""
    root = ElementTree.fromstring(junit(suites).encode("utf-8", "surrogatepass"))
    check_junit(root)
    every = [case for suite in suites for case in suite.cases]
    assert int(root.attrib["tests"]) == len(every) == len(root.findall("testsuite/testcase"))
    assert int(root.attrib["failures"]) == len(root.findall("testsuite/testcase/failure"))


def test_junit_says_what_failed():
    """A failure carries its message, and text that XML cannot hold is written as an escape."""
    text = junit(
        [JunitSuite("gpu", (JunitCase("half <a> GPU", "gpu", CaseOutcome.FAILURE, 'want "x" & y', "\x1b[31mred"),))]
    )
    failure = ElementTree.fromstring(text).find("testsuite/testcase/failure")
    assert failure is not None
    assert failure.attrib == {"message": 'want "x" & y', "type": "failure"}
    assert failure.text == "\\x1b[31mred"


@pytest.mark.parametrize(
    ("severities", "said"),
    [((), "no findings"), (("error",), "1 error"), (("warning", "error", "error"), "2 errors, 1 warning")],
)
def test_counts_in_words(severities, said):
    """The summary counts by severity, the worst first."""
    assert sentence([Diagnostic("X", Place("f"), "m", Severity(s)) for s in severities]) == said


def test_json_keeps_what_is_known():
    """The JSON record has the finding's fields and leaves unknown ones out."""
    assert as_json([LIM])["findings"] == [
        {
            "code": "LIM001",
            "severity": "error",
            "file": "a b/x.yaml",
            "line": 3,
            "column": 5,
            "length": 2,
            "message": "half a GPU: 50%\nno",
            "hint": "say 1",
        }
    ]


def test_a_name_that_is_no_text_is_a_uri_of_its_bytes():
    """Linux takes any bytes as the name of a file."""
    assert uri(b"b\xff.yaml".decode("utf-8", "surrogateescape")) == "b%FF.yaml"

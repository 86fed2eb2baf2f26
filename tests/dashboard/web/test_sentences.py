"""What the core says of a workload has its Chinese form: every template of these modules stands in the page's list."""

import ast
import json
import re

import pytest

from tests.shared import ROOT

LIST = ROOT / "webhook/dashboard/static/words/zh_sentences.js"
SPEAKERS = (
    "queue/cycle/nominate.py", "queue/cycle/one_cycle.py", "queue/definitions.py", "queue/explain.py",
    "queue/flavors/request_plan.py", "queue/flavors/search.py", "queue/state.py", "api/snapshot/workload.py",
    "cluster/workloads/conditions.py", "cluster/workloads/events.py", "cluster/jobs/pods_ready.py",
)  # fmt: skip
VALUE = "{}"


def templates(module):
    """Each text of a module with a space in it, docstrings apart, values as `{}`, cut where sentences are joined."""
    tree = ast.parse(module)
    apart = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    apart |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in apart:
            continue
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else VALUE for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        yield from (part for part in text.split("; ") if " " in part.strip())


def rows():
    """The list: English -> Chinese."""
    found = re.findall(r'^  ("(?:[^"\\]|\\.)+"): ("(?:[^"\\]|\\.)+"),$', LIST.read_text(encoding="utf-8"), re.MULTILINE)
    return {json.loads(english): json.loads(chinese) for english, chinese in found}


@pytest.mark.parametrize("path", SPEAKERS)
def test_every_template_has_its_chinese_form(path):
    said = set(templates((ROOT / "webhook" / path).read_text(encoding="utf-8")))
    assert said, "a module that says nothing does not belong here"
    assert sorted(said - set(rows())) == []


def test_no_form_is_left_over():
    """Each is made somewhere, and has as many values in both languages."""
    made = {text for path in SPEAKERS for text in templates((ROOT / "webhook" / path).read_text(encoding="utf-8"))}
    listed = rows()
    assert sorted(set(listed) - made) == []
    assert [english for english, chinese in listed.items() if english.count(VALUE) != chinese.count(VALUE)] == []


def test_a_new_sentence_would_be_seen():
    """Of a module: what is said there is found, with its values; its docstring and a key are not."""
    lines = (
        '"""Of it."""',
        'KEY = "spec"',
        "def why(name, n):",
        '    """Say it."""',
        '    return f"queue {name} has {n}; it waits"',
    )
    module = "\n".join(lines)
    assert sorted(templates(module)) == ["it waits", "queue {} has {}"]

"""What is said of a workload, and what the page refuses, has its Chinese form: each template stands in the list."""

import ast
import json
import re

import pytest

from tests.shared import ROOT

LIST = ROOT / "webhook/dashboard/static/words/zh_sentences.js"
SPEAKERS = (
    "queue/cycle/nominate.py", "queue/cycle/one_cycle.py", "queue/definitions.py", "queue/explain.py",
    "queue/flavors/request_plan.py", "queue/flavors/search.py", "queue/pending/queue.py", "queue/state.py",
    "api/snapshot/workload.py",
    "cluster/workloads/admission_checks.py", "cluster/workloads/conditions.py", "cluster/workloads/events.py",
    "cluster/workloads/reserved_status.py", "cluster/workloads/pending_status.py", "cluster/decision_writer.py",
    "cluster/jobs/actions.py", "cluster/jobs/groups.py", "cluster/jobs/parents.py",
    "cluster/jobs/pods_ready_condition.py", "jobs/finish.py", "dashboard/views/what_if.py", "dashboard/views/rows.py",
    "queue/forecast.py", "api/shortage_sentence.py",
)  # fmt: skip
REFUSERS = (
    "dashboard/views/simulate.py", "dashboard/views/what_if.py", "dashboard/web/answers.py", "dashboard/web/app.py",
    "dashboard/web/long_work.py", "dashboard/web/query.py", "dashboard/web/routes.py",
)  # fmt: skip
"""Modules whose exceptions are answers of the page."""
CONTROLLERS = {
    "Reached expected number of succeeded pods",
    "Job has reached the specified backoff limit",
    "Job was active longer than specified deadline",
    "Job has failed indexes",
    "Job has exceeded the specified maximal number of failed indexes",
    "jobset completed successfully",
    "jobset failed due to one or more job failures",
    "{} {} successfully completed.",
    "{} {} is successfully completed.",
}
"""How the controllers of Job, JobSet, MPIJob and the kubeflow kinds say that one has ended: Workloads repeat it."""
ELSEWHERE = {"log", "tell"}
"""Calls whose texts are for the log, and for Events: the page shows neither."""
VALUE = "{}"


def templates(module):
    """Each text of a module with a space in it, values as `{}`, cut where sentences are joined.

    Docstrings, and what goes elsewhere, are left out.
    """
    tree = ast.parse(module)
    apart = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    apart |= {id(part) for node in ast.walk(tree) if goes_elsewhere(node) for part in ast.walk(node)}
    yield from sentences(tree, apart)


def refusals(module):
    """The same of what a module raises."""
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.Raise):
            yield from sentences(node, set())


def sentences(tree, apart):
    """The texts below a node, but those apart."""
    apart = apart | {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in apart:
            continue
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else VALUE for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        yield from (part for part in text.split("; ") if is_sentence(part))


def is_sentence(text):
    """Say whether there are words in a text, and not values only, nor the name of a kind."""
    return " " in text.strip() and "Kind=" not in text and any(c.isalpha() for c in text.replace(VALUE, ""))


def goes_elsewhere(node):
    """Say whether a node writes to the log, tells an Event or raises: nobody reads that of a workload."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return isinstance(node, ast.Raise)
    owner = node.func.value
    return node.func.attr in ELSEWHERE or (isinstance(owner, ast.Name) and owner.id in ELSEWHERE)


def rows():
    """The list: English -> Chinese."""
    found = re.findall(r'^  ("(?:[^"\\]|\\.)+"): ("(?:[^"\\]|\\.)+"),$', LIST.read_text(encoding="utf-8"), re.MULTILINE)
    return {json.loads(english): json.loads(chinese) for english, chinese in found}


@pytest.mark.parametrize("path", SPEAKERS)
def test_every_template_has_its_chinese_form(path):
    said = set(templates((ROOT / "webhook" / path).read_text(encoding="utf-8")))
    assert said, "a module that says nothing does not belong here"
    assert sorted(said - set(rows())) == []


@pytest.mark.parametrize("path", REFUSERS)
def test_every_refusal_has_its_chinese_form(path):
    said = set(refusals((ROOT / "webhook" / path).read_text(encoding="utf-8")))
    assert said, "a module that refuses nothing does not belong here"
    assert sorted(said - set(rows())) == []


def test_ends_as_controllers_tell_them_have_theirs():
    assert sorted(CONTROLLERS - set(rows())) == []


def test_no_form_is_left_over():
    """Each is made somewhere, and has as many values in both languages."""
    made = CONTROLLERS | {
        text for path in SPEAKERS for text in templates((ROOT / "webhook" / path).read_text(encoding="utf-8"))
    }
    made |= {text for path in REFUSERS for text in refusals((ROOT / "webhook" / path).read_text(encoding="utf-8"))}
    listed = rows()
    assert sorted(set(listed) - made) == []
    assert [english for english, chinese in listed.items() if english.count(VALUE) != chinese.count(VALUE)] == []


def test_a_new_sentence_would_be_seen():
    """Of a module: what is said there is found, with its values; its docstring, a key and the log are not."""
    lines = (
        '"""Of it."""',
        'KEY = "spec"',
        "def why(name, n):",
        '    """Say it."""',
        '    log.info("%s is asked", name)',
        '    self._events.tell(name, "Asked", f"Asked for {name}")',
        '    return f"queue {name} has {n}; it waits"',
    )
    module = "\n".join(lines)
    assert sorted(templates(module)) == ["it waits", "queue {} has {}"]

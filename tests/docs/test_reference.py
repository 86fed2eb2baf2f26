"""The reference names all that the code has: commands, options, settings, metrics, findings, annotations, labels."""

import ast
import re
import subprocess
import sys

import click
import pytest

from tests.docs.markdown import DOCS
from tests.docs.reference import PAGES, QUEUES, commands
from tests.shared import ROOT
from webhook.cli.group import cli
from webhook.offline.importing.kyverno import NATIVE, NOT_CEL
from webhook.offline.lint.all_rules import BY_CODE
from webhook.offline.reference.field_words import WORDS
from webhook.policy.loading.policy_kinds import SHAPES
from webhook.policy.loading.shapes import Items, Record

SOURCES = [*(ROOT / "webhook").rglob("*.py"), *(ROOT / "policies").rglob("policy.yaml")]
METRIC_CLASSES = {"Counter", "Gauge", "Histogram", "CounterMetricFamily", "GaugeMetricFamily", "HistogramMetricFamily"}
NO_KEYS = {"sluice.dev/v1alpha1", "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/manager"}
"""API versions, and who a patch is of: written like keys of annotations, and none."""
SELECTORS = {"matchLabels", "matchExpressions", "key", "operator", "values"}
"""Fields of every label selector: a page of compatibility need not name them."""


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_of_this_code(name):
    """The pages are what `make reference` writes today; in a process of its own, as click keeps what it was asked."""
    code = f"import sys; from tests.docs.reference import PAGES; sys.stdout.write(PAGES[{name!r}]())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (DOCS / name).read_text(encoding="utf-8") == done.stdout, "run `make reference`"


def test_every_option_is_named():
    """Each command has a section with each of its options."""
    page = (DOCS / "reference/commands.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (sluice[^\n]*)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    missing = []
    for path, command in commands(cli):
        section = sections.get(" ".join(("sluice", *path)), "")
        options = (p for p in command.params if isinstance(p, click.Option) and not p.hidden)
        missing += [f"{path}: {flag}" for option in options for flag in option.opts if flag not in section]
    assert not missing


def test_every_setting_of_the_queues_is_named():
    """Each field that a table of `api/configuration` reads stands on the page; those of Kueue's process do not."""
    tables = ast.parse((ROOT / "webhook/api/configuration/read.py").read_text(encoding="utf-8")).body
    typed = [node for node in tables if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Subscript)]
    dicts = [node.value for node in typed if isinstance(node.value, ast.Dict)]
    keys = {key.value for table in dicts[:-1] for key in table.keys if isinstance(key, ast.Constant)}
    named = {word for path in QUEUES for word in path.split(".")}
    assert len(keys) > 25
    assert keys <= named


def test_every_field_of_a_policy_and_every_kind_of_kyverno_is_named():
    """The page of compatibility names each field of `spec` that is read, and each kind that the import knows."""
    page = (DOCS / "policy-compatibility.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([^`\s]+)`", page))
    fields = {name for shape in SHAPES.values() for name in _names(shape.fields["spec"])}
    assert len(fields) > 25
    assert fields - SELECTORS <= named
    assert {*NATIVE, *NOT_CEL} <= named


def _names(shape):
    """The fields of a shape and of what is in it."""
    inner = shape.of if isinstance(shape, Items) else shape
    if isinstance(inner, Record):
        for name, each in inner.fields.items():
            yield name
            yield from _names(each)


def test_every_metric_is_named():
    """Each name that is given to a metric's class anywhere in the code stands on the page."""
    page = (DOCS / "reference/metrics.md").read_text(encoding="utf-8")
    names = set()
    for source in (ROOT / "webhook").rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in METRIC_CLASSES
            if named and node.args and isinstance(node.args[0], ast.Constant):
                names.add(node.args[0].value)
    assert len(names) > 15
    assert not [name for name in names if f"`{name}`" not in page and f"`{name}_total`" not in page]


def test_every_finding_is_named():
    """Each code is listed, and has a page; those of the configuration stand on its page."""
    page = (DOCS / "findings/README.md").read_text(encoding="utf-8")
    assert not [code for code in BY_CODE if f"[{code}]" not in page or not (DOCS / f"findings/{code}.md").is_file()]
    settings = (DOCS / "reference/configuration.md").read_text(encoding="utf-8")
    sources = (source.read_text(encoding="utf-8") for source in (ROOT / "webhook").rglob("*.py"))
    codes = {code for text in sources for code in re.findall(r'"([A-Z]{3,4}\d{3})"', text)}
    assert not [code for code in codes - set(BY_CODE) if f"| {code} |" not in settings]


@pytest.mark.parametrize(("kind", "name"), [("Suite", "suites.md"), ("PolicyException", "exceptions.md")])
def test_every_field_is_named(kind, name):
    """Each field that an editor is told of stands on the page of its kind."""
    page = (DOCS / "reference" / name).read_text(encoding="utf-8")
    names = {path.split(".")[-1] for path in WORDS[kind]}
    assert not [name for name in names if not re.search(rf"`{name}|^ *(?:- )?{name}:", page, re.MULTILINE)]


def test_every_annotation_is_named():
    """Each annotation, label, gate and finalizer of the code and the shipped policies stands on the page."""
    page = (DOCS / "reference/annotations.md").read_text(encoding="utf-8")
    shipped = {f"sluice.dev/{folder.parent.name}" for folder in (ROOT / "policies").glob("*/policy.yaml")}
    written = r"[\"'` ]((?:sluice\.dev|kueue\.x-k8s\.io)/[a-z0-9-]+)\b"
    found = {key for source in SOURCES for key in re.findall(written, source.read_text(encoding="utf-8"))}
    missing = {key for key in found if f"`{key}`" not in page} - NO_KEYS - (shipped - {"sluice.dev/queue-required"})
    assert (missing, set(re.findall(written, page)) - found) == (set(), set())

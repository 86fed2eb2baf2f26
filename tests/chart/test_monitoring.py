"""What the chart gives a monitoring system: every series is one that Sluice exports, every alert has its page."""

import json
import re

import promql_parser
import pytest
from prometheus_client import PROCESS_COLLECTOR, CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.chart.helm import template
from tests.docs.reference import metrics as reference_metrics
from tests.shared import ROOT
from webhook.cluster.api.write_metrics import WriteMetrics
from webhook.cluster.queues.round_metrics import QueueMetrics
from webhook.documents import read
from webhook.server.metrics import ServerMetrics
from webhook.server.process_metrics import ProcessMetrics, ProcessState

CHART = ROOT / "charts" / "sluice"
RUNBOOKS = ROOT / "docs" / "runbooks"
OF_OTHERS = {"up"}
OF_TARGETS = {"job", "namespace", "pod", "instance"}
PRINTED = {"kueue_queued_workloads", "kueue_admitted_workloads", "kueue_used_quota"}
"""The series of the first article's dashboard."""
OF_RECORDED = {"cluster_queue", "resource"}
"""The labels by which they are recorded."""


def exported():
    """The names of all series, with the endings of counters and histograms."""
    registry, server = CollectorRegistry(), ServerMetrics()
    QueueMetrics(registry)
    registry.register(server)
    for collector in (PROCESS_COLLECTOR, WriteMetrics({})):
        registry.register(collector)
    state = ProcessState("d", 1, {"good": 1}, True, 0.0, {}, {}, registration_differs=False, memory_limit=1)
    registry.register(ProcessMetrics(lambda: state))
    families = text_string_to_metric_families(generate_latest(registry).decode())
    endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}
    return {f"{f.name}{ending}" for f in families for ending in endings.get(f.type, ("",))}


def selectors(expression):
    """The selectors of an expression, read and checked as Prometheus does; raises ValueError with its words."""
    found = []
    promql_parser.walk(promql_parser.parse(expression), lambda node: found.append(node) or True)
    return [node for node in found if isinstance(node, promql_parser.VectorSelector)]


def series(expression):
    """The names of the series that an expression reads."""
    return {selector.name for selector in selectors(expression)}


def labels_of():
    """The labels of each series, besides those that Prometheus gives."""
    parts = reference_metrics().values()
    names = {name: set(labels) for rows in parts for name, _, labels, _ in rows}
    return {name.removesuffix("_total"): labels | OF_TARGETS for name, labels in names.items()}


@pytest.fixture(scope="module")
def groups():
    text = template(
        CHART,
        "--set=monitoring.rules.enabled=true,journal.enabled=true,monitoring.rules.runbooks=https://pages.example/r/",
    )
    (rule,) = [d.value for d in read(text, "chart") if d.value and d.value["kind"] == "PrometheusRule"]
    return {group["name"]: group["rules"] for group in rule["spec"]["groups"]}


def dashboards():
    return {path.stem: json.loads(path.read_text()) for path in (CHART / "dashboards").glob("*.json")}


@pytest.mark.cluster
def test_rules_read_what_is_exported(groups):
    """Each series of an alert or a recorded one is exported by Sluice, or recorded here."""
    rules = [rule for rules in groups.values() for rule in rules]
    recorded = {rule["record"] for rule in rules if "record" in rule}
    assert recorded == PRINTED
    for rule in rules:
        found = series(rule["expr"])
        assert found, rule
        assert found <= exported() | recorded | OF_OTHERS, rule
        for selector in selectors(rule["expr"]):
            known = labels_of().get(re.sub("_(total|bucket|sum|count)$", "", selector.name), OF_TARGETS)
            assert {matcher.name for matcher in selector.matchers.matchers} <= known, rule


def test_an_expression_that_prometheus_refuses_is_found():
    """The parser of these tests has Prometheus' grammar and types."""
    for wrong in ("sum(rate(up[5m])", "rate(up)", "up +", 'up{job="x}', "nothing_known(up)"):
        with pytest.raises(ValueError, match=r"."):
            selectors(wrong)


@pytest.mark.cluster
def test_each_alert_has_a_page(groups):
    """The pages of docs/runbooks are those of the alerts, no more, and each is linked."""
    alerts = {rule["alert"]: rule for rule in groups["sluice-alerts"]}
    assert set(alerts) == {path.stem for path in RUNBOOKS.glob("*.md")}
    for name, alert in alerts.items():
        assert alert["annotations"]["runbook_url"] == f"https://pages.example/r/{name}.md"
        assert alert["labels"]["severity"] in ("warning", "critical")
        assert (RUNBOOKS / f"{name}.md").read_text().startswith(f"# {name}\n")


def test_dashboards_read_what_is_exported():
    """Two dashboards; each panel reads exported series or recorded ones; one has the article's three as printed."""
    found = dashboards()
    assert set(found) == {"admission", "queues"}
    for dashboard in found.values():
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                assert series(target["expr"]) <= exported() | PRINTED | OF_OTHERS, target["expr"]
                for selector in selectors(target["expr"]):
                    name = re.sub("_(total|bucket|sum|count)$", "", selector.name)
                    known = labels_of().get(name, OF_TARGETS) | (OF_RECORDED if name in PRINTED else set())
                    legend = set(re.findall(r"{{(\w+)}}", target.get("legendFormat", "")))
                    assert {matcher.name for matcher in selector.matchers.matchers} | legend <= known, target
    printed = [t["expr"] for panel in found["queues"]["panels"][:3] for t in panel["targets"]]
    assert {expression.split("{")[0] for expression in printed} == PRINTED
    assert "kueue_used_quota{resource='nvidia.com/gpu'}" in printed


def test_dashboards_do_not_depend_on_the_name_of_the_release():
    """The Service, and so the job of its series, is named after the release, which may be any word."""
    for dashboard in dashboards().values():
        for expression in (target["expr"] for panel in dashboard["panels"] for target in panel["targets"]):
            named = {matcher.name for selector in selectors(expression) for matcher in selector.matchers.matchers}
            assert "job" not in named, expression


@pytest.mark.cluster
def test_dashboards_are_found_by_their_label():
    """They stand in a ConfigMap that Grafana's sidecar looks for, whole."""
    text = template(CHART, "--set=monitoring.dashboards.enabled=true")
    (found,) = [d.value for d in read(text, "chart") if d.value and d.value["metadata"]["name"] == "sluice-dashboards"]
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert {name: json.loads(text) for name, text in found["data"].items()} == {
        f"{name}.json": dashboard for name, dashboard in dashboards().items()
    }

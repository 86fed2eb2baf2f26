"""The chart's roles grant what Sluice sends, and nothing else: see rights.yaml."""

import functools
import importlib
import itertools
import json
from pathlib import Path

import pytest

from tests.chart.helm import template
from tests.chart.rights import JOBS, OBJECTS, rows, table
from tests.shared import ROOT
from webhook.api.crds.kinds import KINDS as CUSTOM_KINDS
from webhook.cluster.api.kinds import MANAGED
from webhook.documents import read
from webhook.jobs.kinds import KINDS as JOB_KINDS
from webhook.policy import load_bundle

CHART = ROOT / "charts" / "sluice"
OF_KUEUE = {
    "kind": "Configuration",
    "featureGates": {"FailureRecoveryPolicy": True},
    "objectRetentionPolicies": {"workloads": {"afterDeactivatedByKueue": "1h"}},
}
EVERY_FEATURE = (
    "--set=ui.enabled=true,crds.takeOver=true",
    f"--set-json=kueueConfig={json.dumps(json.dumps(OF_KUEUE))}",
)
HELD = {f"{kind.resource}.{kind.group}" for kind in JOB_KINDS if kind.gvk in MANAGED and not kind.gate}
QUEUES = {kind.name for kind in CUSTOM_KINDS}


@functools.cache
def rendered():
    """The objects of the chart with every feature on."""
    return [d.value for d in read(template(CHART, *EVERY_FEATURE), "chart") if d.value]


def granted(account):
    """The rights of an account, with the rows' names of the table."""
    roles = {(o["kind"], o["metadata"]["name"]): o for o in rendered() if o["kind"] in ("Role", "ClusterRole")}
    found = set()
    for obj in rendered():
        if obj["kind"] in ("RoleBinding", "ClusterRoleBinding") and obj["subjects"][0]["name"] == account:
            role = roles.get((obj["roleRef"]["kind"], obj["roleRef"]["name"]))
            for rule in role["rules"] if role else ():
                pairs = ((group, name) for group in rule["apiGroups"] for name in rule["resources"])
                found |= {(named(*pair, account), verb) for pair in pairs for verb in rule["verbs"]}
    return found


def named(group, resource, account):
    full = ".".join(filter(None, (resource, group)))
    if account == "sluice-crds" and full in QUEUES:
        return OBJECTS
    if full in HELD:
        return JOBS
    if resource.endswith("/finalizers"):
        return "finalizers.of-any-kind"
    return full


@pytest.mark.cluster
@pytest.mark.parametrize("account", ["sluice", "registration", "crds"])
def test_what_is_granted_is_what_is_sent(account):
    """Neither a request without a right nor a right without a request."""
    wanted = {(resource, verb) for (of, resource, verb), _ in rows() if of == account}
    found = granted("sluice" if account == "sluice" else f"sluice-{account}")
    assert sorted(wanted - found) == [], "not granted"
    assert sorted(found - wanted) == [], "granted and never sent"


@pytest.mark.cluster
def test_what_is_written_of_one_name_is_granted_for_that_name():
    """One Lease, one Secret, its own registration; a right to create knows no names."""
    for role in (o for o in rendered() if o["kind"] in ("Role", "ClusterRole") and o["metadata"]["name"] == "sluice"):
        for rule in role["rules"]:
            if {"leases", "secrets", "mutatingwebhookconfigurations"} & set(rule["resources"]):
                assert rule["verbs"] == ["create"] or len(rule["resourceNames"]) == 1, rule


@pytest.mark.cluster
@pytest.mark.parametrize("mode", ["embedded", "external", "none"])
def test_what_shipped_policies_take_parameters_from_is_granted_in_each_mode(mode):
    """A replica is not ready before it has listed all of them."""
    made = [d.value for d in read(template(CHART, f"--set=mode={mode}"), "chart") if d.value]
    (role,) = [o for o in made if (o["kind"], o["metadata"]["name"]) == ("ClusterRole", "sluice")]
    listed = set()
    for rule in role["rules"]:
        if {"list", "watch"} <= set(rule["verbs"]):
            listed |= set(itertools.product(rule["apiGroups"], rule["resources"]))
    (config,) = [o for o in made if o["kind"] == "ConfigMap"]
    (served,) = read(config["data"]["sluice.yaml"])
    folders = [Path(place.replace("/opt/sluice", str(ROOT))) for place in served.value["policies"]]
    plurals = {kind.kind: kind.plural for kind in CUSTOM_KINDS}
    wanted = load_bundle(folders).param_kinds
    assert {(gvk.group, plurals.get(gvk.kind, f"{gvk.kind.lower()}s")) for gvk in wanted} <= listed


@pytest.mark.cluster
def test_the_rights_cover_every_kind_of_job():
    """The kinds that stand for one row of the table are all in the role, with the same verbs."""
    (role,) = [o for o in rendered() if (o["kind"], o["metadata"]["name"]) == ("ClusterRole", "sluice")]
    verbs = {}
    for rule in role["rules"]:
        for group, name in itertools.product(rule["apiGroups"], rule["resources"]):
            verbs[f"{name}.{group}"] = tuple(rule["verbs"])
    assert verbs.keys() >= HELD
    assert len({verbs[name] for name in HELD}) == 1


def test_the_tests_of_the_table_are_there():
    """Each test that the table names is a function of its file; what is not a test's name is a reason."""
    assert set(table()) == {"sluice", "front-proxy", "registration", "crds"}
    for _, told in rows():
        path, _, name = told.partition("::")
        if name:
            module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
            assert hasattr(module, name.partition("[")[0]), told

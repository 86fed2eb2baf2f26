"""The places where files and the API server's objects were read differently; `test_against_server` holds all others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.kube.schemas import built_in_kinds
from webhook.kube.typed.defaulted import defaulted
from webhook.kube.typed.plugins import admitted

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
ROWS: list[tuple[str, str, dict[str, Any], tuple[str | int, ...], Any]] = [
    ("v1", "Service", {"spec": {"ports": [{"port": 80}]}}, ("spec", "type"), "ClusterIP"),
    ("v1", "Service", {"spec": {"ports": [{"port": 80}]}}, ("spec", "ports", 0, "targetPort"), 80),
    ("v1", "Namespace", {}, ("spec",), {}),
    ("v1", "Namespace", {}, ("metadata", "labels"), {"kubernetes.io/metadata.name": "a"}),
    ("storage.k8s.io/v1", "StorageClass", {}, ("volumeBindingMode",), "Immediate"),
    ("apps/v1", "DaemonSet", {}, ("spec", "updateStrategy", "rollingUpdate"), {"maxUnavailable": 1, "maxSurge": 0}),
    ("apps/v1", "ReplicaSet", {}, ("spec", "replicas"), 1),
    ("rbac.authorization.k8s.io/v1", "Role", {}, ("rules",), None),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", {"rules": []}, ("rules",), []),
    ("v1", "Pod", {"spec": {"volumes": [{"name": "v"}]}}, ("spec", "volumes", 0), {"name": "v", "emptyDir": {}}),
    ("v1", "Pod", {"spec": {"hostNetwork": None}}, ("spec", "hostNetwork"), "absent"),
    ("v1", "Pod", {"spec": {"nodeSelector": {}}}, ("spec", "nodeSelector"), "absent"),
    ("v1", "Pod", {"spec": {"hostPID": False}}, ("spec", "hostPID"), "absent"),
    ("v1", "Pod", {"spec": {"hostUsers": False}}, ("spec", "hostUsers"), False),
    ("v1", "Pod", {"spec": {"notAField": 1}}, ("spec", "notAField"), "absent"),
    ("v1", "ConfigMap", {"data": {"a": None}}, ("data",), {"a": ""}),
    ("v1", "Secret", {"stringData": {"a": "b"}}, ("data",), {"a": "Yg=="}),
    ("v1", "ResourceQuota", {"spec": {"hard": {"cpu": 0.5}}}, ("spec", "hard"), {"cpu": "500m"}),
]


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if isinstance(value, dict) and step not in value:
            return "absent"
        value = value[step]
    return value


@pytest.mark.parametrize(("version", "kind", "rest", "path", "expected"), ROWS)
def test_a_file_is_read_as_the_server_reads_it(
    version: str, kind: str, rest: dict[str, Any], path: tuple[str | int, ...], expected: Any
) -> None:
    """One field each; `absent` where the server leaves it out."""
    obj = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, **rest}
    assert _at(defaulted(obj), path) == expected


def test_a_null_in_a_label_is_an_empty_text() -> None:
    """Go has no null in a map of texts."""
    obj = {**POD, "metadata": {"name": "a", "labels": {"x": None}, "annotations": None}}
    assert defaulted(obj)["metadata"] == {"name": "a", "labels": {"x": ""}}


def test_the_plugins_mark_a_pod() -> None:
    """The account and its token, two tolerations, a priority."""
    spec = admitted(defaulted({**POD, "spec": {"containers": [{"name": "c", "image": "i"}]}}))["spec"]
    assert (spec["serviceAccountName"], spec["priority"]) == ("default", 0)
    assert [t["key"].rpartition("/")[2] for t in spec["tolerations"]] == ["not-ready", "unreachable"]
    assert spec["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"] == 3607
    assert spec["containers"][0]["volumeMounts"][0]["name"] == spec["volumes"][0]["name"]


_KEYS = ("spec", "template", "metadata", "labels", "containers", "volumes", "ports", "rollingUpdate", "strategy", "a")
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3),
    max_leaves=12,
)


@given(st.sampled_from(built_in_kinds()), st.dictionaries(st.sampled_from(_KEYS), _ANYTHING))
def test_malformed_objects_do_not_fail_and_reading_twice_changes_nothing(gvk: Any, rest: dict[str, Any]) -> None:
    """Whatever a file holds, it is read; and what was read is read the same again."""
    once = admitted(defaulted({**rest, "apiVersion": gvk.api_version, "kind": gvk.kind}))
    assert admitted(defaulted(once)) == once


@pytest.mark.parametrize(
    "odd", [7, "x", [], [1], True, {"annotations": 7}, {"annotations": [1]}, {"finalizers": 7}], ids=str
)
@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("v1", "Pod"),
        ("networking.k8s.io/v1", "Ingress"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "PersistentVolume"),
    ],
)
def test_metadata_of_an_odd_type_stays_as_it_is(version, kind, odd):
    """The API server refuses it before its plugins come."""
    obj = {"apiVersion": version, "kind": kind, "metadata": odd, "spec": {"containers": []}}
    assert admitted(defaulted(obj))["metadata"] == defaulted(obj)["metadata"]


@pytest.mark.parametrize("odd", [7, "x", [1], True])
@pytest.mark.parametrize("field", ["limits", "requests"])
@pytest.mark.parametrize("whole", [False, True])
def test_amounts_of_an_odd_type_stay_as_they_are(odd, field, whole):
    """A file may hold anything where requests and limits are: the API server refuses it, and nothing breaks here."""
    asked = {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}, field: odd}
    spec = {"containers": [{"name": "c", "resources": {} if whole else asked}]} | (
        {"resources": asked} if whole else {}
    )
    found = defaulted({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})["spec"]
    assert (found if whole else found["containers"][0])["resources"][field] == odd

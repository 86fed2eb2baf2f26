"""Label selectors: what they take, and what is refused."""

import pytest

from webhook.kube.gvk import GroupVersionKind, GroupVersionResource, gvk_of, split_api_version
from webhook.kube.selectors import SelectorError, compile_selector


@pytest.mark.parametrize(
    ("selector", "labels", "taken"),
    [
        (None, {}, True),
        ({}, {"a": "b"}, True),
        ({"matchLabels": {"a": "b"}}, {"a": "b", "c": "d"}, True),
        ({"matchLabels": {"a": "b"}}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}]}, {"a": "y"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, {"a": "x"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": ""}, False),
        (
            {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]},
            {"a": "b"},
            False,
        ),
    ],
)
def test_selector(selector, labels, taken):
    """Every operator takes what the API server's does; NotIn takes objects without the label."""
    assert compile_selector(selector)(labels) is taken


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "a", "operator": "in", "values": ["x"]},
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "Exists", "values": ["x"]},
        {"operator": "Exists"},
    ],
)
def test_wrong_selector(expression):
    """A selector that cannot be used is an error that leads to the wrong part."""
    with pytest.raises(SelectorError) as caught:
        compile_selector({"matchExpressions": [expression]})
    assert caught.value.path[:2] == ("matchExpressions", 0)


def test_names_of_kinds():
    """Kinds read from objects and print as apiVersion and kind; the core group is empty."""
    assert gvk_of({"apiVersion": "batch/v1", "kind": "Job"}) == GroupVersionKind("batch", "v1", "Job")
    assert gvk_of({}) == GroupVersionKind("", "", "")
    assert str(GroupVersionKind("", "v1", "Pod")) == "v1 Pod"
    assert str(GroupVersionResource("apps", "v1", "deployments")) == "apps/v1 deployments"
    assert split_api_version("v1") == ("", "v1")

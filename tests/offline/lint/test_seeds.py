"""The articles' own manifests have mistakes that lint names."""

from datetime import UTC, datetime

import pytest

from tests.seeds import HERE
from webhook.offline.files import read_files
from webhook.offline.lint.apply_rules import lint


@pytest.mark.parametrize(
    ("article", "code", "source", "hint"),
    [
        ("000", "QUE003", "borrowingLimit: 4  # 允许借用4个GPU", "set spec.cohort, or remove the limit"),
        ("000", "QUE024", 'kueue.x-k8s.io/priority-class: "medium"', ""),
        ("000", "BYP001", "containers:", "add resources.requests to its containers"),
        ("001", "LIM009", 'limits.nvidia.com/gpu: "8"', "remove it; requests.nvidia.com/gpu is already set"),
        (
            "002",
            "LIM001",
            "nvidia.com/gpu: 0.5",
            "write 1: a pod cannot request a part of one unit",
        ),
        ("002", "LIM007", "nvidia.com/gpu: 1", "set default: {nvidia.com/gpu: 0}"),
        ("003", "QUE023", "kueue.x-k8s.io/queue-name: localqueue-team-a # 指向 localqueue-team-a LocalQueue", ""),
        ("002", "SCH003", "apiVersion: v1", "the kind was removed"),
        ("004", "QUE025", "name: my-gpu-pod", ""),
        ("004", "SCH001", "tolerations:", ""),
    ],
)
def test_a_mistake_of_an_article_is_named(article, code, source, hint):
    """The finding stands at the article's own line and says what to do."""
    (path,) = HERE.glob(f"{article}-*.yaml")
    hits = [f for f in lint(read_files([path]), datetime.now(UTC)).findings if f.code == code]
    assert source in [f.source.strip() for f in hits]
    assert any(f.hint.startswith(hint) for f in hits)

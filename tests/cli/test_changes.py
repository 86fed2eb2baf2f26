"""A patch in a few words."""

import pytest

from webhook.cli.demo.patch_words import changes

TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists"}


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([{"op": "add", "path": "/spec/suspend", "value": True}], ["spec.suspend: true"]),
        ([{"op": "add", "path": "/metadata/labels/a~1b", "value": "q"}], ["metadata.labels.a/b: q"]),
        ([{"op": "remove", "path": "/metadata/labels/x"}], ["remove metadata.labels.x"]),
        ([{"op": "test", "path": "/spec", "value": {}}], []),
        (
            [{"op": "add", "path": f"/spec/t/{i}/spec/tolerations", "value": [TOLERATION]} for i in range(3)],
            ["spec.tolerations: nvidia.com/gpu Exists (x3)"],
        ),
        (
            [{"op": "add", "path": "/spec/containers/0/resources", "value": {"limits": {"cpu": "1"}}}],
            ["resources.limits.cpu: 1"],
        ),
    ],
)
def test_changes(steps, told):
    """Fields are named from the last telling part of their path; the same change in several places is one line."""
    assert changes(steps) == told

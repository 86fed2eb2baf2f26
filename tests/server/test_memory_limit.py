"""What a container says of its memory limit, in both versions of cgroups."""

import pytest

from webhook.server import process_metrics


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"v2": "536870912\n"}, 536870912),
        ({"v2": "max\n"}, None),
        ({"v1": "536870912\n"}, 536870912),
        ({"v1": "9223372036854771712\n"}, None),
        ({}, None),
    ],
    ids=["version 2", "version 2 without a limit", "version 1", "version 1 without a limit", "no container"],
)
def test_the_limit_is_that_of_the_container(files, limit, tmp_path, monkeypatch):
    """A number of bytes, or none."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(process_metrics, "_LIMITS", (tmp_path / "v2", tmp_path / "v1"))
    assert process_metrics.memory_limit() == limit

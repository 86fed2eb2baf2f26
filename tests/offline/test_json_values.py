"""JSON is read as JSON: the same values as the YAML reader gives, and what that refuses is left to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.offline.running import invoke
from webhook import documents
from webhook.cli.commands.queues.plan import plan
from webhook.offline.files import json_values


def maps(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Maps whose keys have quotes and colons, too."""
    return st.dictionaries(st.sampled_from(("a", "b", 'c":', "d\\", '":"')), inner, max_size=4)


SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="ascii"), max_size=9)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | maps(inner), max_leaves=20)


@given(value=maps(VALUES), indent=st.sampled_from((None, 2)), colon=st.sampled_from((":", ": ", " : ")))
@settings(deadline=None)
def test_json_gives_what_yaml_gives(value: dict[str, Any], indent: int | None, colon: str) -> None:
    text = json.dumps(value, indent=indent, separators=(",", colon))
    assert json_values(text) == [value]
    if colon != ":":  # YAML wants the blank
        assert [document.value for document in documents.read(text)] == [value]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: 1", id="YAML"),
        pytest.param("{a: 1}", id="a flow of YAML"),
        pytest.param('{"a": 1}\n---\n{"a": 1}', id="two documents"),
        pytest.param('{"a": 1, "a": 2}', id="a key twice"),
        pytest.param('{"a": [{"b" : 1, "b":2}]}', id="a key twice, and blanks"),
        pytest.param('{"a":"\\":", "b":1, "b":2}', id="a key twice, and a text that looks like one"),
        pytest.param("[" * 201 + "]" * 201, id="nested deeply"),
        pytest.param('{"a": NaN}', id="no number"),
        pytest.param('{"a": "\\ud800"}', id="half of a pair"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_is_no_plain_json_is_left_to_the_reader_of_yaml(text: str) -> None:
    assert json_values(text) is None


def test_a_mistake_in_json_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "twice.json").write_text('{"apiVersion": "v1", "kind": "Namespace",\n "kind": "Job"}')
    (tmp_path / "number.json").write_text(
        '{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "w", "namespace": "n"},\n'
        ' "spec": {"podSets": 3}}'
    )
    for name, place in (("twice.json", "twice.json:2:2"), ("number.json", "number.json:2:")):
        ended = invoke(plan, "-f", str(tmp_path / name))
        assert ended.exit_code == 2
        assert place in ended.stderr, ended.stderr

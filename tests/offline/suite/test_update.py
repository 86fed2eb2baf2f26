"""`sluice test --update`: what is written into suites in other forms than a block, and what is left as it is."""

import json

import pytest
from click.testing import CliRunner

from tests.policy import support
from webhook import documents
from webhook.cli.commands.policies.test import test as command

THINGS = "[{apiGroups: [tests.dev], apiVersions: [v1], resources: [pods], operations: ['*']}]"
POLICY = support.mutating('[JSONPatch{op: "add", path: "/spec/y", value: object.spec.x}]', THINGS)
HEAD = "apiVersion: sluice.dev/v1alpha1\nkind: Suite\npolicies: [policy.yaml]\ncases:\n"
POD = "{apiVersion: tests.dev/v1, kind: Pod, metadata: {name: a}, spec: {x: %s}}"
ONE = f"- name: one\n  object: {POD % 1}\n  expect"
TWO = f"- name: two\n  object: {POD % 1}\n  expect"
OTHER = f"- name: two\n  object: {POD % 2}\n  expect"
PATCH = '{"op":"add","path":"/spec/y","value":1}'
OBJECT = '{"apiVersion":"tests.dev/v1","kind":"Pod","metadata":{"name":"a","namespace":"default"},"spec":{"x":1,"y":1}}'


def updated(folder, text, name="suite.yaml"):
    """Write a suite, update it; gives the result and the new text."""
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "pod.yaml").write_text(POD % 1)
    file = folder / name
    file.write_bytes(text.encode())
    done = CliRunner().invoke(command, [str(file), "--update"])
    assert not isinstance(done.exception, Exception), done.exception
    return done, file.read_bytes().decode()


@pytest.mark.parametrize(
    ("cases", "wanted"),
    [
        (f"{ONE}: &e\n    patch: []\n{TWO}: *e\n", f"{ONE}: &e\n    patch:\n    - {PATCH}\n{TWO}: *e\n"),
        (
            f"{ONE}: &e\n    patch: []\n{TWO}:\n    <<: *e\n",
            f"{ONE}: &e\n    patch:\n    - {PATCH}\n{TWO}:\n    <<: *e\n",
        ),
        (
            f"{ONE}:\n    patch: &p []\n{TWO}:\n    patch: *p\n",
            f"{ONE}:\n    patch: &p\n    - {PATCH}\n{TWO}:\n    patch: *p\n",
        ),
        (
            f"{ONE}:\n    patch: &p  # why\n    - {{op: remove, path: /a}}\n    # end\n{TWO}:\n    patch: *p\n",
            f"{ONE}:\n    patch: &p  # why\n    - {PATCH}\n    # end\n{TWO}:\n    patch: *p\n",
        ),
        (
            f"{ONE}: {{\n    patch: [],\n    allowed: true}}\n",
            f"{ONE}: {{\n    patch: [{PATCH}],\n    allowed: true}}\n",
        ),
        (f"{ONE}: {{\n    patch:\n      [\n      ]}}\n", f"{ONE}: {{\n    patch:\n      [{PATCH}]}}\n"),
        (f"{ONE}: {{\n    patched: {{}}}}\n", f"{ONE}: {{\n    patched: {OBJECT}}}\n"),
        (f"{ONE}: {{patched: }}\n", f"{ONE}: {{patched: {OBJECT}}}\n"),
        (f"{ONE}: &f {{patch: []}}\n{TWO}:\n    <<: *f\n", f"{ONE}: &f {{patch: [{PATCH}]}}\n{TWO}:\n    <<: *f\n"),
        (f"{ONE}:\n    ? patch\n    : []\n", f"{ONE}:\n    ? patch\n    : [{PATCH}]\n"),
        (
            f"{ONE}:\n    ? patch\n    : - {{op: remove, path: /a}}\n    # end\n    ? allowed\n    : true\n",
            f"{ONE}:\n    ? patch\n    : [{PATCH}]\n    # end\n    ? allowed\n    : true\n",
        ),
        (f"{ONE}:\r\n    patch: []  # why\r\n", f"{ONE}:\r\n    patch:  # why\r\n    - {PATCH}\r\n"),
    ],
)
def test_what_is_written(tmp_path, cases, wanted):
    """Within `{ }` on the same line, in a block an operation a line; an anchor stays, and what shares it is equal."""
    done, text = updated(tmp_path, HEAD + cases)
    assert text == HEAD + wanted
    assert (done.exit_code, done.stderr) == (0, f"updated 1 in {tmp_path / 'suite.yaml'}\n")


def test_a_byte_order_mark_stays(tmp_path):
    _, text = updated(tmp_path, f"\ufeff{HEAD}{ONE}: {{patch: []}}\n")
    assert text == f"\ufeff{HEAD}{ONE}: {{patch: [{PATCH}]}}\n"


@pytest.mark.parametrize("indent", [None, 2])
def test_a_suite_in_json(tmp_path, indent):
    (suite,) = documents.read(f"{HEAD}{ONE}: {{patch: []}}\n{TWO}: {{patched: {{}}}}\n")
    done, text = updated(tmp_path, json.dumps(suite.value, indent=indent), "suite.json")
    one, two = json.loads(text)["cases"]
    assert (one["expect"], two["expect"]) == ({"patch": [json.loads(PATCH)]}, {"patched": json.loads(OBJECT)})
    assert done.exit_code == 0


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        (
            f"{ONE}: &e\n    patch: []\n{OTHER}: *e\n",
            "suite.yaml:8:12: not updated: cases[0].expect.patch and cases[1].expect.patch share this value by an "
            "anchor, and need different ones",
        ),
        (
            f"{ONE}:\n    patch: &p []\n{TWO}:\n    warnings: *p\n",
            "suite.yaml:8:12: not updated: cases[0].expect.patch and cases[1].expect.warnings share this value by an "
            "anchor, and need different ones",
        ),
        (
            f"{ONE}:\n    patch: [&x {{op: remove, path: /a}}]\n{TWO}:\n    contains: *x\n",
            "suite.yaml: not updated: the new text would not be read as wanted; write the patch or object by hand",
        ),
        (
            f"{ONE}: {{patched: pod.yaml}}\n",
            "suite.yaml:7:21: not updated: the object is in pod.yaml; change that by hand",
        ),
    ],
)
def test_what_is_left_as_it_is(tmp_path, cases, said):
    """A value that a case shares with one that needs another, and a file that would not be read as wanted."""
    done, text = updated(tmp_path, HEAD + cases)
    assert text == HEAD + cases
    assert (done.exit_code, done.stderr) == (1, f"{tmp_path}/{said}\n")

"""A short run of the fuzz targets, and what they found."""

import subprocess
import sys

import pytest

from tests.shared import ROOT
from webhook.cel import check_types, compile, validation_env
from webhook.diagnostics import SourceError
from webhook.documents import read
from webhook.kube.json_patch import Operation, PatchError, apply


def test_the_doors_stand_random_input():
    """Twenty seconds of cases from seed 0, in a process with 2 GB: only documented errors, no case takes long."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "20"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing found" in done.stdout


@pytest.mark.parametrize(
    ("document", "operation"),
    [
        (3, Operation("test", "/a", 1)),
        ("x", Operation("copy", "/b", from_="/a")),
        ([1], Operation("remove", "/٠")),
        ([1], Operation("remove", "/" + "9" * 5_000)),
    ],
)
def test_patches_that_fuzzing_found(document, operation):
    """A scalar has nothing at a path, and an index is a short run of ASCII digits."""
    with pytest.raises(PatchError):
        apply(document, [operation])


def test_half_a_surrogate_pair_in_documents_has_a_place():
    """It is no character: an error at its line, not a crash of the reader."""
    with pytest.raises(SourceError) as caught:
        read("a: 1\nb: \ud800\n", "f.yaml")
    assert (caught.value.diagnostics[0].place.line, caught.value.diagnostics[0].place.column) == (2, 4)


def test_half_a_surrogate_pair_in_expressions_is_the_replacement_character():
    """Go reads such a text so; a constant pattern is compiled with it."""
    program = compile("'\ufffd'.matches('\ud800')", validation_env())
    assert program.evaluate(dict.fromkeys(program.env.variables)) is True


def test_nested_macros_are_walked_once():
    """Looking for misspelt fields takes time in proportion to the text."""
    depth = 200
    assert check_types("object.l.map(x, " * depth + "x" + ")" * depth, [{}]).made == (None,)

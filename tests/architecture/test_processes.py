"""Tests run side by side, a file in one process: no two processes start a control plane or build the image at once.

Each process collects the tests by itself, and pytest-xdist runs none of them where two collections differ.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import xdist

ROOT = Path(__file__).parents[2]


def test_a_file_stays_in_one_process(request: pytest.FixtureRequest):
    """pytest-xdist reads a test's group from the end of its id, and spreads those without one over all processes."""
    if not xdist.is_xdist_worker(request):
        pytest.skip("this run has one process")
    assert request.node.nodeid.endswith(f"@{request.node.location[0]}")


def test_another_process_collects_these_tests(request: pytest.FixtureRequest):
    """What is drawn at random, and the order of a set, never gets into the name of a test."""
    groups = {item: next(item.iter_markers("xdist_group")).args[0] for item in request.session.items}
    here = {item.nodeid.removesuffix(f"@{group}") for item, group in groups.items()}
    there = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", "tests"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.splitlines()
    lost = sorted(here.difference(there))
    assert not lost, f"named otherwise in another process: {lost[:3]}"

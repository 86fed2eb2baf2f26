"""Tests run side by side, a file in one process: no two processes start a control plane or build the image at once."""

import pytest
import xdist


def test_a_file_stays_in_one_process(request: pytest.FixtureRequest):
    """pytest-xdist reads a test's group from the end of its id, and spreads those without one over all processes."""
    if not xdist.is_xdist_worker(request):
        pytest.skip("this run has one process")
    assert request.node.nodeid.endswith(f"@{request.node.location[0]}")

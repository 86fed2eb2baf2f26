"""Tests run side by side, a file in one process: what a module starts is shared, and what costs most is made once.

Each process collects the tests by itself; where two collections differ, pytest-xdist says so and runs none of them.
"""

import pytest
import xdist


def test_a_file_stays_in_one_process(request: pytest.FixtureRequest):
    """pytest-xdist reads a test's group from the end of its id, and spreads those without one over all processes."""
    if not xdist.is_xdist_worker(request):
        pytest.skip("this run has one process")
    assert request.node.nodeid.endswith(f"@{request.node.location[0]}")

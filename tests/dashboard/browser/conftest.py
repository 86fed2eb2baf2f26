"""A browser for all tests of this folder, and servers with made-up clusters."""

import pytest

from tests.dashboard.browser import chromium, crowd
from tests.dashboard.browser.served import Scene, served
from tests.dashboard.browser.two_teams import answers as two_teams


@pytest.fixture(scope="module")
def browser():
    """The system's Chromium; without one the test is skipped.

    It ends with its file: while its driver runs, the thread has a running event loop, and no other test can have one.
    """
    if chromium.PROGRAM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with chromium.browser() as started:
        yield started


@pytest.fixture
def small():
    """The cluster of two teams."""
    with served(Scene(two_teams.answer)) as server:
        yield server


@pytest.fixture
def crowded():
    """1,000 queues."""
    with served(Scene(crowd.crowd)) as server:
        yield server


@pytest.fixture
def spoiled():
    """Names that are markup, or far too long."""
    with served(Scene(crowd.hostile)) as server:
        yield server


@pytest.fixture
def read(browser, small):
    """A reader of the small cluster, in the first look."""
    with chromium.reader(browser, small.url) as seen:
        yield seen

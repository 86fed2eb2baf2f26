"""What every test folder may ask for: the real control plane (built on first use).

Whoever starts the tests, they listen to Ctrl-C, and what they start does: a shell tells its background jobs not to.
No example fails for being slow: the machine may be busy with other work.
Tests run side by side, a file in one process; each process has a control plane of its own, started on first use.
"""

import gc
import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests.controlplane.fixtures import control_plane, kube, namespace
from tests.image.fixtures import image

__all__ = ["control_plane", "image", "kube", "namespace"]

TOGETHER = ("image", "two_replicas")
"""Fixtures that are made once: the files that ask for one stay in one process."""

A_CORE = 2
"""Processes: a test of a control plane waits for half of its time."""
MEMORY = 3 << 30
"""Bytes of the machine to a process: a control plane, what is tested on it, and the tests."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the option by which the pictures of the documentation are made again."""
    parser.addoption("--pictures", action="store_true", help="make the pictures of the page in docs/images again")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Say what `-n auto` stands for; None leaves it to pytest-xdist, and so to its variable of the environment."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(cores, min(A_CORE * cores, memory // MEMORY))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say which tests stay in one process: those of a file, and those of a fixture that is made once.

    What takes longest comes first, so that no process is left alone with it. First of all hooks: pytest-xdist reads the
    marks in its own.
    """
    for item in items:
        shared = [name for name in TOGETHER if name in getattr(item, "fixturenames", ())]
        item.add_marker(pytest.mark.xdist_group(*shared or [item.location[0]]))
    items.sort(key=_turn)


def pytest_collection_finish() -> None:
    """Let no search for garbage visit what stays until the end: all modules, and twelve thousand tests."""
    gc.collect()
    gc.freeze()


def _turn(item: pytest.Item) -> int:
    names = getattr(item, "fixturenames", ())
    return next((turn for turn, name in enumerate((*TOGETHER, "control_plane")) if name in names), len(TOGETHER) + 1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape what no text can hold in what a test printed: names of files that are not UTF-8 go between processes."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report

"""The pictures of the documentation are of a real daemon, at the end of a day that it lived."""

import pytest

from tests.dashboard.browser.aside import aside
from tests.dashboard.browser.chromium import Look, reader
from tests.dashboard.day.lived import NOW, lived
from tests.shared import ROOT

VIEWS = {
    "cluster": "#/cluster",
    "queue": "#/queues/vision",
    "job": "#/workloads/vision/augment?priority=100",
    "policies": "#/policies",
    "simulate": "#/simulate?queue=vision&resource=nvidia.com%2Fgpu&quota=24",
}
LANGUAGES = {"": "en", "zh-": "zh-CN"}
MOST_BYTES = 150_000


@pytest.fixture(scope="module")
def day(tmp_path_factory, request):
    """The day's end; the whole day for pictures, which need its history."""
    whole = request.config.getoption("--pictures")
    with aside(lived(tmp_path_factory.mktemp("day"), whole=whole)) as made:
        yield made.given


def test_what_the_day_ends_with(browser, day):
    """The page says of it what the guide says: for whom one job was stopped, and who waits for what."""
    with reader(browser, day) as seen:
        page = seen.open(f"{day}#/workloads/vision/augment")
        assert "Preempted by Job/asr-2 speech: it took back lent quota" in page.inner_text(".life")
        assert page.inner_text(".standing").startswith(
            "Pending · next in line · waiting for 42 min · expected start 16:00"
        )
        page = seen.open(day + VIEWS["job"])
        assert "preempts Job/segment-7b vision" in page.inner_text(".side >> nth=1")
        assert page.inner_text(".side >> nth=1").split("\n\n")[:2] == ["priority 100", "Runs in vision"]


@pytest.mark.parametrize("prefix", LANGUAGES)
@pytest.mark.parametrize("view", VIEWS)
def test_pictures(browser, day, view, prefix, request):
    """Made when `--pictures` asks for them; each is there and small."""
    path = ROOT / "docs/images" / f"{prefix}page-{view}.png"
    if request.config.getoption("--pictures"):
        with reader(browser, day, Look(width=1120, height=760, language=LANGUAGES[prefix])) as seen:
            seen.page.clock.set_fixed_time(NOW)
            page = seen.open(day + VIEWS[view])
            page.wait_for_selector(".live:not(.reconnecting)")
            page.screenshot(path=path, animations="disabled")
    assert 0 < path.stat().st_size <= MOST_BYTES

"""The system's Chromium, and a page in it that takes note of every mistake."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from tests.patience import PATIENCE

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = [
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
VIEWS = {
    "cluster": "#/cluster",
    "queue": "#/queues/vision",
    "job": "#/workloads/vision/job-segment-7b-4f2a1?gpus=3&resource=nvidia.com%2Fgpu",
    "policies": "#/policies",
    "simulate": "#/simulate?queue=vision&flavor=a100&resource=nvidia.com%2Fgpu&quota=24",
    "find": "#/find?text=e",
}
"""Each view by its name, at an address of the made-up clusters."""


@dataclass(frozen=True)
class Look:
    """How a reader looks at the page."""

    theme: str = "light"
    width: int = 1280
    height: int = 800
    language: str = "en"


LOOKS = {
    "light": Look(),
    "dark": Look("dark"),
    "phone": Look(width=390),
    "dark phone": Look("dark", 360),
    "Chinese": Look(language="zh-CN"),
    "Chinese phone": Look(width=390, language="zh-CN"),
}


@dataclass
class Seen:
    """A page, and what went wrong on it or left its host."""

    page: Page
    host: str
    mistakes: list[str] = field(default_factory=list)
    patient: list[str] = field(default_factory=list)
    """Parts of messages that are expected, of a server that was cut off."""

    def open(self, url: str) -> Page:
        """Open an address and wait until its view stands."""
        self.page.goto("about:blank")
        self.page.goto(url)
        self.page.wait_for_selector("main[data-shown]:not([aria-busy]) h1")
        return self.page


@contextmanager
def browser() -> Iterator[Browser]:
    """Run the browser; its profile is a temporary folder."""
    assert PROGRAM is not None
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=PROGRAM, args=OPTIONS, timeout=1000 * PATIENCE)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def reader(started: Browser, url: str, look: Look = LOOKS["light"]) -> Iterator[Seen]:
    """Give a page as one reader sees it; fails at the end if anything went wrong on it."""
    size = {"width": look.width, "height": look.height}
    context = started.new_context(viewport=size, color_scheme=look.theme, locale=look.language, timezone_id="UTC")
    context.set_default_timeout(1000 * PATIENCE)
    seen = Seen(context.new_page(), urlsplit(url).netloc)
    page = seen.page
    page.on("console", lambda said: said.type in ("error", "warning") and seen.mistakes.append(said.text))
    page.on("pageerror", lambda error: seen.mistakes.append(str(error)))
    page.on("request", lambda request: _note_foreign(request.url, seen))
    try:
        yield seen
        assert [m for m in seen.mistakes if not any(part in m for part in seen.patient)] == []
    finally:
        context.close()


def _note_foreign(url: str, seen: Seen) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("about", "data") and parts.netloc != seen.host:
        seen.mistakes.append(f"a request left the page's host: {url}")

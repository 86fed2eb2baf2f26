"""What changes in the queues changes on the page; a lost connection is said, and mended."""

from tests.dashboard.browser.chromium import reader
from tests.dashboard.browser.crowd import QUEUES
from tests.patience import wait

FIGURES = "[data-key='queue:vision'] .quota .figures >> nth=0"


def test_update_arrives(read, small):
    """The number changes, the bar is the same element, the focus stays, and a screen reader hears of it."""
    page = read.open(small.url)
    page.wait_for_selector(".live.live")
    assert page.inner_text(FIGURES) == "19 / 16"
    page.focus("[data-key='cohort:labs']")
    bar = page.query_selector("[data-key='queue:vision'] .bar .borrowed")
    before = bar.get_attribute("style")
    small.change()
    page.wait_for_selector("[data-key='queue:vision'] .quota .figures:has-text('20 / 16')")
    assert bar.get_attribute("style") != before
    assert page.evaluate("document.activeElement.dataset.key") == "cohort:labs"
    page.wait_for_selector("#said:text-is('6 workloads pending')", state="attached")


def test_a_change_while_the_page_loads_is_said(read, small):
    """What changed while the page was being loaded is loaded after it, and a screen reader hears of it."""
    small.hold()
    page = read.page
    page.goto(small.url)
    page.wait_for_selector(".live.live")
    wait(lambda: any(path.startswith("/ui/api/cluster") for path in small.asked), "the page has asked for its data")
    small.change()
    small.let_go()
    page.wait_for_selector("[data-key='queue:vision'] .quota .figures:has-text('20 / 16')")
    page.wait_for_selector("#said:text-is('6 workloads pending')", state="attached")
    assert page.inner_text(FIGURES) == "20 / 16"


def test_reconnects(read, small):
    """A stream that ends is said, opened again, and what was missed is asked for."""
    read.patient += ["ERR_INCOMPLETE_CHUNKED_ENCODING", "Failed to load resource"]
    page = read.open(small.url)
    page.wait_for_selector(".live.live")
    small.scene.revision += 1  # told to nobody: the page learns of it when it is connected again
    small.cut()
    page.wait_for_selector(".live.reconnecting:text-is('Reconnecting')")
    page.wait_for_selector(".live.live")
    page.wait_for_selector("[data-key='queue:vision'] .quota .figures:has-text('20 / 16')")


def test_nothing_is_asked_twice(read, small):
    """The stream's first event tells of the state that the page has already."""
    page = read.open(small.url)
    page.wait_for_selector(".live.live")
    page.wait_for_timeout(1000)
    assert [path for path in small.asked if path.startswith("/ui/api/cluster")] == [
        "/ui/api/cluster?offset=0&limit=2000"
    ]


def test_a_thousand_queues(browser, crowded):
    """Only what is near the window is drawn, wherever that is; the walk to the end is one key."""
    with reader(browser, crowded.url) as seen:
        page = seen.open(crowded.url)
        rows = page.locator("[role=row][data-key]")
        assert page.get_attribute("[role=treegrid]", "aria-rowcount") == str(QUEUES + 50 + 1)
        assert 10 < rows.count() < 80
        page.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
        page.wait_for_selector("[data-key='queue:queue-25-10']")
        assert rows.count() < 80
        page.focus("[role=row][tabindex='0']")
        page.keyboard.press("End")
        page.wait_for_selector("[data-key='queue:queue-49-19']:focus")
        assert rows.count() < 80
        page.fill("#filter", "queue-31-07")
        page.wait_for_selector("[data-key='queue:queue-31-07']")
        assert rows.count() == 2


def test_fifty_thousand_wait(browser, crowded):
    """They are paged; a page has an address."""
    with reader(browser, crowded.url) as seen:
        page = seen.open(crowded.url + "#/queues/queue-00-00")
        assert "1–50 of 50,000" in page.inner_text(".pager")
        page.click(".pager a:has-text('Next')")
        page.wait_for_selector(".pager:has-text('51–100 of 50,000')")
        assert "offset=50" in page.url


def test_language_and_theme_are_kept(read, small):
    """Both are chosen with a button, hold after a reload, and go back to what the system says."""
    page = read.open(small.url)
    page.click("button:has-text('中文')")
    page.wait_for_selector("h1:text-is('集群')")
    page.click("button:has-text('主题')")
    page.click("button:has-text('主题')")
    assert page.get_attribute("html", "data-theme") == "dark"
    page.reload()
    page.wait_for_selector("h1:text-is('集群')")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 23, 26)"
    page.click("button:has-text('主题')")
    assert page.get_attribute("html", "data-theme") is None

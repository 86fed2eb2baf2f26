"""The page asks for a token where the server does, and keeps none."""

import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.dashboard.browser.chromium import reader
from tests.dashboard.browser.served import Scene, served
from tests.dashboard.browser.two_teams import answers as two_teams

TOKEN = "a-token-of-the-test"


def answer(path, query, revision):
    """The small cluster; nobody is logged in until the server says so."""
    made = two_teams.answer(path, query, revision)
    return msgspec.structs.replace(made, mode="login", needs_login=True) if path == ("session",) else made


@pytest.fixture
def guarded():
    with served(Scene(answer, TOKEN)) as server:
        yield server


def test_login(browser, guarded):
    with reader(browser, guarded.url) as seen:
        seen.patient.append("401")
        page = seen.page
        page.goto(guarded.url + "#/queues/vision")
        page.fill("#token", "wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=alert]:has-text('does not know this token')")
        assert Axe().run(page).response["violations"] == []
        page.click("button:has-text('中文')")  # what is drawn again must still read the field
        page.fill("#token", TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:text-is('vision')")
        assert page.inner_text(".user") == "ada@example.com"
        assert TOKEN not in page.content() + page.url + page.evaluate("document.cookie + JSON.stringify(localStorage)")
        page.click("button:has-text('退出登录')")
        page.wait_for_selector("#token")
        assert not any(TOKEN in path for path in guarded.asked)

"""A member of staff handles a report in Chromium with the keyboard alone; the pages fit narrow and wide windows."""

from collections.abc import Iterator

import httpx
import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from .browser import DESK, FITS, PATIENCE, PHONE, chromium, screen, sign_in, text_of
from .server import PASSWORD, Server

PAGES = (
    *("/admin", "/admin/reports", "/admin/accounts", "/admin/appeals", "/admin/acts", "/admin/settings"),
    *("/admin/announcements", "/admin/invites", "/admin/emoji", "/admin/domains", "/admin/tree", "/admin/actors"),
    *("/admin/log", "/admin/outbox", "/admin/dead_letters", "/admin/allowed_domains", "/admin/networks"),
    *("/admin/email_domains", "/admin/emails", "/admin/trends", "/admin/tags"),
    *("/admin/rules", "/admin/terms", "/admin/texts"),
)
FOCUSED = "return document.activeElement.name || document.activeElement.textContent.trim()"


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser that runs scripts and keeps what its console says."""
    with chromium(tmp_path_factory.mktemp("profile"), logging=True) as browser:
        yield browser


@pytest.fixture(scope="module")
def owner(server: Server) -> str:
    (person,) = server.people("kowner", role="owner")
    return person.name


def enter(server: Server, browser: Chrome, name: str) -> None:
    """Sign in to the pages for staff."""
    browser.get(f"{server.url}/auth/sign_in?to=/admin")
    sign_in(browser, name, PASSWORD)


def tab_to(browser: Chrome, words: str, most: int = 80) -> None:
    """Press Tab until the focus is on an element with these words or this name."""
    for _ in range(most):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        if browser.execute_script(FOCUSED) == words:
            return
    raise AssertionError(f"Tab does not lead to {words!r}: {text_of(browser)}")


def follow(browser: Chrome, words: str) -> None:
    """Go to a link or a button with Tab, and press Enter."""
    tab_to(browser, words)
    before = browser.current_url, text_of(browser)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    WebDriverWait(browser, PATIENCE).until(lambda _: (browser.current_url, text_of(browser)) != before)


def report(server: Server) -> str:
    """Have a post reported. Return the report's id."""
    bob, eve = server.people("kbob", "keve")
    post = httpx.post(f"{server.url}/api/v1/statuses", headers=eve.headers, json={"status": "Buy pills"}, timeout=30)
    form = {"account_id": eve.id, "status_ids": [post.json()["id"]], "comment": "Spam", "category": "spam"}
    made = httpx.post(f"{server.url}/api/v1/reports", headers=bob.headers, json=form, timeout=30)
    assert made.status_code == 200, made.text
    return made.json()["id"]


def test_a_report_is_handled_with_the_keyboard(server: Server, scripted: Chrome, owner: str) -> None:
    id = report(server)
    enter(server, scripted, owner)
    assert "open reports" in text_of(scripted)
    WebDriverWait(scripted, PATIENCE).until(lambda _: "Live" in text_of(scripted))
    follow(scripted, "Reports")
    follow(scripted, id)
    follow(scripted, "Take it on")
    assert "The report is yours." in text_of(scripted)
    tab_to(scripted, "content")
    scripted.switch_to.active_element.send_keys("It is spam.")
    follow(scripted, "Add the note")
    assert "It is spam." in text_of(scripted)
    tab_to(scripted, "status_ids[]")
    scripted.switch_to.active_element.send_keys(Keys.SPACE)
    tab_to(scripted, "type")
    scripted.switch_to.active_element.send_keys("Delete the chosen")
    follow(scripted, "Act")
    assert "Nothing brings them back" in text_of(scripted)
    assert scripted.switch_to.active_element.get_attribute("name") == "password"
    scripted.switch_to.active_element.send_keys(PASSWORD)
    follow(scripted, "Do it")
    assert "Done. The audit log has it." in text_of(scripted)
    assert "resolved" in text_of(scripted)


def test_every_page_fits_and_asks_for_nothing_from_elsewhere(server: Server, scripted: Chrome, owner: str) -> None:
    enter(server, scripted, owner)
    scripted.get_log("browser")
    for width, height, scheme in ((*PHONE, "dark"), (*DESK, "light")):
        with screen(scripted, width, height, scheme):
            for path in PAGES:
                scripted.get(f"{server.url}{path}")
                assert scripted.execute_script(FITS), (path, width)
                loaded = scripted.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
                assert [one for one in loaded if not one.startswith(server.url)] == []
    said = [one["message"] for one in scripted.get_log("browser") if one["level"] == "SEVERE"]
    assert said == []


def test_a_page_works_without_scripts(server: Server, window: Chrome, owner: str) -> None:
    enter(server, window, owner)
    assert "Needs attention" in text_of(window)
    assert "Pause" not in text_of(window)

"""People in front of the sign-in pages: in Chromium, and as a plain HTTP client that fills in the forms it is sent."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import pytest
from selenium import webdriver
from selenium.common.exceptions import InvalidArgumentException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from .. import plain_http

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--lang=en",
)
PATIENCE = 20
POLL = 0.02  # seconds between two looks at a page
JAVASCRIPT = "profile.managed_default_content_settings.javascript"
OFF = 2


class Chrome(webdriver.Chrome):
    """Chromium. selenium has no complete types: those of the methods that tests call are added here."""

    if TYPE_CHECKING:

        def execute_script(self, script: str, *args: object) -> Any: ...

        def execute_async_script(self, script: str, *args: object) -> Any: ...

        def execute_cdp_cmd(self, cmd: str, cmd_args: Mapping[str, Any]) -> Any: ...

        def get_log(self, log_type: str) -> list[dict[str, Any]]: ...

        def get_cookies(self) -> list[dict[str, Any]]: ...

        def set_window_size(self, width: int, height: int, windowHandle: str = "current") -> None: ...


@contextmanager
def chromium(profile: Path, *flags: str, javascript: bool = True, logging: bool = False) -> Generator[Chrome]:
    """A headless Chromium with a profile of its own. A machine without one fails: the pages must be looked at.

    With `logging` it keeps what its console says and what it asks for.
    """
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        pytest.fail("Chromium and its driver are missing. On Debian: sudo apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, *flags, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    if not javascript:
        options.add_experimental_option("prefs", {JAVASCRIPT: OFF})  # pyright: ignore[reportUnknownMemberType]  # as above
    if logging:
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = Chrome(options, Service(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


def clear(chrome: Chrome) -> None:
    """Leave the page, and forget cookies, cached files, the size of the screen, and what the console has said."""
    chrome.get("about:blank")
    for command in ("Network.clearBrowserCookies", "Network.clearBrowserCache"):
        chrome.execute_cdp_cmd(command, {})
    show_as_usual(chrome)
    chrome.set_window_size(*DESK)
    for kind in ("browser", "performance"):
        with suppress(InvalidArgumentException):  # a browser that keeps none
            chrome.get_log(kind)


def show(window: Chrome, width: int, height: int, scheme: str = "light", *, mobile: bool = False) -> None:
    """Give the page this size. (The driver can't make a window narrower than 500 pixels.)"""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    seen = WebDriverWait(window, PATIENCE, POLL)
    seen.until(lambda _: window.execute_script(SHOWN, width, scheme), f"the page is not {width} pixels wide")


def show_as_usual(window: Chrome) -> None:
    """Give the page the size of its window, and the usual colours."""
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    window.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def press(chrome: Chrome, words: str) -> None:
    """Press the button with these words and wait for the page that follows."""
    button = chrome.find_element(By.XPATH, f"//button[normalize-space()='{words}']")
    button.click()
    WebDriverWait(chrome, PATIENCE, POLL).until(lambda _: _is_gone(button))


def sign_in(chrome: Chrome, name: str, password: str) -> None:
    """Type into the sign-in page and send it."""
    fill(chrome, "username", name)
    fill(chrome, "password", password)
    press(chrome, "Sign in")


def fill(chrome: Chrome, field: str, text: str) -> None:
    element = chrome.find_element(By.NAME, field)
    element.clear()
    element.send_keys(text)


def text_of(chrome: Chrome) -> str:
    """What the page says."""
    return chrome.find_element(By.TAG_NAME, "main").text


def query_of(url: str) -> dict[str, str]:
    """The parameters in an address."""
    return {name: values[-1] for name, values in parse_qs(urlsplit(url).query).items()}


class Visitor:
    """A person whose browser knows HTML forms and cookies, and nothing else."""

    def __init__(self) -> None:
        self._client = plain_http.client(timeout=30)
        self.reply: httpx.Response | None = None

    def visit(self, url: str) -> httpx.Response:
        """Open an address, and go where it leads as far as that is on the web."""
        return self._follow(self._client.get(url))

    def send(self, **typed: str) -> httpx.Response:
        """Fill in the form of the page and send it."""
        assert self.reply is not None
        form = Form.on(self.reply.text)
        target = urljoin(str(self.reply.url), form.action)
        return self._follow(self._client.post(target, data=form.fields | typed))

    def _follow(self, reply: httpx.Response) -> httpx.Response:
        while reply.is_redirect and (target := urljoin(str(reply.url), reply.headers["location"])).startswith("http"):
            if urlsplit(target).netloc != reply.url.netloc.decode():
                break
            reply = self._client.get(target)
        self.reply = reply
        return reply


class Form(HTMLParser):
    """The one form of a page: where it goes and what is in it already."""

    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}

    @classmethod
    def on(cls, page: str) -> Form:
        form = cls()
        form.feed(page)
        assert form.action, f"there is no form on the page:\n{page}"
        return form

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = given["action"]
        elif tag == "input":
            self.fields[given["name"]] = given.get("value", "")


def _is_gone(element: WebElement) -> bool:
    """Whether the page with this element was left. (The driver answers with an exception of several kinds.)"""
    from selenium.common.exceptions import WebDriverException

    try:
        element.is_enabled()
    except WebDriverException:
        return True
    return False


PHONE, DESK = (360, 740), (1280, 900)
SHOWN = (
    "return ['(width: ' + arguments[0] + 'px)', '(prefers-color-scheme: ' + arguments[1] + ')']"
    ".every(one => matchMedia(one).matches)"
)
# The page is as wide as the window, and nothing sticks out of it.
FITS = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"

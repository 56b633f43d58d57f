"""A person without an app: signs up, turns two-factor on, changes the password, takes the lists along, and leaves.

In Chromium without JavaScript, on a phone in the dark. Each page is also shown as at a desk in the light: nothing is
wider than its window.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyotp.totp import TOTP
from selenium.webdriver.common.by import By

from .. import plain_http
from ..mail.mailserver import MailServer
from .browser import DESK, FITS, PHONE, Chrome, fill, press, show, sign_in, text_of
from .server import PASSWORD, Server
from .signing_up import signing_up

NEW_PASSWORD = "quite another password"


@pytest.fixture(scope="module")
def open_server(post: MailServer, prepared: Path) -> Iterator[Server]:
    """A server that people may sign up at."""
    with signing_up(post, prepared, TROUPE_REGISTRATIONS="open") as one:
        yield one


def test_a_person_changes_everything_and_leaves(
    open_server: Server, post: MailServer, window: Chrome, tmp_path: Path
) -> None:
    look, url, name, email = _looker(window), open_server.url, "ada", "ada@example.org"
    _sign_up(open_server, post, window, name)
    window.get(f"{url}/settings")
    assert "Sign in to The Stage" in look()
    sign_in(window, name, PASSWORD)
    assert f"You are signed in as @{name}" in look()
    totp, recovery_code = _turn_two_factor_on(window, look)
    press(window, "Sign out")
    # The code that turned it on was used. The next one is accepted already, because clocks differ.
    _come_back(window, look, name, PASSWORD, totp.at(datetime.now(UTC) + timedelta(seconds=30)))
    _change_password(window, look)
    for words, heading in (
        ("Change your e-mail address", f"Your address is {email}"),
        ("Your apps", "No app may use"),
        ("Move to another account, or from one", "To another account"),
    ):
        window.find_element(By.LINK_TEXT, words).click()
        assert heading in look()
        window.find_element(By.LINK_TEXT, "Back to the settings").click()
    window.find_element(By.LINK_TEXT, "Export").click()
    assert "Accounts that you follow" in look()
    assert _download(window, f"{url}/settings/exports/following_accounts.csv").startswith("Account address,")
    _import(window, look, tmp_path)
    window.get(f"{url}/settings/delete")
    assert "This can't be undone" in look()
    fill(window, "password", NEW_PASSWORD)
    fill(window, "code", recovery_code)
    press(window, "Delete my account for good")
    assert "Your account is deleted" in look()
    assert "was deleted" in post.receive(email, 4).mail["Subject"]
    window.get(f"{url}/settings")
    sign_in(window, name, NEW_PASSWORD)
    assert "do not belong together" in look()


Look = Callable[[], str]


def _looker(window: Chrome) -> Look:
    """Return what checks the width of the page on both screens and returns its text. The person sits at a phone."""

    def look() -> str:
        for size, colours in ((DESK, "light"), (PHONE, "dark")):
            show(window, *size, colours, mobile=size == PHONE)
            assert window.execute_script(FITS), text_of(window)
        return text_of(window)

    return look


def _sign_up(server: Server, post: MailServer, window: Chrome, name: str) -> None:
    window.get(f"{server.url}/auth/sign_up")
    fill(window, "username", name)
    fill(window, "email", f"{name}@example.org")
    fill(window, "password", PASSWORD)
    window.find_element(By.NAME, "agreement").click()
    press(window, "Create account")
    link = re.search(r"^http://\S+", post.receive(f"{name}@example.org").body, re.MULTILINE)
    assert link is not None
    window.get(link[0])
    assert "Your address is confirmed" in text_of(window)


def _turn_two_factor_on(window: Chrome, look: Look) -> tuple[TOTP, str]:
    """Return the authenticator app, and a recovery code."""
    window.find_element(By.LINK_TEXT, "Two-factor authentication").click()
    look()
    fill(window, "password", PASSWORD)
    press(window, "Set it up")
    assert "Scan this picture" in look()
    totp = TOTP(window.find_element(By.ID, "secret").text)
    fill(window, "code", "000000x")
    press(window, "Turn it on")
    assert "This code is wrong" in look()
    fill(window, "code", totp.now())
    press(window, "Turn it on")
    assert "Your recovery codes" in look()
    codes = [element.text for element in window.find_elements(By.CSS_SELECTOR, ".codes code")]
    assert len(codes) == 10
    window.find_element(By.LINK_TEXT, "Back to the settings").click()
    return totp, codes[0]


def _come_back(window: Chrome, look: Look, name: str, password: str, code: str) -> None:
    sign_in(window, name, password)
    assert "Enter a code" in look()
    fill(window, "code", code)
    press(window, "Sign in")
    assert f"You are signed in as @{name}" in look()


def _change_password(window: Chrome, look: Look) -> None:
    window.find_element(By.LINK_TEXT, "Change your password").click()
    look()
    fill(window, "password", "wrong")
    fill(window, "new_password", NEW_PASSWORD)
    press(window, "Change password")
    assert "This is not your password" in look()
    fill(window, "password", PASSWORD)
    fill(window, "new_password", NEW_PASSWORD)
    press(window, "Change password")
    assert "Your password was changed" in look()


def _download(window: Chrome, address: str) -> str:
    """Return a file as the browser gets it, with its cookies."""
    cookies = {one["name"]: one["value"] for one in window.get_cookies()}
    return plain_http.get(address, cookies=cookies).text


def _import(window: Chrome, look: Look, folder: Path) -> None:
    window.find_element(By.LINK_TEXT, "Import such a file").click()
    look()
    file = folder / "following_accounts.csv"
    file.write_text("Account address\nnobody\n")
    window.find_element(By.NAME, "file").send_keys(str(file))
    press(window, "Import")
    assert "Earlier imports" in look()

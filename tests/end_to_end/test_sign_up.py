"""From nothing to a first post: by Mastodon.py, and by typing into the sign-up page; with a mail server that is one."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mastodon import MastodonAPIError, MastodonUnauthorizedError
from selenium.webdriver.common.by import By

from .. import plain_http
from ..mail.mailserver import MailServer
from ..waiting import PATIENCE
from .apps import registered_app
from .browser import DESK, FITS, PHONE, Chrome, fill, press, show, text_of
from .server import PASSWORD, Server
from .signing_up import signing_up

SCOPES = ["read", "write", "follow"]
CALLBACK = "com.example.app:/cb"


@pytest.fixture(scope="module")
def open_server(post: MailServer, prepared: Path) -> Iterator[Server]:
    """A server that people may sign up at."""
    with signing_up(post, prepared, TROUPE_REGISTRATIONS="approval", TROUPE_REQUIRE_REASON="true") as one:
        yield one


def link_to(post: MailServer, receiver: str) -> str:
    """Return the link of the mail to an address, as soon as it is there."""
    mail = post.receive(receiver)
    assert mail.sender == "noreply@localhost"
    found = re.search(r"^http://\S+", mail.body, re.MULTILINE)
    assert found is not None, mail.body
    return found[0]


def test_a_client_app_signs_a_user_up(open_server: Server, post: MailServer) -> None:
    url = open_server.url
    app = registered_app(url, SCOPES, CALLBACK)
    refused = app.create_account(
        "admin", "short", "eve@example.org", agreement=False, locale="en", scopes=SCOPES, return_detailed_error=True
    )
    token, error = refused
    assert token is None
    assert {name: found[0]["error"] for name, found in error["details"].items() if found} == {
        "username": "ERR_RESERVED",
        "password": "ERR_TOO_SHORT",
        "agreement": "ERR_ACCEPTED",
        "reason": "ERR_BLANK",
    }
    token = app.create_account(
        "eve", PASSWORD, "eve@example.org", agreement=True, reason="I like it here", locale="de", scopes=SCOPES
    )
    assert token == app.access_token
    with pytest.raises(MastodonAPIError, match="missing a confirmed e-mail address"):
        app.account_verify_credentials()
    post.receive("eve@example.org")  # one that is still on its way would be replaced
    app.email_resend_confirmation()
    post.receive("eve@example.org", 2)
    answer = plain_http.get(link_to(post, "eve@example.org"))
    assert (answer.status_code, answer.headers["location"]) == (302, CALLBACK)
    with pytest.raises(MastodonAPIError, match="pending approval"):
        app.account_verify_credentials()
    approved = open_server.troupe("accounts", "approve", "eve")
    assert (approved.returncode, approved.stdout) == (0, "Approved @eve\n"), approved.stderr
    assert app.account_verify_credentials().username == "eve"
    assert app.status_post("Hallo, Bühne").account.acct == "eve"
    assert "freigeschaltet" in post.receive("eve@example.org", 3).mail["Subject"]
    assert "eve@example.org" not in open_server.log


def test_who_is_rejected_is_gone_and_the_name_is_free(open_server: Server, post: MailServer) -> None:
    url = open_server.url
    for number in range(2):
        app = registered_app(url, SCOPES)
        app.create_account("mallory", PASSWORD, "mallory@example.org", agreement=True, reason="Spam", scopes=SCOPES)
        link = link_to(post, "mallory@example.org")
        assert open_server.troupe("accounts", "reject", "mallory", "--yes").stdout == "Rejected @mallory\n"
        with pytest.raises(MastodonUnauthorizedError):
            app.account_verify_credentials()
        assert plain_http.get(link).status_code == 404, number


def test_a_person_signs_up_on_the_page(open_server: Server, post: MailServer, window: Chrome) -> None:
    """Without JavaScript, on a phone and at a desk: nothing is wider than its window."""

    def look() -> str:
        for size in (DESK, PHONE):  # the next step is made on a phone
            show(window, *size, mobile=size == PHONE)
            assert window.execute_script(FITS), text_of(window)
        return text_of(window)

    window.get(f"{open_server.url}/about")
    look()
    window.find_element(By.LINK_TEXT, "Create an account").click()
    assert "Create an account on The Stage" in look()
    fill(window, "username", "adm1n")
    fill(window, "email", "page@example.org")
    fill(window, "password", PASSWORD)
    fill(window, "reason", "To see and be seen")
    window.find_element(By.NAME, "agreement").click()
    press(window, "Create account")
    assert "The name is reserved." in look()
    assert window.find_element(By.NAME, "email").get_attribute("value") == "page@example.org"
    fill(window, "username", "page")
    fill(window, "password", PASSWORD)
    press(window, "Create account")
    assert "Look into your mail" in look()
    assert urlsplit(window.current_url).path == "/auth/confirmation/sent"
    link = link_to(post, "page@example.org")
    window.get(link)
    assert "Your address is confirmed" in look()
    window.get(link)
    assert "It was already" in look()
    window.get(f"{link}x")
    look()
    window.find_element(By.LINK_TEXT, "Get a new mail").click()
    assert "Get a new mail" in look()


def test_a_choice_of_registrations_holds_on_the_running_server(open_server: Server) -> None:
    def told() -> tuple[bool, bool]:
        shown = plain_http.get(f"{open_server.url}/api/v2/instance").json()["registrations"]
        return shown["enabled"], shown["approval_required"]

    choices = {
        ("set", "closed"): (False, False),
        ("set", "approval"): (True, True),
        ("set", "open"): (True, False),
        ("reset",): (True, True),
    }
    for (act, *rule), wanted in choices.items():
        chosen = open_server.troupe("settings", act, "registrations", *rule)
        assert chosen.returncode == 0, chosen.stderr
        deadline = time.monotonic() + PATIENCE
        while told() != wanted:  # the server hears of a command a moment after its end
            assert time.monotonic() < deadline


def test_without_a_mail_server_the_log_says_that_sign_ups_are_closed(own_server: Server) -> None:
    own_server.settings["TROUPE_REGISTRATIONS"] = "open"
    own_server.start()
    (record,) = own_server.events("registrations.closed")
    assert record["level"] == "warning"
    assert plain_http.get(f"{own_server.url}/api/v1/instance").json()["registrations"] is False
    assert own_server.troupe("settings", "set", "registrations", "closed").returncode == 0
    assert own_server.stop() == 0
    own_server.start()
    assert own_server.events("registrations.closed") == [record], "staff wants them closed"
    assert own_server.stop() == 0

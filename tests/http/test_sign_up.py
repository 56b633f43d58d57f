"""The sign-up page and the pages around a confirmation link, as a browser without JavaScript has them."""

import re
from datetime import timedelta
from typing import Any

import pytest

from troupe.actors.mail import sender as post
from troupe.http.access.rates import CONFIRMATIONS_OF_USER, NEW_ACCOUNTS

from ..clients import Client, Reply, Stage
from .registering import OPEN, app_client, form, newest_link, registered
from .settling import form_token, problems

PAGE = "/auth/sign_up"
AGAIN = "/auth/confirmation/new"


@pytest.fixture
def options() -> dict[str, Any]:
    return OPEN


async def send(browser: Client, path: str = PAGE, **typed: str) -> Reply:
    token = form_token(await browser.get(path))
    return await browser.post(path, {"form_token": token} | typed)


async def test_what_is_wrong_stands_at_its_field_and_what_was_typed_stays(stage: Stage) -> None:
    await registered(stage, "bob")
    page = await send(stage.anybody(), username="BOB", email='"<b>', password="secret!", agreement="")
    assert page.status == 422
    assert problems(page) == {
        "username": "The name has already been taken.",
        "email": "The address is invalid.",
        "password": "The password is too short (minimum is 8 characters).",
        "agreement": "You can only sign up if you agree.",
    }
    assert 'value="BOB"' in page.text
    assert 'value="&#34;&lt;b&gt;"' in page.text
    assert "secret!" not in page.text


async def test_who_has_signed_up_is_told_to_look_into_the_mail(stage: Stage) -> None:
    browser = stage.anybody()
    answer = await send(browser, **form() | {"agreement": "1"})
    assert (answer.status, answer.headers["Location"]) == (302, "/auth/confirmation/sent")
    assert "Look into your mail" in (await browser.get(answer.headers["Location"])).text
    assert await stage.rows("SELECT created_by_application_id FROM users") == [[None]]
    assert await stage.rows("SELECT FROM access_tokens") == []


async def test_the_mail_is_in_the_language_of_the_browser(stage: Stage) -> None:
    browser = stage.anybody()
    token = form_token(await browser.get(PAGE))
    typed = form() | {"agreement": "1", "form_token": token}
    await browser.post(PAGE, typed, headers={"Accept-Language": "xx, de-CH;q=0.9, en;q=0.1"})
    (letter,) = await stage.letterbox.receive()
    assert letter.subject.startswith("Bestätige")


async def test_a_form_of_another_site_makes_no_account(stage: Stage) -> None:
    victim, attacker = stage.anybody(), stage.anybody()
    await victim.get(PAGE)
    planted = form_token(await attacker.get(PAGE))
    for token in (planted, ""):
        page = await victim.post(PAGE, form() | {"agreement": "1", "form_token": token})
        assert problems(page) == {"form": "This page was open for too long. Please send it again."}
    assert await stage.rows("SELECT FROM users") == []


async def test_a_browser_without_cookies_is_told_so(stage: Stage) -> None:
    page = await stage.anybody().post(PAGE, form() | {"agreement": "1", "form_token": "x"})
    assert problems(page)["form"].endswith("your browser keeps no cookies: please allow those of this site.")


async def test_the_sign_in_page_leads_here(stage: Stage) -> None:
    application = await stage.application()
    query = f"client_id={application.client_id}&redirect_uri=https://app.example/cb&response_type=code"
    page = await stage.anybody().get(f"/oauth/authorize?{query}")
    assert '<a href="/auth/sign_up">Create an account</a>' in page.text
    assert "/auth/sign_up" in (await stage.anybody().get("/about")).text


class TestByApproval:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN | {"registrations": "approval"}

    async def test_a_reason_may_be_given(self, stage: Stage) -> None:
        browser = stage.anybody()
        field = re.search(r"<textarea[^>]*>", (await browser.get(PAGE)).text)
        assert field is not None
        assert " required" not in field[0]
        assert (await send(browser, **form() | {"agreement": "1"})).status == 302
        assert (await send(browser, **form("bob") | {"agreement": "1", "reason": "I like it here"})).status == 302
        assert await stage.rows("SELECT invite_request FROM users ORDER BY email") == [["I like it here"], [None]]


class TestByApprovalWithAReason:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN | {"registrations": "approval", "require_reason": True}

    async def test_a_reason_is_asked_for(self, stage: Stage) -> None:
        browser = stage.anybody()
        page = await send(browser, **form() | {"agreement": "1"})
        assert problems(page) == {"reason": "The answer can't be blank."}
        reason = "\r\n".join(["x" * 209] * 2) + "!"
        assert (await send(browser, **form() | {"agreement": "1", "reason": reason})).status == 302
        page = await stage.anybody().get(await newest_link(stage))
        assert "A moderator of Troupe looks at new accounts" in page.text


class TestLimited:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN | {"rate_limits": True}

    async def test_accounts_are_counted_with_those_of_apps(self, stage: Stage) -> None:
        browser = stage.anybody()
        for _ in range(NEW_ACCOUNTS.limit - 1):
            stage.http_context.rates.count(NEW_ACCOUNTS, "127.0.0.1", stage.http_context.clock.now())
        assert (await send(browser, username="a b")).status == 422, "what makes no account is not counted as one"
        assert (await send(browser, **form() | {"agreement": "1"})).status == 302
        assert (await send(browser, **form("bob") | {"agreement": "1"})).status == 429

    async def test_mails_to_one_address_are_counted(self, stage: Stage) -> None:
        for _ in range(CONFIRMATIONS_OF_USER.limit):
            stage.http_context.rates.count(CONFIRMATIONS_OF_USER, "victim@example.org", stage.http_context.clock.now())
        assert (await send(stage.anybody(), AGAIN, email="Victim@example.org")).status == 429


class TestLinks:
    async def test_the_second_opening_is_a_friendly_page_with_the_way_back(self, stage: Stage) -> None:
        """A program that looks through mails may have been the first."""
        await registered(stage, app=await app_client(stage, await stage.application(name="<Tusk>")))
        link = await newest_link(stage)
        assert (await stage.anybody().get(link)).headers["Location"] == "https://app.example/cb"
        page = await stage.anybody().get(link)
        assert (page.status, "It was already" in page.text) == (200, True)
        assert '<a class="button" href="https://app.example/cb">Go on to &lt;Tusk&gt;</a>' in page.text

    @pytest.mark.parametrize("redirect", ["urn:ietf:wg:oauth:2.0:oob", "javascript:alert(1)", "data:text/html,x"])
    async def test_users_are_not_redirected_to_addresses_without_an_app(self, stage: Stage, redirect: str) -> None:
        await registered(stage, app=await app_client(stage, await stage.application(redirect_uris=(redirect,))))
        page = await stage.anybody().get(await newest_link(stage))
        assert (page.status, "Your address is confirmed" in page.text) == (200, True)
        assert redirect not in page.text

    async def test_a_link_is_good_for_two_days(self, stage: Stage) -> None:
        eve = await registered(stage)
        link = await newest_link(stage)
        created, expires = (await stage.rows("SELECT created_at, expires_at FROM confirmations"))[0]
        assert expires - created == timedelta(days=2) == post.LINK_LASTS
        await stage.sql("UPDATE confirmations SET expires_at = now() - interval '1 second'")
        page = await stage.anybody().get(link)
        assert (page.status, 'href="/auth/confirmation/new"' in page.text) == (404, True)
        assert (await eve.get("/api/v1/emails/check_confirmation")).json is False

    @pytest.mark.parametrize("query", ["", "?confirmation_token=", "?confirmation_token=guessed", "?a=b"])
    async def test_what_is_no_link_says_so_and_offers_a_new_mail(self, stage: Stage, query: str) -> None:
        page = await stage.anybody().get(f"/auth/confirmation{query}")
        assert (page.status, "Get a new mail" in page.text) == (404, True)
        assert page.headers["Content-Type"].startswith("text/html")

    async def test_no_secret_is_kept(self, stage: Stage) -> None:
        await registered(stage)
        secret = (await newest_link(stage)).partition("=")[2]
        for table in ("confirmations", "outbox", "users"):
            assert secret not in str(await stage.rows(f"SELECT {table}::text FROM {table}"))

    async def test_a_link_is_no_access_token(self, stage: Stage) -> None:
        await registered(stage)
        secret = (await newest_link(stage)).partition("=")[2]
        assert (await stage.anybody(secret).get("/api/v1/accounts/verify_credentials")).status == 401


class TestResending:
    async def test_the_page_sends_another_mail(self, stage: Stage) -> None:
        await registered(stage)
        await stage.letterbox.receive()
        answer = await send(stage.anybody(), AGAIN, email=" EVE@example.org ")
        assert (answer.status, answer.headers["Location"]) == (302, "/auth/confirmation/sent")
        assert len(await stage.letterbox.receive(2)) == 2

    @pytest.mark.parametrize("email", ["ada@example.org", "nobody@example.org", "eve", "@eve", ""])
    async def test_and_does_not_show_who_has_the_address(self, stage: Stage, email: str) -> None:
        await stage.account("ada")
        await stage.account("eve", confirmed_at=None)
        answer = await send(stage.anybody(), AGAIN, email=email)
        assert (answer.status, answer.headers["Location"]) == (302, "/auth/confirmation/sent")
        assert await stage.rows("SELECT FROM outbox") == []

    async def test_a_form_of_another_site_sends_nothing(self, stage: Stage) -> None:
        await stage.account("eve", confirmed_at=None)
        page = await stage.anybody().post(AGAIN, {"email": "eve@example.org"})
        assert "open for too long" in page.text
        assert await stage.rows("SELECT FROM outbox") == []

"""The settings: signing in and out, sessions, changing a password, and setting a new one by a mail."""

import html
import re
from typing import Any

import pytest

from troupe.http.access.rates import CONFIRMATIONS_OF_USER, FAILED_SIGN_INS

from .. import plain_http
from ..clients import PASSWORD, Person, Reply, Stage
from .browsing import Page
from .settling import SIGN_IN, Browser, form_token, is_signed_out, link_in, problems, signed_in

NEW = "a new password"
PAGES = (
    *("/settings", "/settings/password", "/settings/email", "/settings/two_factor", "/settings/applications"),
    *("/settings/applications/new", "/settings/move"),
)
FORMS = ("/settings/sign_out", "/settings/sessions", "/settings/password", "/settings/move", "/settings/aliases")


async def forget(stage: Stage, email: str = "ada@example.org") -> str:
    """Ask for a link to set a new password, and return it."""
    await Browser(stage).send("/auth/password/new", email=email)
    return link_in((await stage.letterbox.receive())[-1])


def sign_in_link(page: Reply) -> str:
    return html.unescape(re.findall(r'href="(/auth/sign_in[^"]*)"', page.text)[0])


COOKIES = "please allow those of this site"


@pytest.mark.parametrize("path", [SIGN_IN, "/auth/confirmation/new", "/auth/password/new", "/oauth/authorize"])
async def test_a_browser_without_cookies_is_told_so(stage: Stage, ada: Person, path: str) -> None:
    application = await stage.application()
    form = {"username": "ada", "password": PASSWORD, "email": "ada@example.org", "client_id": application.client_id}
    form |= {"redirect_uri": application.redirect_uris[0], "response_type": "code", "form_token": "x"}
    without, other = await Browser(stage).post(path, form), Browser(stage)
    await other.get(SIGN_IN)
    assert COOKIES in without.text
    assert COOKIES not in (await other.post(path, form)).text


class TestSigningIn:
    @pytest.mark.parametrize("path", [*PAGES, "/settings/exports/lists.csv", "/settings/imports/123"])
    async def test_pages_lead_to_the_sign_in_and_back(self, stage: Stage, ada: Person, path: str) -> None:
        browser = Browser(stage)
        answer = await browser.get(path)
        assert is_signed_out(answer)
        page = await browser.get(answer.headers["Location"])
        to = re.findall(r'name="to" value="([^"]*)"', page.text)[0]
        answer = await browser.send(SIGN_IN, answer.headers["Location"], username="ada", password=PASSWORD, to=to)
        assert (answer.status, answer.headers["Location"]) == (302, path)

    @pytest.mark.parametrize("path", ["/settings/", "/settings/exports/x%0d%0ay", "/settings/exports/..csv"])
    async def test_an_odd_address_leads_to_the_sign_in(self, stage: Stage, path: str) -> None:
        browser = Browser(stage)
        answer = await browser.get(path)
        assert is_signed_out(answer)
        assert (await browser.get(answer.headers["Location"])).status == 200

    @pytest.mark.parametrize("cookie", [b"troupe_session=\xe9", b"other=\xff; troupe_session=x", b"\xfe", b'"\\377'])
    async def test_a_cookie_that_is_no_text_is_as_none(self, stage: Stage, port: int, cookie: bytes) -> None:
        """Another program on this host may have set it."""
        async with plain_http.async_client(base_url=f"http://127.0.0.1:{port}", headers={b"Cookie": cookie}) as browser:
            assert (await browser.get("/settings")).status_code == 302
            assert (await browser.get(SIGN_IN)).status_code == 200

    @pytest.mark.parametrize(
        "to",
        [
            *("https://evil.example/", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example"),
            *(
                "javascript:alert(1)",
                "evil.example",
                "/settings\n",
                "/\t/evil.example",
                "/ /evil.example",
                " //evil.example",
            ),
            *("/./auth/sign_in", "/../auth/sign_in", "/%2E%2e/auth/sign_in", "/settings/..", "/.//evil.example"),
            *("/auth/sign_in?to=//evil.example", "/oauth/authorize?client_id=x", "/api/v1/streaming", "/" + "x" * 2001),
        ],
    )
    async def test_no_other_address_is_returned_to(self, stage: Stage, ada: Person, to: str) -> None:
        answer = await Browser(stage).send(SIGN_IN, username="ada", password=PASSWORD, to=to)
        assert answer.status == 422
        assert "Location" not in answer.headers

    @pytest.mark.parametrize(
        "path",
        [
            "/",
            "/@ada",
            "/@ada?max_id=5",
            "/about",
            "/tags/%D1%87%D0%B0%D0%B9",
            "/admin/actor?address=home%2F1",
        ],
    )
    async def test_the_sign_in_of_a_page_leads_back_to_it(self, stage: Stage, ada: Person, path: str) -> None:
        await stage.sql("UPDATE users SET role = 'owner'")
        browser = Browser(stage)
        page = await browser.get(path)
        link = page.headers.get("Location") or sign_in_link(page)
        to = html.unescape(re.findall(r'name="to" value="([^"]*)"', (await browser.get(link)).text)[0])
        answer = await browser.send(SIGN_IN, link, username="ada", password=PASSWORD, to=to)
        assert (answer.status, answer.headers["Location"]) == (302, path)

    async def test_the_secret_of_the_browser_changes_with_the_sign_in(self, stage: Stage, ada: Person) -> None:
        """A secret that an attacker has planted opens nothing."""
        browser = Browser(stage)
        before = (await browser.get(SIGN_IN)).headers["Set-Cookie"]
        after = (await browser.sign_in()).headers["Set-Cookie"]
        assert before.partition(";")[0] != after.partition(";")[0]
        for part in ("HttpOnly", "SameSite=Lax", "Path=/"):
            assert part in after
        planted = await stage.anybody().get("/settings", headers={"Cookie": before.partition(";")[0]})
        assert is_signed_out(planted)

    async def test_wrong_passwords_and_unknown_names_get_the_same_page(self, stage: Stage, ada: Person) -> None:
        texts = {
            re.sub('value="[^"]*"', "", (await Browser(stage).sign_in(name, "wrong")).text) for name in ("ada", "eve")
        }
        assert len(texts) == 1
        assert "do not belong together" in texts.pop()

    async def test_a_form_of_another_site_signs_nobody_in(self, stage: Stage, ada: Person) -> None:
        browser = Browser(stage)
        await browser.get(SIGN_IN)
        form = {"username": "ada", "password": PASSWORD, "form_token": form_token(await Browser(stage).get(SIGN_IN))}
        assert "open for too long" in (await browser.post(SIGN_IN, form)).text
        assert is_signed_out(await browser.get("/settings"))

    async def test_a_suspended_user_is_signed_out(self, stage: Stage, ada: Person) -> None:
        browser = await signed_in(stage)
        await stage.sql("UPDATE accounts SET suspended_at = now()")
        assert is_signed_out(await browser.get("/settings"))

    async def test_pages_have_no_scripts_and_are_stored_nowhere(self, stage: Stage, ada: Person) -> None:
        browser = await signed_in(stage)
        for path in PAGES:
            page = await browser.get(path)
            assert page.status == 200
            assert "default-src 'none'" in page.headers["Content-Security-Policy"]
            assert "script" not in page.headers["Content-Security-Policy"]
            assert "<script" not in page.text
            assert page.headers["Cache-Control"] == "private, no-store"


class TestForms:
    @pytest.mark.parametrize("path", FORMS)
    async def test_a_form_of_another_site_changes_nothing(self, stage: Stage, ada: Person, path: str) -> None:
        browser, other = await signed_in(stage), await signed_in(stage)
        planted = form_token(await other.get("/settings"))
        for token in (planted, "", "x"):
            form = {"form_token": token, "password": PASSWORD, "new_password": NEW}
            assert (await browser.post(path, form)).status == 403
        assert await stage.rows("SELECT count(*) FROM web_sessions") == [[2]]
        await signed_in(stage)

    @pytest.mark.parametrize("path", FORMS)
    async def test_a_form_without_a_sign_in_leads_to_it(self, stage: Stage, path: str) -> None:
        assert is_signed_out(await Browser(stage).post(path, {}))


class TestSessions:
    async def test_signing_out_ends_the_session(self, stage: Stage, ada: Person) -> None:
        browser, other = await signed_in(stage), await signed_in(stage)
        answer = await browser.send("/settings/sign_out", "/settings")
        assert (answer.status, answer.headers["Location"]) == (302, SIGN_IN)
        assert is_signed_out(await browser.get("/settings"))
        assert (await other.get("/settings")).status == 200

    async def test_other_browsers_are_listed_and_signed_out(self, stage: Stage, ada: Person, bob: Person) -> None:
        browser, other, bobs = await signed_in(stage), await signed_in(stage), await signed_in(stage, "bob")
        assert (await browser.get("/settings")).text.count("signed in <time") == 2
        assert (await browser.send("/settings/sessions", "/settings")).status == 302
        assert is_signed_out(await other.get("/settings"))
        assert (await browser.get("/settings")).text.count("signed in <time") == 1
        assert (await bobs.get("/settings")).status == 200

    async def test_the_name_of_a_browser_is_shown_as_text(self, stage: Stage, ada: Person) -> None:
        browser = await signed_in(stage)
        await stage.sql("UPDATE web_sessions SET agent = '<b>Browser</b>'")
        assert "&lt;b&gt;Browser&lt;/b&gt;" in (await browser.get("/settings")).text


class TestChanging:
    async def test_a_change_ends_other_sessions_and_apps(self, stage: Stage, ada: Person, bob: Person) -> None:
        browser, other = await signed_in(stage), await signed_in(stage)
        answer = await browser.send("/settings/password", password=PASSWORD, new_password=NEW, apps="1")
        assert (answer.status, answer.headers["Location"]) == (302, "/settings?done=password")
        assert "Your password was changed" in (await browser.get(answer.headers["Location"])).text
        assert is_signed_out(await other.get("/settings"))
        assert (await ada.get("/api/v1/accounts/verify_credentials")).status == 401
        assert (await bob.get("/api/v1/accounts/verify_credentials")).status == 200
        assert "do not belong" in (await Browser(stage).sign_in("ada", PASSWORD)).text
        await signed_in(stage, "ada", NEW)
        (letter,) = await stage.letterbox.receive()
        assert (letter.to, letter.subject) == ("ada@example.org", "Your password on Troupe was changed")

    async def test_apps_stay_if_the_user_wants_so(self, stage: Stage, ada: Person) -> None:
        browser = await signed_in(stage)
        await browser.send("/settings/password", password=PASSWORD, new_password=NEW)
        assert (await ada.get("/api/v1/accounts/verify_credentials")).status == 200

    async def test_the_session_gets_a_new_secret(self, stage: Stage, ada: Person) -> None:
        browser = await signed_in(stage)
        (before,) = await stage.rows("SELECT token_hash FROM web_sessions")
        await browser.send("/settings/password", password=PASSWORD, new_password=NEW)
        assert before not in await stage.rows("SELECT token_hash FROM web_sessions")

    @pytest.mark.parametrize(
        ("typed", "wrong"),
        [
            ({"password": "wrong", "new_password": NEW}, {"password": "This is not your password."}),
            ({"password": "", "new_password": NEW}, {"password": "This is not your password."}),
            (
                {"password": PASSWORD, "new_password": "short"},
                {"new_password": "The password is too short (minimum is 8 characters)."},
            ),
            (
                {"password": PASSWORD, "new_password": "x" * 73},
                {"new_password": "The password is too long (maximum is 72 characters)."},
            ),
        ],
    )
    async def test_what_is_wrong_changes_nothing(
        self, stage: Stage, ada: Person, typed: dict[str, str], wrong: dict[str, str]
    ) -> None:
        browser, other = await signed_in(stage), await signed_in(stage)
        page = await browser.send("/settings/password", **typed)
        assert (page.status, problems(page)) == (422, wrong)
        assert (await other.get("/settings")).status == 200
        await signed_in(stage)
        assert await stage.rows("SELECT FROM outbox") == []

    async def test_the_password_of_another_account_does_not_do(self, stage: Stage, ada: Person, bob: Person) -> None:
        browser = await signed_in(stage)
        await stage.sql("UPDATE users SET password_hash = 'none' WHERE account_id = $1", ada.account.id)
        page = await browser.send("/settings/password", password=PASSWORD, new_password=NEW, username="bob")
        assert page.status == 422

    async def test_password_managers_find_the_page(self, stage: Stage) -> None:
        answer = await stage.anybody().get("/.well-known/change-password")
        assert (answer.status, answer.headers["Location"]) == (302, "/settings/password")


class TestGuessing:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": True}

    async def test_guessing_in_a_stolen_session_comes_to_an_end(self, stage: Stage, ada: Person) -> None:
        browser = await signed_in(stage)
        for _ in range(FAILED_SIGN_INS.limit):
            page = await browser.send("/settings/password", password="wrong", new_password=NEW)
            assert page.status == 422
        assert (await browser.send("/settings/password", password=PASSWORD, new_password=NEW)).status == 429

    async def test_mails_to_one_address_are_counted_whether_or_not_it_has_an_account(
        self, stage: Stage, ada: Person
    ) -> None:
        for email in ("ada@example.org", "eve@example.org"):
            for _ in range(CONFIRMATIONS_OF_USER.limit):
                assert (await Browser(stage).send("/auth/password/new", email=email)).status == 302
            assert (await Browser(stage).send("/auth/password/new", email=email.title())).status == 429


class TestForgetting:
    async def test_password_managers_are_told_whose_password_is_set(self, stage: Stage, ada: Person) -> None:
        """By a field that they look at, which those of the type "hidden" are not."""
        link = await forget(stage)
        for shown in (await (await signed_in(stage)).get("/settings/password"), await Browser(stage).get(link)):
            (field,) = Page(shown).all("input", autocomplete="username")
            assert (field["type"], field["value"], "hidden" in field) == ("text", "ada", True)

    async def test_a_link_sets_a_new_password_and_ends_all_access(self, stage: Stage, ada: Person) -> None:
        browser = await signed_in(stage)
        link = await forget(stage)
        guest = Browser(stage)
        answer = await guest.send(
            "/auth/password/edit", link, reset_password_token=link.partition("=")[2], new_password=NEW
        )
        assert (answer.status, "Your password is set" in answer.text) == (200, True)
        assert is_signed_out(await browser.get("/settings"))
        assert is_signed_out(await guest.get("/settings")), "the link alone does not sign in"
        assert (await ada.get("/api/v1/accounts/verify_credentials")).status == 401
        await signed_in(stage, "ada", NEW)
        letters = await stage.letterbox.receive(2)
        assert letters[-1].subject == "Your password on Troupe was changed"

    async def test_a_link_works_once(self, stage: Stage, ada: Person) -> None:
        link = await forget(stage)
        secret = link.partition("=")[2]
        first, second = Browser(stage), Browser(stage)
        forms = [
            {"form_token": form_token(await one.get(link)), "reset_password_token": secret} for one in (first, second)
        ]
        assert (await first.post("/auth/password/edit", forms[0] | {"new_password": NEW})).status == 200
        assert (await second.post("/auth/password/edit", forms[1] | {"new_password": "stolen password"})).status == 404
        assert (await second.get(link)).status == 404
        await signed_in(stage, "ada", NEW)

    async def test_opening_a_link_uses_nothing_up(self, stage: Stage, ada: Person) -> None:
        link = await forget(stage)
        for _ in range(2):
            assert (await stage.anybody().get(link)).status == 200
        await signed_in(stage)

    async def test_a_link_lapses(self, stage: Stage, ada: Person) -> None:
        link = await forget(stage)
        ((hours,),) = await stage.rows("SELECT extract(epoch FROM expires_at - created_at) / 3600 FROM password_resets")
        assert hours == 6
        await stage.sql("UPDATE password_resets SET expires_at = now()")
        assert (await stage.anybody().get(link)).status == 404

    @pytest.mark.parametrize("email", ["eve@example.org", "ada", "", "x" * 400 + "@example.org"])
    async def test_the_answer_does_not_show_who_has_the_address(self, stage: Stage, ada: Person, email: str) -> None:
        answers = [await Browser(stage).send("/auth/password/new", email=one) for one in ("ada@example.org", email)]
        assert len({(one.status, one.headers["Location"], one.text) for one in answers}) == 1
        assert [letter.to for letter in await stage.letterbox.receive()] == ["ada@example.org"]

    async def test_a_disabled_user_gets_no_link(self, stage: Stage, ada: Person) -> None:
        await stage.sql("UPDATE users SET disabled_at = now()")
        assert (await Browser(stage).send("/auth/password/new", email="ada@example.org")).status == 302
        await Browser(stage).get("/settings")
        assert await stage.rows("SELECT FROM outbox") == []

    async def test_a_form_of_another_site_sends_no_mail_and_sets_no_password(self, stage: Stage, ada: Person) -> None:
        answer = await Browser(stage).post("/auth/password/new", {"email": "ada@example.org"})
        assert "open for too long" in answer.text
        link = await forget(stage)
        form = {"reset_password_token": link.partition("=")[2], "new_password": NEW}
        assert "open for too long" in (await Browser(stage).post("/auth/password/edit", form)).text
        await signed_in(stage)

    async def test_a_short_password_is_refused_and_the_link_stays(self, stage: Stage, ada: Person) -> None:
        link = await forget(stage)
        form = {"reset_password_token": link.partition("=")[2], "new_password": "short"}
        page = await Browser(stage).send("/auth/password/edit", link, **form)
        assert (page.status, "too short" in page.text) == (422, True)
        assert (await Browser(stage).send("/auth/password/edit", link, **form | {"new_password": NEW})).status == 200

    async def test_no_secret_is_stored(self, stage: Stage, ada: Person) -> None:
        secret = (await forget(stage)).partition("=")[2]
        for table in ("password_resets", "outbox", "users"):
            assert secret not in str(await stage.rows(f"SELECT {table}::text FROM {table}"))

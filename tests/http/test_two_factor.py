"""Two-factor authentication: setting it up, signing in with a code, the same code twice, guessing, turning it off."""

from typing import Any

import pytest

from troupe.http.access.rates import FAILED_CODES
from troupe.storage.oauth import Application
from troupe.storage.two_factor import MOST_TRIES

from ..clients import PASSWORD, Person, Reply, Stage
from .settling import (
    SIGN_IN,
    TWO_FACTOR,
    Browser,
    Phone,
    form_token,
    is_signed_out,
    problems,
    recovery_codes_in,
    secret_in,
    signed_in,
    turned_on,
)
from .signing_in import SECRET, asked, authorize, code_in, exchange, hidden, sign_in

PAGE = TWO_FACTOR


async def send_code(browser: Browser, code: str) -> Reply:
    return await browser.send(SIGN_IN, code=code)


class TestSettingUp:
    async def test_a_code_of_the_shown_secret_turns_it_on(self, stage: Stage, ada: Person) -> None:
        browser = await signed_in(stage)
        page = await browser.send(f"{PAGE}/new", PAGE, password=PASSWORD)
        assert "<svg" in page.text
        assert f"otpauth://totp/Troupe:ada%40localhost%3A3000?secret={secret_in(page)}" in page.text
        assert "It is on since" not in (await browser.get(PAGE)).text
        _, codes = await turned_on(stage, browser)
        assert len(set(codes)) == 10
        assert "10 recovery codes are left" in (await browser.get(PAGE)).text
        (letter,) = await stage.letterbox.receive()
        assert letter.subject == "Two-factor authentication on Troupe was turned on"

    async def test_no_recovery_code_is_stored(self, stage: Stage, ada: Person) -> None:
        _, codes = await turned_on(stage, await signed_in(stage))
        rows = str(await stage.rows("SELECT code_hash::text FROM recovery_codes"))
        assert all(code not in rows for code in codes)

    async def test_after_a_wrong_code_the_secret_stays_and_is_not_shown_again(self, stage: Stage, ada: Person) -> None:
        """The form of the code has no password: it could come from a stolen session."""
        browser = await signed_in(stage)
        page = await browser.send(f"{PAGE}/new", PAGE, password=PASSWORD)
        again = await browser.post(f"{PAGE}/confirm", {"form_token": form_token(page), "code": "12345x"})
        assert (again.status, problems(again)) == (422, {"code": "This code is wrong."})
        assert secret_in(page) not in again.text
        assert "<svg" not in again.text
        await signed_in(stage)
        form = {"form_token": form_token(again), "code": Phone(stage, secret_in(page)).present()}
        assert recovery_codes_in(await browser.post(f"{PAGE}/confirm", form))

    async def test_it_needs_the_password(self, stage: Stage, ada: Person) -> None:
        page = await (await signed_in(stage)).send(f"{PAGE}/new", PAGE, password="wrong")
        assert problems(page) == {"password": "This is not your password."}
        assert await stage.rows("SELECT FROM two_factor") == []

    @pytest.mark.parametrize("step", ["new", "confirm", "codes", "off"])
    async def test_a_form_of_another_site_changes_nothing(self, stage: Stage, ada: Person, step: str) -> None:
        browser = await signed_in(stage)
        _, codes = await turned_on(stage, browser)
        form = {"password": PASSWORD, "code": codes[0], "form_token": form_token(await Browser(stage).get(SIGN_IN))}
        assert (await browser.post(f"{PAGE}/{step}", form)).status == 403
        assert (await browser.get(PAGE)).text.count("10 recovery codes are left") == 1

    async def test_the_secret_is_not_shown_once_it_is_on(self, stage: Stage, ada: Person) -> None:
        browser = await signed_in(stage)
        await turned_on(stage, browser)
        ((secret,),) = await stage.rows("SELECT secret FROM two_factor")
        for path in ("new", "confirm"):
            answer = await browser.send(f"{PAGE}/{path}", PAGE, password=PASSWORD, code="123456")
            assert (answer.status, secret in answer.text) == (302, False)
        assert await stage.rows("SELECT secret FROM two_factor") == [[secret]]


class TestSigningIn:
    async def test_the_password_alone_opens_nothing(self, stage: Stage, ada: Person) -> None:
        phone, _ = await turned_on(stage, await signed_in(stage))
        browser = Browser(stage)
        answer = await browser.sign_in()
        assert is_signed_out(answer)
        assert "Enter a code" in (await browser.get(SIGN_IN)).text
        assert is_signed_out(await browser.get("/settings"))
        answer = await send_code(browser, await phone.code())
        assert (answer.status, answer.headers["Location"]) == (302, "/settings")
        assert (await browser.get("/settings")).status == 200

    async def test_the_secret_of_the_browser_changes_with_each_step(self, stage: Stage, ada: Person) -> None:
        phone, _ = await turned_on(stage, await signed_in(stage))
        browser = Browser(stage)
        cookies = [
            (await browser.get(SIGN_IN)).headers["Set-Cookie"],
            (await browser.sign_in()).headers["Set-Cookie"],
            (await send_code(browser, await phone.code())).headers["Set-Cookie"],
        ]
        assert len({cookie.partition(";")[0] for cookie in cookies}) == 3

    async def test_a_code_is_accepted_once(self, stage: Stage, ada: Person) -> None:
        phone, _ = await turned_on(stage, await signed_in(stage))
        code = await phone.code()
        for wanted in (302, 200):
            browser = Browser(stage)
            await browser.sign_in()
            answer = await send_code(browser, code)
            assert answer.status == wanted
        assert "was used already" in answer.text

    async def test_the_code_that_turned_it_on_is_used(self, stage: Stage, ada: Person) -> None:
        phone, _ = await turned_on(stage, await signed_in(stage))
        ((step,),) = await stage.rows("SELECT last_step FROM two_factor")
        browser = Browser(stage)
        await browser.sign_in()
        assert "was used already" in (await send_code(browser, phone.of_step(step))).text

    async def test_a_recovery_code_signs_in_once_in_any_spelling(self, stage: Stage, ada: Person) -> None:
        _, codes = await turned_on(stage, await signed_in(stage))
        spellings = (codes[0].upper().replace("-", " "), codes[1].replace("-", "\u2013"), f"\u200e{codes[2]}\u00a0")
        for code in spellings:
            for wanted in (302, 200):
                browser = Browser(stage)
                await browser.sign_in()
                assert (await send_code(browser, code)).status == wanted
        ((left,),) = await stage.rows("SELECT count(*) FROM recovery_codes")
        assert left == 10 - len(spellings)

    @pytest.mark.parametrize("zero", "0\u0660\u06f0\u0966\uff10")
    async def test_a_code_may_have_the_digits_of_a_keyboard(self, stage: Stage, ada: Person, zero: str) -> None:
        phone, _ = await turned_on(stage, await signed_in(stage))
        browser = Browser(stage)
        await browser.sign_in()
        typed = (await phone.code()).translate({ord("0") + digit: ord(zero) + digit for digit in range(10)})
        assert (await send_code(browser, f"{typed[:3]} {typed[3:]}")).status == 302

    async def test_the_code_of_another_account_does_not_do(self, stage: Stage, ada: Person, bob: Person) -> None:
        await turned_on(stage, await signed_in(stage))
        phone, codes = await turned_on(stage, await signed_in(stage, "bob"))
        browser = Browser(stage)
        await browser.sign_in()
        for code in (await phone.code(), codes[0]):
            assert "This code is wrong" in (await send_code(browser, code)).text
        assert is_signed_out(await browser.get("/settings"))

    async def test_a_browser_that_sent_no_password_can_send_no_code(self, stage: Stage, ada: Person) -> None:
        phone, _ = await turned_on(stage, await signed_in(stage))
        browser = Browser(stage)
        assert "open for too long" in (await send_code(browser, await phone.code())).text
        assert is_signed_out(await browser.get("/settings"))

    async def test_after_some_wrong_codes_the_password_is_asked_for_again(self, stage: Stage, ada: Person) -> None:
        phone, _ = await turned_on(stage, await signed_in(stage))
        browser = Browser(stage)
        await browser.sign_in()
        for _ in range(MOST_TRIES):
            await send_code(browser, "000000x")
        assert "open for too long" in (await send_code(browser, await phone.code())).text
        assert 'name="password"' in (await browser.get(SIGN_IN)).text

    async def test_a_new_password_ends_a_sign_in_that_waits_for_a_code(self, stage: Stage, ada: Person) -> None:
        owner = await signed_in(stage)
        _, codes = await turned_on(stage, owner)
        thief = Browser(stage)
        await thief.sign_in()
        await owner.send("/settings/password", password=PASSWORD, new_password="a new password")
        assert "open for too long" in (await send_code(thief, codes[0])).text

    async def test_a_user_may_begin_again(self, stage: Stage, ada: Person) -> None:
        await turned_on(stage, await signed_in(stage))
        browser = Browser(stage)
        await browser.sign_in()
        await browser.send(SIGN_IN, restart="1")
        assert 'name="password"' in (await browser.get(SIGN_IN)).text


class TestGuessing:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": True}

    async def test_guessing_codes_comes_to_an_end_in_all_browsers(self, stage: Stage, ada: Person) -> None:
        phone, _ = await turned_on(stage, await signed_in(stage))
        for _ in range(FAILED_CODES.limit // MOST_TRIES):
            browser = Browser(stage)
            await browser.sign_in()
            for _ in range(MOST_TRIES):
                assert (await send_code(browser, "000000x")).status == 200
        browser = Browser(stage)
        await browser.sign_in()
        assert (await send_code(browser, await phone.code())).status == 429


class TestApps:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "password_grant": True}

    async def test_an_app_is_authorized_after_a_code(self, stage: Stage, ada: Person) -> None:
        application = await stage.application()
        phone, _ = await turned_on(stage, await signed_in(stage))
        browser, request = stage.anybody(), asked(application)
        answer = await sign_in(browser, request)
        page = await browser.get(answer.headers["Location"])
        assert "Enter a code" in page.text
        early = await browser.post("/oauth/authorize", hidden(page) | {"decision": "allow"})
        assert "code=" not in early.headers.get("Location", "")
        answer = await browser.post("/oauth/authorize", hidden(page) | {"code": await phone.code()})
        consent = await browser.get(answer.headers["Location"])
        answer = await browser.post("/oauth/authorize", hidden(consent) | {"decision": "allow"})
        assert (await exchange(stage, application, code_in(answer))).status == 200

    async def test_a_forced_sign_in_asks_for_a_code_too(self, stage: Stage, ada: Person) -> None:
        application = await stage.application()
        browser, request = stage.anybody(), asked(application)
        await sign_in(browser, request)
        await turned_on(stage, await signed_in(stage))
        page = await browser.get(authorize(request | {"force_login": "true"}))
        typed = {"username": "ada", "password": PASSWORD}
        answer = await browser.post("/oauth/authorize", hidden(page) | typed)
        assert "Enter a code" in (await browser.get(answer.headers["Location"])).text

    async def test_after_a_forced_sign_in_with_a_code_consent_is_asked_for_again(
        self, stage: Stage, ada: Person
    ) -> None:
        application = await stage.application()
        phone, _ = await turned_on(stage, await signed_in(stage))
        browser, request = stage.anybody(), asked(application)

        async def enter(request: dict[str, str]) -> Reply:
            step = await sign_in(browser, request)
            page = await browser.get(step.headers["Location"])
            wrong = await browser.post("/oauth/authorize", hidden(page) | {"code": "wrong"})
            form = hidden(wrong) | {"code": await phone.code()}
            return await browser.get((await browser.post("/oauth/authorize", form)).headers["Location"])

        first = await enter(request)
        allowed = await browser.post("/oauth/authorize", hidden(first) | {"decision": "allow"})
        await exchange(stage, application, code_in(allowed))
        again = await enter(request | {"force_login": "true"})
        assert (again.status, "Allow Test app?" in again.text) == (200, True)

    async def test_the_password_grant_is_refused(self, stage: Stage, ada: Person, bob: Person) -> None:
        application = await stage.application()
        await turned_on(stage, await signed_in(stage))
        answers = {name: await self._grant(stage, application, name) for name in ("ada", "bob")}
        assert (answers["ada"].status, answers["ada"].json["error"]) == (400, "invalid_grant")
        assert "two-factor" in answers["ada"].json["error_description"]
        assert answers["bob"].status == 200

    async def _grant(self, stage: Stage, application: Application, name: str) -> Reply:
        form = {"grant_type": "password", "username": name, "password": PASSWORD, "scope": "read"}
        client = {"client_id": application.client_id, "client_secret": SECRET}
        return await stage.anybody().post("/oauth/token", form | client)


class TestTurningOff:
    async def test_it_needs_the_password_and_a_code(self, stage: Stage, ada: Person) -> None:
        browser = await signed_in(stage)
        _, codes = await turned_on(stage, browser)
        page = await browser.send(f"{PAGE}/off", PAGE, password="wrong", code=codes[0])
        assert problems(page) == {"password": "This is not your password."}
        page = await browser.send(f"{PAGE}/off", PAGE, password=PASSWORD, code="wrong")
        assert list(problems(page)) == ["code"]
        answer = await browser.send(f"{PAGE}/off", PAGE, password=PASSWORD, code=codes[0])
        assert answer.headers["Location"] == "/settings?done=two_factor_off"
        assert "is off" in (await browser.get(answer.headers["Location"])).text
        subjects = {letter.subject for letter in await stage.letterbox.receive(2)}
        assert "Two-factor authentication on Troupe was turned off" in subjects
        await signed_in(stage)

    async def test_new_recovery_codes_take_the_place_of_the_old(self, stage: Stage, ada: Person) -> None:
        browser = await signed_in(stage)
        phone, old = await turned_on(stage, browser)
        page = await browser.send(f"{PAGE}/codes", PAGE, password=PASSWORD, code=await phone.code())
        new = recovery_codes_in(page)
        assert len(new) == 10
        assert not {*new} & {*old}
        page = await browser.send(f"{PAGE}/off", PAGE, password=PASSWORD, code=old[0])
        assert list(problems(page)) == ["code"]

    @pytest.mark.parametrize("begun", [False, True])
    async def test_there_are_no_recovery_codes_while_it_is_off(self, stage: Stage, ada: Person, begun: bool) -> None:
        browser = await signed_in(stage)
        if begun:
            await browser.send(f"{PAGE}/new", PAGE, password=PASSWORD)
        answer = await browser.send(f"{PAGE}/codes", PAGE, password=PASSWORD)
        assert (answer.status, answer.headers.get("Location")) == (302, PAGE)
        assert await stage.rows("SELECT FROM recovery_codes") == []

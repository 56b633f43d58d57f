"""Another mail for a user who is not confirmed yet, requested by the app."""

from typing import Any

import pytest

from troupe.http.access.rates import CONFIRMATIONS_OF_USER

from ..clients import Person, Stage
from .registering import OPEN, app_client, codes, link_in, newest_link, registered
from .settling import Browser, signed_in

RESEND = "/api/v1/emails/confirmations"
CHECK = "/api/v1/emails/check_confirmation"


@pytest.fixture
def options() -> dict[str, Any]:
    return OPEN


async def test_another_mail_has_another_link_and_both_are_good(stage: Stage) -> None:
    eve = await registered(stage)
    await stage.letterbox.receive()
    answer = await eve.post(RESEND)
    assert (answer.status, answer.json) == (200, {})
    first, second = await stage.letterbox.receive(2)
    assert link_in(first) != link_in(second)
    assert first.id != second.id
    assert (await stage.anybody().get(link_in(first))).status == 302
    assert "Your address is confirmed" in (await stage.anybody().get(link_in(second))).text


async def test_another_address_makes_the_links_to_the_old_one_worthless(stage: Stage) -> None:
    eve = await registered(stage)
    old = await newest_link(stage)
    assert (await eve.post(RESEND, {"email": "Eve@new.example"})).status == 200
    new = await newest_link(stage, 2)
    assert stage.letterbox.letters[-1].to == "Eve@new.example"
    assert (await stage.anybody().get(old)).status == 404
    assert (await eve.get(CHECK)).json is False
    assert (await stage.anybody().get(new)).status == 302
    assert (await eve.get(CHECK)).json is True


@pytest.mark.parametrize(
    ("email", "code"),
    [
        ("ADA@example.org", "ERR_TAKEN"),
        ("Ada@EXAMPLE.org ", "ERR_TAKEN"),
        ("none", "ERR_INVALID"),
        ("a@" + "b" * 320, "ERR_TOO_LONG"),
    ],
)
async def test_an_address_has_to_be_one_and_free(stage: Stage, ada: Person, email: str, code: str) -> None:
    eve = await registered(stage)
    assert codes(await eve.post(RESEND, {"email": email})) == {"email": [code]}
    assert await stage.rows("SELECT email FROM users WHERE confirmed_at IS NULL") == [["eve@example.org"]]


async def test_only_the_app_of_the_sign_up_may_ask(stage: Stage, ada: Person) -> None:
    eve = await registered(stage)
    rows = await stage.rows("SELECT account_id FROM users WHERE confirmed_at IS NULL")
    account = await stage.http_context.accounts.find(rows[0][0])
    other = stage.anybody(await stage.token(account))
    for somebody in (other, ada):
        answer = await somebody.post(RESEND)
        text = "This method is only available to the application the user originally signed-up with"
        assert (answer.status, answer.json) == (403, {"error": text})
    await stage.anybody().get(await newest_link(stage))
    answer = await eve.post(RESEND, {"email": "eve@new.example"})
    text = "This method is only available while the e-mail is awaiting confirmation"
    assert (answer.status, answer.json) == (403, {"error": text})
    assert len(stage.letterbox.letters) == 1


async def test_an_app_alone_has_no_address(stage: Stage) -> None:
    for method, path in (("POST", RESEND), ("GET", CHECK)):
        assert (await stage.anybody(await stage.token(None)).send(method, path)).status == 422
        assert (await stage.anybody().send(method, path)).status == 401


async def test_the_disabled_ask_for_nothing(stage: Stage) -> None:
    eve = await registered(stage)
    await stage.sql("UPDATE users SET disabled_at = now()")
    for answer in (await eve.post(RESEND), await eve.get(CHECK)):
        assert (answer.status, answer.json) == (403, {"error": "Your login is currently disabled"})


class TestLimited:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN | {"rate_limits": True}

    async def test_five_mails_in_half_an_hour_for_one_user(self, stage: Stage) -> None:
        eve = await registered(stage)
        now, rates = stage.http_context.clock.now, stage.http_context.rates
        id = str((await stage.rows("SELECT account_id FROM users"))[0][0])
        for _ in range(CONFIRMATIONS_OF_USER.limit - 1):
            rates.count(CONFIRMATIONS_OF_USER, id, now())
        assert (await eve.post(RESEND)).status == 200
        assert (await eve.post(RESEND)).status == 429

    async def test_and_for_one_address_from_all_users(self, stage: Stage) -> None:
        eve = await registered(stage)
        for _ in range(CONFIRMATIONS_OF_USER.limit):
            stage.http_context.rates.count(CONFIRMATIONS_OF_USER, "victim@example.org", stage.http_context.clock.now())
        assert (await eve.post(RESEND, {"email": "Victim@example.org"})).status == 429
        assert (await eve.post(RESEND)).status == 200


LOGINS = {
    "sam.lee@example.org": ("sam.lee@example.org", " SAM.Lee@Example.ORG "),
    "sam.lee+art@example.org": ("sam.lee+art@example.org", "Sam.Lee+Art@example.org."),
    "annbell@uni.example": ("annbell@uni.example", "AnnBell@uni.example"),
    "ann.bell@uni.example": ("ann.bell@uni.example",),
    "eve@xn--bcher-kva.example": ("eve@bücher.example", "EVE@BÜCHER.example", "eve@XN--BCHER-KVA.example"),
}


async def test_each_address_signs_in_and_resets_its_own_account(stage: Stage) -> None:
    """A dot and a tag make another address; case, blanks around it and the letters of its domain do not."""
    app = await app_client(stage)
    for number, logins in enumerate(LOGINS.values()):
        await registered(stage, f"user{number}", app, email=logins[0], password=f"password {number}")
    await stage.letterbox.receive(len(LOGINS))
    await stage.sql("UPDATE users SET confirmed_at = now(), approved_at = now()")
    assert await stage.rows("SELECT email FROM users ORDER BY account_id") == [[email] for email in LOGINS]
    for number, (email, logins) in enumerate(LOGINS.items()):
        for login in logins:
            await signed_in(stage, login, f"password {number}")
            before = len(stage.letterbox.letters)
            await Browser(stage).send("/auth/password/new", email=login)
            letter = (await stage.letterbox.receive(before + 1))[-1]
            assert (letter.to, f"@user{number}" in letter.body) == (email, True), login


async def test_people_sign_in_by_their_handle_too(stage: Stage) -> None:
    """As they write it to others. Marks that are copied with a login are left out."""
    await stage.person("ada")
    for login in ("@ada@localhost:3000", "ADA@LOCALHOST:3000", "acct:ada@localhost:3000", "\u202a@ada\u202c"):
        await signed_in(stage, login)
    for login in ("@ada@elsewhere.example", "@bob@localhost:3000"):
        assert (await Browser(stage).sign_in(login)).status == 200


async def test_an_address_signs_in_before_a_handle_that_is_written_the_same(stage: Stage) -> None:
    await stage.person("ada")
    await registered(stage, "eve", password="password of eve")
    await stage.sql("UPDATE users SET confirmed_at = now(), approved_at = now()")
    await stage.sql("UPDATE users SET email = 'ada@localhost:3000' WHERE email = 'eve@example.org'")
    await signed_in(stage, "ada@localhost:3000", "password of eve")
    assert (await Browser(stage).sign_in("ada@localhost:3000")).status == 200
    await signed_in(stage, "ada")


@pytest.mark.parametrize("login", ["jörg@example.org", "Ⓐ@example.org", "a\u00a0b@example.org", "@", "a@", "@@example"])
async def test_logins_that_nobody_has_are_refused_as_others(stage: Stage, login: str) -> None:
    answer = await Browser(stage).sign_in(login, "password")
    assert (answer.status, "Location" in answer.headers) == (200, False)
    assert (await Browser(stage).send("/auth/password/new", email=login)).status == 302
    assert stage.letterbox.letters == []

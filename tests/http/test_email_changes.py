"""Changing the e-mail address: a link to the new one, notices to the old one, and what an attacker may try."""

import pytest

from ..clients import PASSWORD, Person, Stage
from .settling import Browser, form_token, link_in, problems, signed_in

PAGE, LINK = "/settings/email", "/auth/email"
NEW = "new@example.org"


async def asked_for(stage: Stage, browser: Browser, email: str = NEW) -> str:
    """Ask for an address, and return the link that comes to it."""
    before = len(stage.letterbox.letters)
    answer = await browser.send(PAGE, email=email, password=PASSWORD)
    assert (answer.status, answer.headers["Location"]) == (302, "/settings?done=email_asked")
    letters = (await stage.letterbox.receive(before + 2))[before:]
    return next(link_in(letter) for letter in letters if letter.to == email)


async def opened(browser: Browser, link: str) -> int:
    return (await browser.send(LINK, link, token=link.partition("=")[2])).status


async def address(stage: Stage) -> str:
    return (await stage.rows("SELECT email FROM users ORDER BY account_id LIMIT 1"))[0][0]


async def test_the_new_address_counts_when_its_link_is_confirmed(stage: Stage, ada: Person) -> None:
    browser = await signed_in(stage)
    link = await asked_for(stage, browser)
    assert {letter.to for letter in stage.letterbox.letters} == {"ada@example.org", NEW}
    assert NEW in (await browser.get(PAGE)).text
    assert (await Browser(stage).get(link)).status == 200
    assert await address(stage) == "ada@example.org", "opening the link alone changes nothing"
    assert await opened(Browser(stage), link) == 200
    assert await address(stage) == NEW
    last = (await stage.letterbox.receive(3))[-1]
    assert (last.to, last.subject) == ("ada@example.org", "Your e-mail address on Troupe was changed")
    await signed_in(stage, NEW)


async def test_a_link_works_once_and_only_for_the_last_address(stage: Stage, ada: Person) -> None:
    browser = await signed_in(stage)
    first, second = await asked_for(stage, browser), await asked_for(stage, browser, "second@example.org")
    assert (await Browser(stage).get(first)).status == 404
    assert await opened(Browser(stage), second) == 200
    assert (await Browser(stage).get(second)).status == 404
    assert await address(stage) == "second@example.org"


async def test_a_link_lapses(stage: Stage, ada: Person) -> None:
    link = await asked_for(stage, await signed_in(stage))
    await stage.sql("UPDATE confirmations SET expires_at = now()")
    assert (await Browser(stage).get(link)).status == 404


@pytest.mark.parametrize("taken", ["bob@example.org", "BOB@example.org"])
async def test_the_page_does_not_show_who_has_an_address(stage: Stage, ada: Person, bob: Person, taken: str) -> None:
    browser = await signed_in(stage)
    link = await asked_for(stage, browser, taken)
    assert await opened(Browser(stage), link) == 404
    rows = await stage.rows("SELECT email FROM users ORDER BY email")
    assert rows == [["ada@example.org"], ["bob@example.org"]]


@pytest.mark.parametrize("other", ["b.ob@example.org", "bob+art@example.org"])
async def test_an_address_with_another_dot_or_tag_is_free(stage: Stage, ada: Person, bob: Person, other: str) -> None:
    assert await opened(Browser(stage), await asked_for(stage, await signed_in(stage), other)) == 200
    assert await stage.rows("SELECT email FROM users ORDER BY email") == sorted([[other], ["bob@example.org"]])
    await signed_in(stage, other)


async def test_a_change_voids_links_that_set_a_password(stage: Stage, ada: Person) -> None:
    """Who reads the old mailbox does not get in any more."""
    link = await asked_for(stage, await signed_in(stage))
    await Browser(stage).send("/auth/password/new", email="ada@example.org")
    reset = link_in((await stage.letterbox.receive(3))[-1])
    assert await opened(Browser(stage), link) == 200
    assert (await Browser(stage).get(reset)).status == 404


@pytest.mark.parametrize("forgotten", [False, True], ids=["changed", "forgotten"])
async def test_a_new_password_voids_a_link_that_a_thief_of_the_old_one_asked_for(
    stage: Stage, ada: Person, forgotten: bool
) -> None:
    thief, owner = await signed_in(stage), await signed_in(stage)
    link = await asked_for(stage, thief, "thief@example.org")
    if forgotten:
        await owner.send("/auth/password/new", email="ada@example.org")
        reset = link_in((await stage.letterbox.receive(3))[-1])
        form = {"reset_password_token": reset.partition("=")[2], "new_password": "a new password"}
        assert (await owner.send("/auth/password/edit", reset, **form)).status == 200
    else:
        await owner.send("/settings/password", password=PASSWORD, new_password="a new password")
    assert (await thief.get(link)).status == 404
    form_of_thief = {"token": link.partition("=")[2], "form_token": form_token(await thief.get("/auth/sign_in"))}
    assert (await thief.post(LINK, form_of_thief)).status == 404
    assert await address(stage) == "ada@example.org"


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        ({"email": NEW, "password": "wrong"}, ["password"]),
        ({"email": NEW}, ["password"]),
        ({"email": "no address", "password": PASSWORD}, ["email"]),
        ({"email": "a@b\r\nBcc: c@example.org", "password": PASSWORD}, ["email"]),
        ({"email": "x" * 320 + "@example.org", "password": PASSWORD}, ["email"]),
    ],
)
async def test_what_is_wrong_sends_no_mail(stage: Stage, ada: Person, typed: dict[str, str], wrong: list[str]) -> None:
    page = await (await signed_in(stage)).send(PAGE, **typed)
    assert (page.status, list(problems(page))) == (422, wrong)
    assert await stage.rows("SELECT FROM outbox") == []


async def test_forms_of_another_site_change_nothing(stage: Stage, ada: Person) -> None:
    browser = await signed_in(stage)
    link = await asked_for(stage, browser)
    planted = form_token(await Browser(stage).get(link))
    assert (await browser.post(PAGE, {"email": NEW, "password": PASSWORD, "form_token": planted})).status == 403
    await browser.post(LINK, {"token": link.partition("=")[2], "form_token": planted})
    assert await address(stage) == "ada@example.org"

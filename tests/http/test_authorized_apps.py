"""The list of the apps that a user has allowed, and signing one of them out."""

import pytest

from ..clients import Person, Stage
from .settling import Browser, form_token, is_signed_out, signed_in

PAGE = "/settings/applications"
ME = "/api/v1/accounts/verify_credentials"


async def application_of(stage: Stage, person: Person) -> str:
    rows = await stage.rows("SELECT application_id FROM access_tokens WHERE account_id = $1", person.account.id)
    return str(rows[0][0])


async def test_apps_are_listed_with_what_they_may_do(stage: Stage, ada: Person, bob: Person) -> None:
    await stage.sql("UPDATE applications SET name = '<Tusk>', website = 'https://tusk.example'")
    page = await (await signed_in(stage)).get(PAGE)
    assert page.text.count("<h2>&lt;Tusk&gt;</h2>") == 1
    assert "https://tusk.example" in page.text
    assert "allowed <time" in page.text


async def test_an_app_that_is_signed_out_has_no_access_any_more(stage: Stage, ada: Person, bob: Person) -> None:
    browser = await signed_in(stage)
    assert (await ada.get(ME)).status == 200
    answer = await browser.send(PAGE, application_id=await application_of(stage, ada))
    assert (answer.status, answer.headers["Location"]) == (302, PAGE)
    assert (await ada.get(ME)).status == 401
    assert (await bob.get(ME)).status == 200
    assert "No app may use your account" in (await browser.get(PAGE)).text


async def test_its_push_subscriptions_end(stage: Stage, ada: Person) -> None:
    await stage.sql(
        "INSERT INTO push_subscriptions (token_id, account_id, access_token, endpoint, service, p256dh, auth, standard,"
        " alerts, policy, created_at) SELECT id, account_id, 'x', 'https://push.example/', 'push.example',"
        " decode(repeat('00', 65), 'hex'), decode(repeat('00', 16), 'hex'), true, '{}', 'all', now() FROM access_tokens"
    )
    await (await signed_in(stage)).send(PAGE, application_id=await application_of(stage, ada))
    assert await stage.rows("SELECT FROM push_subscriptions") == []


@pytest.mark.parametrize("id", ["", "x", "1", "-1", "9" * 19, "9" * 30, "\u0661"])
async def test_an_unknown_app_changes_nothing(stage: Stage, ada: Person, id: str) -> None:
    assert (await (await signed_in(stage)).send(PAGE, application_id=id)).status == 302
    assert (await ada.get(ME)).status == 200


async def test_the_app_of_another_user_stays(stage: Stage, ada: Person, bob: Person) -> None:
    await (await signed_in(stage)).send(PAGE, application_id=await application_of(stage, bob))
    assert (await bob.get(ME)).status == 200


async def test_a_form_of_another_site_signs_no_app_out(stage: Stage, ada: Person) -> None:
    browser, form = await signed_in(stage), {"application_id": await application_of(stage, ada)}
    assert is_signed_out(await Browser(stage).post(PAGE, form))
    assert (await browser.post(PAGE, form)).status == 403
    planted = form_token(await Browser(stage).get("/auth/sign_in"))
    assert (await browser.post(PAGE, form | {"form_token": planted})).status == 403
    assert (await ada.get(ME)).status == 200

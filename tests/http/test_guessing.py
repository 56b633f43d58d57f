"""Guessing passwords comes to an end, and the owner of an account gets in all the same."""

from typing import Any

import pytest
import trio

from troupe.http.access.rates import FAILED_SIGN_INS, FAILED_SIGN_INS_OF_ACCOUNT
from troupe.storage.oauth import Application

from ..clients import PASSWORD, Person, Stage
from .guessing import Guest
from .signing_in import CALLBACK, SECRET

AT_HOME, ELSEWHERE = "192.0.2.1", "198.51.100.{}"
SPELLINGS = ("bob", "@bob", "@@bob", " bob ", "BOB", "@BoB", "bob@example.org", "BOB@Example.ORG", "@bob@example.org")


@pytest.fixture
def options() -> dict[str, Any]:
    return {"rate_limits": True, "password_grant": True}


@pytest.fixture
async def application(stage: Stage) -> Application:
    return await stage.application(SECRET, redirect_uris=(CALLBACK,))


async def many_wrong(stage: Stage, application: Application, login: str = "bob") -> None:
    """As many wrong passwords as an account's limit, from as few addresses as that takes."""
    for number in range(FAILED_SIGN_INS_OF_ACCOUNT.limit):
        guest = Guest(stage, application, ELSEWHERE.format(number // (FAILED_SIGN_INS.limit - 5)))
        assert (await guest.grant(login, "wrong")).status == 400


async def test_no_spelling_of_a_login_counts_apart(stage: Stage, bob: Person, application: Application) -> None:
    guest = Guest(stage, application, AT_HOME)
    for number in range(FAILED_SIGN_INS_OF_ACCOUNT.limit):
        if number == FAILED_SIGN_INS.limit - 5:
            guest = Guest(stage, application, ELSEWHERE.format(1))
        assert (await guest.grant(SPELLINGS[number % len(SPELLINGS)], "wrong")).status == 400
    for spelling in SPELLINGS:
        assert (await guest.grant(spelling, "wrong")).status == 429
    assert await guest.page("bob", "wrong") == 429


async def test_an_owner_gets_in_while_others_guess(stage: Stage, bob: Person, application: Application) -> None:
    await many_wrong(stage, application)
    owner = Guest(stage, application, AT_HOME)
    assert await owner.page("bob", PASSWORD) == 302
    for login in ("bob", "bob@example.org"):
        assert (await owner.grant(login, PASSWORD)).status == 200


async def test_an_address_that_failed_gets_in_no_more_while_others_guess(
    stage: Stage, bob: Person, application: Application
) -> None:
    await many_wrong(stage, application)
    thief = Guest(stage, application, AT_HOME)
    assert (await thief.grant("bob", "wrong")).status == 400
    refused = await thief.grant("bob", PASSWORD)
    assert (refused.status, refused.json) == (429, {"error": "Too many requests"})
    assert refused.headers["X-RateLimit-Limit"] == str(FAILED_SIGN_INS_OF_ACCOUNT.limit)
    assert refused.headers["X-RateLimit-Remaining"] == "0"
    assert refused.headers["X-RateLimit-Reset"].endswith("Z")


async def test_an_owner_who_mistypes_now_and_then_gets_in(stage: Stage, bob: Person, application: Application) -> None:
    owner = Guest(stage, application, AT_HOME)
    for _ in range(FAILED_SIGN_INS_OF_ACCOUNT.limit - 1):
        await owner.grant("bob", "wrong")
    assert (await owner.grant("bob", PASSWORD)).status == 200


async def test_right_passwords_are_not_counted(stage: Stage, bob: Person, application: Application) -> None:
    script = Guest(stage, application, AT_HOME)
    for _ in range(FAILED_SIGN_INS_OF_ACCOUNT.limit + 5):
        assert (await script.grant("bob", PASSWORD)).status == 200
    assert (await script.grant("bob", "wrong")).status == 400
    assert (await script.grant("bob", PASSWORD)).status == 200


async def test_a_right_password_forgives_no_wrong_ones(
    stage: Stage, ada: Person, bob: Person, application: Application
) -> None:
    """A thief with an account of his own gets no more tries by signing in to that one."""
    thief = Guest(stage, application, AT_HOME)
    statuses: list[int] = []
    for _ in range(FAILED_SIGN_INS.limit + 1):
        statuses.append((await thief.grant("bob", "wrong")).status)
        await thief.grant("ada", PASSWORD)
    assert statuses == [400] * FAILED_SIGN_INS.limit + [429]


async def test_an_address_that_guesses_at_many_accounts_is_stopped(
    stage: Stage, bob: Person, application: Application
) -> None:
    thief = Guest(stage, application, AT_HOME)
    statuses = [(await thief.grant(f"user{number}", "wrong")).status for number in range(FAILED_SIGN_INS.limit)]
    assert statuses == [400] * FAILED_SIGN_INS.limit
    assert (await thief.grant("bob", PASSWORD)).status == 429
    assert await thief.page("bob", PASSWORD) == 429
    assert (await Guest(stage, application, ELSEWHERE.format(1)).grant("bob", PASSWORD)).status == 200


async def test_an_unknown_login_is_counted_like_any_other(stage: Stage, bob: Person, application: Application) -> None:
    await many_wrong(stage, application, "nobody")
    for login in ("nobody", "@nobody", " NOBODY "):
        assert (await Guest(stage, application, ELSEWHERE.format(0)).grant(login, "wrong")).status == 429
    assert (await Guest(stage, application, ELSEWHERE.format(0)).grant("bob", PASSWORD)).status == 200


async def test_no_login_is_mistaken_for_an_account(stage: Stage, bob: Person, application: Application) -> None:
    await many_wrong(stage, application, bob.id)
    assert (await Guest(stage, application, ELSEWHERE.format(0)).grant("bob", PASSWORD)).status == 200


async def test_tries_that_run_at_the_same_time_are_all_counted(
    stage: Stage, bob: Person, application: Application
) -> None:
    """A hundred tries that are sent before the first has failed are counted too."""
    statuses: list[int] = []

    async def guess() -> None:
        statuses.append((await Guest(stage, application, AT_HOME).grant("bob", "wrong")).status)

    async with trio.open_nursery() as nursery:
        for _ in range(FAILED_SIGN_INS.limit + 10):
            nursery.start_soon(guess)
    assert sorted(statuses) == [400] * FAILED_SIGN_INS.limit + [429] * 10


async def test_texts_that_no_login_can_be_are_not_kept(stage: Stage, application: Application) -> None:
    guest = Guest(stage, application, AT_HOME)
    for number in range(3):
        assert (await guest.grant(f"{number}" * 1000, "wrong")).json["error"] == "invalid_grant"
    kept = stage.http_context.rates.count(FAILED_SIGN_INS_OF_ACCOUNT, "login ", stage.http_context.clock.now())
    assert kept.remaining == FAILED_SIGN_INS_OF_ACCOUNT.limit - 4

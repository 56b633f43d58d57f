"""A changed password ends what was begun with the old one: codes of apps, and requests that are on their way."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from troupe.storage import passwords, sessions
from troupe.storage.engine.database import Connection
from troupe.storage.oauth import Application

from ..clients import PASSWORD, Person, Reply, Stage
from .settling import Browser, link_in, signed_in
from .signing_in import CALLBACK, SECRET, asked, code_in, consent, consent_page, exchange, hidden, sign_in

NEW = "a new password"
HELD_UP = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))"


@pytest.fixture
async def application(stage: Stage) -> Application:
    return await stage.application(SECRET, redirect_uris=(CALLBACK,))


async def change(stage: Stage, **more: str) -> None:
    answer = await (await signed_in(stage)).send("/settings/password", password=PASSWORD, new_password=NEW, **more)
    assert answer.headers["Location"] == "/settings?done=password"


async def reset(stage: Stage) -> None:
    await Browser(stage).send("/auth/password/new", email="ada@example.org")
    link = link_in((await stage.letterbox.receive())[-1])
    form = {"reset_password_token": link.partition("=")[2], "new_password": NEW}
    assert (await Browser(stage).send("/auth/password/edit", link, **form)).status == 200


async def change_with_apps(stage: Stage) -> None:
    await change(stage, apps="1")


async def end_other_sessions(stage: Stage) -> None:
    assert (await (await signed_in(stage)).send("/settings/sessions", "/settings")).status == 302


@pytest.mark.parametrize("end", [change, change_with_apps, reset, end_other_sessions])
async def test_a_code_from_before_is_redeemed_no_more(
    stage: Stage, ada: Person, application: Application, end: Callable[[Stage], Awaitable[None]]
) -> None:
    code = code_in(await consent(stage.anybody(), asked(application)))
    await end(stage)
    answer = await exchange(stage, application, code)
    assert (answer.status, answer.json["error"]) == (400, "invalid_grant")


async def test_a_code_of_another_user_is_still_redeemed(
    stage: Stage, ada: Person, bob: Person, application: Application
) -> None:
    browser = stage.anybody()
    page = await browser.get((await sign_in(browser, asked(application), "bob")).headers["Location"])
    code = code_in(await browser.post("/oauth/authorize", hidden(page) | {"decision": "allow"}))
    await change(stage)
    assert (await exchange(stage, application, code)).status == 200


async def while_changing(stage: Stage, person: Person, request: Callable[[], Awaitable[Reply]]) -> Reply:
    """Send a request while a change of the password is not committed, and commit when the request waits for it."""
    answers: list[Reply] = []
    changed = trio.Event()

    async def send() -> None:
        await changed.wait()
        answers.append(await request())

    async def work(db: Connection) -> None:
        old = await db.fetchval("SELECT password_hash FROM users WHERE account_id = $1", person.account.id)
        await passwords.change(db, person.account.id, old, "another hash")
        await sessions.delete_others(db, person.account.id, b"")
        await sessions.revoke_tokens(db, person.account.id, stage.http_context.clock.now())
        changed.set()
        while not answers and not await db.fetchval(HELD_UP):
            pass

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        await stage.http_context.database.transact(work)
    return answers[0]


async def test_consent_that_meets_a_change_of_the_password_gives_no_code(
    stage: Stage, ada: Person, application: Application
) -> None:
    browser = stage.anybody()
    form = hidden(await consent_page(browser, asked(application))) | {"decision": "allow"}
    answer = await while_changing(stage, ada, lambda: browser.post("/oauth/authorize", form))
    assert "Location" not in answer.headers
    assert "You are no longer signed in" in answer.text


class TestPasswordGrant:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "password_grant": True}

    async def test_a_token_that_meets_a_change_of_the_password_is_refused(
        self, stage: Stage, ada: Person, application: Application
    ) -> None:
        form = {"client_id": application.client_id, "client_secret": SECRET, "username": "ada", "password": PASSWORD}
        wanted = form | {"grant_type": "password"}
        answer = await while_changing(stage, ada, lambda: stage.anybody().post("/oauth/token", wanted))
        assert (answer.status, answer.json["error"]) == (400, "invalid_grant")

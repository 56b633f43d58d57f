"""What has expired is deleted, and nothing that is in use."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
import trio

from troupe.actors.commands.registration import ConfirmEmail
from troupe.actors.housekeeping import expiry
from troupe.actors.kernel import Address
from troupe.http.access.authentication import Tokens
from troupe.storage.engine.database import Connection, Doubtful, Unavailable
from troupe.storage.secrets import hash_of
from troupe.storage.upkeep import expiry as deletions
from troupe.supervision.commands.account_states import approve_sign_up
from troupe.supervision.commands.new_accounts import RequestedAccount, make_accounts
from troupe.supervision.commands.rows import Here

from ..clients import PASSWORD, Client, Person, Stage
from ..waiting import until_none
from .registering import OPEN, app_client, newest_link, registered
from .signing_in import SECRET, asked, code_in, consent, exchange, sign_in
from .sweeping import DAY, HOUR, Sweeper


@pytest.fixture
def options() -> dict[str, Any]:
    return OPEN


async def commanded(stage: Stage, work: Callable[..., Awaitable[object]], *args: object) -> None:
    """Do the work of a command beside the stage's server."""
    http_context = stage.http_context

    async def transaction(db: Connection) -> None:
        here = Here(db, http_context.settings, http_context.ids, http_context.clock.now())
        await work(db, here, *args)
        await here.end()

    await http_context.database.transact(transaction)


async def count(stage: Stage, table: str) -> int:
    return (await stage.rows(f"SELECT count(*) FROM {table}"))[0][0]


async def test_a_session_is_deleted_when_it_is_over(stage: Stage, sweeper: Sweeper, ada: Person) -> None:
    application = await stage.application(SECRET)
    await sign_in(stage.anybody(), asked(application))
    await sweeper.sweep(14 * DAY - HOUR)
    assert await count(stage, "web_sessions") == 1
    assert "sessions" not in str(sweeper.recorded)
    await sweeper.sweep(14 * DAY + HOUR)
    assert await count(stage, "web_sessions") == 0
    assert "1 sessions" in str(sweeper.recorded)
    recorded = len(sweeper.recorded)
    await sweeper.sweep(14 * DAY + HOUR)
    assert len(sweeper.recorded) == recorded  # nothing was left


async def test_a_link_is_deleted_when_it_is_over(stage: Stage, sweeper: Sweeper) -> None:
    await registered(stage, "eve")
    await stage.anybody().get(await newest_link(stage))
    await sweeper.sweep(2 * DAY - HOUR)
    assert await count(stage, "confirmations") == 1
    await sweeper.sweep(2 * DAY + HOUR)
    assert await count(stage, "confirmations") == 0


async def test_a_link_to_a_strike_is_deleted_when_it_is_over(stage: Stage, sweeper: Sweeper, ada: Person) -> None:
    mod = await stage.person("mod", ("admin:write",), role="moderator")
    form = {"type": "silence", "send_email_notification": "true"}
    assert (await mod.post(f"/api/v1/admin/accounts/{ada.id}/action", form)).status == 200
    await stage.letterbox.receive()
    await sweeper.sweep(20 * DAY - HOUR)
    assert await count(stage, "strike_links") == 1
    await sweeper.sweep(20 * DAY + HOUR)
    assert await count(stage, "strike_links") == 0
    assert await count(stage, "strikes") == 1


async def test_a_code_is_deleted_a_day_after_it_is_over(stage: Stage, sweeper: Sweeper, ada: Person) -> None:
    await consent(stage.anybody(), asked(await stage.application(SECRET)))
    await sweeper.sweep(DAY)
    assert await count(stage, "oauth_grants") == 1
    await sweeper.sweep(DAY + HOUR)
    assert await count(stage, "oauth_grants") == 0


async def test_a_dead_letter_is_deleted_after_a_month(stage: Stage, sweeper: Sweeper) -> None:
    await stage.sql(
        """
        INSERT INTO dead_letters (id, address, kind, message, error, created_at)
        VALUES ($1, 'account/1', 'PublishStatus', '{"text": "a secret"}', 'ValueError', $2)
        """,
        stage.http_context.ids.next(), stage.http_context.clock.now(),
    )  # fmt: skip
    await sweeper.sweep(30 * DAY - HOUR)
    assert await count(stage, "dead_letters") == 1
    await sweeper.sweep(30 * DAY + HOUR)
    assert await count(stage, "dead_letters") == 0


async def test_what_is_remembered_of_other_servers_is_forgotten(stage: Stage, sweeper: Sweeper) -> None:
    for age in (2, 4, 29, 31):
        await stage.sql(
            "INSERT INTO actor_keys (key_id, actor_uri, public_key, fetched_at)"
            " VALUES ($1, '-', '-', now() - $2::interval)",
            f"{age} days", timedelta(days=age),
        )  # fmt: skip
        await stage.sql(
            "INSERT INTO received_activities (digest, received_at) VALUES ($1, now() - $2::interval)",
            age.to_bytes(32, "big"), timedelta(days=age),
        )  # fmt: skip
        await stage.sql(
            "INSERT INTO tombstones (uri, created_at, expires_at) VALUES ($1, now(), now() - $2::interval)",
            f"{age} days", timedelta(days=age),
        )  # fmt: skip
    await stage.sql("INSERT INTO tombstones (uri, created_at) VALUES ('for good', now())")
    await sweeper.sweep(timedelta())
    assert await stage.rows("SELECT key_id FROM actor_keys ORDER BY key_id") == [["2 days"], ["29 days"], ["4 days"]]
    assert await stage.rows("SELECT digest FROM received_activities") == [[(2).to_bytes(32, "big")]]
    assert await stage.rows("SELECT uri FROM tombstones") == [["for good"]]


async def test_a_revoked_token_is_told_from_a_wrong_one_for_a_month(
    stage: Stage, sweeper: Sweeper, ada: Person
) -> None:
    application = await stage.application(SECRET)
    token = (await exchange(stage, application, code_in(await consent(stage.anybody(), asked(application))))).json
    form = {"client_id": application.client_id, "client_secret": SECRET, "token": token["access_token"]}
    holder = stage.anybody(token["access_token"])
    await stage.anybody().post("/oauth/revoke", form)
    await sweeper.sweep(30 * DAY - HOUR)
    assert (await holder.get("/api/v1/timelines/home")).json == {"error": "The access token was revoked"}
    await sweeper.sweep(30 * DAY + HOUR)
    assert (await holder.get("/api/v1/timelines/home")).json == {"error": "The access token is invalid"}
    assert (await ada.get("/api/v1/timelines/home")).status == 200


async def own_token(stage: Stage) -> Client:
    """A client with the token of an application, as it is issued."""
    application = await stage.application(SECRET)
    form = {"grant_type": "client_credentials", "client_id": application.client_id, "client_secret": SECRET}
    return stage.anybody((await stage.anybody().post("/oauth/token", form)).json["access_token"])


async def is_good(app: Client) -> bool:
    return (await app.get("/api/v1/apps/verify_credentials")).status == 200


async def test_a_token_of_an_application_that_was_never_used_lasts_two_days(stage: Stage, sweeper: Sweeper) -> None:
    await own_token(stage)
    await sweeper.sweep(2 * DAY - HOUR)
    assert await count(stage, "access_tokens") == 1
    await sweeper.sweep(2 * DAY + HOUR)
    assert await count(stage, "access_tokens") == 0


async def test_a_token_of_an_application_lasts_while_it_is_used(stage: Stage, sweeper: Sweeper) -> None:
    app = await own_token(stage)
    for days in (1, 30, 59, 88):
        assert await is_good(app)
        await sweeper.sweep(days * DAY)
    await sweeper.sweep(118 * DAY + HOUR)
    assert await count(stage, "access_tokens") == 0
    assert not await is_good(app)


async def test_a_token_of_a_user_lasts(stage: Stage, sweeper: Sweeper, ada: Person) -> None:
    await sweeper.sweep(1000 * DAY)
    assert (await ada.get("/api/v1/timelines/home")).status == 200


async def test_an_unused_application_lasts_a_week(stage: Stage, sweeper: Sweeper) -> None:
    await stage.application()
    await sweeper.sweep(7 * DAY - HOUR)
    assert await count(stage, "applications") == 1
    await sweeper.sweep(7 * DAY + HOUR)
    assert await count(stage, "applications") == 0


async def test_an_application_in_use_lasts(stage: Stage, sweeper: Sweeper, ada: Person) -> None:
    """By a token, by the posts that name it, or by the users that it has brought."""
    await ada.publish()
    await registered(stage, "eve")
    await stage.anybody().get(await newest_link(stage))
    names = await stage.rows("SELECT id FROM applications ORDER BY id")
    await sweeper.sweep(1000 * DAY)
    assert await stage.rows("SELECT id FROM applications ORDER BY id") == names
    await stage.sql("DELETE FROM access_tokens")
    await sweeper.sweep(1000 * DAY)
    assert await stage.rows("SELECT id FROM applications ORDER BY id") == names
    await stage.sql("DELETE FROM statuses")
    await stage.sql("UPDATE users SET created_by_application_id = NULL")
    await sweeper.sweep(1000 * DAY)
    assert await count(stage, "applications") == 0


class TestSignUps:
    async def test_an_unconfirmed_one_is_deleted_after_two_days(self, stage: Stage, sweeper: Sweeper) -> None:
        eve = await registered(stage, "eve")
        await stage.letterbox.receive()
        await sweeper.sweep(2 * DAY - HOUR)
        assert (await eve.get("/api/v1/emails/check_confirmation")).json is False
        await sweeper.sweep(2 * DAY + HOUR)
        assert await stage.rows("SELECT username FROM accounts") == []
        assert await count(stage, "users") == await count(stage, "confirmations") == 0
        assert (await eve.get("/api/v1/emails/check_confirmation")).status == 401
        assert sweeper.recorded == [("expiry.swept", {"decision": "removed 1 links of mails, 1 unconfirmed sign-ups"})]
        await registered(stage, "eve")

    @pytest.mark.parametrize("mode", ["open", "approval"])
    async def test_one_on_the_page_is_deleted_as_well(self, stage: Stage, sweeper: Sweeper, mode: str) -> None:
        await registered(stage, "eve")
        await stage.sql("UPDATE users SET created_by_application_id = NULL, sign_up_ip = '192.0.2.1'")
        if mode == "approval":
            await stage.sql("UPDATE users SET approved_at = NULL")
        await sweeper.sweep(3 * DAY)
        assert await count(stage, "accounts") == 0

    async def test_one_that_was_confirmed_is_kept(self, stage: Stage, sweeper: Sweeper) -> None:
        eve = await registered(stage, "eve")
        await stage.anybody().get(await newest_link(stage))
        await sweeper.sweep(1000 * DAY)
        assert (await eve.get("/api/v1/accounts/verify_credentials")).status == 200

    async def test_one_whose_link_is_still_good_is_kept_for_a_week(self, stage: Stage, sweeper: Sweeper) -> None:
        """The mail came late, or another one was asked for."""
        await registered(stage, "eve")
        await stage.letterbox.receive()
        await stage.sql("UPDATE users SET created_at = created_at - interval '3 days'")
        await stage.sql("UPDATE users SET approved_at = created_at")
        await sweeper.sweep(timedelta())
        assert (await stage.anybody().get(await newest_link(stage))).status == 302

    async def test_asking_for_mails_keeps_nothing_for_longer_than_a_week(self, stage: Stage, sweeper: Sweeper) -> None:
        await registered(stage, "eve")
        await stage.letterbox.receive()
        await stage.sql("UPDATE users SET created_at = created_at - interval '7 days'")
        await stage.sql("UPDATE users SET approved_at = created_at")
        await sweeper.sweep(HOUR)
        assert await count(stage, "users") == 0

    async def test_one_that_a_moderator_approved_is_kept(self, stage: Stage, sweeper: Sweeper) -> None:
        await registered(stage, "eve")
        await stage.sql("UPDATE users SET approved_at = NULL")
        await commanded(stage, approve_sign_up, "eve")
        await sweeper.sweep(1000 * DAY)
        assert await count(stage, "users") == 1

    async def test_one_that_an_operator_made_is_kept(self, stage: Stage, sweeper: Sweeper) -> None:
        wanted = RequestedAccount("eve", "eve@example.org", None, confirmed=False)
        await commanded(stage, make_accounts, [wanted], ())
        await sweeper.sweep(1000 * DAY)
        assert await count(stage, "users") == 1

    async def test_a_link_that_is_opened_when_the_account_is_gone_says_that_it_does_not_work(
        self, stage: Stage, sweeper: Sweeper
    ) -> None:
        await registered(stage, "eve")
        link = await newest_link(stage)
        (account,) = (await stage.rows("SELECT id FROM accounts"))[0]
        await sweeper.sweep(8 * DAY)
        page = await stage.anybody().get(link)
        assert (page.status, "Get a new mail" in page.text) == (404, True)
        told = await stage.http_context.runtime.ask(Address("account", str(account)), ConfirmEmail(hash_of("any")))
        assert told is None


def test_each_deletion_is_in_the_table() -> None:
    known = {value for value in vars(deletions).values() if isinstance(value, deletions.BatchDeletion)}
    assert len(known) == 22
    assert {kind.deletion for kind in expiry.EXPIRING} == known


async def test_many_are_deleted_in_batches(
    stage: Stage, sweeper: Sweeper, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiry, "BATCH", 3)
    insert = """
        INSERT INTO web_sessions (token_hash, account_id, created_at, expires_at)
        SELECT sha256(n::text::bytea), $1, now(), now() FROM generate_series(1, 10) n
    """
    await stage.sql(insert, ada.account.id)
    await sweeper.sweep(HOUR)
    assert await count(stage, "web_sessions") == 0
    assert sweeper.expiry.inspect() == {"deleted": 10}


async def test_it_runs_again_and_again(
    stage: Stage, sweeper: Sweeper, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiry, "EVERY", 0)
    application, stopping = await stage.application(SECRET), trio.Event()
    await exchange(stage, application, code_in(await consent(stage.anybody(), asked(application))))
    sweeper.clock.ahead = 15 * DAY
    async with trio.open_nursery() as nursery:
        await nursery.start(sweeper.expiry.run, stopping)
        for _ in range(2):
            await sign_in(stage.anybody(), asked(application), password=PASSWORD)
            await until_none(lambda: count(stage, "web_sessions"))
        stopping.set()


@pytest.mark.parametrize("fault", [Unavailable("away"), Doubtful("lost"), asyncpg.DiskFullError("no space left")])
async def test_a_fault_of_the_machine_puts_the_sweep_off(
    stage: Stage, sweeper: Sweeper, ada: Person, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    monkeypatch.setattr(expiry, "EVERY", 0)
    await sign_in(stage.anybody(), asked(await stage.application(SECRET)))
    sweeper.clock.ahead = 15 * DAY
    sweep, faults, stopping = sweeper.expiry.sweep, iter([fault, fault]), trio.Event()

    async def failing() -> None:
        for error in faults:
            raise error
        await sweep()

    monkeypatch.setattr(sweeper.expiry, "sweep", failing)
    async with trio.open_nursery() as nursery:
        await nursery.start(sweeper.expiry.run, stopping)
        await until_none(lambda: count(stage, "web_sessions"))
        stopping.set()


async def test_only_the_use_of_applications_own_tokens_is_remembered(stage: Stage, ada: Person) -> None:
    tokens, app = Tokens(), await app_client(stage)
    for _ in range(2):
        for secret in (ada.token, app.token, "wrong"):
            await tokens.find(stage.http_context.database, str(secret))
    (id,) = (await stage.rows("SELECT id FROM access_tokens WHERE account_id IS NULL"))[0]
    assert tokens.used == {id}

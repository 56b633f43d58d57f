"""Accounts that are known: fetched again when they are old, renamed, suspended, deleted, and blocked."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
import trio

from troupe.actors.activitypub.keys import public_pem
from troupe.actors.federation.flights import Flights
from troupe.storage import server_blocks
from troupe.storage.accounts import Account
from troupe.storage.blocked_domains import BlockedDomain, Severity

from ..clients import Person, Stage
from ..outgoing.peer import Asked, always, answer
from ..signing import private_key
from ..waiting import PATIENCE, until_found
from .delivering import DOCUMENT, act, applied, deliver, follow, take
from .finding import ACCOUNTS, followed, search, until_done
from .peer import ForeignServer


async def found(stage: Stage, person: Person, peer: ForeignServer, name: str = "eve") -> Account:
    """Serve and find an account."""
    peer.person(name)
    (one,) = await search(person, f"{name}@{peer.domain}")
    await until_done(stage)
    return await stored(stage, int(one["id"]))


async def stored(stage: Stage, id: int) -> Account:
    stage.http_context.accounts.clear()
    account = await stage.http_context.accounts.find(id)
    assert account is not None
    return account


async def refreshed(stage: Stage, account: Account) -> Account:
    await stage.http_context.federation.resolver.refresh(account)
    return await stored(stage, account.id)


def key_of(uri: str) -> dict[str, str]:
    return {"id": f"{uri}#main-key", "owner": uri, "publicKeyPem": public_pem(private_key())}


async def block(stage: Stage, domain: str, severity: Severity) -> BlockedDomain:
    context = stage.http_context
    made = BlockedDomain(context.ids.next(), domain, severity, False, False, None, None, False, context.clock.now())
    await context.database.transact(server_blocks.insert, made)
    await context.blocks.reload()
    return made


async def test_an_old_account_is_fetched_again_after_it_was_shown(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    account = await found(stage, ada, peer)
    peer.person("eve", name="Eve the Second")
    path = f"/api/v1/accounts/{account.id}"
    assert (await ada.get(path)).json["display_name"] == "Eve"
    assert len(peer.asked(account.uri)) == 1, "it is fresh"
    await stage.sql("UPDATE accounts SET fetched_at = $2 WHERE id = $1", account.id, _a_while_ago(stage))
    held = peer.hold(account.uri)
    assert (await ada.get(path)).json["display_name"] == "Eve", "the answer does not wait"
    held.set()

    async def shows_the_new_name() -> bool:
        return (await ada.get(path)).json["display_name"] == "Eve the Second"

    await until_found(shows_the_new_name)
    assert len(peer.asked(account.uri)) == 2


def _a_while_ago(stage: Stage) -> object:
    return stage.http_context.clock.now() - timedelta(days=1, seconds=1)


async def test_a_server_that_is_away_is_not_asked_again_at_once(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    account = await found(stage, ada, peer)
    await stage.sql("UPDATE accounts SET fetched_at = $2 WHERE id = $1", account.id, _a_while_ago(stage))
    peer.fail(account.uri, 503)
    for _ in range(3):
        assert (await ada.get(f"/api/v1/accounts/{account.id}")).status == 200
        await until_done(stage)
    assert len(peer.asked(account.uri)) == 2


@pytest.mark.parametrize("status", [404, 403, 500, 429])
async def test_an_account_that_is_not_there_just_now_stays(
    stage: Stage, ada: Person, peer: ForeignServer, status: int
) -> None:
    account = await found(stage, ada, peer)
    await stage.sql("UPDATE accounts SET fetched_at = $2 WHERE id = $1", account.id, _a_while_ago(stage))
    peer.fail(account.uri, status)
    await ada.get(f"/api/v1/accounts/{account.id}")
    await until_done(stage)
    assert (await ada.get(f"/api/v1/accounts/{account.id}")).json["display_name"] == "Eve"


async def test_an_account_that_is_gone_for_good_is_deleted_with_its_follows(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    account = await found(stage, ada, peer)
    await stage.sql(
        "INSERT INTO follows (id, account_id, target_account_id, created_at) VALUES ($1, $2, $3, now())",
        stage.http_context.ids.next(), ada.account.id, account.id,
    )  # fmt: skip
    await stage.sql("UPDATE account_counts SET followers = 1 WHERE account_id = $1", account.id)
    await stage.sql("UPDATE account_counts SET following = 1 WHERE account_id = $1", ada.account.id)
    peer.fail(account.uri, 410)
    await refreshed(stage, account)
    assert (await ada.get(f"/api/v1/accounts/{account.id}")).status == 410
    assert await search(ada, f"eve@{peer.domain}") == []

    async def follows_are_gone() -> bool:
        return await stage.rows("SELECT id FROM follows") == []

    await until_found(follows_are_gone)
    peer.person("eve")
    for query in (account.uri, f"eve@{peer.domain}"):
        assert await search(ada, query) == [], "its name is not given again"
    assert (await stored(stage, account.id)).display_name == ""


@pytest.mark.parametrize("path", ["/users/eve", "/author/1"])
async def test_an_account_of_a_server_that_was_set_up_anew_is_a_new_one(
    stage: Stage, ada: Person, peer: ForeignServer, path: str
) -> None:
    """It may have the same id, or that of another software."""
    eve = peer.person("eve")
    old = await followed(ada, peer)
    await take(stage, act(eve, "Delete", eve["id"]))
    await stage.until_gone("SELECT FROM follows")
    again = peer.person("eve", id=peer.url(path), inbox=peer.url(f"{path}/inbox"), publicKey=key_of(peer.url(path)))
    peer.serve(again["id"], again)
    peer.handle("eve", None, again["id"])
    asking = f"@eve@{peer.domain}"
    assert await search(ada, asking) == []
    await take(stage, follow(again, "ada"))  # something of the deleted one may still be on its way
    assert await stage.rows("SELECT FROM follows") == []
    await stage.sql("UPDATE accounts SET deleted_at = deleted_at - interval '6 hours' WHERE id = $1", int(old))
    await take(stage, follow(again, "ada", 2))
    (found,) = await search(ada, asking)
    assert (found["acct"], found["id"] != old) == (f"eve@{peer.domain}", True)
    assert await stage.rows("SELECT account_id FROM follows") == [[int(found["id"])]]
    await until_done(stage)


@pytest.mark.parametrize("state", ["suspended_at", "silenced_at"])
async def test_a_deleted_account_does_not_come_back_without_what_staff_have_decided(
    stage: Stage, ada: Person, peer: ForeignServer, state: str
) -> None:
    eve = peer.person("eve")
    old = await followed(ada, peer)
    await take(stage, act(eve, "Delete", eve["id"]))
    await stage.sql(f"UPDATE accounts SET deleted_at = now() - interval '9 days', {state} = now() WHERE id = {old}")
    assert await search(ada, f"@eve@{peer.domain}") == []
    await take(stage, follow(eve, "ada"))
    assert await stage.rows("SELECT FROM follows") == []


async def test_an_account_is_renamed_when_webfinger_says_so(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    account = await found(stage, ada, peer)
    peer.serve(account.uri, peer.person("eve") | {"preferredUsername": "evelyn"})
    assert (await refreshed(stage, account)).acct == f"eve@{peer.domain}", "nothing proves the new name"
    peer.handle("evelyn", None, account.uri)
    assert (await refreshed(stage, account)).acct == f"evelyn@{peer.domain}"


async def test_an_account_does_not_get_a_handle_that_leads_to_another_actor(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    account = await found(stage, ada, peer)
    peer.serve(account.uri, peer.person("eve") | {"preferredUsername": "gus"})
    peer.person("gus")
    assert (await refreshed(stage, account)).acct == f"eve@{peer.domain}"


async def test_an_account_whose_server_sends_something_is_fetched_again_after_a_week(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    account = await found(stage, ada, peer)
    for days, asked in ((6, 1), (8, 2)):
        ago = stage.http_context.clock.now() - timedelta(days=days)
        await stage.sql("UPDATE accounts SET fetched_at = $2 WHERE id = $1", account.id, ago)
        assert await stage.http_context.federation.resolver.account(account.uri) is not None
        await until_done(stage)
        assert len(peer.asked(account.uri)) == asked


async def test_a_handle_moves_to_another_actor_when_webfinger_says_so(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    account = await found(stage, ada, peer)
    again = peer.url("/users/116")
    peer.serve(again, peer.person("eve") | {"id": again, "inbox": f"{again}/inbox", "publicKey": None})
    assert await search(ada, again) == [], "WebFinger names the first one"
    peer.handle("eve", None, again)
    assert [one["id"] for one in await search(ada, again)] == [str(account.id)]
    assert (await stored(stage, account.id)).uri == again
    assert (await stored(stage, account.id)).public_key is None


async def test_a_handle_is_not_taken_from_an_account_by_one_that_has_another(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve, fay = await found(stage, ada, peer), await found(stage, ada, peer, "fay")
    peer.serve(fay.uri, peer.person("fay") | {"preferredUsername": "eve"})
    peer.handle("eve", None, fay.uri)
    assert (await refreshed(stage, fay)).acct == f"fay@{peer.domain}"
    assert (await refreshed(stage, eve)).acct == f"eve@{peer.domain}"


async def test_a_key_is_replaced(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    account = await found(stage, ada, peer)
    keys = "SELECT key_id, actor_uri, public_key = $1 FROM actor_keys ORDER BY key_id"
    assert await stage.rows(keys, account.public_key) == [[f"{account.uri}#main-key", account.uri, True]]


async def test_a_suspension_at_home_holds_until_that_server_takes_it_back(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    account = await found(stage, ada, peer)
    peer.person("eve", suspended=True)
    assert (await refreshed(stage, account)).suspended_at is not None
    assert (await ada.get(f"/api/v1/accounts/{account.id}")).status == 410
    assert await search(ada, f"eve@{peer.domain}") == []
    assert await search(ada, account.uri) == []
    peer.person("eve")
    assert (await refreshed(stage, account)).suspended_at is None


async def test_a_suspension_by_staff_is_not_taken_back_by_the_accounts_server(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    account = await found(stage, ada, peer)
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", account.id)
    for state in (True, False):
        peer.person("eve", suspended=state)
        assert (await refreshed(stage, account)).suspended_at is not None


async def test_where_an_account_has_moved_to_is_shown_if_the_new_one_agrees(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    new = peer.url("/users/new")
    peer.person("eve", movedTo=new)
    peer.person("new")
    account = await stage.http_context.federation.resolver.account(peer.url("/users/eve"))
    assert account is not None
    await until_done(stage)
    assert (await stored(stage, account.id)).moved_to_id is None
    peer.person("new", alsoKnownAs=account.uri)
    known = await stage.http_context.federation.resolver.account(new)
    assert known is not None
    await refreshed(stage, known)
    await refreshed(stage, account)
    await until_done(stage)
    shown = (await ada.get(f"/api/v1/accounts/{account.id}")).json
    assert shown["moved"]["acct"] == f"new@{peer.domain}"


async def test_a_suspended_domain_is_never_asked(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await block(stage, "peer.test", "suspend")
    for query in (eve["id"], f"eve@{peer.domain}", eve["url"]):
        assert await search(ada, query) == []
    assert peer.peer.asked == []
    peer.handle("eve", "other.test", eve["id"])
    peer.redirect(peer.url("/to", "other.test"), eve["id"])
    for query in (f"eve@{peer.domain_of('other.test')}", peer.url("/to", "other.test")):
        assert await search(ada, query) == []
    assert peer.asked(eve["id"]) == []


async def test_an_account_of_a_silenced_domain_is_silenced_from_the_start(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    made = await block(stage, "peer.test", "silence")
    account = await stage.http_context.federation.resolver.account(peer.person("eve")["id"])
    assert account is not None
    assert account.silenced_at == made.created_at, "the stamp by which the end of the block takes it back"


async def test_totals_of_other_servers_do_not_disturb_our_own_counts(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    account = await found(stage, ada, peer)
    assert (account.statuses_count, account.followers_count, account.following_count) == (1, 2, 3)
    followers = f"{account.uri}/followers"
    for told, shown in ((0, 0), (-1, 0), ("many", 0), (True, 0), (10**30, 0), (7, 7)):
        peer.collection(followers)
        peer.serve(followers, {"type": "OrderedCollection", "totalItems": told})
        await refreshed(stage, account)
        await until_done(stage)
        assert (await stored(stage, account.id)).followers_count == shown, told
    assert await stage.rows("SELECT followers FROM account_counts WHERE account_id = $1", account.id) == [[0]]


@pytest.fixture
def limited(options: dict[str, Any]) -> None:
    options["limited_federation"] = True


async def test_limited_federation_asks_allowed_domains_alone(
    limited: None, stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    assert await search(ada, f"eve@{peer.domain}") == []
    assert await search(ada, peer.person("eve")["id"]) == []
    assert peer.peer.asked == []
    assert await stage.rows(ACCOUNTS) == []


async def test_a_profile_that_changes_while_it_is_fetched_is_fetched_once_more(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer that is on its way has the profile before the change."""
    account = await found(stage, ada, peer)
    begun, sent, joined, join = trio.Event(), trio.Event(), trio.Event(), Flights[Account].join_next

    async def join_next(*terms: Any) -> Account | None:
        joined.set()
        return await join(*terms)

    monkeypatch.setattr(Flights, "join_next", join_next)
    before = always(answer(200, json.dumps(peer.person("eve")).encode(), Content_Type=DOCUMENT))

    async def slowly(stream: trio.abc.Stream, asked: Asked) -> None:
        begun.set()
        await sent.wait()
        await before(stream, asked)

    peer.respond_with(account.uri, slowly)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.http_context.federation.resolver.refresh, account)
        await begun.wait()
        eve = peer.person("eve", name="Eve the Second")
        assert (await deliver(stage, act(eve, "Update", eve))).status == 202
        with trio.fail_after(PATIENCE):
            await joined.wait()
        sent.set()
    await applied(stage)
    assert (await stored(stage, account.id)).display_name == "Eve the Second"

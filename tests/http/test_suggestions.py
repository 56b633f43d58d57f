"""Suggestions of accounts to follow: from interactions, from what is popular here, and until they are turned down."""

from collections.abc import Awaitable, Callable

import pytest

from troupe.storage.accounts import NewAccount

from ..checklist.rows import rows
from ..clients import Person, Stage
from ..rows import create_account

V1 = "/api/v1/suggestions"
V2 = "/api/v2/suggestions"
PROFILE = "/api/v1/accounts/update_credentials"


@pytest.fixture
async def cleo(stage: Stage) -> Person:
    return await stage.person("cleo")


async def suggested(viewer: Person, query: str = "") -> list[str]:
    """The handles that the viewer is suggested, the same by both endpoints."""
    old, new = await viewer.get(f"{V1}{query}"), await viewer.get(f"{V2}{query}")
    assert (old.status, new.status) == (200, 200), old.text + new.text
    assert [one["account"] for one in new.json] == old.json
    assert "Link" not in old.headers
    return [account["acct"] for account in old.json]


async def act(viewer: Person, deed: str, on: Person, times: int = 1) -> None:
    """Reply to new posts of an account, favourite or boost them."""
    for _ in range(times):
        post = (await on.publish())["id"]
        if deed == "reply":
            await viewer.publish("yes", in_reply_to_id=post)
        else:
            assert (await viewer.post(f"/api/v1/statuses/{post}/{deed}")).status == 200


async def to(viewer: Person, verb: str, other: Person | str) -> None:
    id = other if isinstance(other, str) else other.id
    assert (await viewer.post(f"/api/v1/accounts/{id}/{verb}")).status == 200


@rows("S169")
@pytest.mark.parametrize("deed", ["reply", "favourite", "reblog"])
async def test_an_account_is_suggested_after_an_interaction(
    stage: Stage, ada: Person, bob: Person, cleo: Person, deed: str
) -> None:
    assert await suggested(ada) == []
    await act(ada, deed, bob)
    assert await suggested(ada) == ["bob"]
    assert (await ada.get(V1)).json[0] == (await ada.get(f"/api/v1/accounts/{bob.id}")).json
    (one,) = (await ada.get(V2)).json
    assert (one["source"], one["sources"]) == ("past_interactions", [])
    assert await suggested(bob) == await suggested(cleo) == []


@rows("S177")
async def test_a_reply_weighs_one(ada: Person, bob: Person, cleo: Person) -> None:
    await act(ada, "reply", cleo, 3)
    await act(ada, "reply", bob, 2)
    assert await suggested(ada) == ["cleo", "bob"]


@rows("S178")
async def test_a_favourite_weighs_ten(ada: Person, bob: Person, cleo: Person) -> None:
    await act(ada, "favourite", bob)
    await act(ada, "reply", cleo, 9)
    assert await suggested(ada) == ["bob", "cleo"]
    await act(ada, "reply", cleo, 2)
    assert await suggested(ada) == ["cleo", "bob"]


@rows("S179")
async def test_a_boost_weighs_twenty(ada: Person, bob: Person, cleo: Person) -> None:
    await act(ada, "reblog", bob)
    await act(ada, "favourite", cleo)
    await act(ada, "reply", cleo, 9)
    assert await suggested(ada) == ["bob", "cleo"]
    await act(ada, "reply", cleo, 2)
    assert await suggested(ada) == ["cleo", "bob"]


@rows("S176")
async def test_of_equal_scores_the_last_to_post_comes_first(ada: Person, bob: Person, cleo: Person) -> None:
    await act(ada, "reply", bob)
    await act(ada, "reply", cleo)
    assert await suggested(ada) == ["cleo", "bob"]
    await bob.publish()
    assert await suggested(ada) == ["bob", "cleo"]


async def _suspend(stage: Stage, viewer: Person, other: Person) -> None:
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", other.account.id)


async def _silence(stage: Stage, viewer: Person, other: Person) -> None:
    await stage.sql("UPDATE accounts SET silenced_at = now() WHERE id = $1", other.account.id)


async def _delete(stage: Stage, viewer: Person, other: Person) -> None:
    await stage.sql("UPDATE accounts SET deleted_at = now() WHERE id = $1", other.account.id)


async def _wait_for_approval(stage: Stage, viewer: Person, other: Person) -> None:
    await stage.sql("UPDATE users SET approved_at = NULL WHERE account_id = $1", other.account.id)


async def _lock(stage: Stage, viewer: Person, other: Person) -> None:
    await other.send("PATCH", PROFILE, form={"locked": "true"})


async def _move(stage: Stage, viewer: Person, other: Person) -> None:
    await stage.sql("UPDATE accounts SET moved_to_id = $2 WHERE id = $1", other.account.id, viewer.account.id)


STATES = [_suspend, _silence, _delete, _wait_for_approval, _lock, _move]


async def _block(stage: Stage, viewer: Person, other: Person) -> None:
    await to(viewer, "block", other)


async def _be_blocked(stage: Stage, viewer: Person, other: Person) -> None:
    await to(other, "block", viewer)


async def _mute(stage: Stage, viewer: Person, other: Person) -> None:
    await to(viewer, "mute", other)


async def _follow(stage: Stage, viewer: Person, other: Person) -> None:
    await to(viewer, "follow", other)


async def _request(stage: Stage, viewer: Person, other: Person) -> None:
    await _lock(stage, viewer, other)
    await to(viewer, "follow", other)
    await stage.sql("UPDATE accounts SET locked = false")


@rows("S170", "S171", "S172", "S174", "S175", "S180")
@pytest.mark.parametrize("change", [*STATES, _block, _be_blocked, _mute, _follow, _request])
@pytest.mark.parametrize("popular", [False, True])
async def test_accounts_that_are_not_suggested(
    stage: Stage,
    ada: Person,
    bob: Person,
    cleo: Person,
    popular: bool,
    change: Callable[[Stage, Person, Person], Awaitable[None]],
) -> None:
    if popular:
        await become_popular(stage, bob, cleo)
    else:
        await act(ada, "favourite", bob)
    assert await suggested(ada) == ["bob"]
    await change(stage, ada, bob)
    assert await suggested(ada) == []


@pytest.mark.parametrize("change", STATES)
async def test_an_account_that_is_not_suggested_takes_no_place(
    stage: Stage,
    ada: Person,
    bob: Person,
    cleo: Person,
    change: Callable[[Stage, Person, Person], Awaitable[None]],
) -> None:
    await act(ada, "favourite", bob)
    await act(ada, "reply", cleo)
    assert await suggested(ada, "?limit=1") == ["bob"]
    await change(stage, ada, bob)
    assert await suggested(ada, "?limit=1") == ["cleo"]


@pytest.mark.parametrize("change", [_mute, _follow, _request])
async def test_interactions_do_not_bring_them_back(
    stage: Stage,
    ada: Person,
    bob: Person,
    cleo: Person,
    change: Callable[[Stage, Person, Person], Awaitable[None]],
) -> None:
    """A follow ends the suggestion, a later interaction begins one: but the follow is still there."""
    await change(stage, ada, bob)
    await act(ada, "favourite", bob)
    await act(ada, "reply", cleo)
    assert await suggested(ada) == ["cleo"]


@rows("S173")
async def test_accounts_of_blocked_domains_are_not_suggested(stage: Stage, ada: Person) -> None:
    uri, context = "https://far.example/users/zoe", stage.http_context
    new = NewAccount(context.ids.next(), "zoe", "far.example", uri, uri)
    zoe = await context.database.transact(create_account, new, context.clock.now())
    id = context.ids.next()
    await stage.sql(
        "INSERT INTO statuses (id, account_id, uri, local, visibility, conversation_id, created_at)"
        " VALUES ($1, $2, 'https://far.example/1', false, 'public', $1, now())",
        id,
        zoe.id,
    )
    await stage.sql("INSERT INTO status_counts (status_id) VALUES ($1)", id)
    assert (await ada.post(f"/api/v1/statuses/{id}/favourite")).status == 200
    assert await suggested(ada) == ["zoe@far.example"]
    await ada.post("/api/v1/domain_blocks", {"domain": "far.example"})
    assert await suggested(ada) == []


@rows("S181")
@pytest.mark.parametrize("verb", ["mute", "block", "follow"])
async def test_it_stays_away_until_the_next_interaction(
    stage: Stage, ada: Person, bob: Person, cleo: Person, verb: str
) -> None:
    await become_popular(stage, bob, cleo)
    await act(ada, "favourite", bob)
    await to(ada, verb, bob)
    await to(ada, f"un{verb}", bob)
    assert await suggested(ada) == []
    await act(ada, "reply", bob)
    assert await suggested(ada) == ["bob"]


@rows("S182")
async def test_a_dismissed_account_is_suggested_no_more(stage: Stage, ada: Person, bob: Person, cleo: Person) -> None:
    await become_popular(stage, bob, cleo)
    await act(ada, "favourite", bob)
    await act(ada, "reply", cleo)
    assert await suggested(ada) == ["bob", "cleo"]
    for _ in range(2):
        answer = await ada.delete(f"{V1}/{bob.id}")
        assert (answer.status, answer.json) == (200, {})
        assert await suggested(ada) == ["cleo"]
    await act(ada, "reblog", bob)
    await to(ada, "mute", bob)
    await to(ada, "unmute", bob)
    await act(ada, "reblog", bob)
    assert await suggested(ada) == ["cleo"]
    assert (await cleo.get(V1)).status == 200


@pytest.mark.parametrize("id", ["1", "999999999999999999", "99999999999999999999", "bob", "-1", "1.5"])
async def test_a_dismissal_succeeds_for_every_id(ada: Person, bob: Person, id: str) -> None:
    await act(ada, "reply", bob)
    for one in (id, ada.id):
        answer = await ada.delete(f"{V1}/{one}")
        assert (answer.status, answer.json) == (200, {}), answer.text
    assert await suggested(ada) == ["bob"]


async def test_limits_and_offsets(ada: Person, bob: Person, cleo: Person) -> None:
    await act(ada, "reply", bob)
    await act(ada, "favourite", cleo)
    for query, due in (
        ("", ["cleo", "bob"]), ("?limit=1", ["cleo"]), ("?limit=1&offset=1", ["bob"]), ("?offset=2", []),
        ("?limit=-1", ["cleo"]), ("?limit=0", []), ("?limit=x", []), ("?limit=&offset=", ["cleo", "bob"]),
        ("?limit=999", ["cleo", "bob"]), ("?offset=-5", ["cleo", "bob"]), ("?offset=99999999999999999999999", []),
    ):  # fmt: skip
        assert await suggested(ada, query) == due, query


async def test_suggestions_are_for_users(stage: Stage, ada: Person) -> None:
    reader = stage.anybody(await stage.token(ada.account, ("read",)))
    writer = stage.anybody(await stage.token(ada.account, ("write:accounts",)))
    other = stage.anybody(await stage.token(ada.account, ("write:statuses",)))
    for path in (V1, V2):
        assert (await stage.anybody().get(path)).status == 401
        assert (await reader.get(path)).status == 200
        assert (await writer.get(path)).status == 403
    assert [(await one.delete(f"{V1}/1")).status for one in (stage.anybody(), reader, writer, other)] == [
        401, 200, 200, 403,
    ]  # fmt: skip


async def test_a_suggestion_of_no_account_is_removed_as_well(ada: Person) -> None:
    for id in ("1", "abc", "-1", "9" * 30, "%F0%9F%90%98"):
        answer = await ada.delete(f"{V1}/{id}")
        assert (answer.status, answer.json) == (200, {}), id


# -- popular accounts


async def become_popular(stage: Stage, one: Person, follower: Person) -> None:
    """Let an account be among the most followed that opted in."""
    await one.send("PATCH", PROFILE, form={"discoverable": "true"})
    await to(follower, "follow", one)
    await one.publish()
    stage.http_context.suggestions.popular.forget()


async def test_a_new_account_is_suggested_popular_ones(stage: Stage, ada: Person, bob: Person, cleo: Person) -> None:
    dan = await stage.person("dan")
    await become_popular(stage, bob, cleo)
    await become_popular(stage, cleo, bob)
    await become_popular(stage, cleo, dan)
    assert await suggested(ada) == ["cleo", "bob"]
    for one in (await ada.get(V2)).json:
        assert (one["source"], one["sources"]) == ("global", ["most_followed"])
    assert await suggested(bob) == [], "not oneself, nor the followed"
    await act(ada, "reply", bob)
    assert await suggested(ada) == ["bob", "cleo"]
    assert [(one["source"], one["sources"]) for one in (await ada.get(V2)).json] == [
        ("past_interactions", ["most_followed"]),
        ("global", ["most_followed"]),
    ]
    await bob.send("PATCH", PROFILE, form={"discoverable": "false"})
    await cleo.send("PATCH", PROFILE, form={"discoverable": "false"})
    assert await suggested(ada) == ["bob"]


async def test_popular_accounts_are_not_looked_for_by_each_request(
    stage: Stage, ada: Person, bob: Person, cleo: Person
) -> None:
    await become_popular(stage, bob, cleo)
    assert await suggested(ada) == ["bob"]
    await stage.sql("UPDATE account_counts SET followers = 0")
    assert await suggested(ada) == ["bob"]
    stage.http_context.suggestions.popular.forget()
    assert await suggested(ada) == []

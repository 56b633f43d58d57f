"""The seed checklist's rows on statuses, on polls, and on what one does with them."""

from typing import Any

import pytest

from troupe.storage import statuses
from troupe.storage.accounts import NewAccount
from troupe.storage.statuses import NewStatus

from ..clients import Person, Stage, ids, link
from ..rows import create_account
from .rows import rows

STATUSES = "/api/v1/statuses"
POLL = {"options": ["yes", "no"], "expires_in": 300}


async def ask(person: Person, **more: Any) -> Any:
    """A status with a poll."""
    return await person.done("POST", STATUSES, json={"status": "?", "poll": POLL} | more)


@rows("S007", "S008")
async def test_bookmarks_are_private_and_uncounted(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("hi")
    path = f"{STATUSES}/{status['id']}"
    anybodys = (await stage.anybody().get(path)).json
    assert (await bob.post(f"{path}/bookmark")).json["bookmarked"] is True
    assert (await ada.get(path)).json == status
    assert (await stage.anybody().get(path)).json == anybodys
    assert not any("bookmark" in key for key in anybodys)
    assert await stage.rows("SELECT FROM notifications") == []


# Every effect, also one that is carried out and deleted before the test looks.
PROMISED = """
    CREATE TABLE promised (kind text);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO promised VALUES (NEW.kind); RETURN NEW; END';
    CREATE TRIGGER noted AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION note()
"""


@rows("S009")
async def test_a_bookmark_is_told_to_no_account_and_no_server(stage: Stage, ada: Person) -> None:
    http_context, uri = stage.http_context, "https://far.example/users/zoe"
    id, now = http_context.ids.next(), http_context.clock.now()
    zoe = await http_context.database.transact(
        create_account, NewAccount(http_context.ids.next(), "zoe", "far.example", uri, uri), now
    )
    new = NewStatus(id, zoe.id, f"{uri}/1", f"{uri}/1", "public", local=False, text="hi", content="<p>hi</p>")
    await http_context.database.transact(statuses.insert, new, now)
    for statement in PROMISED.split(";\n"):
        await stage.sql(statement)
    for action in ("bookmark", "bookmark", "unbookmark", "bookmark"):
        assert (await ada.post(f"{STATUSES}/{id}/{action}")).status == 200
    assert await stage.rows("SELECT kind FROM promised") == []
    assert (await ada.post(f"{STATUSES}/{id}/favourite")).status == 200
    assert await stage.rows("SELECT kind FROM promised") != []


@rows("S011", "S205")
async def test_pinning(ada: Person, bob: Person) -> None:
    own, others = await ada.publish("hi"), await bob.publish("hi")
    hidden = await bob.publish("psst", visibility="private")
    assert own["pinned"] is False
    assert (await ada.post(f"{STATUSES}/{own['id']}/pin")).json["pinned"] is True
    assert (await ada.post(f"{STATUSES}/{others['id']}/pin")).status == 422
    assert (await ada.post(f"{STATUSES}/{hidden['id']}/pin")).status == 404
    assert "pinned" not in (await bob.get(f"{STATUSES}/{own['id']}")).json
    assert (await ada.post(f"{STATUSES}/{own['id']}/unpin")).json["pinned"] is False


@rows("S043", "S044", "S045", "S099", "S207")
async def test_only_the_answer_to_a_delete_has_the_source(ada: Person) -> None:
    source = "a *b* https://x.example"
    status = await ada.publish(source)
    assert "text" not in status
    assert "text" not in (await ada.get(f"{STATUSES}/{status['id']}")).json
    deleted = (await ada.delete(f"{STATUSES}/{status['id']}")).json
    assert (deleted["text"], "content" in deleted) == (source, False)


@rows("S046", "S202")
async def test_each_visibility_goes_round(ada: Person) -> None:
    for visibility in ("public", "unlisted", "private", "direct"):
        id = (await ada.publish("hi", visibility=visibility))["id"]
        assert (await ada.get(f"{STATUSES}/{id}")).json["visibility"] == visibility


@pytest.mark.parametrize(
    ("content_type", "content"),
    [("text/markdown", "<em>b</em>"), ("text/plain", "*b*"), ("text/nonsense", "*b*")],
)
@rows("S047", "S202")
async def test_the_content_type_takes_effect(ada: Person, content_type: str, content: str) -> None:
    assert content in (await ada.publish("*b*", content_type=content_type))["content"]


@rows("S050", "S097")
async def test_a_deleted_status_is_kept_and_nowhere_to_be_seen(stage: Stage, ada: Person, bob: Person) -> None:
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    root = await bob.publish("root")
    status = await ada.publish("gone #tag", in_reply_to_id=root["id"])
    path = f"{STATUSES}/{status['id']}"
    for what in ("favourite", "bookmark", "reblog"):
        assert (await bob.post(f"{path}/{what}")).status == 200
    await ada.delete(path)
    assert (await stage.anybody().get(path)).status == 404
    for place in (
        "timelines/home", "timelines/public", "timelines/tag/tag", f"accounts/{ada.id}/statuses", "favourites",
        "bookmarks", "notifications",
    ):  # fmt: skip
        reply = await bob.get(f"/api/v1/{place}")
        assert (reply.status, status["id"] in reply.text) == (200, False), place
    assert (await bob.get(f"{STATUSES}/{root['id']}/context")).json["descendants"] == []
    assert (await bob.get(f"{STATUSES}/{root['id']}")).json["replies_count"] == 0
    assert await stage.rows(
        "SELECT text FROM statuses WHERE id = $1 AND deleted_at IS NOT NULL", int(status["id"])
    ) == [["gone #tag"]]


@rows("S140")
async def test_favourites_page_in_the_order_of_favouriting(ada: Person, bob: Person) -> None:
    statuses = [await ada.publish(str(number)) for number in range(3)]
    order = [statuses[number]["id"] for number in (1, 0, 2)]
    for id in order:
        await bob.post(f"{STATUSES}/{id}/favourite")
    first = await bob.get("/api/v1/favourites?limit=1")
    second = await bob.get(link(first, "next"))
    third = await bob.get(link(second, "next"))
    assert [*ids(first), *ids(second), *ids(third)] == order[::-1]
    assert "min_id=" in link(third, "prev")
    assert ids(await bob.get(link(third, "prev"))) == [order[1]]


@pytest.mark.parametrize("visibility", ["unlisted", "private", "direct"])
@rows("S201", "S232")
async def test_other_polls_need_a_user(stage: Stage, ada: Person, bob: Person, visibility: str) -> None:
    cyd = await stage.person("cyd")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    status = await ask(ada, visibility=visibility, status="@bob ?")
    path = f"/api/v1/polls/{status['poll']['id']}"
    assert (await stage.anybody().get(path)).status == 404
    assert (await bob.get(path)).status == 200
    assert (await cyd.get(path)).status == (200 if visibility == "unlisted" else 404)
    assert (await cyd.post(f"{path}/votes", {"choices[]": "0"})).status == (200 if visibility == "unlisted" else 404)


@rows("S226")
async def test_bookmarks_have_scopes_of_their_own(stage: Stage, ada: Person, bob: Person) -> None:
    path = f"{STATUSES}/{(await ada.publish('hi'))['id']}"
    for scopes, status in (
        (("read:bookmarks", "write:bookmarks"), 200),
        (("read:favourites", "write:favourites"), 403),
    ):
        client = stage.anybody(await stage.token(bob.account, scopes))
        assert (await client.post(f"{path}/bookmark")).status == status
        assert (await client.get("/api/v1/bookmarks")).status == status


@rows("S250")
async def test_unknown_statuses_and_polls_are_404(ada: Person) -> None:
    for path in (
        "statuses/1", "statuses/1/context", "statuses/1/history", "statuses/1/source", "statuses/1/favourited_by",
        "statuses/1/reblogged_by", "polls/1",
    ):  # fmt: skip
        reply = await ada.get(f"/api/v1/{path}")
        assert (reply.status, reply.json) == (404, {"error": "Record not found"})

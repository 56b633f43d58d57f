"""The seed checklist's rows on conversations, and who is told of them."""

from typing import Any

from ..clients import Person, Stage, link
from .rows import rows

CONVERSATIONS = "/api/v1/conversations"


async def conversations(person: Person, query: str = "") -> list[dict[str, Any]]:
    return await person.done("GET", f"{CONVERSATIONS}{query}")


def brief(one: dict[str, Any]) -> tuple[list[str], bool, str | None]:
    last = one["last_status"]
    return [account["username"] for account in one["accounts"]], one["unread"], last and last["id"]


async def write(author: Person, text: str, **more: Any) -> Any:
    return await author.publish(text, visibility="direct", **more)


@rows("S015")
async def test_a_direct_status_is_a_conversation_of_both(ada: Person, bob: Person) -> None:
    letter = await write(ada, "psst @bob")
    assert [brief(one) for one in await conversations(bob)] == [(["ada"], True, letter["id"])]
    assert [brief(one) for one in await conversations(ada)] == [(["bob"], False, letter["id"])]
    answer = await write(bob, "@ada yes?", in_reply_to_id=letter["id"])
    assert [brief(one) for one in await conversations(bob)] == [(["ada"], False, answer["id"])]
    assert [brief(one) for one in await conversations(ada)] == [(["bob"], True, answer["id"])]
    await bob.publish("@ada in public", in_reply_to_id=letter["id"])
    assert len(await conversations(ada)) == 1


@rows("S211")
async def test_a_conversation_is_read_unread_and_removed(ada: Person, bob: Person) -> None:
    letter = await write(ada, "psst @bob")
    (one,) = await conversations(bob)
    read = await bob.post(f"{CONVERSATIONS}/{one['id']}/read")
    assert (read.json["unread"], read.json["last_status"]["id"]) == (False, letter["id"])
    assert (await bob.post(f"{CONVERSATIONS}/{one['id']}/unread")).json["unread"] is True
    for path in ("/read", ""):
        method = "POST" if path else "DELETE"
        assert (await ada.send(method, f"{CONVERSATIONS}/{one['id']}{path}")).status == 404
    assert (await bob.delete(f"{CONVERSATIONS}/{one['id']}")).json == {}
    assert await conversations(bob) == []
    assert len(await conversations(ada)) == 1
    again = await write(ada, "psst @bob", in_reply_to_id=letter["id"])
    assert [brief(one) for one in await conversations(bob)] == [(["ada"], True, again["id"])]
    await ada.delete(f"/api/v1/statuses/{again['id']}")
    assert await conversations(bob) == []  # what was removed does not come back
    assert [brief(one) for one in await conversations(ada)] == [(["bob"], False, letter["id"])]


async def test_conversations_are_walked_by_their_last_statuses(stage: Stage, ada: Person) -> None:
    made: list[str] = []
    for number in range(3):
        await stage.person(f"friend{number}")
        made.append((await write(ada, f"@friend{number}"))["id"])
    first = await ada.get(f"{CONVERSATIONS}?limit=2")
    assert [one["last_status"]["id"] for one in first.json] == made[:0:-1]
    second = await ada.get(link(first, "next"))
    assert [one["last_status"]["id"] for one in second.json] == made[:1]
    assert 'rel="next"' not in second.headers["Link"]
    assert (await ada.get(link(second, "prev"))).json == first.json


async def test_a_direct_status_without_mentions_is_a_conversation_with_its_author(ada: Person) -> None:
    note = await write(ada, "a note")
    assert [brief(one) for one in await conversations(ada)] == [(["ada"], False, note["id"])]
    await ada.delete(f"/api/v1/statuses/{note['id']}")
    assert await conversations(ada) == []


async def test_what_a_mute_hides_is_no_conversation_any_more(ada: Person, bob: Person) -> None:
    letter = await write(ada, "psst @bob")
    await bob.post(f"/api/v1/accounts/{ada.id}/mute", {"notifications": "false"})
    await write(ada, "@bob again", in_reply_to_id=letter["id"])
    (one,) = await conversations(bob)
    assert one["unread"] is True
    await bob.post(f"/api/v1/accounts/{ada.id}/mute")
    assert await conversations(bob) == []
    await write(ada, "@bob and again", in_reply_to_id=letter["id"])
    assert await conversations(bob) == []
    await bob.post(f"/api/v1/accounts/{ada.id}/unmute")
    await write(ada, "@bob at last", in_reply_to_id=letter["id"])
    assert len(await conversations(bob)) == 1
    await bob.post(f"/api/v1/accounts/{ada.id}/block")
    assert await conversations(bob) == []

"""Announcements of the operator: who is shown them and when, dismissals, and reactions of eight kinds at most."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ..clients import BASE, Person, Reply, Stage
from ..emojis import add_emoji
from .announcing import PATH, announce, reaction

KINDS = ["👍", "❤️", "🎉", "🇩🇪", "👩🏽‍🚀", "7️⃣", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "😀"]
HOUR = timedelta(hours=1)


async def react(person: Person, id: str, name: str) -> Reply:
    return await person.put(reaction(id, name))


async def shown(person: Person) -> Any:
    return (await person.get(PATH)).json


async def test_an_announcement_is_shown_with_all_that_belongs_to_it(stage: Stage, ada: Person) -> None:
    emoji = await add_emoji(stage, "cat")
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    mention = {"id": ada.id, "username": "ada", "url": f"{BASE}/@ada", "acct": "ada"}
    id = await announce(stage, published_at=at, updated_at=at, starts_at=at, mentions=(mention,))
    assert await shown(ada) == [
        {
            "id": id, "content": "<p>Hello :cat:</p>", "starts_at": "2026-01-02T03:04:05.000Z", "ends_at": None,
            "all_day": False, "published_at": "2026-01-02T03:04:05.000Z", "updated_at": "2026-01-02T03:04:05.000Z",
            "read": False, "mentions": [mention], "statuses": [],
            "tags": [{"name": "tea", "url": f"{BASE}/tags/tea"}], "reactions": [],
            "emojis": [
                {
                    "shortcode": "cat", "url": f"{BASE}/media/{emoji.file}",
                    "static_url": f"{BASE}/media/{emoji.static_file}", "visible_in_picker": True,
                }
            ],
        }
    ]  # fmt: skip
    assert (await stage.anybody().get(PATH)).status == 401


async def test_drafts_and_what_has_not_begun_or_has_ended_do_not_exist_for_users(stage: Stage, ada: Person) -> None:
    now = stage.http_context.clock.now()
    hidden = [
        await announce(stage, published_at=None),
        await announce(stage, published_at=now + HOUR),
        await announce(stage, ends_at=now - HOUR),
    ]
    later = await announce(stage, starts_at=now + HOUR)
    first = await announce(stage, ends_at=now + HOUR)
    assert [one["id"] for one in await shown(ada)] == [first, later]
    for id in [*hidden, "1", "x"]:
        assert (await ada.post(f"{PATH}/{id}/dismiss")).status == 404
        assert (await react(ada, id, "👍")).status == 404
        assert (await ada.delete(reaction(id, "👍"))).status == 404


async def test_a_dismissed_announcement_stays_and_is_read(stage: Stage, ada: Person, bob: Person) -> None:
    id = await announce(stage)
    for _ in range(2):
        assert ((answer := await ada.post(f"{PATH}/{id}/dismiss")).status, answer.json) == (200, {})
    assert [one["read"] for one in await shown(ada)] == [True]
    assert [one["read"] for one in await shown(bob)] == [False]


async def test_reactions_are_counted_in_the_order_of_the_first_ones(stage: Stage, ada: Person, bob: Person) -> None:
    emoji, id = await add_emoji(stage, "cat"), await announce(stage)
    for person, name in ((ada, "👍"), (bob, "cat"), (bob, "👍"), (bob, "👍")):
        assert (await react(person, id, name)).json == {}
    urls = {"url": f"{BASE}/media/{emoji.file}", "static_url": f"{BASE}/media/{emoji.static_file}"}
    assert (await shown(ada))[0]["reactions"] == [
        {"name": "👍", "count": 2, "me": True}, {"name": "cat", "count": 1, "me": False} | urls,
    ]  # fmt: skip
    assert (await ada.delete(reaction(id, "cat"))).status == 404, "it is Bob's"
    assert (await bob.delete(reaction(id, "cat"))).json == {}
    assert (await bob.delete(reaction(id, "cat"))).status == 404
    assert (await ada.delete(reaction(id, "👍"))).json == {}
    assert (await shown(bob))[0]["reactions"] == [{"name": "👍", "count": 1, "me": True}]


async def test_the_ninth_kind_is_refused_until_there_is_room(stage: Stage, ada: Person, bob: Person) -> None:
    id = await announce(stage)
    for name in KINDS:
        assert (await react(ada, id, name)).status == 200, name
    refused = await react(bob, id, "🐱")
    assert (refused.status, refused.json["error"]) == (
        422,
        "Validation failed: Limit of different reactions reached",
    )
    assert (await react(bob, id, KINDS[0])).status == 200
    await ada.delete(reaction(id, KINDS[1]))
    assert (await react(bob, id, "🐱")).status == 200


@pytest.mark.parametrize(
    "name", ["a", "👍👍", "x👍", "cat", "dog", "1", "<b>", "👍" * 50, "c" * 5000, "\u200d", "\ufe0f", "🇩", "%00"]
)
async def test_what_is_no_emoji_is_refused(stage: Stage, ada: Person, name: str) -> None:
    await add_emoji(stage, "dog", disabled=True)
    id = await announce(stage)
    refused = await react(ada, id, name)
    assert refused.status in (404, 422, 414)
    if refused.status == 422:
        assert refused.json["error"] == "Validation failed: Name is not a recognized emoji"
    assert (await shown(ada))[0]["reactions"] == []

"""What was undone can be done again, also by servers that use the same activity, the same id or no id for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ..clients import Person, Stage
from .delivering import HOME, PUBLIC, act, create, follow, note, take
from .finding import followed
from .peer import ForeignServer

ADA = f"{HOME}/users/ada"


async def followers(ada: Person) -> int:
    return len(await ada.done("GET", f"/api/v1/accounts/{ada.account.id}/followers"))


async def take_each(stage: Stage, *activities: dict[str, Any]) -> None:
    """Deliver activities, each of which is signed a second after the one before."""
    now = datetime.now(UTC)
    for number, activity in enumerate(activities):
        await take(stage, activity, at=now + timedelta(seconds=number))


async def test_a_post_is_pinned_again_by_an_activity_without_an_id(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    id = await followed(ada, peer)
    await take(stage, act(eve, "Accept", {"type": "Follow", "actor": ADA, "object": eve["id"]}))
    post = note(eve)
    await take(stage, create(eve, post))
    pin = {"type": "Add", "actor": eve["id"], "object": post["id"], "target": eve["featured"]}
    unpin = pin | {"type": "Remove"}
    await take_each(stage, pin, unpin, pin)
    assert len(await ada.done("GET", f"/api/v1/accounts/{id}/statuses?pinned=true")) == 1
    await take(stage, unpin, at=datetime.now(UTC) + timedelta(seconds=9))
    assert await ada.done("GET", f"/api/v1/accounts/{id}/statuses?pinned=true") == []


async def test_a_follow_is_undone_again_by_the_same_activity(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    begin = follow(eve, "ada")
    end = act(eve, "Undo", begin)
    await take_each(stage, begin, end, begin)
    assert await followers(ada) == 1
    await take(stage, end, at=datetime.now(UTC) + timedelta(seconds=9))
    assert await followers(ada) == 0


async def test_an_undo_that_is_sent_again_does_not_end_a_later_follow(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    first, second = follow(eve, "ada", 1), follow(eve, "ada", 2)
    end = act(eve, "Undo", first)
    await take_each(stage, first, end, second, end)
    assert await followers(ada) == 1


async def test_a_post_is_favourited_again_by_the_same_activity(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve, own = peer.person("eve"), await ada.publish("hello")
    like = act(eve, "Like", own["uri"])
    undo = act(eve, "Undo", like, 2)
    await take_each(stage, like, undo, like)
    assert (await ada.done("GET", f"/api/v1/statuses/{own['id']}"))["favourites_count"] == 1
    await take(stage, undo, at=datetime.now(UTC) + timedelta(seconds=9))
    assert (await ada.done("GET", f"/api/v1/statuses/{own['id']}"))["favourites_count"] == 0


@pytest.mark.parametrize("kind", ["Like", "Block"])
async def test_the_same_two_activities_are_applied_any_number_of_times(
    stage: Stage, ada: Person, peer: ForeignServer, kind: str
) -> None:
    eve, own = peer.person("eve"), await ada.publish("hello")
    done = act(eve, kind, own["uri"] if kind == "Like" else ADA)
    undo = act(eve, "Undo", done, 2)
    await take_each(stage, done, undo, done, undo, done)
    assert await stage.rows("SELECT (SELECT count(*) FROM favourites) + (SELECT count(*) FROM blocks)") == [[1]]


async def boosts(ada: Person, own: dict[str, Any]) -> int:
    return (await ada.done("GET", f"/api/v1/statuses/{own['id']}"))["reblogs_count"]


async def test_a_post_is_boosted_again_under_the_same_id(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve, own = peer.person("eve"), await ada.publish("hello")
    now = datetime.now(UTC)
    first, second = (
        act(eve, "Announce", own["uri"], to=[PUBLIC], published=(now - timedelta(seconds=ago)).isoformat())
        for ago in (60, 30)
    )
    undo = act(eve, "Undo", {"id": first["id"], "type": "Announce", "actor": eve["id"], "object": own["uri"]}, 2)
    await take_each(stage, first, undo, second)
    assert await boosts(ada, own) == 1
    await take(stage, undo, at=now + timedelta(seconds=9))
    assert await boosts(ada, own) == 0
    # The earlier boost, with other words: it is not made again.
    await take(stage, first | {"cc": [f"{HOME}/users/ada"]})
    assert await boosts(ada, own) == 0


@pytest.mark.parametrize("kind", ["Follow", "Like"])
async def test_an_undo_may_name_an_id_of_another_host(
    stage: Stage, ada: Person, peer: ForeignServer, kind: str
) -> None:
    """Sites with and without `www` mix the two. What is embedded says what ends, and its actor has signed."""
    eve, own = peer.person("eve"), await ada.publish("hello")
    done = follow(eve, "ada") if kind == "Follow" else act(eve, "Like", own["uri"])
    done["id"] = peer.url("/1", "other.test")
    await take(stage, done)
    await take(stage, act(eve, "Undo", done["id"], 1))
    count = await followers(ada), (await ada.done("GET", f"/api/v1/statuses/{own['id']}"))["favourites_count"]
    assert sum(count) == 1, "an id of another host alone undoes nothing"
    await take(stage, act(eve, "Undo", done, 2))
    count = await followers(ada), (await ada.done("GET", f"/api/v1/statuses/{own['id']}"))["favourites_count"]
    assert count == (0, 0)


async def test_a_hashtag_is_featured_and_is_so_no_more(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    id = await followed(ada, peer)
    tag = {"type": "Hashtag", "name": "#TeaTime", "href": peer.url("/tags/teatime")}
    await take(stage, act(eve, "Add", tag, 1, target=peer.url("/elsewhere")))
    assert await ada.done("GET", f"/api/v1/accounts/{id}/featured_tags") == []
    await take(stage, act(eve, "Add", tag, 2, target=eve["featured"]))
    (shown,) = await ada.done("GET", f"/api/v1/accounts/{id}/featured_tags")
    assert shown["name"] == "TeaTime"
    await take(stage, act(eve, "Remove", tag | {"name": "#teatime"}, 3, target=eve["featured"]))
    assert await ada.done("GET", f"/api/v1/accounts/{id}/featured_tags") == []

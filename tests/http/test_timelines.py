"""Home and public timelines, page by page."""

from typing import Any

import pytest

from troupe.actors.facts.statuses import StatusPublished
from troupe.actors.rules.visibility import Perspective

from ..clients import HOME, Person, Stage, ids, link

PUBLIC = "/api/v1/timelines/public"


@pytest.mark.parametrize("path", [HOME, PUBLIC])
async def test_a_timeline_is_walked_in_both_directions(ada: Person, path: str) -> None:
    made = [(await ada.publish(str(number)))["id"] for number in range(5)][::-1]
    first = await ada.get(f"{path}?limit=2&local=0")
    assert ids(first) == made[:2]
    assert first.headers["Link"].index('rel="next"') < first.headers["Link"].index('rel="prev"')
    second = await ada.get(link(first, "next"))
    assert ids(second) == made[2:4]
    third = await ada.get(link(second, "next"))
    assert ids(third) == made[4:]
    end = await ada.get(link(third, "next"))
    assert ids(end) == []
    assert "Link" not in end.headers
    assert ids(await ada.get(link(third, "prev"))) == made[2:4]
    assert ids(await ada.get(f"{path}?since_id={made[4]}&limit=2")) == made[:2]
    assert ids(await ada.get(f"{path}?min_id={made[4]}&max_id={made[1]}")) == made[2:4]
    assert "local=0" in link(first, "next")


async def test_limits(ada: Person) -> None:
    for number in range(3):
        await ada.publish(str(number))
    assert len(ids(await ada.get(f"{HOME}?limit=1000"))) == 3
    assert len(ids(await ada.get(f"{HOME}?limit=-2"))) == 2
    assert len(ids(await ada.get(f"{HOME}?limit=many"))) == 0
    assert len(ids(await ada.get(f"{HOME}?limit="))) == 3


async def test_home_is_what_one_follows(ada: Person, bob: Person) -> None:
    status = await bob.publish("before")
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    later = await bob.publish("after", visibility="private")
    assert ids(await ada.get(HOME)) == [later["id"], status["id"]]
    await bob.delete(f"/api/v1/statuses/{later['id']}")
    assert ids(await ada.get(HOME)) == [status["id"]]
    await ada.post(f"/api/v1/accounts/{bob.id}/unfollow")
    assert ids(await ada.get(HOME)) == []


async def test_a_home_that_no_stream_shows_keeps_of_a_post_what_its_pages_need(
    stage: Stage, ada: Person, bob: Person
) -> None:
    """Thousands of homes may put their turns off, each with other posts."""
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    assert ids(await ada.get(HOME)) == []
    published = await bob.publish("hello")
    cell = stage.http_context.runtime.pools["home"].cells[ada.id]
    waiting = [envelope.message for envelope in cell.mailbox]
    assert [(one.entry.id, one.event) for one in waiting if isinstance(one, StatusPublished)] == [
        (int(published["id"]), None)
    ]
    assert ids(await ada.get(HOME)) == [published["id"]]


async def test_public_is_public_and_no_reply_to_others(stage: Stage, ada: Person, bob: Person) -> None:
    root = await ada.publish("root")
    await ada.publish("unlisted", visibility="unlisted")
    await bob.publish("reply", in_reply_to_id=root["id"])
    own = await ada.publish("thread", in_reply_to_id=root["id"])
    assert ids(await stage.anybody().get(PUBLIC)) == [own["id"], root["id"]]
    assert ids(await stage.anybody().get(f"{PUBLIC}?local=true")) == [own["id"], root["id"]]
    assert ids(await stage.anybody().get(f"{PUBLIC}?remote=true")) == []
    assert ids(await stage.anybody().get(f"{PUBLIC}?only_media=true")) == []


async def test_an_account_and_its_home_hold_one_perspective(stage: Stage, ada: Person, bob: Person) -> None:
    def held(kind: str) -> Perspective:
        actor: Any = stage.http_context.runtime.pools[kind].cells[str(bob.account.id)].actor
        return actor.perspective

    for act in ("follow", "mute", "unmute", "unfollow"):
        await bob.get("/api/v1/timelines/home")
        await bob.post(f"/api/v1/accounts/{ada.id}/{act}")
        assert (ada.account.id in held("account").following) is (act != "unfollow")
        assert held("home") is held("account")

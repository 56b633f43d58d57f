"""Boosts: allowed originals, audience, repeats, and deletion with the original."""

import pytest

from ..checklist.rows import rows
from ..clients import Person, Stage


async def test_a_boost_is_a_status_around_another(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("hi")
    boost = (await bob.post(f"/api/v1/statuses/{status['id']}/reblog")).json
    assert boost["id"] != status["id"]
    assert (boost["account"]["id"], boost["content"], boost["reblogged"]) == (bob.id, "", True)
    assert (boost["reblog"]["id"], boost["reblog"]["reblogs_count"], boost["reblogs_count"]) == (status["id"], 1, 1)
    assert "pinned" not in boost
    assert (await ada.get(f"/api/v1/statuses/{status['id']}")).json["reblogs_count"] == 1
    told = await stage.rows("SELECT type, status_id FROM notifications WHERE account_id = $1", ada.account.id)
    assert told == [["reblog", int(status["id"])]]
    assert (await stage.anybody().get(f"/api/v1/accounts/{bob.id}")).json["statuses_count"] == 1


async def test_a_repeated_boost_is_the_same_one(ada: Person, bob: Person) -> None:
    path = f"/api/v1/statuses/{(await ada.publish('hi'))['id']}/reblog"
    first, again = (await bob.post(path)).json, (await bob.post(path)).json
    of_boost = (await bob.post(f"/api/v1/statuses/{first['id']}/reblog")).json
    assert first["id"] == again["id"] == of_boost["id"]
    assert again["reblogs_count"] == 1


async def test_an_unboost_answers_the_original_and_leaves_nothing(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("hi")
    path = f"/api/v1/statuses/{status['id']}"
    boost = (await bob.post(f"{path}/reblog")).json
    for _ in range(2):
        answer = (await bob.post(f"{path}/unreblog")).json
        assert (answer["id"], answer["reblogged"], answer["reblogs_count"]) == (status["id"], False, 0)
    assert (await bob.get(f"/api/v1/statuses/{boost['id']}")).status == 404
    assert await stage.rows("SELECT FROM notifications") == []
    assert (await stage.anybody().get(f"/api/v1/accounts/{bob.id}")).json["statuses_count"] == 0


async def test_deleting_the_boost_itself_takes_it_back(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("hi")
    boost = (await bob.post(f"/api/v1/statuses/{status['id']}/reblog")).json
    assert (await bob.delete(f"/api/v1/statuses/{boost['id']}")).status == 200
    seen = (await bob.get(f"/api/v1/statuses/{status['id']}")).json
    assert (seen["reblogged"], seen["reblogs_count"]) == (False, 0)
    assert await stage.rows("SELECT FROM notifications") == []


@pytest.mark.parametrize(
    ("visibility", "by_author", "by_other"),
    [("public", 200, 200), ("unlisted", 200, 200), ("private", 200, 403), ("direct", 403, 403)],
)
async def test_what_may_be_boosted(ada: Person, bob: Person, visibility: str, by_author: int, by_other: int) -> None:
    status = await ada.publish("psst @bob", visibility=visibility)
    path = f"/api/v1/statuses/{status['id']}/reblog"
    answer = await ada.post(path)
    assert answer.status == by_author
    if visibility == "private":
        assert answer.json["visibility"] == "private"
    assert (await bob.post(path)).status == by_other


@rows("S203")
async def test_a_boost_takes_a_visibility_or_the_default(stage: Stage, ada: Person, bob: Person) -> None:
    one, two, three, four = [(await ada.publish(str(number)))["id"] for number in range(4)]
    answer = await bob.post(f"/api/v1/statuses/{one}/reblog", {"visibility": "direct"})
    assert (answer.status, answer.json["error"]) == (422, "Validation failed: Visibility is not included in the list")
    for id, chosen in ((one, "unlisted"), (four, "private")):
        boost = await bob.done("POST", f"/api/v1/statuses/{id}/reblog", {"visibility": chosen})
        assert (boost["visibility"], boost["reblog"]["visibility"]) == (chosen, "public")
    assert (await bob.post(f"/api/v1/statuses/{two}/reblog")).json["visibility"] == "public"
    cyd = await stage.person("cyd")
    await stage.sql("UPDATE users SET default_privacy = 'private' WHERE account_id = $1", cyd.account.id)
    assert (await cyd.post(f"/api/v1/statuses/{three}/reblog")).json["visibility"] == "private"


async def test_a_boost_comes_home_and_goes_with_its_original(stage: Stage, ada: Person, bob: Person) -> None:
    cyd = await stage.person("cyd")
    await cyd.post(f"/api/v1/accounts/{bob.id}/follow")
    assert (await cyd.get("/api/v1/timelines/home")).json == []
    status = await ada.publish("hi")
    boost = (await bob.post(f"/api/v1/statuses/{status['id']}/reblog")).json
    home = (await cyd.get("/api/v1/timelines/home")).json
    assert [(one["id"], one["reblog"]["id"]) for one in home] == [(boost["id"], status["id"])]
    await ada.delete(f"/api/v1/statuses/{status['id']}")
    assert (await cyd.get("/api/v1/timelines/home")).json == []
    assert (await bob.get(f"/api/v1/statuses/{boost['id']}")).status == 404
    assert (await bob.post(f"/api/v1/statuses/{status['id']}/unreblog")).status == 404


async def test_a_boost_for_followers_is_in_no_list_of_boosters(stage: Stage, ada: Person, bob: Person) -> None:
    cyd = await stage.person("cyd")
    await cyd.post(f"/api/v1/accounts/{bob.id}/follow")
    own, others = await ada.publish("own", visibility="private"), await ada.publish("others'")
    await ada.post(f"/api/v1/statuses/{own['id']}/reblog")
    await bob.post(f"/api/v1/statuses/{others['id']}/reblog", {"visibility": "private"})
    await cyd.post(f"/api/v1/statuses/{others['id']}/reblog")
    assert (await ada.get(f"/api/v1/statuses/{own['id']}/reblogged_by")).json == []
    for person in (ada, bob, cyd, stage.anybody()):
        page = await person.get(f"/api/v1/statuses/{others['id']}/reblogged_by?limit=1")
        assert [one["id"] for one in page.json] == [cyd.id]

"""Favourites and bookmarks: set, repeated, taken back, listed."""

from ..checklist.rows import rows
from ..clients import Person, Stage, ids, link


async def test_a_favourite_is_counted_once_and_notified_once(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("hi")
    path = f"/api/v1/statuses/{status['id']}"
    for _ in range(2):
        answer = await bob.post(f"{path}/favourite")
        assert (answer.status, answer.json["favourited"], answer.json["favourites_count"]) == (200, True, 1)
    assert (await ada.get(path)).json["favourites_count"] == 1
    assert (await ada.get(path)).json["favourited"] is False
    assert await stage.rows("SELECT type FROM notifications WHERE account_id = $1", ada.account.id) == [["favourite"]]


async def test_an_unfavourite_takes_count_and_notification_back(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("hi")
    path = f"/api/v1/statuses/{status['id']}"
    await bob.post(f"{path}/favourite")
    for _ in range(2):
        answer = await bob.post(f"{path}/unfavourite")
        assert (answer.status, answer.json["favourited"], answer.json["favourites_count"]) == (200, False, 0)
    assert await stage.rows("SELECT FROM notifications") == []


async def test_a_favourite_of_a_boost_is_one_of_what_it_boosts(ada: Person, bob: Person) -> None:
    status = await ada.publish("hi")
    boost = (await bob.post(f"/api/v1/statuses/{status['id']}/reblog")).json
    answer = (await bob.post(f"/api/v1/statuses/{boost['id']}/favourite")).json
    assert (answer["id"], answer["favourited"], answer["favourites_count"]) == (boost["id"], True, 1)
    assert answer["reblog"]["favourites_count"] == 1
    assert [one["id"] for one in (await bob.get("/api/v1/favourites")).json] == [status["id"]]


async def test_what_one_blocks_cannot_be_favourited(ada: Person, bob: Person) -> None:
    status = await ada.publish("hi")
    await bob.post(f"/api/v1/accounts/{ada.id}/block")
    for what in ("favourite", "reblog"):
        answer = await bob.post(f"/api/v1/statuses/{status['id']}/{what}")
        assert (answer.status, answer.json) == (403, {"error": "This action is not allowed"})


async def test_a_blocked_person_who_is_mentioned_sees_but_cannot_favourite(ada: Person, bob: Person) -> None:
    status = await ada.publish("psst @bob", visibility="private")
    await ada.post(f"/api/v1/accounts/{bob.id}/block")
    assert (await bob.get(f"/api/v1/statuses/{status['id']}")).status == 200
    assert (await bob.post(f"/api/v1/statuses/{status['id']}/favourite")).status == 403


async def test_the_hidden_and_the_missing_are_404(ada: Person, bob: Person) -> None:
    secret = await ada.publish("psst", visibility="private")
    for what in ("favourite", "bookmark", "reblog", "pin", "mute"):
        for id in (secret["id"], "1", "99999999999999999999", "x"):
            for path in (f"/api/v1/statuses/{id}/{what}", f"/api/v1/statuses/{id}/un{what}"):
                answer = await bob.post(path)
                assert (answer.status, answer.json) == (404, {"error": "Record not found"})


async def test_a_favourite_can_be_taken_back_from_what_is_hidden_by_now(stage: Stage, ada: Person, bob: Person) -> None:
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    status = await ada.publish("psst", visibility="private")
    await bob.post(f"/api/v1/statuses/{status['id']}/favourite")
    await bob.post(f"/api/v1/accounts/{ada.id}/unfollow")
    assert (await bob.get("/api/v1/favourites")).json == []
    assert (await bob.post(f"/api/v1/statuses/{status['id']}/unfavourite")).status == 404
    assert await stage.rows("SELECT FROM favourites") == []
    assert (await ada.get(f"/api/v1/statuses/{status['id']}")).json["favourites_count"] == 0


@rows("S010", "S141", "S204")
async def test_lists_page_in_the_order_of_putting_aside(ada: Person, bob: Person) -> None:
    one, two, three = [await ada.publish(str(number)) for number in range(3)]
    for status in (two, one, three, three):
        assert (await bob.done("POST", f"/api/v1/statuses/{status['id']}/bookmark"))["bookmarked"] is True
    first = await bob.get("/api/v1/bookmarks?limit=2")
    assert ids(first) == [three["id"], one["id"]]
    second = await bob.get(link(first, "next"))
    assert ids(second) == [two["id"]]
    assert 'rel="next"' not in second.headers["Link"]
    assert ids(await bob.get(link(second, "prev"))) == [three["id"], one["id"]]
    assert "min_id" in link(second, "prev")
    empty = await bob.get(link(first, "prev"))
    assert (ids(empty), "Link" in empty.headers) == ([], False)
    for _ in range(2):
        assert (await bob.done("POST", f"/api/v1/statuses/{three['id']}/unbookmark"))["bookmarked"] is False
    assert ids(await bob.get("/api/v1/bookmarks")) == [one["id"], two["id"]]


@rows("S206")
async def test_who_has_favourited(stage: Stage, ada: Person, bob: Person) -> None:
    cyd = await stage.person("cyd")
    status = await ada.publish("hi")
    path = f"/api/v1/statuses/{status['id']}"
    for person in (bob, cyd):
        await person.post(f"{path}/favourite")
        await person.post(f"{path}/reblog")
    for list in ("favourited_by", "reblogged_by"):
        assert ids(await stage.anybody().get(f"{path}/{list}")) == [cyd.id, bob.id]
        page = await stage.anybody().get(f"{path}/{list}?limit=1")
        assert (ids(page), "since_id" in link(page, "prev")) == ([cyd.id], True)
        assert ids(await stage.anybody().get(link(page, "next"))) == [bob.id]
    await ada.post(f"/api/v1/accounts/{cyd.id}/mute")
    assert ids(await ada.get(f"{path}/favourited_by")) == [bob.id]

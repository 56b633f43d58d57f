"""Favourites, bookmarks and boosts: set, repeated, taken back, listed."""

from .conftest import Person, Stage


async def test_a_favourite_is_counted_once_and_notified_once(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("hi")
    path = f"/api/v1/statuses/{status['id']}"
    for _ in range(2):
        answer = await bob.post(f"{path}/favourite")
        assert (answer.status, answer.json["favourited"], answer.json["favourites_count"]) == (200, True, 1), answer.text
    assert (await ada.get(path)).json["favourites_count"] == 1
    assert (await ada.get(path)).json["favourited"] is False
    answer = await bob.post(f"{path}/unfavourite")
    assert (answer.json["favourited"], answer.json["favourites_count"]) == (False, 0)
    assert (await bob.post(f"{path}/unfavourite")).status == 200

"""The seed checklist's rows on featured hashtags, and what the contract says of them beside the rows."""

from typing import Any

import pytest

from ..clients import Person, Stage
from .rows import rows

FEATURED = "/api/v1/featured_tags"
TAGS = "/api/v1/tags"
TOO_MANY = {"error": "Validation failed: You have already featured the maximum number of hashtags"}
INVALID = {"error": "Validation failed: Name is invalid"}


async def feature(person: Person, name: str) -> Any:
    return await person.done("POST", FEATURED, {"name": name})


async def featured_by(person: Person) -> list[Any]:
    return await person.done("GET", FEATURED)


def numbers(featured: Any) -> tuple[str, str, bool]:
    """Name, count, and whether there is a day of the last status."""
    return featured["name"], featured["statuses_count"], featured["last_status_at"] is not None


@rows("S016", "S215")
async def test_hashtags_are_featured_listed_and_removed(stage: Stage, ada: Person, bob: Person) -> None:
    assert await featured_by(ada) == []
    status = await ada.publish("all about #Trio")
    made = await feature(ada, "#Trio")
    assert made == {
        "id": made["id"], "name": "Trio", "url": "http://localhost:3000/@ada/tagged/trio",
        "statuses_count": "1", "last_status_at": status["created_at"][:10],
    }  # fmt: skip
    assert await featured_by(ada) == [made]
    shown = await stage.anybody().get(f"/api/v1/accounts/{ada.id}/featured_tags")
    assert (shown.status, shown.json) == (200, [made])
    assert (await ada.get("/api/v1/profile")).json["featured_tags"] == [made]
    assert (await bob.delete(f"{FEATURED}/{made['id']}")).status == 404
    removed = await ada.delete(f"{FEATURED}/{made['id']}")
    assert (removed.status, removed.json) == (200, {})
    assert (await ada.delete(f"{FEATURED}/{made['id']}")).status == 404
    assert await featured_by(ada) == []


@rows("S215")
async def test_suggestions_are_what_is_used_most_and_not_featured(ada: Person, bob: Person) -> None:
    for text in ("#rare", "#much #often", "#much #often", "#much"):
        await ada.publish(text)
    await ada.publish("#hidden", visibility="private")
    await bob.publish("#elsewhere")
    suggested = (await ada.get(f"{FEATURED}/suggestions")).json
    assert [tag["name"] for tag in suggested] == ["much", "often", "rare"]
    assert suggested[0]["history"][0]["uses"] == "3"
    await feature(ada, "much")
    assert [tag["name"] for tag in (await ada.get(f"{FEATURED}/suggestions")).json] == ["often", "rare"]


@rows("S215")
async def test_there_are_ten_suggestions_at_most(ada: Person) -> None:
    await ada.publish(" ".join(f"#tag{number}" for number in range(12)))
    assert len((await ada.get(f"{FEATURED}/suggestions")).json) == 10


@rows("S256")
async def test_ten_are_featured_and_no_more(ada: Person) -> None:
    made = [await feature(ada, f"tag{number}") for number in range(10)]
    refused = await ada.post(FEATURED, {"name": "eleven"})
    assert (refused.status, refused.json) == (422, TOO_MANY)
    assert await feature(ada, "TAG3") == made[3], "what is there needs no room"
    assert (await ada.post(f"{TAGS}/eleven/feature")).status == 422
    await ada.delete(f"{FEATURED}/{made[0]['id']}")
    await feature(ada, "eleven")


async def test_one_hashtag_is_featured_once_however_it_is_written(ada: Person) -> None:
    made = await feature(ada, "CatPics")
    for name in ("#catpics", "\uff03CATPICS", " CatPics ", "\uff23atPics"):
        assert await feature(ada, name) == made
    assert len(await featured_by(ada)) == 1


@pytest.mark.parametrize("name", ["#", "##cat", "two words", "103", "___", "cat!", "a" * 300, "@cat", "cat #dog"])
async def test_what_is_no_hashtag_is_not_featured(ada: Person, name: str) -> None:
    refused = await ada.post(FEATURED, {"name": name})
    assert (refused.status, refused.json) == (422, INVALID)


async def test_a_name_must_be_given(ada: Person) -> None:
    assert (await ada.post(FEATURED)).status == 400


async def test_open_statuses_count_and_follow_edits_and_deletions(ada: Person, bob: Person) -> None:
    before = await ada.publish("#tea before")
    await feature(ada, "tea")
    await feature(ada, "milk")
    unlisted = await ada.publish("#tea", visibility="unlisted")
    for visibility in ("private", "direct"):
        await ada.publish("#tea", visibility=visibility)
    await bob.publish("#tea")
    await bob.post(f"/api/v1/statuses/{before['id']}/reblog")
    assert list(map(numbers, await featured_by(ada))) == [("tea", "2", True), ("milk", "0", False)]
    await ada.put(f"/api/v1/statuses/{before['id']}", {"status": "#milk before"})
    assert list(map(numbers, await featured_by(ada))) == [("tea", "1", True), ("milk", "1", True)]
    await ada.delete(f"/api/v1/statuses/{unlisted['id']}")
    await ada.delete(f"/api/v1/statuses/{before['id']}")
    assert list(map(numbers, await featured_by(ada))) == [("tea", "0", False), ("milk", "0", False)]


async def test_featured_tags_of_suspended_accounts_are_hidden(stage: Stage, ada: Person) -> None:
    await feature(ada, "tea")
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", ada.account.id)
    assert (await stage.anybody().get(f"/api/v1/accounts/{ada.id}/featured_tags")).status == 410
    assert (await stage.anybody().get("/api/v1/accounts/1/featured_tags")).status == 404


async def test_a_hashtag_is_shown_featured_and_unfeatured_by_its_name(stage: Stage, ada: Person) -> None:
    assert (await ada.get(f"{TAGS}/tea")).json["featuring"] is False
    made = (await ada.post(f"{TAGS}/Tea/feature")).json
    assert (made["name"], made["featuring"], len(made["history"])) == ("tea", True, 7)
    assert numbers((await featured_by(ada))[0]) == ("Tea", "0", False)
    assert (await ada.get(f"{TAGS}/TEA")).json == made
    assert (await stage.anybody().get(f"{TAGS}/tea")).json == {
        key: value for key, value in made.items() if key not in ("featuring", "following")
    }
    for _ in range(2):
        assert (await ada.post(f"{TAGS}/{made['id']}/unfeature")).json == made | {"featuring": False}
    assert await featured_by(ada) == []
    assert (await ada.post(f"{TAGS}/{made['id']}/feature")).json == made
    for path in (f"{TAGS}/no%20tag/feature", f"{TAGS}/1/feature"):
        assert (await ada.post(path)).status == 404

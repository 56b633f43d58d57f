"""Trends as clients see them: which hashtags and statuses, for which viewers, and page by page."""

from typing import Any

import pytest

from ..checklist.rows import rows
from ..clients import Client, Person, Stage, ids, link

TAGS = "/api/v1/trends/tags"
STATUSES = "/api/v1/trends/statuses"
PROFILE = "/api/v1/accounts/update_credentials"


async def names(stage: Stage, client: Client | None = None, path: str = TAGS) -> list[str]:
    """The hashtags of a page, computed now."""
    stage.http_context.trends.tags.forget()
    answer = await (client or stage.anybody()).done("GET", path)
    return [tag["name"] for tag in answer]


async def trending(stage: Stage, client: Client, path: str = STATUSES) -> list[str]:
    """The ids of a page of statuses, computed now. All authors are allowed that staff has not reviewed."""
    await stage.sql("INSERT INTO author_reviews SELECT id, true, now() FROM accounts ON CONFLICT DO NOTHING")
    stage.http_context.trends.statuses.forget()
    return ids(await client.get(path))


async def allow(stage: Stage, *tags: str) -> None:
    await stage.sql("UPDATE tags SET trendable = true, reviewed_at = now() WHERE name = ANY($1)", list(tags))


async def liked(by: Person, crowd: list[Person], **more: Any) -> str:
    """The id of a new post that everybody in the crowd favourites."""
    post = (await by.publish("well said", **more))["id"]
    for fan in crowd:
        assert (await fan.post(f"/api/v1/statuses/{post}/favourite")).status == 200
    return post


@pytest.fixture
async def ada(ada: Person) -> Person:
    assert (await ada.send("PATCH", PROFILE, form={"discoverable": "true"})).status == 200
    return ada


# -- hashtags


@rows("S016", "S187", "S188")
async def test_a_hashtag_trends_when_staff_has_allowed_it(stage: Stage, crowd: list[Person]) -> None:
    for fan in crowd:
        await fan.publish("#Tea and #coffee and #milk")
    assert await names(stage) == []
    await allow(stage, "tea")
    await stage.sql("UPDATE tags SET trendable = false, reviewed_at = now() WHERE name = 'milk'")
    for path in (TAGS, "/api/v1/trends"):
        assert await names(stage, path=path) == ["tea"]
    (tag,) = (await stage.anybody().get(TAGS)).json
    assert tag == (await stage.anybody().get("/api/v1/tags/tea")).json
    assert [day["accounts"] for day in tag["history"]] == ["5", "0", "0", "0", "0", "0", "0"]


async def test_the_viewers_flags(stage: Stage, ada: Person, crowd: list[Person]) -> None:
    for fan in crowd:
        await fan.publish("#tea")
    await allow(stage, "tea")
    await ada.post("/api/v1/tags/tea/follow")
    await names(stage)
    assert [(tag["following"], tag["featuring"]) for tag in (await ada.get(TAGS)).json] == [(True, False)]
    assert "following" not in (await stage.anybody().get(TAGS)).json[0]


async def test_four_authors_are_no_trend_however_much_they_write(stage: Stage, crowd: list[Person]) -> None:
    for fan in crowd[:4]:
        for _ in range(3):
            await fan.publish("#tea")
    await allow(stage, "tea")
    assert await names(stage) == []
    await crowd[4].publish("#tea", visibility="unlisted")
    assert await names(stage) == []
    await crowd[4].publish("#tea")
    assert await names(stage) == ["tea"]
    await stage.sql("UPDATE accounts SET silenced_at = now() WHERE username = 'fan4'")
    assert await names(stage) == []


async def test_more_accounts_come_first_and_pages_are_cut_by_places(stage: Stage, crowd: list[Person]) -> None:
    crowd.append(await stage.person("late"))
    for fan in crowd:
        await fan.publish("#first" if fan is crowd[-1] else "#first #second #third")
    await allow(stage, "first", "second", "third")
    assert await names(stage) == ["first", "second", "third"]
    assert await names(stage, path=f"{TAGS}?limit=1") == ["first"]
    assert await names(stage, path=f"{TAGS}?limit=1&offset=1") == ["second"]
    assert await names(stage, path=f"{TAGS}?limit=-2&offset=-3") == ["first", "second"]
    for nothing in ("limit=0", "limit=x", "offset=3", "offset=999999999999999999999"):
        assert await names(stage, path=f"{TAGS}?{nothing}") == [], nothing
    page = await stage.anybody().get(f"{TAGS}?limit=1")
    assert (link(page, "next"), "prev" in page.headers["Link"]) == (f"{TAGS}?limit=1&offset=1", False)
    page = await stage.anybody().get(f"{TAGS}?limit=1&offset=2")
    assert (link(page, "next"), link(page, "prev")) == (f"{TAGS}?limit=1&offset=3", f"{TAGS}?limit=1&offset=1")
    for without in ("limit=4", "limit=1&offset=3", "limit=0&offset=2"):
        assert "Link" not in (await stage.anybody().get(f"{TAGS}?{without}")).headers, without


async def test_trends_are_not_computed_by_each_request(stage: Stage, crowd: list[Person]) -> None:
    assert await names(stage) == []
    for fan in crowd:
        await fan.publish("#tea")
    await allow(stage, "tea")
    assert (await stage.anybody().get(TAGS)).json == []
    assert await names(stage) == ["tea"]


class TestWithoutReview:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "trends_review": False}

    async def test_posts_trend_that_are_not_forbidden(self, stage: Stage, ada: Person, crowd: list[Person]) -> None:
        post = await liked(ada, crowd)
        assert await reviewed(stage) == [post]
        await review(stage, "author", "account_id", ada.account.id, False)
        assert await reviewed(stage) == []

    async def test_all_trend_but_the_forbidden(self, stage: Stage, crowd: list[Person]) -> None:
        for fan in crowd:
            await fan.publish("#tea #milk")
        assert await names(stage) == ["milk", "tea"]
        await stage.sql("UPDATE tags SET trendable = false, reviewed_at = now() WHERE name = 'milk'")
        assert await names(stage) == ["tea"]


# -- statuses


async def test_a_status_trends_that_five_accounts_favourite_or_boost(
    stage: Stage, ada: Person, crowd: list[Person]
) -> None:
    post = await liked(ada, crowd[:4])
    await crowd[0].post(f"/api/v1/statuses/{post}/reblog")
    assert await trending(stage, stage.anybody()) == []
    await crowd[4].post(f"/api/v1/statuses/{post}/reblog")
    assert await trending(stage, stage.anybody()) == [post]
    assert (await crowd[0].get(STATUSES)).json[0] == (await crowd[0].get(f"/api/v1/statuses/{post}")).json


async def test_newer_ones_come_first_and_pages_are_cut_by_places(
    stage: Stage, ada: Person, crowd: list[Person]
) -> None:
    old, young, much = [await liked(ada, crowd) for _ in range(3)]
    eve = await stage.person("eve")
    await eve.post(f"/api/v1/statuses/{much}/favourite")
    await stage.sql("UPDATE statuses SET created_at = created_at - interval '1 hour' WHERE id = $1", int(old))
    assert await trending(stage, eve) == [much, young, old]
    assert await trending(stage, eve, f"{STATUSES}?limit=1&offset=1") == [young]
    page = await eve.get(f"{STATUSES}?limit=1")
    assert link(page, "next") == f"{STATUSES}?limit=1&offset=1"


async def test_blocks_mutes_and_filters_leave_no_gap_on_a_page(stage: Stage, ada: Person, crowd: list[Person]) -> None:
    bob = await stage.person("bob")
    await bob.send("PATCH", PROFILE, form={"discoverable": "true"})
    hers, his = await liked(ada, crowd), await liked(bob, crowd, spoiler_text="")
    eve, first = await stage.person("eve"), f"{STATUSES}?limit=1"
    assert await trending(stage, eve, first) == [his]
    for verb in ("mute", "block"):
        await eve.post(f"/api/v1/accounts/{bob.id}/{verb}")
        assert ids(await eve.get(first)) == [hers], verb
        await eve.post(f"/api/v1/accounts/{bob.id}/un{verb}")
        assert ids(await eve.get(first)) == [his], verb
    await bob.post(f"/api/v1/accounts/{eve.id}/block")
    assert ids(await eve.get(first)) == [hers]
    await bob.post(f"/api/v1/accounts/{eve.id}/unblock")
    kept = {"title": "no", "context": ["public"], "filter_action": "hide"}
    filter = (await eve.send("POST", "/api/v2/filters", json=kept)).json["id"]
    await eve.post(f"/api/v2/filters/{filter}/statuses", {"status_id": his})
    assert ids(await eve.get(first)) == [hers]
    assert ids(await stage.anybody().get(first)) == [his]


async def test_what_changed_since_is_not_shown(stage: Stage, ada: Person, crowd: list[Person]) -> None:
    post = await liked(ada, crowd)
    assert await trending(stage, stage.anybody()) == [post]
    await ada.send("PATCH", PROFILE, form={"discoverable": "false"})
    assert ids(await stage.anybody().get(STATUSES)) == []
    await ada.send("PATCH", PROFILE, form={"discoverable": "true"})
    assert ids(await stage.anybody().get(STATUSES)) == [post]
    await ada.put(f"/api/v1/statuses/{post}", {"status": "well said", "spoiler_text": "careful"})
    assert ids(await stage.anybody().get(STATUSES)) == []
    await ada.put(f"/api/v1/statuses/{post}", {"status": "well said", "spoiler_text": ""})
    assert ids(await stage.anybody().get(STATUSES)) == [post]
    await stage.sql("UPDATE accounts SET silenced_at = now() WHERE id = $1", ada.account.id)
    assert ids(await stage.anybody().get(STATUSES)) == []
    await stage.sql("UPDATE accounts SET silenced_at = NULL WHERE id = $1", ada.account.id)
    assert ids(await stage.anybody().get(STATUSES)) == [post]
    await ada.delete(f"/api/v1/statuses/{post}")
    assert ids(await stage.anybody().get(STATUSES)) == []


async def review(stage: Stage, kind: str, key: str, id: int, trendable: bool) -> None:
    await stage.sql(
        f"INSERT INTO {kind}_reviews ({key}, trendable, reviewed_at) VALUES ($1, $2, now())"
        f" ON CONFLICT ({key}) DO UPDATE SET trendable = $2",
        id, trendable,
    )  # fmt: skip


async def reviewed(stage: Stage) -> list[str]:
    """The trending statuses, computed now."""
    stage.http_context.trends.forget()
    return ids(await stage.anybody().get(STATUSES))


async def test_a_post_trends_when_staff_has_allowed_it_or_its_author(
    stage: Stage, ada: Person, crowd: list[Person]
) -> None:
    first, second = await liked(ada, crowd), await liked(ada, crowd)
    assert await reviewed(stage) == []
    await review(stage, "status", "status_id", int(first), True)
    assert await reviewed(stage) == [first]
    await review(stage, "author", "account_id", ada.account.id, True)
    assert await reviewed(stage) == [second, first]
    await review(stage, "status", "status_id", int(second), False)
    assert await reviewed(stage) == [first]
    await review(stage, "author", "account_id", ada.account.id, False)
    assert await reviewed(stage) == [first]


class TestWithoutPreview:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "public_preview": False}

    async def test_trending_statuses_are_for_users(self, stage: Stage, ada: Person) -> None:
        refused = await stage.anybody().get(STATUSES)
        assert (refused.status, refused.json) == (401, {"error": "This method requires an authenticated user"})
        assert (await ada.get(STATUSES)).status == 200
        assert (await stage.anybody().get(TAGS)).status == 200

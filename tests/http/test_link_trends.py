"""Trends and timelines of links; the pages are on a web site of the tests' own."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

import pytest

from ..clients import Person, Stage, ids, link
from ..previews.site import Site
from .previewing import CARD, HEAD, fetched

LINKS = "/api/v1/trends/links"


@pytest.fixture
def options() -> dict[str, Any]:
    return {"rate_limits": False, "link_previews": True, "test_hosts": ("site.test",)}


@pytest.fixture
async def crowd(stage: Stage, crowd: list[Person]) -> list[Person]:
    """As many people as a trend needs, who want to be found."""
    await stage.sql("UPDATE accounts SET discoverable = true WHERE username LIKE 'fan%'")
    return crowd


def timeline(url: str, **more: object) -> str:
    return f"/api/v1/timelines/link?{urlencode({'url': url} | more)}"


async def trending(stage: Stage, path: str = LINKS) -> list[Any]:
    """A page of trending links, computed now, of all sites."""
    await fetched(stage)
    await stage.sql("INSERT INTO publisher_reviews VALUES ('test', true, now()) ON CONFLICT DO NOTHING")
    stage.http_context.trends.links.forget()
    return await stage.anybody().done("GET", path)


async def test_links_that_five_accounts_share_trend(stage: Stage, crowd: list[Person], web: Site) -> None:
    tea, coffee = web.page("/tea", HEAD), web.page("/coffee", "<title>Coffee</title>")
    for fan in crowd:
        await fan.publish(f"see {tea}")
        assert await trending(stage) == [] or fan is crowd[-1]
    for _ in range(9):
        await crowd[0].publish(f"see {coffee}")
    (found,) = await trending(stage)
    assert found == {"url": tea} | CARD | {"history": found["history"]}
    assert [(day["accounts"], day["uses"]) for day in found["history"]] == [("5", "5")] + [("0", "0")] * 6
    days = [int(day["day"]) for day in found["history"]]
    assert [earlier - later for earlier, later in pairwise(days)] == [86400] * 6


async def reviewed(stage: Stage, decision: str, *values: object) -> list[str]:
    """The URLs of the links that trend after a decision of staff."""
    await stage.sql(decision, *values)
    stage.http_context.trends.forget()
    return [one["url"] for one in (await stage.anybody().get(LINKS)).json]


async def test_a_link_trends_when_staff_has_allowed_it_or_its_publisher(
    stage: Stage, crowd: list[Person], web: Site
) -> None:
    tea = web.page("/tea", HEAD)
    for fan in crowd:
        await fan.publish(f"see {tea}")
    await fetched(stage)
    publisher = "INSERT INTO publisher_reviews VALUES ($1, $2, now())"
    assert await reviewed(stage, publisher, "te.test", True) == []
    assert await reviewed(stage, publisher, "example.test", True) == []
    assert await reviewed(stage, publisher, "test", True) == [tea]
    assert await reviewed(stage, publisher, web.host, False) == [], "the nearest domain decides"
    page = "INSERT INTO link_reviews SELECT id, true, now() FROM preview_cards WHERE url = $1"
    assert await reviewed(stage, page, tea) == [tea]
    assert await reviewed(stage, "UPDATE publisher_reviews SET trendable = true") == [tea]
    assert await reviewed(stage, "UPDATE link_reviews SET trendable = false") == []
    assert (await crowd[0].get(timeline(tea))).status == 404


@pytest.mark.parametrize("how", [{"visibility": "unlisted"}, {"spoiler_text": "hot"}, {"sensitive": "true"}])
async def test_only_open_posts_make_links_trend(
    stage: Stage, crowd: list[Person], web: Site, how: dict[str, str]
) -> None:
    url = web.page("/tea", HEAD)
    for fan in crowd[1:]:
        await fan.publish(f"see {url}")
    await crowd[0].publish(f"see {url}", **how)
    assert await trending(stage) == []
    await crowd[0].publish(f"see {url}")
    assert len(await trending(stage)) == 1
    await stage.sql("UPDATE accounts SET silenced_at = now() WHERE username = 'fan3'")
    assert await trending(stage) == []


async def test_pages_of_trending_links(stage: Stage, crowd: list[Person], web: Site) -> None:
    crowd.append(await stage.person("late"))
    tea, coffee = web.page("/tea", HEAD), web.page("/coffee", HEAD)
    for fan in crowd:
        await fan.publish(f"see {coffee}")
    for fan in crowd[1:]:
        await fan.publish(f"see {tea}")
    assert [one["url"] for one in await trending(stage)] == [coffee, tea]
    assert [one["url"] for one in await trending(stage, f"{LINKS}?limit=1&offset=1")] == [tea]
    assert await trending(stage, f"{LINKS}?offset=2") == []


async def test_the_timeline_of_a_link_is_there_while_it_trends(
    stage: Stage, ada: Person, crowd: list[Person], web: Site
) -> None:
    url = web.page("/tea?a=b", HEAD)
    assert (await ada.get(timeline(url))).status == 404
    made = [(await fan.publish(f"see {url}"))["id"] for fan in crowd]
    hidden = await ada.publish(f"see {url}")  # of an account that does not want to be found
    await crowd[0].publish("see nothing")
    answer = (await crowd[0].publish(f"@fan1 see {url}", in_reply_to_id=made[1]))["id"]
    await trending(stage)
    for client in (ada, stage.anybody()):
        assert ids(await client.get(timeline(url + "#there"))) == [answer, *reversed(made)]
    page = await ada.get(timeline(url, limit=2))
    assert ids(page) == [answer, made[4]]
    assert ids(await ada.get(link(page, "next"))) == [made[3], made[2]]
    assert ids(await ada.get(timeline(url, min_id=made[0], limit=2))) == [made[2], made[1]]
    await ada.post(f"/api/v1/accounts/{crowd[0].id}/block")
    assert ids(await ada.get(timeline(url))) == [*reversed(made[1:])]
    assert hidden["id"] not in ids(await stage.anybody().get(timeline(url)))
    for other in (url + "c", "x", "javascript:alert(1)", "http://[", "https://127.0.0.1/"):
        missing = await ada.get(timeline(other))
        assert (missing.status, missing.json) == (404, {"error": "Record not found"})
    for nothing in ("/api/v1/timelines/link", timeline("")):
        assert (await ada.get(nothing)).status == 400
    await ada.delete(f"/api/v1/statuses/{hidden['id']}")
    await stage.sql("UPDATE accounts SET silenced_at = now() WHERE username = 'fan3'")
    await trending(stage)
    assert (await ada.get(timeline(url))).status == 404

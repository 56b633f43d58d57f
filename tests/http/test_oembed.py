"""Other sites embed a status of this server by its address."""

from typing import Any

import pytest

from ..clients import BASE, Person, Reply, Stage


async def embed(stage: Stage, url: str, token: str | None = None, **more: Any) -> Reply:
    return await stage.anybody(token).send("GET", "/api/oembed", query_string={"url": url} | more)


async def test_a_status_is_embedded_by_both_of_its_addresses(stage: Stage, ada: Person) -> None:
    await ada.send("PATCH", "/api/v1/accounts/update_credentials", json={"display_name": "<b>Ada</b>"})
    status = await ada.publish("1 < 2")
    for url in (f"{BASE}/@ada/{status['id']}", f"{BASE}/users/ada/statuses/{status['id']}", status["url"]):
        answer = await embed(stage, url)
        assert answer.status == 200
        signature = "&lt;b&gt;Ada&lt;/b&gt; (@ada@localhost:3000)"
        link = f'<footer><a href="{status["url"]}">{signature}</a></footer>'
        assert answer.json == {
            "type": "rich",
            "version": "1.0",
            "title": "<b>Ada</b>: 1 < 2",
            "author_name": "<b>Ada</b>",
            "author_url": f"{BASE}/@ada",
            "provider_name": "localhost:3000",
            "provider_url": f"{BASE}/",
            "cache_age": 86400,
            "html": f'<blockquote cite="{status["url"]}"><p>1 &lt; 2</p>{link}</blockquote>',
            "width": 400,
            "height": 300,
        }


@pytest.mark.parametrize(
    ("asked", "sizes"),
    [
        ({"maxwidth": "250", "maxheight": "120"}, (250, 120)),
        ({"maxwidth": "0", "maxheight": "-7"}, (400, 300)),
        ({"maxwidth": "wide", "maxheight": "99999999"}, (400, 2000)),
    ],
)
async def test_sizes_are_those_asked_for(
    stage: Stage, ada: Person, asked: dict[str, str], sizes: tuple[int, int]
) -> None:
    told = (await embed(stage, (await ada.publish())["url"], **asked)).json
    assert (told["width"], told["height"]) == sizes


async def test_behind_a_content_warning_the_text_is_left_out(stage: Stage, ada: Person) -> None:
    status = await ada.publish("the butler did it", spoiler_text="the <end> of the book")
    answer = await embed(stage, status["url"])
    assert "butler" not in answer.text
    assert answer.json["title"] == "Ada: the <end> of the book"
    assert "<p>the &lt;end&gt; of the book</p>" in answer.json["html"]


async def test_titles_are_short(stage: Stage, ada: Person) -> None:
    status = await ada.publish("x" * 400)
    assert (await embed(stage, status["url"])).json["title"] == f"Ada: {'x' * 100}…"


@pytest.mark.parametrize(
    ("visibility", "status"), [("public", 200), ("unlisted", 200), ("private", 404), ("direct", 404)]
)
async def test_it_is_for_everybody_or_for_no_viewer(stage: Stage, ada: Person, visibility: str, status: int) -> None:
    post = await ada.publish("hello", visibility=visibility)
    for token in (None, ada.token):
        answer = await embed(stage, post["url"], token)
        assert answer.status == status
        assert status == 200 or answer.json == {"error": "Record not found"}


async def test_what_is_gone_is_not_embedded(stage: Stage, ada: Person, bob: Person) -> None:
    deleted, withdrawn = await ada.publish(), await bob.publish()
    await ada.delete(f"/api/v1/statuses/{deleted['id']}")
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", bob.account.id)
    for post in (deleted, withdrawn):
        assert (await embed(stage, post["url"])).status == 404


async def test_other_addresses_lead_to_no_status(stage: Stage, ada: Person, bob: Person) -> None:
    id = (await ada.publish())["id"]
    boost = (await bob.post(f"/api/v1/statuses/{id}/reblog")).json["id"]
    for url in (
        f"{BASE}/@bob/{id}",
        f"{BASE}/@bob/{boost}",
        f"{BASE}/@ada/{2**63}",
        f"{BASE}/@ada/statuses/{id}",
        f"{BASE}/@ada",
        f"/@ada/{id}",
        f"https://elsewhere.example/@ada/{id}",
        f"{BASE}.evil.example/@ada/{id}",
        f"{BASE}/@ada/{id}?x",
    ):
        answer = await embed(stage, url)
        assert (answer.status, answer.json) == (404, {"error": "Record not found"}), url
    assert (await stage.anybody().get("/api/oembed")).status == 400

"""Other sites embed a status of this server by its address."""

from html.parser import HTMLParser
from typing import Any

import pytest

from ..clients import BASE, Person, Reply, Stage


async def embed(stage: Stage, url: str, token: str | None = None, **more: Any) -> Reply:
    return await stage.anybody(token).send("GET", "/api/oembed", query_string={"url": url} | more)


def frame_in(html: str) -> dict[str, str]:
    """The attributes of the frame, which is the only element."""
    found: list[tuple[str, dict[str, str]]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.append((tag, {name: value or "" for name, value in attrs}))
    parser.feed(html)
    ((tag, attributes),) = found
    assert tag == "iframe"
    return attributes


async def test_a_status_is_embedded_by_both_of_its_addresses(stage: Stage, ada: Person) -> None:
    await ada.send("PATCH", "/api/v1/accounts/update_credentials", json={"display_name": "<b>Ada</b>"})
    status = await ada.publish("1 < 2")
    for url in (f"{BASE}/@ada/{status['id']}", f"{BASE}/users/ada/statuses/{status['id']}", status["url"]):
        answer = await embed(stage, url)
        assert answer.status == 200
        frame = frame_in(answer.json["html"])
        assert answer.json == {
            "type": "rich",
            "version": "1.0",
            "title": "<b>Ada</b>: 1 < 2",
            "author_name": "<b>Ada</b>",
            "author_url": f"{BASE}/@ada",
            "provider_name": "localhost:3000",
            "provider_url": f"{BASE}/",
            "cache_age": 86400,
            "html": answer.json["html"],
            "width": 400,
            "height": 300,
        }
        assert (frame["title"], frame["width"], frame["height"]) == ("<b>Ada</b>: 1 < 2", "400", "300")
        framed = await stage.anybody().get(frame["src"].removeprefix(BASE))
        assert "1 &lt; 2" in framed.text
        assert "frame-ancestors *;" in framed.headers["Content-Security-Policy"]


async def test_the_frame_may_run_nothing_and_lead_its_site_nowhere(stage: Stage, ada: Person) -> None:
    frame = frame_in((await embed(stage, (await ada.publish())["url"])).json["html"])
    assert not {"allow-scripts", "allow-top-navigation", "allow-forms"} & set(frame["sandbox"].split())
    assert "allow-popups" in frame["sandbox"]


async def test_hostile_text_stays_in_the_title_of_the_frame(stage: Stage, ada: Person) -> None:
    status = await ada.publish('"></iframe><script>alert(1)</script>')
    frame = frame_in((await embed(stage, status["url"])).json["html"])
    assert frame["title"] == 'Ada: "></iframe><script>alert(1)</script>'


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
    frame = frame_in(told["html"])
    assert (told["width"], told["height"]) == (int(frame["width"]), int(frame["height"])) == sizes


async def test_behind_a_content_warning_the_text_is_left_out(stage: Stage, ada: Person) -> None:
    status = await ada.publish("the butler did it", spoiler_text="the <end> of the book")
    answer = await embed(stage, status["url"])
    assert "butler" not in answer.text
    assert answer.json["title"] == "Ada: the <end> of the book"


async def test_titles_are_short(stage: Stage, ada: Person) -> None:
    status = await ada.publish("x" * 400)
    assert (await embed(stage, status["url"])).json["title"] == f"Ada: {'x' * 100}…"
    flags = await ada.publish("x" * 99 + "\U0001f1e9\U0001f1ea" + "y" * 9)
    assert (await embed(stage, flags["url"])).json["title"] == f"Ada: {'x' * 99}…"


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
    ):
        answer = await embed(stage, url)
        assert (answer.status, answer.json) == (404, {"error": "Record not found"}), url
    assert (await stage.anybody().get("/api/oembed")).status == 400

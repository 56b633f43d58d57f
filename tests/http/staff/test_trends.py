"""Review of trends on the pages for staff, and what hashtags may do. The public trends follow at once."""

from typing import Any

from ...clients import Person, Stage, ids
from ..settling import Browser
from .members import log, member

PATH = "/admin/trends"
TITLE = "<script>alert(1)</script>"


async def decide(browser: Browser, kind: str, key: object, *, trendable: bool) -> None:
    answer = await browser.send(PATH, kind=kind, key=str(key), trendable="true" if trendable else "false")
    assert answer.status == 302, answer.text


async def names(stage: Stage) -> list[str]:
    return [tag["name"] for tag in (await stage.anybody().get("/api/v1/trends/tags")).json]


async def test_a_hashtag_waits_and_is_allowed_and_kept_out(stage: Stage, crowd: list[Person]) -> None:
    mod = await member(stage, "moderator", "mod")
    for fan in crowd:
        await fan.publish("#tea")
    assert "waits for a decision" in (await mod.get(PATH)).text
    await decide(mod, "tag", "tea", trendable=True)
    assert await names(stage) == ["tea"]
    assert "may trend" in (await mod.get(PATH)).text
    await decide(mod, "tag", "tea", trendable=False)
    assert await names(stage) == []
    assert await log(stage) == [("mod", "allow_trend", "tea"), ("mod", "forbid_trend", "tea")]
    assert (await mod.send(PATH, kind="tag", key="coffee", trendable="true")).status == 404


async def test_a_hashtag_is_found_and_changed(stage: Stage, crowd: list[Person]) -> None:
    mod = await member(stage, "moderator")
    await crowd[0].publish("#blacktea")
    one = (await mod.get("/admin/tags?name=%23BlackTea")).headers["Location"]
    assert one in (await mod.get("/admin/tags")).text
    await mod.send(one, display_name="BlackTea", usable="true", trendable="false")
    decided = "SELECT display_name, usable, listable, trendable FROM tags"
    assert await stage.rows(decided) == [["BlackTea", True, False, False]]
    assert "#BlackTea" in (await mod.get(one)).text
    refused = await mod.send(one, display_name="GreenTea")
    assert (refused.status, "Display name is invalid." in refused.text) == (422, True)
    unknown = await mod.get("/admin/tags?name=%3Cscript%3E")
    assert "<script>" not in unknown.text.replace("<script src=", "")
    assert [act for _, act, _ in await log(stage)] == ["change_tag"]


async def test_a_post_and_its_author_are_allowed_and_kept_out(stage: Stage, crowd: list[Person]) -> None:
    mod = await member(stage, "moderator")
    await crowd[0].send("PATCH", "/api/v1/accounts/update_credentials", form={"discoverable": "true"})
    post = (await crowd[0].publish("well <b>said</b>"))["id"]
    for fan in [*crowd[1:], await stage.person("more")]:
        await fan.post(f"/api/v1/statuses/{post}/favourite")
    assert "well &lt;b&gt;said" in (await mod.get(f"{PATH}?list=posts")).text
    trending = stage.anybody()
    for kind, key in (("status", post), ("author", crowd[0].id)):
        for trendable in (True, False):
            await decide(mod, kind, key, trendable=trendable)
            shown = ids(await trending.get("/api/v1/trends/statuses"))
            assert shown == ([post] if trendable and kind == "status" else [])
    assert [(act, target) for _, act, target in await log(stage)] == [
        ("allow_trend", post), ("forbid_trend", post), ("allow_trend", crowd[0].id), ("forbid_trend", crowd[0].id),
    ]  # fmt: skip


async def test_no_decision_is_taken_on_what_is_not_public(stage: Stage, crowd: list[Person]) -> None:
    mod = await member(stage, "moderator")
    post = (await crowd[0].publish("between us", visibility="private"))["id"]
    for kind, key in (("status", post), ("status", "x"), ("link", "103"), ("author", "103"), ("publisher", "no site")):
        assert (await mod.send(PATH, kind=kind, key=key, trendable="true")).status == 404, (kind, key)
    assert await log(stage) == []


async def test_a_link_and_its_site_are_allowed_and_kept_out(stage: Stage, crowd: list[Person]) -> None:
    mod = await member(stage, "moderator")
    card = await linked(stage, crowd)
    page = (await mod.get(f"{PATH}?list=links")).text
    assert TITLE not in page
    assert "news.example" in page
    for kind, key, trendable in (("publisher", "news.example", True), ("link", card, False), ("link", card, True)):
        await decide(mod, kind, key, trendable=trendable)
        shown: list[Any] = (await stage.anybody().get("/api/v1/trends/links")).json
        assert len(shown) == trendable
    assert [target for _, _, target in await log(stage)] == ["news.example", str(card), str(card)]


async def linked(stage: Stage, crowd: list[Person]) -> int:
    """Have a crowd share a page. Return the id of its card."""
    for fan in crowd:
        await fan.publish("Read this")
    card = stage.http_context.ids.next()
    await stage.sql(
        "INSERT INTO preview_cards (id, url, found, title, fetched_at)"
        " VALUES ($1, 'https://news.example/1', true, $2, now())",
        card, TITLE,
    )  # fmt: skip
    await stage.sql("INSERT INTO status_cards (status_id, card_id, id) SELECT id, $1, id FROM statuses", card)
    return card

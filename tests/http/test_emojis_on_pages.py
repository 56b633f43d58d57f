"""Custom emoji on public pages."""

from xml.etree import ElementTree

import pytest

from ..clients import Person, Stage
from ..emojis import add_emoji, reload_emojis
from .browsing import Page, page

TAG = "<script>alert(1)</script>"


def names(shown: Page) -> list[str]:
    """The names of the emoji on a page, in their order."""
    return [one["alt"] for one in shown.all("img", **{"class": "emoji"})]


async def test_an_emoji_is_a_picture_that_stands_still_for_those_who_want_less_motion(
    stage: Stage, ada: Person
) -> None:
    emoji = await add_emoji(stage, "cat")
    shown = await page(stage, f"/@ada/{(await ada.write('a :cat: & a :dog:'))['id']}")
    (image,) = shown.all("img", **{"class": "emoji"})
    assert (image["src"], image["alt"], image["title"]) == (f"/media/{emoji.file}", ":cat:", ":cat:")
    (still,) = shown.all("source")
    assert (still["srcset"], still["media"]) == (f"/media/{emoji.static_file}", "(prefers-reduced-motion: reduce)")
    assert "& a :dog:" in shown.text


async def test_all_texts_of_people_have_emoji(stage: Stage, ada: Person, bob: Person) -> None:
    for name in ("name", "note", "label", "value", "warning", "text", "option"):
        await add_emoji(stage, name)
    fields = {"0": {"name": ":label:", "value": "a :value:"}}
    await ada.change_profile(display_name="Ada :name:", note="likes :note:", fields_attributes=fields)
    status = await ada.write(":text:", spoiler_text=":warning:", poll={"options": [":option:", "b"], "expires_in": 600})
    assert names(await page(stage, f"/@ada/{status['id']}")) == [":name:", ":warning:", ":text:", ":option:"]
    assert names(await page(stage, "/@ada"))[:4] == [":name:", ":note:", ":label:", ":value:"]
    await bob.post(f"/api/v1/statuses/{status['id']}/reblog")
    assert names(await page(stage, "/@bob")) == [":name:", ":warning:", ":text:", ":option:"]
    await bob.change_profile(display_name="Bob :name:")
    assert names(await page(stage, "/@bob"))[:3] == [":name:"] * 3
    quoting = await bob.write("look", quoted_status_id=(await ada.write("so :text:"))["id"])
    assert names(await page(stage, f"/@bob/{quoting['id']}")) == [":name:", ":name:", ":text:"]


async def test_attributes_titles_and_links_keep_the_names(stage: Stage, ada: Person) -> None:
    await add_emoji(stage, "cat")
    await ada.change_profile(display_name=":cat:", note="https://a.example/:cat:/")
    status = await ada.write("https://b.example/:cat:/ #cat `x`")
    for path in ("/@ada", f"/@ada/{status['id']}"):
        shown = await page(stage, path)
        assert all(one["src"].startswith("/media/") for one in shown.all("img", title=":cat:"))
        assert ":cat:" in (shown.meta("og:title") or "")
        assert "example/:cat:/" in shown.text
    assert "Post by :cat:" in [one["aria-label"] for one in shown.all("article")]
    assert shown.all("a", href="https://b.example/:cat:/")


@pytest.mark.parametrize("text", ["x:cat:", ":cat:x", "::cat:", ":CAT:", ": cat:", "1:cat:2"])
async def test_what_is_no_name_of_an_emoji_stays_text(stage: Stage, ada: Person, text: str) -> None:
    await add_emoji(stage, "cat")
    shown = await page(stage, f"/@ada/{(await ada.write(text))['id']}")
    assert names(shown) == []
    assert text in shown.text


async def test_text_beside_an_emoji_stays_text(stage: Stage, ada: Person) -> None:
    await add_emoji(stage, "cat")
    hostile = f"{TAG}:cat:{TAG} &lt;b&gt; :cat:"
    await ada.change_profile(
        display_name=f"{TAG}:cat:", note=hostile, fields_attributes={"0": {"name": hostile, "value": hostile}}
    )
    poll = {"options": [f":cat:{TAG}", "b"], "expires_in": 600}
    status = await ada.write(hostile, spoiler_text=hostile, poll=poll)
    for path, times in ((f"/@ada/{status['id']}", 6), ("/@ada", 13)):
        shown = await page(stage, path)
        assert shown.all("script") == []
        assert shown.all("b") == []
        assert len(names(shown)) == times
        assert f"{TAG}{TAG} &lt;b&gt; " in shown.text


async def test_texts_of_other_servers_use_no_emoji_of_this_one(stage: Stage, ada: Person, bob: Person) -> None:
    await add_emoji(stage, "cat")
    await ada.change_profile(display_name="Ada :cat:")
    status = await ada.write("a :cat:")
    await bob.post(f"/api/v1/statuses/{status['id']}/reblog")
    await stage.sql("UPDATE statuses SET local = false WHERE id = $1", int(status["id"]))
    stage.http_context.statuses.clear()
    assert names(await page(stage, "/@bob")) == [":cat:"]  # the author's name alone
    await stage.sql("UPDATE accounts SET domain = 'far.example' WHERE id = $1", ada.account.id)
    stage.http_context.statuses.clear()
    assert names(await page(stage, "/@bob")) == []


async def test_pages_show_the_emoji_of_today(stage: Stage, ada: Person) -> None:
    path = f"/@ada/{(await ada.write('a :cat:'))['id']}"
    tag = (await stage.anybody().get(path)).headers["ETag"]
    await add_emoji(stage, "cat")
    assert 'alt=":cat:"' in (await stage.anybody().get(path, headers={"If-None-Match": tag})).text
    await stage.sql("UPDATE custom_emojis SET disabled = true")
    await reload_emojis(stage)
    assert names(await page(stage, path)) == []


async def test_feeds_keep_the_names(stage: Stage, ada: Person) -> None:
    await add_emoji(stage, "cat")
    await ada.write("a :cat:")
    feed = (await stage.anybody().get("/@ada.rss")).text
    assert "a :cat:" in feed
    assert "emoji" not in "".join(ElementTree.fromstring(feed).itertext())

"""Feeds of public statuses, of an account and of a hashtag, and the page of an account's posts with a hashtag."""

from xml.etree import ElementTree

import pytest

from ..clients import BASE, Person, Stage
from .browsing import feed, page
from .uploading import uploaded

RSS = {"media": "{http://search.yahoo.com/mrss/}", "atom": "{http://www.w3.org/2005/Atom}"}


async def test_a_featured_hashtag_leads_to_the_posts_of_its_account(stage: Stage, ada: Person, bob: Person) -> None:
    await ada.publish("the first #Café")
    await ada.publish("an unlisted #cafe", visibility="unlisted")
    for text, visibility in (("something else", "public"), ("a secret #cafe", "private")):
        await ada.publish(text, visibility=visibility)
    await bob.publish("by another #cafe")
    other = await bob.publish("hello")
    await ada.publish("@bob a reply #cafe", in_reply_to_id=other["id"])
    featured = await ada.done("POST", "/api/v1/featured_tags", {"name": "Café"})
    path = featured["url"].removeprefix(BASE)
    assert path == "/@ada/tagged/cafe"
    shown = await page(stage, path)
    for text, there in (
        ("the first", True), ("an unlisted", True), ("a reply", True),
        ("something else", False), ("a secret", False), ("by another", False),
    ):  # fmt: skip
        assert (text in shown.text) is there, text
    assert shown.link("alternate", type="application/rss+xml") == f"{BASE}{path}.rss"
    channel = await feed(stage, f"{path}.rss")
    assert [channel.findtext(name) for name in ("title", "link")] == ["Ada: #Café", f"{BASE}{path}"]
    texts = [item.findtext("description") or "" for item in channel.findall("item")]
    assert ["a reply" in texts[0], "the first" in texts[1], len(texts)] == [True, True, 2]


@pytest.mark.parametrize("name", ["茶", "%E8%8C%B6", "%23茶"])
async def test_such_a_page_has_a_hashtag_in_any_script(stage: Stage, ada: Person, name: str) -> None:
    for number in range(21):
        await ada.publish(f"number {number} #茶")
    shown = await page(stage, f"/@ada/tagged/{name}")
    assert shown.link("canonical") == f"{BASE}/@ada/tagged/%E8%8C%B6"
    (older,) = [a for a in shown.all("a") if "max_id" in a.get("href", "")]
    assert "number 0 " in (await page(stage, older["href"])).text
    assert (await stage.anybody().get("/@ada/tagged/a%20b")).status == 404
    assert (await stage.anybody().get("/@nobody/tagged/tea.rss")).status == 404


async def test_a_feed_has_the_public_posts_of_an_account(stage: Stage, ada: Person, bob: Person) -> None:
    await ada.change_profile(note="About <tea>")
    medium = (await uploaded(ada, description="a dot"))["id"]
    status = await ada.write("a <b> & #tea", media_ids=[medium])
    await ada.publish("the butler did it", spoiler_text="the end")
    other = await bob.publish("not mine")
    await ada.publish("@bob a reply", in_reply_to_id=other["id"])
    await ada.post(f"/api/v1/statuses/{other['id']}/reblog")
    channel = await feed(stage, "/@ada.rss")
    assert [channel.findtext(name) for name in ("title", "link", "description")] == [
        "Ada",
        f"{BASE}/@ada",
        "About <tea>",
    ]
    warned, item = channel.findall("item")
    assert (item.findtext("link"), item.findtext("guid")) == (status["url"], status["url"])
    assert item.findtext("description") == status["content"]
    assert item.findtext("category") == "tea"
    picture = item.find(f"{RSS['media']}content")
    assert picture is not None
    assert picture.get("url") == status["media_attachments"][0]["url"]
    assert picture.findtext(f"{RSS['media']}description") == "a dot"
    assert "butler" not in ElementTree.tostring(warned, "unicode")
    assert "the end" in (warned.findtext("description") or "")
    own = channel.find(f"{RSS['atom']}link")
    assert own is not None
    assert own.get("href") == f"{BASE}/@ada.rss"


async def test_a_feed_can_be_read_whatever_a_name_holds(stage: Stage, ada: Person) -> None:
    await ada.publish("hello #tea")
    await stage.sql("UPDATE accounts SET display_name = $2 WHERE id = $1", ada.account.id, "A\ufffe\x0bB ]]> &")
    assert (await feed(stage, "/@ada.rss")).findtext("title") == "AB ]]> &"
    assert (await feed(stage, "/tags/tea.rss")).findtext("title") == "#tea"


async def test_each_tab_of_a_profile_has_a_feed(stage: Stage, ada: Person, bob: Person) -> None:
    other = await bob.publish("not mine")
    medium = (await uploaded(ada))["id"]
    await ada.publish("plain")
    await ada.write("picture", media_ids=[medium])
    await ada.publish("@bob answer", in_reply_to_id=other["id"])
    await ada.publish("secret", visibility="private")
    await ada.publish("quiet", visibility="unlisted")
    await ada.post(f"/api/v1/statuses/{other['id']}/reblog")
    for tab, texts in (("", "picture plain"), ("/with_replies", "answer picture plain"), ("/media", "picture")):
        path = f"/@ada{tab}"
        assert (await page(stage, path)).link("alternate", type="application/rss+xml") == f"{BASE}{path}.rss"
        channel = await feed(stage, f"{path}.rss")
        shown = [item.findtext("description") or "" for item in channel.findall("item")]
        assert channel.findtext("link") == f"{BASE}{path}"
        assert len(shown) == len(texts.split())
        assert all(text in one for text, one in zip(texts.split(), shown, strict=True)), tab


async def test_a_reader_is_sent_a_feed_once(stage: Stage, ada: Person) -> None:
    """By its entity tag, also with the mark of a proxy that compresses; else by the time that came with it."""
    await ada.publish("hello")
    newest = await ada.publish("bye")
    first = await stage.anybody().get("/@ada.rss")
    tag, time = first.headers["ETag"], first.headers["Last-Modified"]

    async def asked(**headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return (await stage.anybody().get("/@ada.rss", headers=named)).status

    for known in (tag, f"W/{tag}", f'{tag[:-1]}-gzip"', f'"other", W/{tag[:-1]}-br"'):
        assert await asked(If_None_Match=known) == 304, known
    assert await asked(If_None_Match='"other"') == 200
    assert await asked(If_Modified_Since=time) == 304
    assert await asked(If_Modified_Since="Thu, 01 Jan 2099 00:00:00 GMT") == 200
    assert await asked(If_None_Match='"other"', If_Modified_Since=time) == 200
    await stage.sql("UPDATE statuses SET created_at = created_at + interval '1 hour' WHERE id = $1", int(newest["id"]))
    stage.http_context.statuses.clear()
    moved = (await stage.anybody().get("/@ada.rss")).headers["Last-Modified"]
    assert (await asked(If_Modified_Since=time), await asked(If_Modified_Since=moved)) == (200, 304)

"""Cards of the pages that statuses link to; the pages are on a web site of the tests' own."""

from __future__ import annotations

import gzip
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from troupe.actors.effects.previews import MOST_TRIES, PREVIEWS
from troupe.actors.media import process
from troupe.actors.media.jobs import Job
from troupe.storage import changed_settings

from ..clients import Person, Stage
from ..outgoing.peer import Asked, Respond, always, answer
from ..previews.site import Site
from ..waiting import until, until_found, until_none
from .previewing import CARD, HEAD, fetched
from .uploading import part, picture


@pytest.fixture
def options() -> dict[str, Any]:
    return {"rate_limits": False, "link_previews": True, "test_hosts": ("site.test", "slow.test", "other.test")}


async def card_of(stage: Stage, person: Person, status: Any) -> Any:
    """The card of a status once its link was looked at."""
    await fetched(stage)
    return (await person.get(f"/api/v1/statuses/{status['id']}")).json["card"]


async def shown_card(person: Person, path: str) -> Any:
    """The card of a status as it is shown now."""
    return (await person.get(path)).json["card"]


async def newest_card(person: Person) -> Any:
    """The card of the newest public status as it is shown now."""
    return (await person.get("/api/v1/timelines/public")).json[0]["card"]


async def preview(stage: Stage, person: Person, url: str) -> Any:
    """The card of a new status with this link."""
    return await card_of(stage, person, await person.publish(f"see {url}"))


async def test_a_status_shows_the_card_of_its_link(stage: Stage, ada: Person, bob: Person, web: Site) -> None:
    url = web.page("/tea", HEAD)
    status = await ada.publish(f"see {url}#cake")
    assert status["card"] is None
    assert await card_of(stage, bob, status) == {"url": url} | CARD
    (shown,) = (await bob.get("/api/v1/timelines/public")).json
    assert shown["card"]["title"] == "Tea & cake"
    assert shown["edited_at"] is None


async def test_a_status_is_found_by_the_title_of_its_card(stage: Stage, ada: Person, web: Site) -> None:
    status = await ada.publish(f"see {web.page('/tea', HEAD)}")
    await fetched(stage)
    for query in ("cake", "see has:link"):
        answer = await ada.get("/api/v2/search", query_string={"q": query, "type": "statuses"})
        assert [one["id"] for one in answer.json["statuses"]] == [status["id"]]
    await ada.put(f"/api/v1/statuses/{status['id']}", {"status": "see nothing"})
    for query in ("cake", "see has:link"):
        answer = await ada.get("/api/v2/search", query_string={"q": query, "type": "statuses"})
        assert answer.json["statuses"] == []


async def test_a_page_is_fetched_once_for_all_its_statuses(stage: Stage, ada: Person, bob: Person, web: Site) -> None:
    url = web.page("/tea", HEAD)
    async with trio.open_nursery() as nursery:
        for person in (ada, bob, ada, bob):
            nursery.start_soon(person.publish, f"see {url}")
    await fetched(stage)
    assert [one["card"]["url"] for one in (await ada.get("/api/v1/timelines/public")).json] == [url] * 4
    assert web.asked("/tea") == 1


async def test_the_image_is_the_servers_own(stage: Stage, ada: Person, web: Site) -> None:
    web.file("/cake.png", picture(800, 400), "image/png")
    image = '<meta property="og:image" content="/cake.png"><meta property="og:image:alt" content="A cake">'
    card = await preview(stage, ada, web.page("/tea", HEAD + image))
    assert card["image"].startswith("http://localhost:3000/media/")
    assert (card["width"], card["height"], card["image_description"]) == (678, 339, "A cake")
    assert card["blurhash"]
    assert (await ada.get(card["image"].removeprefix("http://localhost:3000"))).body[8:12] == b"WEBP"


async def test_a_page_is_asked_for_in_the_languages_of_the_server(stage: Stage, ada: Person, web: Site) -> None:
    await preview(stage, ada, web.page("/tea", HEAD))
    assert [one.headers["accept-language"] for one in web.peer.asked] == ["en, *;q=0.5"]


async def test_of_several_pictures_each_has_its_own_description(stage: Stage, ada: Person, web: Site) -> None:
    web.file("/cake.png", picture(80, 40), "image/png")
    drawing, cake, tea = (f'<meta property="og:image" content="/{name}">' for name in ("logo.svg", "cake.png", "b.png"))
    described = '<meta property="og:image:alt" content="%s">'
    card = await preview(
        stage, ada, web.page("/a", HEAD + drawing + described % "Logo" + cake + tea + described % "Tea")
    )
    assert card["image"] is not None
    assert card["image_description"] == ""
    card = await preview(stage, ada, web.page("/b", HEAD + described % "A cake" + cake + tea + described % "Tea"))
    assert card["image_description"] == "A cake"


@pytest.mark.parametrize("data", [b"no picture", picture()[:100], b""])
async def test_a_card_stands_without_an_image_that_is_none(
    stage: Stage, ada: Person, web: Site, tmp_path: Path, data: bytes
) -> None:
    web.file("/cake.png", data, "image/png")
    card = await preview(stage, ada, web.page("/tea", HEAD + '<meta property="og:image" content="cake.png">'))
    assert (card["title"], card["image"], card["blurhash"]) == ("Tea & cake", None, None)
    assert [file for file in (tmp_path / "media").rglob("*") if file.is_file()] == []


async def test_the_author_of_a_page_is_an_account_that_says_so_too(
    stage: Stage, ada: Person, bob: Person, web: Site
) -> None:
    creator = f'<meta name="fediverse:creator" content="@bob@{stage.http_context.settings.local_domain}">'
    status = await ada.publish(web.page("/tea", HEAD + creator))
    assert (await card_of(stage, ada, status))["authors"] == []
    await bob.send("PATCH", "/api/v1/profile", json={"attribution_domains": ["other.example", "site.test"]})
    (author,) = (await card_of(stage, ada, status))["authors"]
    assert author["account"]["id"] == bob.id
    assert (author["name"], author["url"]) == ("Grace", author["account"]["url"])
    await stage.sql("UPDATE accounts SET url = 'https://peer.test/\u00fc' WHERE id = $1", bob.account.id)
    assert (await card_of(stage, ada, status))["authors"][0]["url"] == "https://peer.test/%C3%BC"
    await bob.send("PATCH", "/api/v1/profile", json={"attribution_domains": ["not-site.test", "e.test"]})
    assert (await card_of(stage, ada, status))["authors"] == []


async def test_domains_that_may_name_an_account_are_read_as_people_paste_them(ada: Person) -> None:
    written = ["https://news.example/", "*.blog.example", " ", "BÜCHER.example", "http://news.example"]
    answer = await ada.send("PATCH", "/api/v1/profile", json={"attribution_domains": written})
    assert answer.json["attribution_domains"] == ["news.example", "blog.example", "xn--bcher-kva.example"]
    answer = await ada.send("PATCH", "/api/v1/profile", json={"attribution_domains": ["two words.example"]})
    assert (answer.status, answer.json["error"]) == (422, "Validation failed: Attribution domains is invalid")
    answer = await ada.send("PATCH", "/api/v1/profile", json={"attribution_domains": [""]})
    assert answer.json["attribution_domains"] == []


async def test_oembed_and_linked_data_are_read(stage: Stage, ada: Person, web: Site) -> None:
    oembed = b"""{
        "type": "rich", "title": "From oEmbed", "author_name": "Grace", "author_url": "https://a.example/grace",
        "provider_name": "Kitchens", "provider_url": "https://a.example", "html": "<script>alert(1)</script>"
    }"""
    web.file("/oembed?a=1&b=2", oembed, "application/json")
    linked = """{"@context": "https://schema.org", "@graph": [
        {"@type": "Organization", "name": "Nobody"},
        {"@type": "NewsArticle", "headline": "x", "datePublished": "2026-02-03T04:05:06+01:00", "inLanguage": "pt-BR"}
    ]}"""
    card = await preview(
        stage, ada, web.page(
            "/tea", '<title>Tea</title><link rel="alternate" type="application/json+oembed" href="/oembed?a=1&amp;b=2">'
            f'<script type="application/ld+json">{linked}</script>'
        ),
    )  # fmt: skip
    assert (card["title"], card["provider_name"], card["provider_url"]) == (
        "From oEmbed", "Kitchens", "https://a.example/",
    )  # fmt: skip
    assert card["authors"] == [{"name": "Grace", "url": "https://a.example/grace", "account": None}]
    assert (card["published_at"], card["language"]) == ("2026-02-03T03:05:06.000Z", "pt-BR")
    assert (card["type"], card["html"], card["embed_url"]) == ("link", "", "")


async def test_an_oembed_answer_may_begin_with_a_byte_order_mark(stage: Stage, ada: Person, web: Site) -> None:
    web.file("/oembed", b'\xef\xbb\xbf{"type": "link", "title": "From oEmbed"}', "application/json")
    link = '<link rel="alternate" type="application/json+oembed" href="/oembed">'
    assert (await preview(stage, ada, web.page("/tea", f"<title>Tea</title>{link}")))["title"] == "From oEmbed"


async def test_halves_of_characters_and_odd_declarations_leave_a_page_readable(
    stage: Stage, ada: Person, web: Site
) -> None:
    linked = '{"@type": "Article", "headline": "Tea \\ud83d", "description": "Hot"}'
    head = f'<![if !IE]><![tea]><![ x><script type="application/ld+json">{linked}</script>'
    card = await preview(stage, ada, web.page("/tea", head))
    assert (card["title"], card["description"]) == ("Tea ?", "Hot")


async def test_the_title_and_the_description_of_the_page_are_the_last_resort(
    stage: Stage, ada: Person, web: Site
) -> None:
    head = '<svg><title>Drawn</title></svg><title>\n Tea\n time </title><meta name=description content="Hot">'
    card = await preview(stage, ada, web.page("/tea", head))
    assert (card["title"], card["description"]) == ("Tea time", "Hot")


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        ("<title>Käse</title>".encode("latin-1"), "text/html; charset=iso-8859-1"),
        ("<title>Käse</title>".encode("latin-1"), "text/html"),
        ("<title>Käse</title>".encode(), "text/html"),
        ("<title>Käse</title>".encode(), "text/html; charset=nonsense"),
        ('<meta charset="windows-1252"><title>Käse</title>'.encode("cp1252"), "text/html"),
        ("<title>Käse</title>".encode() + b"<p>1 \x80", "text/html"),  # a byte of another encoding
        ("<title>Käse</title>äöü".encode("cp1252"), "text/html"),
        ("\ufeff<title>Käse</title>".encode("utf-16-le"), "text/html; charset=utf-8"),
        ("\ufeff<title>Käse</title>".encode(), "text/html; charset=latin-1"),
        ('<META http-equiv=Content-Type content="text/html; charset=utf-8"><title>Käse</title>'.encode(), "text/html"),
    ],
)
async def test_a_page_is_read_in_its_encoding(
    stage: Stage, ada: Person, web: Site, data: bytes, content_type: str
) -> None:
    card = await preview(stage, ada, web.file("/cheese", data, content_type))
    assert card["title"] == "Käse"


PRAGMA = '<META HTTP-EQUIV=content-type CONTENT="text/html; CHARSET=Shift_JIS">'
JAPANESE = "お茶 ①\uff5e"  # the last two are in Windows-31J only, or differ there


@pytest.mark.parametrize(
    ("title", "codec", "head", "content_type"),
    [
        (JAPANESE, "cp932", PRAGMA, "text/html"),
        (JAPANESE, "cp932", PRAGMA, "text/html; charset=none"),
        (JAPANESE, "cp932", "", "text/html;Charset=x-sjis"),
        (JAPANESE, "cp932", "<meta CONTENT='text/html;charset=MS_Kanji' http-equiv=Content-Type>", "text/html"),
        (JAPANESE, "cp932", '<!-- <meta charset="utf-8"> --><meta charset=windows-31j>', "text/html"),
        (JAPANESE, "cp932", f"<script>{' ' * 5_000}'<meta charset=koi8-r>'</script>{PRAGMA}", "text/html"),
        ("你好 🙂", "gb18030", '<meta charset="gb2312">', "text/html"),
        ("안녕 똠", "cp949", '<meta http-equiv="Content-Type" content="text/html; charset=euc-kr" />', "text/html"),
        ("안녕 똠", "cp949", "", "text/html; charset=ks_c_5601-1987"),
        ("€ 你好", "windows-936", "<meta charset=gbk>", "text/html"),
        ("€ 你好", "windows-936", "", "text/html; charset=gb2312"),
        ("您好", "big5", '<meta charset="Big5-HKSCS">', "text/html"),
        ("“Käse” €", "cp1252", '<meta charset="ISO-8859-1">', "text/html"),
        ("“Käse” €", "cp1252", "<meta charset=us-ascii>", "text/html"),
        ("“Käse” €", "cp1252", "<meta charset=x-user-defined>", "text/html"),
        ("сэмпл текст", "cp1251", '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"/>',
         "text/html"),
        ("сэмпл текст", "koi8-r", '<?xml version="1.0" encoding="KOI8-R"?>', "application/xhtml+xml"),
        ("İçin", "cp1254", "", 'text/html; charset="latin5"'),
        ("สวัสดี", "cp874", "<meta charset='TIS-620'>", "text/html"),
        ("Käse", "utf-8", "<meta charset=utf-16>", "text/html"),
        ("Käse", "utf-8", "<meta charset=nonsense><meta charset=utf8>", "text/html"),
        ("Käse", "utf-8", '<meta name=x content="charset=koi8-r">', "text/html"),
    ],
)  # fmt: skip
async def test_encodings_are_those_of_browsers(
    stage: Stage, ada: Person, web: Site, title: str, codec: str, head: str, content_type: str
) -> None:
    if codec == "windows-936":  # has the sign of the euro in one byte, as no codec of Python writes it
        data = b"\x80".join(part.encode("gbk") for part in f"{head}<title>{title}</title>".split("€"))
    else:
        data = f"{head}<title>{title}</title>".encode(codec)
    assert (await preview(stage, ada, web.file("/tea", data, content_type)))["title"] == title


@pytest.mark.parametrize(
    ("refresh", "title"),
    [
        ("0;url=/tea", "Tea"),
        ("0; URL='/tea'", "Tea"),
        ("1, /tea", "Tea"),
        ("60;url=/tea", "Wait"),
        ("5", "Wait"),
        ("0;url=", "Wait"),
        ("0;url=/wait", "Wait"),
        ("0;url=/missing", "Wait"),
        ("0;url=javascript:alert(1)", "Wait"),
        ("0;url=http://127.0.0.1/", "Wait"),
    ],
)
async def test_a_page_that_leads_on_by_itself_stands_for_the_next_one(
    stage: Stage, ada: Person, web: Site, refresh: str, title: str
) -> None:
    web.page("/tea", "<title>Tea</title>")
    address = web.page("/wait", f'<title>Wait</title><meta http-equiv="Refresh" content="{refresh}">')
    assert (await preview(stage, ada, address))["title"] == title
    assert web.asked("/wait") == 1


async def test_pages_that_lead_to_each_other_end(stage: Stage, ada: Person, web: Site) -> None:
    web.page("/b", '<title>B</title><meta http-equiv="refresh" content="0;url=/a">')
    address = web.page("/a", '<title>A</title><meta http-equiv="refresh" content="0;url=/b">')
    assert (await preview(stage, ada, address))["title"] == "A"
    assert (web.asked("/a"), web.asked("/b")) == (2, 1)


@pytest.mark.parametrize(
    ("data", "charset"),
    [
        (b"\xa4\xaa\xc3\xe3 \xad\xa1\xa1\xc1", "EUC-JP"),
        (b"\x1b$B$*Cc\x1b(B \x1b$B-!!A\x1b(B", "ISO-2022-JP"),
    ],
)
async def test_other_japanese_encodings_have_the_characters_of_windows(
    stage: Stage, ada: Person, web: Site, data: bytes, charset: str
) -> None:
    data = f"<meta charset={charset}>".encode() + b"<title>" + data + b"</title>"
    assert (await preview(stage, ada, web.file("/tea", data, "text/html")))["title"] == JAPANESE


# Pages that give no card


@pytest.mark.parametrize(
    "respond",
    [
        always(answer(404, HEAD.encode(), Content_Type="text/html")),
        always(answer(200, b"<p>nothing</p>", Content_Type="text/html")),
        always(answer(200, b"", Content_Type="text/html")),
        always(answer(200, HEAD.encode(), Content_Type="text/plain")),
        always(answer(200, HEAD.encode())),
        always(answer(302, b"", Location="http://127.0.0.1:1/tea")),
        always(answer(302, b"", Location="/tea")),
        always(answer(302, b"", Location="http://inside.example/tea")),
        always(answer(200, HEAD.encode(), Content_Type="text/html", Content_Encoding="br")),
        always(answer(200, b"no gzip", Content_Type="text/html", Content_Encoding="gzip")),
    ],
)
async def test_a_page_without_a_card(stage: Stage, ada: Person, web: Site, respond: Respond) -> None:
    web.answers["/tea"] = respond
    assert await preview(stage, ada, web.url("/tea")) is None
    assert await preview(stage, ada, web.url("/tea")) is None
    assert web.asked("/tea") == (4 if b"Location: /tea" in await sent(respond) else 1), "it is remembered"


async def sent(respond: Respond) -> bytes:
    """The bytes that a site answers with."""
    near, far = trio.testing.memory_stream_pair()
    await respond(near, Asked("GET", "/", {}, b""))
    await near.aclose()
    return b"".join([chunk async for chunk in far])


@pytest.mark.parametrize(
    "text",
    [
        "@bob #tea",
        "see http://localhost:3000/@bob",
        "see http://127.0.0.1:{port}/tea",
        "see http://[::1]:{port}/tea",
        "see http://ada@site.test:{port}/tea",
    ],
)
async def test_other_things_than_links_to_public_pages_are_not_fetched(
    stage: Stage, ada: Person, bob: Person, web: Site, text: str
) -> None:
    web.page("/tea", HEAD)
    assert await card_of(stage, ada, await ada.publish(text.format(port=web.peer.port))) is None
    assert web.peer.asked == []


async def test_a_status_with_media_shows_these_and_no_card(stage: Stage, ada: Person, web: Site) -> None:
    medium = (await ada.post("/api/v2/media", files={"file": part(picture())})).json
    status = await ada.publish(f"see {web.page('/tea', HEAD)}", **{"media_ids[]": medium["id"]})
    assert await card_of(stage, ada, status) is None
    assert web.peer.asked == []


async def test_a_status_with_a_quote_shows_this_and_no_card(stage: Stage, ada: Person, web: Site) -> None:
    post = await ada.publish(f"see {web.page('/tea', HEAD)}")
    url = web.page("/coffee", "<title>Coffee</title>")
    status = await ada.publish(f"see {url}", quoted_status_id=post["id"])
    assert await card_of(stage, ada, status) is None
    shown = (await ada.get(f"/api/v1/statuses/{status['id']}")).json
    assert shown["quote"]["quoted_status"]["card"]["title"] == "Tea & cake"
    await edit(ada, status, f"now see {url}")
    assert await card_of(stage, ada, status) is None
    await ada.delete(f"/api/v1/statuses/{post['id']}")
    await edit(ada, status, f"still see {url}")
    assert await card_of(stage, ada, status) is None
    assert web.asked("/coffee") == 0


# Pages that are made to harm


async def endless(stream: trio.abc.Stream, asked: Asked) -> None:
    head = b"HTTP/1.1 200 Told\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    title, chunk = b"<title>No end</title>", b"<p>more" * 10_000
    await stream.send_all(b"%b%x\r\n%b\r\n" % (head, len(title), title))
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        while True:
            await stream.send_all(b"%x\r\n%b\r\n" % (len(chunk), chunk))


async def test_of_an_endless_page_the_beginning_is_read(stage: Stage, ada: Person, web: Site) -> None:
    web.answers["/tea"] = endless
    assert (await preview(stage, ada, web.url("/tea")))["title"] == "No end"


async def test_of_a_page_that_unzips_to_very_much_the_beginning_is_read(stage: Stage, ada: Person, web: Site) -> None:
    bomb = gzip.compress(b"<title>Boom</title>" + b" " * 200_000_000)
    card = await preview(stage, ada, web.file("/tea", bomb, "text/html", Content_Encoding="gzip"))
    assert card["title"] == "Boom"


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 200_000,
        "<b id=1><p>" * 50_000,
        "<!--" * 200_000,
        "<a " * 300_000,
        "<![CDATA[" * 50_000,
        "&#" * 400_000,
        "<a b='" * 150_000,
        "<a " + " ".join(f"a{n}=b" for n in range(90_000)) + ">",
        "</a" * 300_000,
    ],
    ids=["deep", "formatting", "comments", "tags", "sections", "references", "quotes", "attributes", "endings"],
)
async def test_a_page_that_is_hard_to_read_harms_nothing(stage: Stage, ada: Person, web: Site, body: str) -> None:
    """The page has a card, and the next one is read."""
    hard = web.page("/hard", "<title>Hard</title>", body)
    with trio.fail_after(60):
        assert (await preview(stage, ada, hard))["title"] == "Hard"
    assert (await preview(stage, ada, web.page("/tea", HEAD)))["title"] == "Tea & cake"


async def test_texts_and_addresses_of_strangers_are_made_harmless(stage: Stage, ada: Person, web: Site) -> None:
    long = "x" * 5000
    head = f"""
        <meta property="og:title" content="&lt;script&gt;\u202eevil\u0000&#7;\u2066&#xD800; {long}">
        <meta property="og:description" content="{long}"><meta property="og:site_name" content="{long}">
        <meta name="author" content="{long}"><meta property="article:author" content="javascript:alert(1)">
        <meta property="og:image" content="javascript:alert(1)"><meta property="og:image:alt" content="{long}">
        <meta property="og:video" content="javascript:alert(1)"><meta property="og:video:type" content="text/html">
        <meta name="twitter:player" content="https://evil.example/"><meta property="og:locale" content="{long}">
        <meta property="article:published_time" content="99999-99-99">
        <base href="javascript:alert(1)">
        <link rel="alternate" type="application/json+oembed" href="data:application/json,{{}}">
    """
    card = await preview(stage, ada, web.page("/tea", head))
    assert card["title"].startswith("<script>evil\ufffd xxx")
    texts = ("title", "description", "provider_name", "author_name", "image_description")
    assert [len(card[name]) for name in texts] == [500, 1000, 200, 200, 1000]
    nothing = ("html", "embed_url", "author_url", "image", "language", "published_at")
    assert not any(card[name] for name in nothing)
    assert card["type"] == "link"


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z"])
async def test_a_time_that_can_not_be_meant_is_left_out(stage: Stage, ada: Person, web: Site, time: str) -> None:
    """PostgreSQL's driver takes these for infinities, which no timeline could show."""
    head = f'<title>Tea</title><meta property="article:published_time" content="{time}">'
    card = await preview(stage, ada, web.page("/tea", head))
    assert (card["title"], card["published_at"]) == ("Tea", None)


# Edits, deletions and streams


async def edit(person: Person, status: Any, text: str, **more: str) -> None:
    assert (await person.put(f"/api/v1/statuses/{status['id']}", {"status": text, **more})).status == 200


async def test_an_edit_takes_the_card_away_with_the_link(stage: Stage, ada: Person, web: Site) -> None:
    url, other = web.page("/tea", HEAD), web.page("/coffee", "<title>Coffee</title>")
    status = await ada.publish(f"see {url}")
    assert (await card_of(stage, ada, status))["url"] == url
    await edit(ada, status, f"but see {url}")
    assert (await card_of(stage, ada, status))["url"] == url
    await edit(ada, status, f"now see {other}")
    assert (await ada.get(f"/api/v1/statuses/{status['id']}")).json["card"] in (None, await card_of(stage, ada, status))
    assert (await card_of(stage, ada, status))["title"] == "Coffee"
    await edit(ada, status, "see nothing")
    assert (await ada.get(f"/api/v1/statuses/{status['id']}")).json["card"] is None
    await edit(ada, status, f"see {url} again")
    assert (await card_of(stage, ada, status))["url"] == url
    medium = (await ada.post("/api/v2/media", files={"file": part(picture())})).json
    await edit(ada, status, f"see {url} again", **{"media_ids[]": medium["id"]})
    assert (await ada.get(f"/api/v1/statuses/{status['id']}")).json["card"] is None


async def test_a_link_that_was_edited_away_while_its_page_came_gives_no_card(
    stage: Stage, ada: Person, bob: Person, web: Site
) -> None:
    url = web.page("/tea", HEAD)
    held = web.hold("/tea")
    edited, deleted, kept = [await person.publish(f"see {url}") for person in (ada, ada, bob)]
    await web.was_asked("/tea")
    await edit(ada, edited, "see nothing")
    await ada.delete(f"/api/v1/statuses/{deleted['id']}")
    held.set()
    assert await card_of(stage, ada, edited) is None
    assert (await card_of(stage, ada, kept))["url"] == url
    assert await stage.rows("SELECT status_id FROM status_cards") == [[int(kept["id"])]]


async def test_a_deleted_status_leaves_its_card(stage: Stage, ada: Person, web: Site) -> None:
    status = await ada.publish(f"see {web.page('/tea', HEAD)}")
    assert await card_of(stage, ada, status)
    deleted = await ada.delete(f"/api/v1/statuses/{status['id']}")
    assert deleted.json["card"]["title"] == "Tea & cake"
    assert await stage.rows("SELECT FROM status_cards") == []


async def test_a_boost_shows_the_card_of_its_original(stage: Stage, ada: Person, bob: Person, web: Site) -> None:
    status = await ada.publish(f"see {web.page('/tea', HEAD)}")
    await bob.post(f"/api/v1/statuses/{status['id']}/reblog")
    await fetched(stage)
    (boost,) = (await bob.get(f"/api/v1/accounts/{bob.id}/statuses")).json
    assert boost["reblog"]["card"]["title"] == "Tea & cake"


# Other servers that are slow or away


async def test_a_slow_site_delays_no_other_one(stage: Stage, ada: Person, web: Site) -> None:
    held = [web.hold(f"/slow?{number}") for number in range(12)]
    for number in range(12):
        await ada.publish(f"see {web.url('/slow', 'slow.test')}?{number}")
    await web.was_asked("/slow?0")
    status = await ada.publish(f"see {web.page('/tea', HEAD)}")
    await until_found(lambda: shown_card(ada, f"/api/v1/statuses/{status['id']}"))
    assert len([one for one in web.peer.asked if one.path.startswith("/slow")]) == 1, "one at a time of one site"
    for event in held:
        event.set()


@pytest.mark.parametrize("status", [500, 503, 429, 408])
async def test_a_page_in_trouble_is_fetched_again(stage: Stage, ada: Person, web: Site, status: int) -> None:
    url = web.file("/tea", b"no", "text/html", status=status)
    assert await preview(stage, ada, url) is None
    ((attempts, error),) = await stage.rows("SELECT attempts, error FROM outbox WHERE kind = 'preview'")
    assert (attempts, str(status) in error) == (1, True)
    web.page("/tea", HEAD)
    await stage.sql("UPDATE outbox SET due_at = now() WHERE kind = 'preview'")
    stage.outbox.wake(PREVIEWS)
    await until_found(lambda: newest_card(ada))


async def test_a_page_that_stays_in_trouble_is_given_up_for_all_its_statuses(
    stage: Stage, ada: Person, bob: Person, web: Site
) -> None:
    url = web.file("/tea", b"no", "text/html", status=500)
    for person in (ada, bob):
        await person.publish(f"see {url}")
    for tries in range(1, 5):
        await web.was_asked("/tea", tries)
        tried = "SELECT FROM outbox WHERE attempts = $1 UNION ALL SELECT FROM preview_cards"
        await until_found(partial(stage.rows, tried, tries))
        await stage.sql("UPDATE outbox SET due_at = now() WHERE attempts > 0")
        stage.outbox.wake(PREVIEWS)
    await until_none(lambda: stage.rows("SELECT FROM outbox"))
    assert web.asked("/tea") == 4
    assert await stage.rows("SELECT url, found FROM preview_cards") == [[url, False]]
    assert [facts["effect"] for facts in stage.told("outbox.given_up")] == ["preview"]


async def test_waiting_for_a_site_that_is_left_alone_is_no_try(stage: Stage, ada: Person, web: Site) -> None:
    busy = web.file("/busy", b"no", "text/html", status=503, Retry_After="900")
    assert await preview(stage, ada, busy) is None
    assert await preview(stage, ada, web.page("/tea", HEAD)) is None
    for _ in range(5):
        await stage.sql("UPDATE outbox SET due_at = now(), error = NULL WHERE kind = 'preview' AND attempts = 0")
        stage.outbox.wake(PREVIEWS)
        await fetched(stage)
    ((attempts, error),) = await stage.rows("SELECT attempts, error FROM outbox WHERE payload->>'url' LIKE '%/tea'")
    assert (attempts, "are paused" in error) == (0, True)
    assert web.asked("/tea") == 0
    assert await stage.rows("SELECT FROM preview_cards") == [], "nothing is known of the page"


async def test_a_page_whose_reader_was_killed_is_read_again(
    stage: Stage, ada: Person, web: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = kill_readers(monkeypatch, times=1)
    status = await ada.publish(f"see {web.page('/tea', HEAD)}")
    assert await card_of(stage, ada, status) is None
    await stage.sql("UPDATE outbox SET due_at = now(), error = NULL")
    stage.outbox.wake(PREVIEWS)
    assert (await card_of(stage, ada, status))["title"] == "Tea & cake"
    assert len(killed) == 1


async def test_a_page_that_kills_each_reader_is_given_up(
    stage: Stage, ada: Person, web: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = kill_readers(monkeypatch, times=100)
    status = await ada.publish(f"see {web.page('/tea', HEAD)}")
    for _ in range(MOST_TRIES):
        assert await card_of(stage, ada, status) is None
        await stage.sql("UPDATE outbox SET due_at = now(), error = NULL")
        stage.outbox.wake(PREVIEWS)
    await fetched(stage)
    assert len(killed) == MOST_TRIES
    assert await stage.rows("SELECT found FROM preview_cards") == [[False]]
    assert [facts["effect"] for facts in stage.told("outbox.given_up")] == ["preview"]


def kill_readers(monkeypatch: pytest.MonkeyPatch, times: int) -> list[Job]:
    """Have the first processes that read pages killed, as a machine without memory does. Return their jobs."""
    killed: list[Job] = []
    run = process.run

    async def run_or_kill(job: Job) -> int:
        if job.task != "page" or len(killed) == times:
            return await run(job)
        killed.append(job)
        return -signal.SIGKILL

    monkeypatch.setattr(process, "run", run_or_kill)
    return killed


# Cards in time


OLD = "UPDATE preview_cards SET fetched_at = now() - interval '15 days'"


async def test_a_card_is_fetched_again_after_two_weeks_for_the_next_status(
    stage: Stage, ada: Person, web: Site, tmp_path: Path
) -> None:
    web.file("/cake.png", picture(), "image/png")
    image = '<meta property="og:image" content="/cake.png">'
    url = web.page("/tea", HEAD + image)
    status = await ada.publish(f"see {url}")
    first = await card_of(stage, ada, status)
    web.page("/tea", "<title>New tea</title>" + image)
    assert (await preview(stage, ada, url))["title"] == "Tea & cake"
    await stage.sql(OLD)
    assert (await preview(stage, ada, url))["title"] == "New tea"
    again = await card_of(stage, ada, status)
    assert (again["title"], again["image"] != first["image"]) == ("New tea", True)
    assert [file.name for file in (tmp_path / "media").rglob("*.webp")] == [again["image"].rpartition("/")[2]]
    web.answers["/tea"] = always(answer(404))
    await stage.sql(OLD)
    assert (await preview(stage, ada, url))["title"] == "New tea", "a page that is gone keeps its card"


async def test_a_card_without_statuses_is_deleted_in_the_end(
    stage: Stage, ada: Person, web: Site, tmp_path: Path
) -> None:
    web.file("/cake.png", picture(), "image/png")
    unused = await ada.publish(f"see {web.page('/tea', HEAD + '<meta property=og:image content=/cake.png>')}")
    assert (await card_of(stage, ada, unused))["image"]
    used = await ada.publish(f"see {web.page('/coffee', HEAD)}")
    assert await preview(stage, ada, web.url("/nothing")) is None
    await ada.delete(f"/api/v1/statuses/{unused['id']}")
    await stage.http_context.media.cleaning.clean()
    assert len(await stage.rows("SELECT FROM preview_cards")) == 3
    await stage.sql(OLD)
    await stage.http_context.media.cleaning.clean()
    assert await stage.rows("SELECT url FROM preview_cards") == [[web.url("/coffee")]]
    assert (await card_of(stage, ada, used))["title"] == "Tea & cake"
    await until(lambda: not list((tmp_path / "media").rglob("*.webp")))


async def test_pictures_of_cards_obey_the_budget_and_the_oldest_go_first(
    stage: Stage, ada: Person, web: Site, tmp_path: Path
) -> None:
    web.file("/cake.png", picture(), "image/png")
    head = HEAD + "<meta property=og:image content=/cake.png>"
    old, new = [await ada.publish(f"see {web.page(path, head)}") for path in ("/tea", "/coffee")]
    for status in (old, new):
        assert (await card_of(stage, ada, status))["image"]
    ((size,),) = await stage.rows("SELECT DISTINCT image_size FROM preview_cards")
    assert {file.stat().st_size for file in (tmp_path / "media").rglob("*.webp")} == {size}
    aged = "UPDATE preview_cards SET fetched_at = fetched_at - interval '2 days' WHERE url = $1"
    await stage.sql(aged, web.url("/tea"))
    context = stage.http_context
    await context.database.transact(changed_settings.put_media_budget, 2 * size - 1, context.clock.now())
    await context.media.cleaning.clean()

    async def old_picture() -> Any:
        return (await card_of(stage, ada, old))["image"]

    await until_none(old_picture)
    await until(lambda: len(list((tmp_path / "media").rglob("*.webp"))) == 1)
    assert (await card_of(stage, ada, old))["title"] == "Tea & cake"
    image = (await card_of(stage, ada, new))["image"]
    assert [file.name for file in (tmp_path / "media").rglob("*.webp")] == [image.rpartition("/")[2]]

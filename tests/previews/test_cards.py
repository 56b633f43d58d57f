"""What of a page and its oEmbed answer becomes a card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from troupe.actors.media import pages
from troupe.actors.media.jobs import Job
from troupe.actors.media.page_facts import PageFacts
from troupe.actors.media.pages import facts_of
from troupe.actors.previews.cards import NO_OEMBED, OEmbed, draft_of, time_of, web_address
from troupe.actors.rules.instants import instant_of

VIDEO = "https://www.youtube.com/watch?v=1"
FRAME = (
    '<iframe src="https://www.youtube.com/embed/1" width="560" height="315"'
    ' sandbox="allow-scripts allow-same-origin allow-popups allow-presentation allow-forms"'
    ' allowfullscreen="allowfullscreen" referrerpolicy="strict-origin-when-cross-origin"></iframe>'
)


def video(html: str) -> OEmbed:
    return OEmbed({"type": "video", "title": "A film", "html": html, "width": 1, "height": 1})


def test_a_known_player_gets_a_frame_of_the_servers_own() -> None:
    html = (
        '<script>alert(1)</script><iframe onload="alert(1)" srcdoc="x" width="560" height="315"'
        ' src="https://www.youtube.com/embed/1"></iframe>'
    )
    draft = draft_of(VIDEO, PageFacts(title="A film"), video(html))
    assert draft is not None
    assert (draft.facts.type, draft.facts.html) == ("video", FRAME)
    assert (draft.facts.width, draft.facts.height) == (560, 315)


def test_a_player_may_be_named_by_the_page() -> None:
    page = PageFacts(title="A film", player="https://www.youtube.com/embed/1?a=b&c", width="9999999", height="-1")
    draft = draft_of("https://youtu.be/1", page, NO_OEMBED)
    assert draft is not None
    assert 'src="https://www.youtube.com/embed/1?a=b&amp;c" width="640" height="360"' in draft.facts.html


@pytest.mark.parametrize(
    ("url", "source"),
    [
        (VIDEO, "http://www.youtube.com/embed/1"),
        (VIDEO, "https://www.youtube.com:8443/embed/1"),
        (VIDEO, "https://ada@www.youtube.com/embed/1"),
        (VIDEO, "https://www.youtube.com.evil.example/embed/1"),
        (VIDEO, "https://player.vimeo.com/video/1"),
        (VIDEO, "javascript:alert(1)"),
        (VIDEO, "data:text/html,x"),
        (VIDEO, 'https://evil.example/"><script>'),
        ("https://evil.example/", "https://www.youtube.com/embed/1"),
        ("https://notyoutube.com/", "https://www.youtube.com/embed/1"),
        ("https://youtube.com.evil.example/", "https://www.youtube.com/embed/1"),
    ],
)
def test_every_other_frame_is_left_out(url: str, source: str) -> None:
    draft = draft_of(url, PageFacts(title="A film", player=source), video(f"<iframe src='{source}'></iframe>"))
    assert draft is not None
    assert (draft.facts.type, draft.facts.html) == ("link", "")


def test_quotes_in_the_address_of_a_player_stay_inside_of_it() -> None:
    source = "https://www.youtube.com/embed/1?a=&quot;&gt;&lt;script&gt;"
    draft = draft_of(VIDEO, PageFacts(title="A film"), video(f'<iframe src="{source}"></iframe>'))
    assert draft is not None
    assert draft.facts.html.count("<") == 2
    assert draft.facts.html.startswith(f'<iframe src="{source}" width=')


def test_a_photo_needs_no_title() -> None:
    draft = draft_of("https://a.example/p", PageFacts(), OEmbed({"type": "photo", "url": "/p.jpg", "width": "7"}))
    assert draft is not None
    assert (draft.facts.type, draft.facts.title) == ("photo", "a.example")
    assert draft.facts.embed_url == draft.image_url == "https://a.example/p.jpg"


def test_an_oembed_answer_may_hold_anything() -> None:
    oembed = OEmbed({name: [{"a": 1}] for name in ("type", "title", "author_name", "html", "width", "thumbnail_url")})
    draft = draft_of("https://a.example/", PageFacts(title="Tea"), oembed)
    assert draft is not None
    assert draft.facts.title == "Tea"


def test_a_page_without_a_title_has_no_card() -> None:
    assert draft_of("https://a.example/", PageFacts(description="Tea", title=" \u202e "), NO_OEMBED) is None


@pytest.mark.parametrize(
    ("title", "page", "expected"),
    [
        ("The &#8216;value&#8217;", "The \u2018value\u2019 \u2013 A blog", "The \u2018value\u2019"),
        ("Why JSON isn&#8217;t", "", "Why JSON isn\u2019t"),
        ("Tea &amp; cake", "Tea & cake", "Tea & cake"),
        ("How to write &amp; in HTML", "How to write &amp; in HTML - Videos", "How to write &amp; in HTML"),
        ("AT&T <3", "", "AT&T <3"),
    ],
)
def test_a_title_of_an_oembed_answer_may_be_escaped(title: str, page: str, expected: str) -> None:
    draft = draft_of("https://a.example/", PageFacts(title=page), OEmbed({"title": title, "author_name": "A &amp; B"}))
    assert draft is not None
    assert (draft.facts.title, draft.facts.author_name) == (expected, "A & B")


def test_relative_addresses_start_at_the_base_of_the_page() -> None:
    page = PageFacts(title="Tea", image="img/a.jpg?a=1&b=2", player="embed/1", base="https://www.youtube.com/x/")
    draft = draft_of("https://youtu.be/1", page, NO_OEMBED)
    assert draft is not None
    assert draft.image_url == "https://www.youtube.com/x/img/a.jpg?a=1&b=2"
    assert 'src="https://www.youtube.com/x/embed/1"' in draft.facts.html


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>Tea &amp; cake &lt;3</title>", "Tea & cake <3"),
        ("<title>The <b> tag & more</title>", "The <b> tag & more"),
        ("<title>A &amp;amp; B</title>", "A &amp; B"),
        ("<svg><title>Drawn</title></svg><TITLE>Tea</TITLE>", "Tea"),
        ('<meta property="og:title" content="It&amp;#39;s tea"><title>It&#39;s tea | Blog</title>', "It's tea"),
        ('<meta property="og:title" content="On &amp;amp;"><title>On &amp;amp; | Blog</title>', "On &amp;"),
        ('<meta property="og:title" content="It&amp;#39;s"><title>It\u2019s | Blog</title>', "It's"),
        ('<meta property="og:title" content=" &nbsp;\u200b\u3164"><title>Own</title>', "Own"),
        ("<title> \n\u2060</title><title>Own</title>", "Own"),
        ("<template><title>Part</title></template><title>Own</title>", "Own"),
        ("<title><![CDATA[Tea & cake]]></title>", "Tea & cake"),
        ("<svg><title>Drawn</title></svg>", ""),
        ("<title>\u200b\ufeff</title>", ""),
        ("<title>Tea &amp; cake", "Tea & cake"),
        ("<title>Tea</title><!-- <title>Comment</title>", "Tea"),
        ("<iframe><title>Inside</title></iframe><title>Own</title>", "Own"),
        ("", ""),
        ('<meta property="og:title" content=""><meta name="twitter:title" content="T"><title>Own</title>', "T"),
        ('<meta name="twitter:title" content="T"><meta name="og:title" content="O">', "O"),
    ],
)
def test_the_title_of_a_page_is_as_its_readers_see_it(head: str, title: str) -> None:
    assert facts_of(head).title == title


@pytest.mark.parametrize(
    ("written", "image"),
    [
        ("https://i.example/a?x=1&amp;y=2", "https://i.example/a?x=1&y=2"),
        ("https://i.example/a?x=1&amp;amp;y=2", "https://i.example/a?x=1&y=2"),
        ("https://i.example/a?x=1&copy=2&region=3", "https://i.example/a?x=1&copy=2&region=3"),
    ],
)
def test_references_in_the_address_of_an_image_are_read_as_browsers_do(written: str, image: str) -> None:
    assert facts_of(f'<meta property="og:image" content="{written}">').image == image


@pytest.mark.parametrize(
    "head",
    [
        '<meta property="og:image" content="data:image/png;base64,AA=="><meta name="twitter:image" content="/tea.png">',
        '<meta property="og:image" content=""><meta property="og:image" content="../tea.png">',
        '<meta property="og:image" content="https://"><meta property="og:image" content="/tea.png">',
        '<meta property="og:image" content="undefined"><link rel="image_src" href="/tea.png">',
        '<meta itemprop="image" content="//x.example/tea.png">',
        '<meta property="og:image" content=" \\tea.png\n ">',
        '<meta property="og:image" content="/t.svg?a=1"><meta name="twitter:image" content="/tea.png">',
        '<base href="/sub/deep"><meta property="og:image" content="../tea.png">',
    ],
)
def test_the_image_is_the_first_one_that_a_page_can_show(head: str) -> None:
    draft = draft_of("https://x.example/a/b", facts_of(f"<title>Tea</title>{head}"), NO_OEMBED)
    assert draft is not None
    assert draft.image_url == "https://x.example/tea.png"


def test_texts_that_are_escaped_twice_are_read() -> None:
    facts = facts_of(
        '<title>Tea</title><meta name="author" content="O&amp;#8217;Brien &amp;amp; Co">'
        '<meta property="og:description" content="It&amp;#8217;s tea">'
        '<meta property="og:site_name" content="A &amp; B">'
    )
    assert (facts.author_name, facts.provider_name) == ("O\u2019Brien & Co", "A & B")
    assert facts.description == "It\u2019s tea"


@pytest.mark.parametrize(
    ("written", "description"),
    [
        ("&lt;p&gt;Hot &lt;b&gt;tea&lt;/b&gt; &amp;amp; cake&lt;/p&gt;", "Hot tea & cake"),
        ('<p class="a">Hot</p>\n<p>tea</p>', "Hot tea"),
        ("The <b> tag and </b>", "The <b> tag and </b>"),
        ("<3 tea", "<3 tea"),
        ("<" * 1000, "<" * 1000),
    ],
)
def test_a_description_is_text(written: str, description: str) -> None:
    quote = "'" if '"' in written else '"'
    page = f"<title>Tea</title><meta name=description content={quote}{written}{quote}>"
    draft = draft_of("https://a.example/", facts_of(page), NO_OEMBED)
    assert draft is not None
    assert draft.facts.description == description


@pytest.mark.parametrize("blank", ["", " \n ", "\u200b", "\u3164"])
def test_an_oembed_answer_without_a_title_leaves_that_of_the_page(blank: str) -> None:
    draft = draft_of("https://a.example/", PageFacts(title="Tea"), OEmbed({"title": blank, "author_name": blank}))
    assert draft is not None
    assert (draft.facts.title, draft.facts.author_name) == ("Tea", "")


GRAPH = """{"@context": "https://schema.org", "@graph": [
 {"@type": ["Article", "BlogPosting"], "headline": "The &#8216;value&#8217;
 of tea", "author": {"name": "Ann Lee", "@id": "https://a.example/#ann"}, "image": {"@id": "https://a.example/#image"},
  "datePublished": "2026-02-03T04:05:06+00:00", "publisher": {"@id": "https://a.example/#org"}},
 {"@type": "ImageObject", "@id": "https://a.example/#image", "contentUrl": "https://a.example/tea.jpg?a=1&amp;b=2"},
 {"@type": "Person", "@id": "https://a.example/#ann", "name": "Other", "url": "https://a.example/ann"},
 {"@type": "Organization", "@id": "https://a.example/#org", "name": ["Tea &amp; Co"]}]}"""


@pytest.mark.parametrize("wrapped", [GRAPH, f"<!-- {GRAPH} -->", f"//<![CDATA[\n{GRAPH}\n//]]>", f"{GRAPH};"])
def test_linked_data_is_read_as_pages_write_it(wrapped: str) -> None:
    facts = facts_of(f'<script type="application/ld+json; charset=utf-8">{wrapped}</script><title>Tea</title>')
    assert " ".join(facts.title.split()) == "The \u2018value\u2019 of tea"
    assert (facts.author_name, facts.author_url) == ("Ann Lee", "https://a.example/ann")
    assert (facts.image, facts.provider_name) == ("https://a.example/tea.jpg?a=1&b=2", "Tea & Co")
    assert facts.published_at == "2026-02-03T04:05:06+00:00"


@pytest.mark.parametrize("kind", ["OpinionNewsArticle", "https://schema.org/TechArticle", "LiveBlogPosting"])
def test_every_kind_of_article_describes_its_page(kind: str) -> None:
    linked = f'{{"@type": "{kind}", "headline": "Tea", "author": ["Ann", "Ben"], "image": ["https://a.example/1"]}}'
    facts = facts_of(f'<script type="application/ld+json">{linked}</script>')
    assert (facts.title, facts.author_name, facts.image) == ("Tea", "Ann", "https://a.example/1")


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("/a?b#c", "https://x.example/a?b"),
        ("//y.example", "https://y.example/"),
        (" HTTPS://Ä.example/ä ", "https://xn--4ca.example/%C3%A4"),
        ("http://y.example", "http://y.example/"),
        ("/a b\\c?d=e\\f g", "https://x.example/a%20b/c?d=e%5Cf%20g"),
        ("/a\n  b", "https://x.example/a%20%20b"),
        ("", ""),
        ("javascript:alert(1)", ""),
        ("java\nscript:alert(1)", ""),
        ("data:,x", ""),
        ("https://ada@y.example/", ""),
        ("https://127.0.0.1/", ""),
        ("https://[/", ""),
        ("/" + "ä" * 1000, ""),
    ],
)
def test_addresses_are_in_full_and_of_the_web(written: str, address: str) -> None:
    assert web_address("https://x.example/page", written) == address


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-02-03T04:05:06+01:00", datetime(2026, 2, 3, 3, 5, 6, tzinfo=UTC)),
        ("2026-02-03", datetime(2026, 2, 3, tzinfo=UTC)),
        ("0001-01-01T00:00:00+23:59", None),
        ("9999-12-31T23:59:59-23:59", None),
        ("1500-01-01", None),
        ("yesterday", None),
    ],
)
def test_times_are_those_that_can_be(text: str, time: datetime | None) -> None:
    assert instant_of(text) == time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-02-03 04:05:06 UTC", datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("2026-02-03 04:05:06 +0100", datetime(2026, 2, 3, 3, 5, 6, tzinfo=UTC)),
        ("Tue, 03 Feb 2026 04:05:06 GMT", datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("Tue Feb  3 04:05:06 2026", datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("1 Jan 99999999999 00:00:00", None),
        ("32 Jan 2026 00:00:00 +9999", None),
        ("Tue, 02/03/2026 - 04:05", None),
        ("9999-12-31T23:59:59.999999Z", None),
        ("", None),
    ],
)
def test_times_of_pages_are_read_as_programs_write_them(text: str, time: datetime | None) -> None:
    assert time_of(text) == time


LINKED = '<script type="application/ld+json">{{"@type": "Article", "headline": "Tea", "author": {0}}}</script>'
ANN = '{"name": "Ann", "url": "https://a.example/ann"}'


@pytest.mark.parametrize(
    ("head", "author"),
    [
        (LINKED.format('"Ann Lee"'), ("Ann Lee", "")),
        (LINKED.format('["Ann", "Ben"]'), ("Ann", "")),
        (LINKED.format(f"[{ANN}]"), ("Ann", "https://a.example/ann")),
        (LINKED.format('"https://a.example/ann"'), ("", "https://a.example/ann")),
        ('<meta name="author" content="https://a.example/ann">', ("", "https://a.example/ann")),
        (f'<meta name="author" content="https://b.example/">{LINKED.format(ANN)}', ("Ann", "https://a.example/ann")),
        (f'<meta property="article:author" content="https://b.example/">{LINKED.format(ANN)}',
         ("Ann", "https://b.example/")),
    ],
)  # fmt: skip
def test_an_author_is_a_name_and_an_address(head: str, author: tuple[str, str]) -> None:
    draft = draft_of("https://a.example/b/", facts_of(f"<title>Tea</title>{head}"), NO_OEMBED)
    assert draft is not None
    assert (draft.facts.author_name, draft.facts.author_url) == author


def test_what_is_for_browsers_without_scripts_is_not_the_page() -> None:
    facts = facts_of(
        '<html xml:lang="de"><noscript><title>Please turn JavaScript on</title>'
        '<meta http-equiv="refresh" content="0;url=/nojs"></noscript>'
        '<title>Tea</title><meta itemprop="datePublished" content="2026-02-03">'
    )
    assert (facts.title, facts.refresh, facts.language, facts.published_at) == ("Tea", "", "de", "2026-02-03")


@pytest.mark.parametrize(
    "page",
    [
        '<html lang="de"><title>Tee</title>',
        '<!-- <html lang="en"> --><html class=a lang=de><title>Tee</title>',
        '<br><b>Warning</b>: a file is missing\n<!doctype html><HTML class="a" lang="de"><title>Tee</title>',
    ],
)
def test_the_language_is_that_of_the_page_also_after_text(page: str) -> None:
    assert facts_of(page).language == "de"


def test_a_page_with_too_many_open_elements_is_read_up_to_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each of its end tags, libxml2 would look through 150,000 open elements, which takes half a minute."""
    begun: list[str] = []
    start = pages.PageParser.start

    def count(reader: pages.PageParser, tag: str, attributes: Mapping[str, str]) -> None:
        begun.append(tag)
        start(reader, tag, attributes)

    monkeypatch.setattr(pages.PageParser, "start", count)
    assert facts_of("<title>tea</title>" + "<b>" * 150_000 + "</i>" * 100).title == "tea"
    assert len(begun) <= pages.MOST_OPEN + pages.FED_AT_ONCE


@pytest.mark.parametrize("missing", range(0, 60, 3))
def test_a_head_is_read_as_well_where_two_parts_of_a_page_meet(missing: int) -> None:
    blank = "<!--" + "x" * (pages.FED_AT_ONCE - missing - 20) + "-->"
    head = '<title>t\u00e9a &amp; more</title><meta property="og:description" content="gr\u00fcn &amp; good">'
    facts = facts_of(f"<html lang=en>{blank}{head}")
    assert (facts.title, facts.description, facts.language) == ("t\u00e9a & more", "gr\u00fcn & good", "en")


def test_an_encoding_whose_code_can_not_be_read_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The process is confined: it can't import the encoding of a label that is written with references."""

    def refuse(label: str) -> None:
        raise PermissionError(label)

    monkeypatch.setattr(pages.webencodings, "lookup", refuse)
    source = tmp_path / "page"
    source.write_bytes(b'<meta charset="&#107;oi8-r"><title>tea</title>')
    made = json.loads(pages.make_page(Job("page", "", str(source), "", "")))
    assert made["page"]["title"] == "tea"

"""For any input, a browser can only show the output."""

import time
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from troupe.actors.rules import markup
from troupe.actors.rules.text import (
    ContentType,
    MentionTarget,
    plain,
    render,
    render_field_value,
    render_note,
    sanitise,
    tidy,
)

MENTIONS = {
    "a": MentionTarget("a", None, "https://t.example/@a"),
    "a@b": MentionTarget("a", "b", 'https://b/"><script>alert(1)</script>'),
    "c": MentionTarget("<b>c", "d", "javascript:alert(1)"),
}
TYPES: list[ContentType] = ["text/plain", "text/markdown", "text/html"]

# Spelled out once more: a test that asked the sanitiser for its list would never fail.
TAGS = set(
    "p br span a del s pre code em strong b i u ul ol li blockquote ruby rt rp".split()  # noqa: SIM905 as the API has them
)
SCHEMES = {"http", "https", "gemini", "gopher", "ipfs", "ipns", "magnet", "xmpp"}
CLASSES = {
    "a": {"mention", "hashtag", "u-url", "u-uid", "p-name"},
    "span": {"h-card", "invisible", "ellipsis", "p-name", "quote-inline"},
    "p": {"quote-inline"},
}
ATTRIBUTES = {
    "a": {"href", "class", "target", "rel", "translate"},
    "p": {"class"},
    "span": {"class", "translate"},
    "ol": {"start"},
    "li": {"value"},
}

PIECES = st.sampled_from([
    "<", ">", "</", "/>", "<p>", "</p>", "<b>", "</b>", "<i id=1>", "<a href='https://x.example'>", "</a>", "<br>",
    "<pre>\n", "<a href=javascript:alert(1)>", '<a href="https://x/" class="mention hashtag" rel="me">', "<table>",
    "<td>", "<h1>", "<li>", "<ol start=1>", "<ul>", "<button>", "<svg>", "<math>", "<style>", "</style>", "<script>",
    "</script>", "<rt>", "<textarea>", "<title>", "<select>", "<template>", "<!--", "-->", "<![CDATA[", "]]>",
    "<plaintext>", "<noscript>", "<img src=x onerror=alert(1)>", "<span class=invisible>", "<span class='x h-card'>",
    "<blockquote>", "<ruby>", "&lt;", "&", "&amp;", "&#0;", "&#13;", "&nbsp;", "&#x3c;script>", '"', "'", "`",
    "```\n", "**", "_", "~~", "[x](", ")", "> ", "- ", "@a", "@a@b", "@c", "@a@\u00e9.example", "#a", "\uff03b", " ",
    "\n", "\n\n", "\r", "\0", "\ud800", "\u202e", "\ufeff", "\xa0", "https://", "http://x.example/", "https://[::1]/",
    "http://1.2.3.4", "javascript:", "data:", "www.", ".", "/", "(", ":80",
])  # fmt: skip
HOSTILE = st.lists(PIECES | st.text(st.characters(codec=None), max_size=4), max_size=30).map("".join)


def shown(text: str, content_type: ContentType) -> str:
    return render(text, mentions=MENTIONS, tag_url=tag_url, local_domain="t.example", content_type=content_type)


def tag_url(name: str) -> str:
    return f'https://t.example/tags/"{name}"'


class Auditor(HTMLParser):
    """Reads HTML with a parser that has nothing to do with the one that wrote it, and objects."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        attributes = dict(attrs)
        assert len(attributes) == len(attrs)
        assert attributes.keys() <= ATTRIBUTES.get(tag, set())
        assert set((attributes.get("class") or "").split()) <= CLASSES.get(tag, set())
        if tag == "a":
            audit_link(attributes)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)


def audit_link(attributes: dict[str, str | None]) -> None:
    assert urlsplit(attributes["href"] or "").scheme in SCHEMES
    classes = (attributes.get("class") or "").split()
    if "mention" in classes:
        assert "target" not in attributes
        assert attributes.get("rel") == ("tag" if "hashtag" in classes else None)
    else:
        assert attributes["target"] == "_blank"
        assert {"nofollow", "noopener", "noreferrer"} <= set((attributes["rel"] or "").split())


def audit(html: str) -> None:
    html.encode()
    assert "\0" not in html
    auditor = Auditor()
    auditor.feed(html)
    auditor.close()


@given(HOSTILE, st.sampled_from(TYPES))
@settings(max_examples=400, deadline=None)
@example("@a@b", "text/plain")
@example("@c", "text/plain")
@example("@c", "text/html")
def test_what_is_rendered_is_safe_and_already_sanitised(text: str, content_type: ContentType) -> None:
    html = shown(text, content_type)
    audit(html)
    assert sanitise(html) == html
    assert shown(text, content_type) == html


@given(HOSTILE)
@settings(max_examples=400, deadline=None)
def test_what_is_sanitised_is_safe_and_stays_as_it_is(html: str) -> None:
    cleaned = sanitise(html)
    audit(cleaned)
    assert sanitise(cleaned) == cleaned


@given(HOSTILE)
@settings(max_examples=200, deadline=None)
def test_biographies_are_safe_and_already_sanitised(note: str) -> None:
    html = render_note(note, mentions=MENTIONS, tag_url=tag_url, local_domain="t.example")
    audit(html)
    assert sanitise(html) == html


@given(HOSTILE)
def test_fields_are_safe(value: str) -> None:
    html = render_field_value(value, mentions=MENTIONS, tag_url=tag_url, local_domain="t.example")
    audit(html)
    assert sanitise(html) == html.replace('rel="me nofollow', 'rel="nofollow')


@given(st.text(st.characters(codec=None)), st.sampled_from(["", ".example", ":80/", "/"]))
@settings(max_examples=400, deadline=None)
@example("a.\U0001dfd0", "")  # a letter of Unicode 18
@example("a.\U0001d7d0", "")  # a digit for mathematicians
def test_every_address_that_is_linked_is_one_for_browsers_too(host: str, rest: str) -> None:
    for text in (f"https://{host}{rest}", f"http://a.{host}{rest}", f"https://xn--{host}{rest}"):
        html = shown(text, "text/plain")
        assert sanitise(html) == html


@given(HOSTILE)
def test_no_text_is_lost(text: str) -> None:
    html = render(text, mentions={}, tag_url=tag_url, local_domain="t.example")
    # Only the sign of a full-width hashtag is shown as the usual one.
    assert plain(html).replace("\uff03", "#").split() == tidy(text).replace("\uff03", "#").split()


@given(HOSTILE)
def test_plain_text_has_no_tags_left(html: str) -> None:
    assert sanitise(markup.escape(plain(sanitise(html)))).strip() == markup.escape(tidy(plain(sanitise(html))))


COSTLY = [
    "<b>", "<b ", "<h1 ", "<", "&", "<!--", "</p>", "</br>", "<span></i>", "<ul><li>", "<blockquote>",
    "<a href=http://x>", "<table><a href=http://x>", "<template>", "<svg><p>", "<p><b id=1>", "<font size=1><p>",
    "<![CDATA[", "<a x=1 ", "' \">", "\n ", "<b\n", "</b ", "<p title='", "&#x", "]]>",
]  # fmt: skip


@pytest.mark.parametrize("unit", COSTLY)
@pytest.mark.parametrize("head", ["", "<svg>", "<p " + "x='"])
def test_sanitising_a_hundred_kilobytes_of_anything_takes_linear_time(head: str, unit: str) -> None:
    html = head + unit * (100_000 // len(unit))
    start = time.process_time()
    plain(sanitise(html))
    assert time.process_time() - start < 1.5


def test_formatting_that_a_parser_repeats_in_each_paragraph_stays_small() -> None:
    html = "<p>" + "".join(f"<b id={n}>" for n in range(900)) + "<p>x" * 900
    start = time.process_time()
    assert len(sanitise(html)) < 100_000
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    "unit", ["[", "](", "[a](<", "**a ", "_a", "> ", "- ", "-\n", "`", "<a ", "![", "[a]: b\n", "&#x"]
)
def test_markdown_takes_linear_time(unit: str) -> None:
    start = time.process_time()
    shown(unit * (100_000 // len(unit)), "text/markdown")
    shown(unit * (10_000 // len(unit)), "text/markdown")
    assert time.process_time() - start < 1.5

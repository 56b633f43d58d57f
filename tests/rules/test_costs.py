"""The work and the results of the largest texts are bounded: counted in characters, items and calls, not in time."""

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from troupe.actors.activitypub.normalization import normalize
from troupe.actors.activitypub.notes import (
    MOST_HASHTAGS,
    MOST_MENTIONS,
    MOST_TAGS,
    MOST_WRITTEN_HASHTAGS,
    ReceivedNote,
    read_note,
    tags_of,
)
from troupe.actors.activitypub.vocabulary import MOST_ELEMENTS
from troupe.actors.memory.cache import RowCache
from troupe.actors.rules import filters, markup, scan, text
from troupe.actors.rules.links import link_of
from troupe.actors.rules.scan import Entity
from troupe.actors.rules.text import ContentType
from troupe.http.entities.rendered import Rendered

from ..fuzz.fuzz import FRAGMENTS, repeated
from ..fuzz.text_targets import ADDRESS, StatusWithText

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOTE = {"id": f"{ADDRESS}/1", "type": "Note", "attributedTo": ADDRESS, "to": "as:Public"}


def calls_in(function: Callable[[], object]) -> int:
    """Return how many calls a function leads to, those into libraries of C included."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=repr)
def test_sanitised_html_is_no_longer_than_what_is_let_in(fragment: str) -> None:
    """An `&` becomes five characters, a hard space six: the result is cut too, at a whole element."""
    safe = markup.sanitise(repeated(fragment, markup.HTML_CHARACTERS * 2))
    assert len(safe) <= markup.HTML_CHARACTERS
    assert markup.sanitise(safe) == safe, "nothing is open at its end"


def test_html_is_cut_where_it_was_read_to() -> None:
    safe = markup.sanitise(f"<p><b>{'&' * 200_000}</b></p>")
    assert safe.startswith("<p><b>&amp;")
    assert safe.endswith("&amp;</b></p>")
    assert markup.HTML_CHARACTERS - 20 < len(safe) <= markup.HTML_CHARACTERS
    usual = "<p>" + 'word &amp; <a href="https://a.example/">link</a> ' * 900 + "</p>"
    assert markup.plain(markup.sanitise(usual)).count("word") == 900, "and a long post of a person is whole"


def test_html_that_grows_by_its_links_is_cut_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sanitised, steps = markup._sanitised, 0  # pyright: ignore[reportPrivateUsage]

    def counted(html: str, most_tags: int, most: int) -> str:
        nonlocal steps
        steps += 1
        return sanitised(html, most_tags, most)

    links = "<a href='https://e.x/'>tea</a>" * 900
    text = "x" * (markup.HTML_CHARACTERS - len(markup.sanitise(links)) + 5)
    nothing = repeated(f"<b title='{'x' * 4_000}'></b>", markup.HTML_CHARACTERS)
    monkeypatch.setattr(markup, "_sanitised", counted)
    safe = markup.sanitise(f"<blockquote>{links}{text}{nothing}")
    assert steps == 2
    assert safe.endswith("x</blockquote>")
    assert len(safe) == markup.HTML_CHARACTERS


def test_only_so_many_tags_of_a_post_are_looked_at() -> None:
    hashtags = [{"type": "Hashtag", "name": f"#{n % 3}x"} for n in range(8_000)]
    mentions = [{"type": "Mention", "href": f"https://b.example/{n}"} for n in range(8_000)]
    assert len(tags_of({"tag": hashtags})) == MOST_TAGS
    few, many = (normalize({**NOTE, "tag": hashtags[:count]}) for count in (MOST_TAGS, 8_000))
    assert calls_in(lambda: read_note(many, None, NOW)) <= calls_in(lambda: read_note(few, None, NOW)) + 100
    late = [*hashtags[:MOST_WRITTEN_HASHTAGS], {"type": "Hashtag", "name": "#late"}]
    read = read_of({**NOTE, "tag": late})
    assert {tag.name for tag in read.hashtags} == {"0x", "1x", "2x"}
    named = read_of({**NOTE, "to": [one["href"] for one in mentions], "tag": mentions})
    assert len(named.mentioned) == MOST_MENTIONS
    distinct = [{"type": "Hashtag", "name": f"#tag{n}"} for n in range(8_000)]
    assert len(read_of({**NOTE, "tag": distinct}).hashtags) == MOST_HASHTAGS


def read_of(document: dict[str, Any]) -> ReceivedNote:
    read = read_note(normalize(document), None, NOW)
    assert read is not None
    return read


def test_a_longer_list_than_servers_write_is_cut() -> None:
    assert len(normalize({"to": [f"https://b.example/{n}" for n in range(20_000)]})["to"]) == MOST_ELEMENTS


def test_of_a_status_so_many_characters_are_searched() -> None:
    found = filters.filter_text(cast(Any, StatusWithText("<p>" + "<b></b>" * 10_000 + "end</p>")))
    assert "end" not in found.words
    assert len(filters.filter_text(cast(Any, StatusWithText("a " * 60_000))).marked) <= 4 * filters.TEXT_CHARACTERS


def test_what_is_kept_in_memory_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("troupe.http.entities.rendered.MOST_BYTES", 1_000)
    monkeypatch.setattr("troupe.actors.memory.cache.MOST_BYTES", 1_000)

    async def none(ids: list[int]) -> dict[int, bytes]:
        return {}

    rendered, rows = Rendered[bytes](100, len), RowCache[bytes](none, 100, len)
    for id in range(50):
        rendered.keep(b"x" * 100, id, ())
        rendered.keep(b"x" * 90, id, ())  # made anew: it is weighed once
        rows.put(id, b"x" * 100, rows.changes)
        rows.put(id, b"x" * 90, rows.changes)
    assert [id for id in range(50) if rendered.find(id, ()) is not None] == list(range(39, 50))
    assert [id for id in range(50) if rows.peek(id) is not None] == list(range(39, 50))
    rendered.keep(b"x" * 5_000, 99, ())
    assert rendered.find(99, ()) is None


def render_and_scan(source: str, content_type: ContentType) -> None:
    text.render(source, mentions={}, tag_url=str, local_domain="here.example", content_type=content_type)
    text.scan(source, content_type)


def link_in(html: str) -> None:
    link_of(cast(Any, StatusWithText(markup.sanitise(html))), "https://here.example")


READERS: dict[str, tuple[Callable[[str], object], str, int]] = {
    "text": (lambda source: list(scan.find(source)), "{} ", 1),
    "lines": (lambda source: render_and_scan(source, "text/plain"), "{}\n\n", 2),
    "HTML": (lambda source: render_and_scan(source, "text/html"), "<b>{}</b>", 2),
    "Markdown": (lambda source: text.markdown.to_html(source[: text.MARKDOWN_CHARACTERS]), "{}\n\n", 1),
    "link": (link_in, '<a href="https://a.example/">{}</a>', 1),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("end", ["la", "la-"])
@pytest.mark.parametrize("label", ["\xfc.", "b\u00fccher.", "xn--bcher-kva.", "XN--ls8h.", "a\u2764.", "\u307f\u3093."])
@pytest.mark.parametrize("sign", ["https://", "@a@"])
def test_so_much_of_international_domains_is_read(
    monkeypatch: pytest.MonkeyPatch, sign: str, label: str, end: str, name: str
) -> None:
    """The limit is that of the whole text, in whatever parts it is read."""
    read, part, times = READERS[name]
    ascii_domain, cost = scan.ascii_domain, 0

    def counted(domain: str) -> str | None:
        nonlocal cost
        cost += len(domain) + scan.INTERNATIONAL_LABEL * domain.count(".")
        return ascii_domain(domain)

    monkeypatch.setattr(scan, "ascii_domain", counted)
    read("".join(part.format(f"{sign}{label * 20}{end} {number}") for number in range(300)))
    assert cost < times * (scan.INTERNATIONAL_CHARACTERS + 700)


@pytest.mark.parametrize("sign", ["https://", "@a@"])
def test_many_international_domains_are_read(sign: str) -> None:
    assert len(list(scan.find(f"{sign}b\u00fccher.example " * 400))) == 400


def test_markdown_with_images_is_scanned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser reads the text of each image in between."""
    find, scanned = scan.EntityFinder.find, 0

    def counted(self: scan.EntityFinder, source: str, start: int = 0) -> Iterator[Entity]:
        nonlocal scanned
        scanned += len(source)
        return find(self, source, start)

    monkeypatch.setattr(scan.EntityFinder, "find", counted)
    source = "".join(f"![![{number}](https://a.example)](https://a.example)" for number in range(100))
    text.markdown.to_html(source)
    assert scanned < 3 * len(source)


def test_markdown_and_html_are_parsed_once_for_a_post(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    to_html = text.markdown.to_html

    def counted(source: str) -> str:
        parsed.append(source)
        return to_html(source)

    monkeypatch.setattr(text.markdown, "to_html", counted)
    source = "*a* post that no other test writes #once"
    assert text.scan(source, "text/markdown").tags() == ("once",)
    text.render(source, mentions={}, tag_url=str, local_domain="here.example", content_type="text/markdown")
    assert parsed == [source]

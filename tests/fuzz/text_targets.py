"""The rules of texts, each with the largest text that reaches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, cast

from troupe.actors.activitypub.links import MOST_RELATIVE_LINKS, with_whole_links
from troupe.actors.activitypub.normalization import normalize
from troupe.actors.activitypub.notes import read_note
from troupe.actors.activitypub.uris import web_address
from troupe.actors.activitypub.vocabulary import LONGEST_URI, PUBLIC
from troupe.actors.federation.actor_documents import own_handle_of, profile_of
from troupe.actors.mail.templates import Letter, Sender
from troupe.actors.media.page_facts import LONGEST_ADDRESS, PageFacts
from troupe.actors.previews.cards import OEmbed, draft_of
from troupe.actors.previews.reader import OEMBED
from troupe.actors.rules import emojis, filters, identity, lengths, markup, scan, search_queries, text
from troupe.actors.rules.limits import SPOILER_CODE_POINTS, TEXT_CODE_POINTS
from troupe.actors.rules.links import link_of
from troupe.actors.rules.text import ContentType
from troupe.http.web.emojis import html_with_emojis
from troupe.storage import account_names
from troupe.storage.filters import Filter, FilterKeyword
from troupe.storage.statuses import Status

from .fuzz import Target

NOW = datetime(2026, 11, 1, tzinfo=UTC)
DOCUMENT = 300_000  # characters of one text in a document: what is longer takes no longer
PIECE, STEP = 250, 40  # 7,500 parts of a document, each with its own piece of the text
ADDRESS = "https://far.example/users/uma"
NOTE: dict[str, object] = {"id": f"{ADDRESS}/1", "type": "Note", "attributedTo": ADDRESS, "to": [PUBLIC]}
ARTICLE = NOTE | {"type": "Article"}
ACTOR: dict[str, object] = {"id": ADDRESS, "type": "Person", "preferredUsername": "uma", "inbox": f"{ADDRESS}/inbox"}
OEMBED_PARTS = ("title", "author_name", "author_url", "provider_name", "provider_url", "html", "thumbnail_url")
LONGEST_TITLE = 200  # characters of the name of a server


def tag_url(name: str) -> str:
    return text.tag_url("https://troupe.test", name)


def no_emoji(_: str) -> None:
    return None


def rendering(content_type: ContentType) -> Callable[[str], str]:
    def render(source: str) -> str:
        return text.render(source, mentions={}, tag_url=tag_url, local_domain="troupe.test", content_type=content_type)

    return render


def note_with(name: str) -> Callable[[str], dict[str, Any]]:
    return lambda text: NOTE | {name: text}


def links_of(address: str) -> str:
    """Return a link without an end, and as many links to other places of their site as are read."""
    return f'<a href="{address}' + f'<a href="{address[:1_000]}"></a>' * MOST_RELATIVE_LINKS


def note_with_many(member: str, kind: str, name: str) -> Callable[[str], dict[str, Any]]:
    """Return what makes a note with as many parts as a document may have, each with a piece of the text."""

    def note(text: str) -> dict[str, Any]:
        parts = [{"type": kind, name: text[at : at + PIECE]} for at in range(0, len(text), STEP)]
        return NOTE | {"content": "x", member: parts}

    return note


class StatusWithText:
    """The parts of a status that its filters search, and in which its card finds a link."""

    id = 1
    spoiler_text = ""
    edited_at = poll = quote_state = reblog_of_id = None
    media = media_ids = ()

    def __init__(self, content: str) -> None:
        self.content = content


def thousand_keywords(source: str) -> object:
    """Search a status that no viewer has searched before for as many keywords as one account may have."""
    written = [source[n % 50 : n % 50 + 2 + n % 8] + chr(97 + n % 26) for n in range(1_000)]
    keywords = [FilterKeyword(n, keyword, n % 2 == 0) for n, keyword in enumerate(written)]
    rows = [Filter(n, "", ("home",), "warn", None, tuple(keywords[n * 5 : n * 5 + 5])) for n in range(200)]
    status = cast(Status, StatusWithText(source))
    return filters.Filters(tuple(rows)).matches(status, None, filters.filter_text, NOW)


def profile_rows(text: str) -> dict[str, Any]:
    rows = [text[at : at + 2_000] for at in range(0, len(text), 2_000)]
    return ACTOR | {"attachment": [{"type": "PropertyValue", "name": row, "value": row} for row in rows]}


def read(document: dict[str, Any]) -> object:
    return read_note(normalize(document), None, NOW)


def profile(document: dict[str, Any]) -> object:
    actor = normalize(document)
    return profile_of(actor, own_handle_of(actor), NOW)


def draft(text: str) -> object:
    """Return the card of a page and an oEmbed answer in which each part is the text."""
    page = PageFacts(**dict.fromkeys((field.name for field in fields(PageFacts)), text[:LONGEST_ADDRESS]))
    return draft_of("https://www.youtube.com/", page, OEmbed(dict.fromkeys(OEMBED_PARTS, text)))


def linked(status: StatusWithText) -> object:
    return link_of(cast(Status, status), "https://troupe.test")


def letter_of(name: str) -> bytes:
    return Letter("<1@a.example>", Sender("a@a.example", name), "b@b.example", name, "", NOW).as_mail().as_bytes()


TEXTS = (
    Target("sanitise", DOCUMENT, markup.sanitise),
    Target("plain, of sanitised HTML", markup.HTML_CHARACTERS, markup.plain, markup.sanitise),
    Target("tidy", DOCUMENT, markup.tidy),
    Target("a note's content", DOCUMENT, read, note_with("content")),
    Target("a note's links", DOCUMENT, lambda text: with_whole_links(text, ADDRESS), links_of),
    Target("a note's warning", DOCUMENT, read, note_with("summary")),
    Target("an article's title and warning", DOCUMENT, read, lambda text: ARTICLE | {"name": text, "summary": text}),
    Target("a note's hashtags", DOCUMENT, read, note_with_many("tag", "Hashtag", "name")),
    Target("a note's mentions", DOCUMENT, read, note_with_many("tag", "Mention", "href")),
    Target("a note's files", DOCUMENT, read, note_with_many("attachment", "Document", "url")),
    Target("an actor's description", DOCUMENT, profile, lambda text: ACTOR | {"summary": text}),
    Target("an actor's handle", DOCUMENT, profile, lambda text: ACTOR | {"webfinger": text}),
    Target("an actor's table", DOCUMENT, profile, profile_rows),
    Target("1,000 keywords in a status", markup.HTML_CHARACTERS, thousand_keywords),
    Target("text that may be HTML", SPOILER_CODE_POINTS, markup.plain_if_html),
    Target("link of a status", markup.HTML_CHARACTERS, linked, lambda html: StatusWithText(markup.sanitise(html))),
    Target("draft of a card", OEMBED.body, draft),
    Target("letter", LONGEST_TITLE, letter_of),
    Target("address for apps", LONGEST_URI, web_address),
    Target("names", account_names.LONGEST_QUERY, account_names.query_of),
    Target("search", search_queries.LONGEST_QUERY, search_queries.read_search),
    Target("render, plain", TEXT_CODE_POINTS, rendering("text/plain")),
    Target("render, Markdown", text.MARKDOWN_CHARACTERS, rendering("text/markdown")),
    Target("render, HTML", TEXT_CODE_POINTS, rendering("text/html")),
    Target("scan, plain", TEXT_CODE_POINTS, text.scan),
    Target("length", TEXT_CODE_POINTS, lengths.is_too_long),
    Target("whole hashtag", TEXT_CODE_POINTS, scan.whole_hashtag),
    Target("tag name", TEXT_CODE_POINTS, scan.tag_name),
    Target("sought", TEXT_CODE_POINTS, lambda text: identity.without_signs_around(text)),
    Target("handle", TEXT_CODE_POINTS, lambda text: identity.handle_of(text, "troupe.test")),
    Target("sought name", TEXT_CODE_POINTS, account_names.query_of),
    Target("domain", TEXT_CODE_POINTS, identity.domain_of),
    Target("pasted domain", TEXT_CODE_POINTS, identity.pasted_domain),
    Target("shortcodes", TEXT_CODE_POINTS, lambda text: list(emojis.shortcodes_in([text]))),
    Target("Unicode emoji", TEXT_CODE_POINTS, emojis.is_unicode_emoji),
    Target("filters' text", filters.TEXT_CHARACTERS, lambda text: filters.mark(filters.folded(text))),
    Target("emoji on pages", markup.HTML_CHARACTERS, lambda html: html_with_emojis(html, no_emoji), markup.sanitise),
)

"""Reads the posts of other servers from their documents: sanitised, and cut to the limits of rows.

Posts are documents of the types Note and Question, and of ChatMessage for private messages. Documents of the types in
`CONVERTED` become posts with their title and a link.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from math import isfinite
from typing import Literal

from ...storage.engine.json_values import JsonObject, is_object, list_or_empty
from ..rules.domains import is_within
from ..rules.emojis import FOREIGN
from ..rules.instants import printed_instant
from ..rules.languages import language_code
from ..rules.limits import SPOILER_CODE_POINTS, STATUS_MEDIA_ELSEWHERE
from ..rules.markup import escape, escape_attribute, plain, plain_if_html, sanitise, tidy, trimmed
from ..rules.scan import tag_name
from ..rules.text import ContentType, render_elsewhere
from ..rules.visibility import Visibility
from .links import (
    LONGEST_MEDIA_TYPE,
    PAGES,
    file_of,
    is_file_type,
    kind_by_ending,
    page_of,
    picture_of,
    size_of,
    with_whole_links,
)
from .requests import WINDOW
from .vocabulary import (
    CONTENT_TYPE,
    PUBLIC,
    host_of,
    list_of,
    object_of,
    objects_of,
    text_of,
    types_of,
    uri_of,
)

MESSAGE = "ChatMessage"  # of Lemmy, Mbin and Pleroma
WRITTEN = frozenset({"Note", "Question", MESSAGE})
CONVERTED = frozenset({"Article", "Page", "Image", "Audio", "Video", "Event"})
MOST_TAGS = 1_000  # that are read: names of people, hashtags and emoji together
MOST_FILES = 100  # that are read
MOST_LINKED = 4  # pages that are attached to a post
MOST_MENTIONS = 100
MOST_HASHTAGS = 50
MOST_WRITTEN_HASHTAGS = 2 * MOST_HASHTAGS  # that are read: some may be the same hashtag, or no hashtag
MOST_EMOJIS = 100
MOST_ADDRESSEES = 500
MOST_OPTIONS = 100
MOST_PLACES = 10  # of an event, that are read
LONGEST_OPTION = 500
LONGEST_DESCRIPTION = 10_000
LONGEST_BLANK = 1_000  # of HTML that may show nothing; longer HTML always counts as a text
MOST_TEXTS = 10  # of a note, in different languages, that may show nothing
LONGEST_TITLE = 1_000
SHORTCODE = re.compile(rf":?({FOREIGN}):?")
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)  # times before are errors
LONGEST_TIME = 100  # characters
DIGITS_83 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"  # by value
BASE_83 = frozenset(DIGITS_83)
UNDETERMINED = "und"
QUOTE = "https://misskey-hub.net/ns#_misskey_quote"
OBJECT_TYPES = frozenset({CONTENT_TYPE, "application/ld+json"})  # of a link to a post
QuotePolicy = Literal["public", "followers", "nobody"]
MediaType = Literal["image", "video", "audio", "unknown"]
# Of texts that are no HTML. PeerTube writes its comments in Markdown.
WRITTEN_AS: dict[str, ContentType] = {
    "text/plain": "text/plain", "text/markdown": "text/markdown", "text/x-markdown": "text/markdown",
}  # fmt: skip
BEGINS_AS_HTML = re.compile(r"\s{0,100}<[a-zA-Z][a-zA-Z0-9]{0,20}[\s/>]")
NO_FILES = frozenset({"Link", *WRITTEN, *CONVERTED}) - {"Image", "Audio", "Video"}  # unless their media type says so
KINDS: dict[str | None, MediaType] = {"Image": "image", "Video": "video", "Audio": "audio"}


@dataclass(frozen=True, slots=True)
class ReceivedAttachment:
    """A file of a post that stays on its server. `focus` and sizes are None if its server does not name them."""

    url: str
    type: MediaType
    media_type: str | None = None
    description: str = ""
    blurhash: str | None = None
    focus: tuple[float, float] | None = None
    size: tuple[int, int] | None = None
    thumbnail_url: str | None = None


@dataclass(frozen=True, slots=True)
class ReceivedPoll:
    """A poll with its counts, as reported by its server."""

    options: tuple[str, ...]
    votes: tuple[int, ...]
    multiple: bool
    expires_at: datetime | None
    closed: bool
    voters_count: int


@dataclass(frozen=True, slots=True)
class ReceivedEmoji:
    """A picture with a name, of the author's server."""

    shortcode: str
    url: str


@dataclass(frozen=True, slots=True)
class ReceivedHashtag:
    """A hashtag as its author has written it, and the name by which it is compared."""

    name: str
    display_name: str


@dataclass(frozen=True, slots=True)
class ReceivedQuote:
    """The post that a post quotes. `legacy` is True for properties of older servers, which know no approval."""

    uri: str
    authorization: str | None = None
    legacy: bool = False


@dataclass(frozen=True, slots=True)
class ReceivedNote:
    """A post.

    `mentioned` are the actors in its tags who may see it, `named` the other actors in its tags, `silent` its addressees
    that no tag names. `updated_at` is the time of the last edit as reported by its server: for a post that was never
    edited, many servers report the time of publication, others nothing. The policies say who may quote it at once, and
    who may ask its author.
    """

    uri: str
    author: str
    url: str | None
    visibility: Visibility
    content: str
    spoiler_text: str
    sensitive: bool
    language: str | None
    created_at: datetime
    updated_at: datetime | None
    in_reply_to: str | None
    mentioned: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    hashtags: tuple[ReceivedHashtag, ...] = ()
    emojis: tuple[ReceivedEmoji, ...] = ()
    attachments: tuple[ReceivedAttachment, ...] = ()
    poll: ReceivedPoll | None = None
    quote: ReceivedQuote | None = None
    quote_policy: QuotePolicy = "nobody"
    quote_manual_policy: QuotePolicy = "nobody"


@dataclass(frozen=True, slots=True)
class ReceivedVote:
    """One choice in a poll: a note whose name is an option of the poll that it answers."""

    uri: str
    author: str
    poll_uri: str
    option: str


def is_post(document: JsonObject) -> bool:
    """True for a document that becomes a post."""
    return any(kind in WRITTEN or kind in CONVERTED for kind in types_of(document))


def author_of(document: JsonObject) -> str | None:
    """Return the URI of the author of a post."""
    return uri_of(document.get("attributedTo"))


def read_vote(document: JsonObject) -> ReceivedVote | None:
    """Return the vote that a document is if its poll has the option; None if it is no vote in any case."""
    uri, author, poll = uri_of(document), author_of(document), uri_of(document.get("inReplyTo"))
    option, has_files = text_of(document.get("name"), LONGEST_OPTION), bool(document.get("attachment"))
    if "Note" not in types_of(document) or has_files or not option or uri is None or author is None or poll is None:
        return None
    return ReceivedVote(uri, author, poll, option)


def says_nothing(document: JsonObject) -> bool:
    """True for a note without visible text. Some servers send a vote with an empty line."""
    texts = [document.get("content"), *(object_of(document.get("contentMap")) or {}).values()]
    return not any(
        isinstance(text, str) and (len(text) > LONGEST_BLANK or plain(sanitise(text))) for text in texts[:MOST_TEXTS]
    )


def read_note(document: JsonObject, followers: str | None, now: datetime) -> ReceivedNote | None:
    """Return a post; None if a document is no post. `followers` is the URI of its author's followers.

    The caller must check everything that may belong to another server than the post, such as its author.
    """
    uri, author = uri_of(document), author_of(document)
    if uri is None or host_of(uri) is None or author is None or not is_post(document):
        return None
    visibility = visibility_of(document, followers)
    addressed = list(dict.fromkeys((*_primary(document), *_secondary(document))))[:MOST_ADDRESSEES]
    addressees, is_open = set(addressed), visibility in ("public", "unlisted")
    # A message has no tags: the addressees are the people that it mentions.
    tagged = [*_mentioned(document), *(addressed if MESSAGE in types_of(document) else ())]
    named = [uri for uri in dict.fromkeys(tagged) if uri not in (author, PUBLIC, followers)]
    mentioned = tuple(uri for uri in named if is_open or uri in addressees)[:MOST_MENTIONS]
    silent = tuple(uri for uri in addressed if uri not in (*mentioned, PUBLIC, followers, author))[:MOST_MENTIONS]
    spoiler = _warning(document)
    created_at = min(max(time_of(document.get("published")) or now, EARLIEST), now)
    return ReceivedNote(
        uri=uri,
        author=author,
        url=_page(document, uri),
        visibility=visibility,
        content=_content(document),
        spoiler_text=spoiler,
        sensitive=bool(spoiler) or any(part.get("sensitive") is True for part in (document, *_files(document))),
        language=_language(document),
        created_at=created_at,
        updated_at=_updated(document, now),
        in_reply_to=_parent(document, uri),
        mentioned=mentioned,
        named=tuple(uri for uri in named if uri not in mentioned)[:MOST_MENTIONS],
        silent=silent,
        hashtags=tuple(read_hashtags(document)),
        emojis=read_emojis(document),
        attachments=tuple(_attachments(document)),
        poll=_poll(document, now) if "Question" in types_of(document) else None,
        quote=_quote(document),
        quote_policy=_policy(document, "automaticApproval", followers),
        quote_manual_policy=_policy(document, "manualApproval", followers),
    )


def visibility_of(document: JsonObject, followers: str | None) -> Visibility:
    """Return the visibility of a post or a boost. It depends only on membership in `to` and `cc`: servers fill them
    differently."""
    to, cc = _primary(document), _secondary(document)
    if PUBLIC in to:
        return "public"
    if PUBLIC in cc:
        return "unlisted"
    return "private" if followers is not None and (followers in to or followers in cc) else "direct"


def _primary(document: JsonObject) -> list[str]:
    return [*document.get("to", ()), *document.get("bto", ())]


def _secondary(document: JsonObject) -> list[str]:
    return [uri for name in ("cc", "bcc", "audience") for uri in document.get(name, ())]


def read_emojis(document: JsonObject) -> tuple[ReceivedEmoji, ...]:
    """Return the emoji that a post or an actor names, each name once."""
    found: dict[str, ReceivedEmoji] = {}
    for tag in tags_of(document):
        named = SHORTCODE.fullmatch(tag["name"]) if isinstance(tag.get("name"), str) else None
        url = picture_of(tag.get("icon"), uri_of(document) or "")
        if "Emoji" in types_of(tag) and named is not None and url is not None:
            found.setdefault(named[1], ReceivedEmoji(named[1], url))
    return tuple(found.values())[:MOST_EMOJIS]


def tags_of(document: JsonObject) -> list[JsonObject]:
    """Return the people, hashtags and emoji that a post or an actor names."""
    return objects_of(document.get("tag", [])[:MOST_TAGS])


def time_of(value: object) -> datetime | None:
    """Return a time of a document; None if the value is no time."""
    return printed_instant(value) if isinstance(value, str) and len(value) <= LONGEST_TIME else None


# The parts of a post --------------------------------------------------------------------------------------------------


def _is_written(document: JsonObject) -> bool:
    return any(kind in WRITTEN for kind in types_of(document))


def _warning(document: JsonObject) -> str:
    """Return the content warning. The summary of a converted document, such as an article, belongs to its text."""
    summary = text_of(document.get("summary"), SPOILER_CODE_POINTS) if _is_written(document) else None
    return trimmed(plain_if_html(summary or ""))


def _content(document: JsonObject) -> str:
    if not _is_written(document):
        return _title_and_link(document)
    is_answer = "inReplyTo" in document  # or a vote, whose name is an option
    if not document.get("content") and not is_answer and (title := _title(document)):
        return sanitise(f"<p>{escape(title)}</p>")
    return _text(document)


def _text(document: JsonObject) -> str:
    content = document.get("content", "")
    kind = WRITTEN_AS.get(_media_type(document))
    if kind is None or (kind == "text/markdown" and BEGINS_AS_HTML.match(content)):  # Markdown may hold HTML
        return sanitise(with_whole_links(content, _page_address(document) or uri_of(document) or ""))
    return render_elsewhere(content, kind)


def _title(document: JsonObject) -> str:
    return trimmed(plain_if_html(text_of(document.get("name"), LONGEST_TITLE) or ""))


def _title_and_link(document: JsonObject) -> str:
    """Return title, summary and page of a converted document, as HTML.

    A document without title and summary is shown whole: its text is the caption of a film or a picture, for example.
    """
    title = _title(document)
    summary = plain(sanitise(text_of(document.get("summary"), SPOILER_CODE_POINTS) or ""))
    url = _page_address(document) or uri_of(document) or ""
    texts = [f"<p>{escape(text)}</p>" for text in (title, _time_and_place(document), summary) if text]
    if not title and not summary:
        texts.append(_text(document))
    links = [f'<p><a href="{escape_attribute(link)}">{escape(link)}</a></p>' for link in (*_linked(document), url)]
    return sanitise("".join(texts + links))


def _linked(document: JsonObject) -> list[str]:
    """Return the addresses of attached pages. A post of a link aggregator has the page that it is about."""
    pages = (page_of(file, uri_of(document) or "") for file in _files(document) if "Link" in types_of(file))
    return list(dict.fromkeys(page for page in pages if page is not None))[:MOST_LINKED]


def _media_type(document: JsonObject) -> str:
    """Return the media type that an object names, in lower case without parameters."""
    return (text_of(document.get("mediaType"), LONGEST_MEDIA_TYPE) or "").partition(";")[0].strip().lower()


def _time_and_place(document: JsonObject) -> str:
    """Return when and where an event is, in its own time, as in `2026-12-05 19:00 to 21:00, St. Nikolai, Kiel`."""
    if "Event" not in types_of(document):
        return ""
    begins, ends = _local_time(document.get("startTime")), _local_time(document.get("endTime"))
    if begins is None:
        times = ""
    elif ends is None or ends <= begins:
        times = f"{begins:%Y-%m-%d %H:%M}"
    else:
        times = f"{begins:%Y-%m-%d %H:%M} \u2013 {ends:{'%H:%M' if ends.date() == begins.date() else '%Y-%m-%d %H:%M'}}"
    return ", ".join(part for part in (times, *_place(document.get("location"))) if part)


def _local_time(value: object) -> datetime | None:
    """Return a time as it was written, without its zone; None if the value is no time."""
    try:
        return datetime.fromisoformat(value).replace(tzinfo=None) if isinstance(value, str) else None
    except ValueError:
        return None


def _place(value: object) -> list[str]:
    """Return the name of a place, and the street and the town of its address. Of several places, the first with any of
    these counts.

    Some servers write a place or its address as one text.
    """
    for place in list_of(value)[:MOST_PLACES]:
        thing: JsonObject = place if is_object(place) else {"name": place}
        address = thing.get("address")
        lines: JsonObject = address if is_object(address) else {"streetAddress": address}
        parts = (thing.get("name"), lines.get("streetAddress"), lines.get("addressLocality"))
        texts = [trimmed(text_of(part, LONGEST_TITLE) or "") for part in parts]
        if parts := [text for text in dict.fromkeys(texts) if text and host_of(text) is None]:
            return parts
    return []


def _language(document: JsonObject) -> str | None:
    """Return the language of the shown text, else the first language."""
    maps = [document[name] for name in ("contentMap", "nameMap", "summaryMap") if name in document]
    texts: dict[str, str] = maps[0] if maps else {}
    shown = (document.get("content"), document.get("name"), document.get("summary"))
    matching = (language for language, text in texts.items() if text in shown and language != UNDETERMINED)
    return language_code(next(matching, next(iter(texts), None) or _named_language(document)))


def _named_language(document: JsonObject) -> str | None:
    """Return the language in the properties that films and events have from Schema.org."""
    named = document.get("language", document.get("inLanguage"))
    code = named.get("identifier") if is_object(named) else named
    return code if isinstance(code, str) else None


def _page_address(document: JsonObject) -> str | None:
    """Return the address of a page. The plain `url` of a document that is a file is the address of the file."""
    url, media_type = document.get("url"), text_of(document.get("mediaType"), LONGEST_MEDIA_TYPE)
    return None if isinstance(url, str) and is_file_type(media_type) else page_of(url, uri_of(document) or "")


def _page(document: JsonObject, uri: str) -> str:
    """Return the web page of a post if it is on its own server, else its id, which many servers use for both.

    Threads and blogs have ids on one of `threads.net` and `www.threads.net`, and pages on the other.
    """
    url = _page_address(document)
    hosts = [(host_of(address) or "").partition(":")[0] for address in (url or uri, uri)]
    is_own = is_within(*hosts) or is_within(*reversed(hosts))
    return url if url is not None and is_own else uri


def _parent(document: JsonObject, uri: str) -> str | None:
    parent = uri_of(document.get("inReplyTo"))
    return parent if parent is not None and parent != uri and host_of(parent) is not None else None


def _updated(document: JsonObject, now: datetime) -> datetime | None:
    updated = time_of(document.get("updated"))
    if updated is None:
        return None
    # The other server's clock may be ahead. The order of two edits is kept.
    return updated if updated <= now + WINDOW else now


def _mentioned(document: JsonObject) -> list[str]:
    """Return the actors that a post's tags name, each once."""
    tags = (tag for tag in tags_of(document) if "Mention" in types_of(tag))
    return list(dict.fromkeys(uri for tag in tags if (uri := uri_of(tag.get("href"))) is not None))


def read_hashtags(document: JsonObject) -> Iterator[ReceivedHashtag]:
    """Yield the hashtags that a post or a profile names, each once."""
    seen: set[str] = set()
    names = (text_of(tag.get("name"), 255) for tag in tags_of(document) if "Hashtag" in types_of(tag))
    for written in islice(names, MOST_WRITTEN_HASHTAGS):
        display = tidy(html.unescape(written or "")).strip().removeprefix("#")  # blogs write the names as HTML
        name = tag_name(display)
        if name and name not in seen and not any(character.isspace() for character in display):
            seen.add(name)
            yield ReceivedHashtag(name[:255], display)
        if len(seen) == MOST_HASHTAGS:
            return


def _attachments(document: JsonObject) -> list[ReceivedAttachment]:
    """Return the files of a post, each once."""
    files = _files(document)
    if not files and any(kind in KINDS for kind in types_of(document)):
        files = [document]
    found: dict[str, ReceivedAttachment] = {}
    for file in files:
        if (attachment := _attachment(file, uri_of(document) or "")) is not None:
            found.setdefault(attachment.url, attachment)
    return list(found.values())[:STATUS_MEDIA_ELSEWHERE]


def _files(document: JsonObject) -> list[JsonObject]:
    return objects_of(document.get("attachment", [])[:MOST_FILES])


def _attachment(document: JsonObject, base: str) -> ReceivedAttachment | None:
    link = file_of(document.get("url"), base) or file_of(document, base)
    if link is None:
        return None
    media_type = link.media_type or text_of(document.get("mediaType"), LONGEST_MEDIA_TYPE)
    if not is_file_type(media_type) and (not NO_FILES.isdisjoint(types_of(document)) or _media_type(document) in PAGES):
        return None
    alt = text_of(document.get("summary"), LONGEST_DESCRIPTION) or text_of(document.get("name"), LONGEST_DESCRIPTION)
    return ReceivedAttachment(
        url=link.href,
        type=_kind(document, media_type, link.href),
        media_type=media_type,
        description=trimmed(alt or ""),
        blurhash=blurhash_of(document.get("blurhash")),
        focus=_focus(document.get("focalPoint")),
        size=size_of(document) or link.size,
        thumbnail_url=picture_of(document.get("icon"), base) or picture_of(document.get("image"), base),
    )


def _kind(document: JsonObject, media_type: str | None, url: str) -> MediaType:
    """Return the kind of a file: by its media type, by the type of its object, or by the end of its address.

    If none of these says it, it is `unknown` until the file is fetched.
    """
    general = (media_type or "").partition("/")[0].capitalize()
    for kind in (general, *types_of(document), kind_by_ending(url)):
        if kind in KINDS:
            return KINDS[kind]
    return "unknown"


def blurhash_of(value: object) -> str | None:
    """Return a blurhash that decodes into a small picture; None for anything else."""
    if not isinstance(value, str) or not 6 <= len(value) <= 128 or not BASE_83.issuperset(value):
        return None
    across, down = DIGITS_83.index(value[0]) % 9 + 1, DIGITS_83.index(value[0]) // 9 + 1
    return value if down <= 9 and len(value) == 4 + 2 * across * down else None


def _focus(value: object) -> tuple[float, float] | None:
    parts = list_or_empty(value)
    if len(parts) != 2:
        return None
    numbers = [float(part) for part in parts if isinstance(part, int | float) and isfinite(part)]
    if len(numbers) != 2:
        return None
    x, y = (max(-1.0, min(1.0, number)) for number in numbers)
    return x, y


def _poll(document: JsonObject, now: datetime) -> ReceivedPoll | None:
    multiple = bool(document.get("anyOf"))
    choices = objects_of(document["anyOf"] if multiple else document.get("oneOf"))[:MOST_OPTIONS]
    # The titles keep their outer spaces: a vote must have the same text.
    titles = [text_of(choice.get("name") or choice.get("content"), LONGEST_OPTION) or "" for choice in choices]
    if not choices or not all(map(str.strip, titles)):
        return None
    votes = tuple(_total(choice.get("replies")) for choice in choices)
    # Some servers don't report the number of voters. If a poll has multiple choices, the votes for the most frequent
    # option are the least possible number.
    voters = _count(document.get("votersCount")) or (max(votes) if multiple else sum(votes))
    closes_at = time_of(document.get("closed"))
    closed = document.get("closed") is True or (closes_at is not None and closes_at <= now)
    ends = time_of(document.get("endTime")) or closes_at
    return ReceivedPoll(
        options=tuple(titles),
        votes=votes,
        multiple=multiple,
        expires_at=min(ends or now, closes_at or now) if closed else ends,
        closed=closed,
        voters_count=voters,
    )


def _total(collection: object) -> int:
    return _count(collection.get("totalItems") if is_object(collection) else collection)


def _count(value: object) -> int:
    return max(0, min(value, 2**40)) if isinstance(value, int) and not isinstance(value, bool) else 0


def _policy(document: JsonObject, kind: str, followers: str | None) -> QuotePolicy:
    """Return who may quote a post, by a `kind` of approval: `automaticApproval` or `manualApproval` (FEP-044f)."""
    policy = object_of((object_of(document.get("interactionPolicy")) or {}).get("canQuote")) or {}
    allowed = policy.get(kind, ())
    if PUBLIC in allowed:
        return "public"
    return "followers" if followers is not None and followers in allowed else "nobody"


def _quote(document: JsonObject) -> ReceivedQuote | None:
    quoted = document.get("quote")
    if uri := uri_of(quoted):
        return ReceivedQuote(uri, uri_of(document.get("quoteAuthorization")))
    named = (uri_of(document.get(name)) for name in ("quoteUrl", "quoteUri", "quoteURL", "_misskey_quote"))
    uri = next((uri for uri in (*named, *_quote_links(document)) if uri is not None and host_of(uri) is not None), None)
    return None if uri is None else ReceivedQuote(uri, legacy=True)


def _quote_links(document: JsonObject) -> Iterator[str | None]:
    """Yield the posts that a post links to as objects (FEP-e232), which is how some servers quote."""
    for tag in tags_of(document):
        if "Link" not in types_of(tag):
            continue
        kind, rel = text_of(tag.get("mediaType"), LONGEST_MEDIA_TYPE) or "", tag.get("rel", [])
        if QUOTE in rel or (not rel and kind.partition(";")[0].strip().lower() in OBJECT_TYPES):
            yield uri_of(tag.get("href"))

"""The words and marks by which a search finds statuses: one vector for each status.

Beside the words of its texts, a vector has marks. All begin with a sign, so they are words of no text:

- `@` and `~` with an id: the author, and a mentioned account
- `*`: the visibility is public
- `#` with a name: a hashtag
- `has:media`, `has:reply` and others: the properties that the search operators `has` and `is` ask for
- `:` with a code: the language, with and without its region
- `=` with a number: a stretch of time

Stretches of time let the index find the newest statuses with a word without reading all that have it: ids sort by time,
but an index of words knows nothing of ids. A stretch of each length in `STRETCHES` is marked.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import unescape
from typing import Protocol

import regex

from .engine.database import Connection
from .media import Media
from .polls import Poll
from .preview_cards import PreviewCard
from .words import vector

STORE = """
    INSERT INTO status_words (status_id, words) SELECT * FROM unnest($1::bigint[], $2::text[]::tsvector[])
    ON CONFLICT (status_id) DO UPDATE SET words = excluded.words
"""

# Bits of an id below a stretch of time, of which the lowest 16 are no time: 17 minutes, 70 minutes, 4.7 hours, 19
# hours, 3.1 days, 12 days, 50 days. Each is four of the one before, so that few of them make any stretch.
STRETCHES = (36, 38, 40, 42, 44, 46, 48)

# Of sanitised HTML. Other tags stand inside words.
BLOCK_TAG = regex.compile(r"</?(?:p|br|li|ul|ol|pre|blockquote)(?![a-z0-9])[^<>]*+>")
ANY_TAG = regex.compile(r"<[^<>]*+>")
LINK = regex.compile(r"<a (?P<attributes>[^<>]*+)>(?P<text>.*?)</a>", regex.DOTALL)
ADDRESS = regex.compile(r'\bhref="(?P<address>[^"]*+)"')
READING = regex.compile(r"<rp>[^<]*+</rp>|<rt>(?P<reading>[^<]*+)</rt>")
PERCENT = regex.compile(r"(?:%[0-9A-Fa-f]{2})++")
HOST = regex.compile(r"https?://(?P<host>[^/?#]++)", regex.IGNORECASE)
# `#CatsOfTheDay` is found by `cats` and by `CatsOfTheDay`.
HUMPED_TAG = regex.compile(r"[#\uff03](?P<name>\w*?[\p{Ll}\p{Nd}]\p{Lu}\w*+)")
HUMP = regex.compile(r"(?<=[\p{Ll}\p{Nd}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})", regex.VERSION1)


class Named(Protocol):
    """A hashtag."""

    @property
    def name(self) -> str: ...


class Searchable(Protocol):
    """The attributes of a status, new or stored, that its words and marks are made of."""

    @property
    def id(self) -> int: ...
    @property
    def account_id(self) -> int: ...
    @property
    def content(self) -> str: ...
    @property
    def spoiler_text(self) -> str: ...
    @property
    def visibility(self) -> str: ...
    @property
    def sensitive(self) -> bool: ...
    @property
    def language(self) -> str | None: ...
    @property
    def in_reply_to_id(self) -> int | None: ...
    @property
    def quote_state(self) -> str | None: ...
    @property
    def mentioned_ids(self) -> Sequence[int]: ...
    @property
    def tags(self) -> Sequence[Named]: ...


def vector_of(
    status: Searchable, media: Sequence[Media] = (), poll: Poll | None = None, card: PreviewCard | None = None
) -> str:
    """Return the literal of a status's `tsvector`."""
    texts = [status.spoiler_text, *texts_of(status.content), *(attachment.description for attachment in media)]
    if poll is not None:
        texts += [option.title for option in poll.options]
    if card is not None:
        texts += [card.facts.title, readable(card.url)]
    return vector(texts, _marks(status, media, poll, card))


async def store(db: Connection, vectors: dict[int, str]) -> None:
    """Store the vectors of statuses. They replace earlier vectors."""
    await db.execute(STORE, list(vectors), list(vectors.values()))


def texts_of(html: str) -> Iterator[str]:
    """Yield the text of sanitised HTML, and after it what stands in it unseen.

    That are the addresses of links, the whole handles of mentions, the readings of ruby characters, and the parts of
    `#CamelCase`.
    """
    text = READING.sub("", html) if "<rt>" in html else html
    text = unescape(ANY_TAG.sub("", BLOCK_TAG.sub("\n", text)))
    yield text
    yield from (reading["reading"] for reading in READING.finditer(html) if reading["reading"])
    for link in LINK.finditer(html):
        yield from _of_link(link["attributes"], unescape(ANY_TAG.sub("", link["text"])))
    yield from (" ".join(HUMP.split(tag["name"])) for tag in HUMPED_TAG.finditer(text))


def readable(address: str) -> str:
    """Return an address with the letters that it writes as percent signs."""
    return PERCENT.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode(errors="replace"), address)


def stretches(id: int) -> Iterator[str]:
    """Yield the marks of the stretches of time that an id is in."""
    return (_stretch(number, id >> bits) for number, bits in enumerate(STRETCHES))


def stretches_between(low: int, high: int) -> list[str]:
    """Return the marks of the stretches that hold all ids from `low` to `high - 1`, and perhaps some more.

    The longest that fit are taken, so that there are few: six of each length at most, but of the longest.
    """
    marks: list[str] = []
    low, high = low >> STRETCHES[0], -(-high >> STRETCHES[0])
    for number, bits in enumerate(STRETCHES):
        longer = STRETCHES[number + 1] - bits if number + 1 < len(STRETCHES) else None
        while low < high and (longer is None or low & ((1 << longer) - 1)):
            marks.append(_stretch(number, low))
            low += 1
        while longer is not None and low < high and high & ((1 << longer) - 1):
            high -= 1
            marks.append(_stretch(number, high))
        if longer is not None:
            low, high = low >> longer, high >> longer
    return marks


def author(account_id: int) -> str:
    """Return the mark of statuses by an account."""
    return f"@{account_id:x}"


def mentioned(account_id: int) -> str:
    """Return the mark of statuses that mention an account."""
    return f"~{account_id:x}"


PUBLIC = "*"


def hashtag(name: str) -> str:
    """Return the mark of a hashtag."""
    return f"#{name}"


def has(name: str) -> str:
    """Return the mark of a property."""
    return f"has:{name}"


def language(code: str) -> str:
    """Return the mark of a language."""
    return f":{code.lower()}"


def _stretch(number: int, place: int) -> str:
    return f"={number}{place:x}"


def _marks(status: Searchable, media: Sequence[Media], poll: Poll | None, card: PreviewCard | None) -> Iterator[str]:
    yield author(status.account_id)
    yield from map(mentioned, status.mentioned_ids)
    yield from stretches(status.id)
    if status.visibility == "public":
        yield PUBLIC
    if status.language:
        yield from {language(status.language), language(status.language.partition("-")[0])}
    yield from (hashtag(tag.name) for tag in status.tags)
    yield from _properties(status, media, poll, card)


def _properties(
    status: Searchable, media: Sequence[Media], poll: Poll | None, card: PreviewCard | None
) -> Iterator[str]:
    types = {attachment.type for attachment in media}
    properties = {
        "media": bool(media), "image": bool(types & {"image", "gifv"}), "video": bool(types & {"video", "gifv"}),
        "audio": "audio" in types, "poll": poll is not None, "link": card is not None,
        "embed": card is not None and card.facts.type == "video",
    }  # fmt: skip
    yield from (has(name) for name, is_so in properties.items() if is_so)
    if status.in_reply_to_id is not None:
        yield has("reply")
    if status.quote_state is not None:
        yield has("quote")
    if status.sensitive:
        yield has("sensitive")


def _of_link(attributes: str, text: str) -> Iterable[str]:
    address = ADDRESS.search(attributes)
    if address is None or "hashtag" in attributes:
        return
    whole = unescape(address["address"])
    if text.startswith("@") and (host := HOST.match(whole)):
        if "@" not in text[1:]:
            yield f"{text}@{host['host']}"
    elif (written := readable(whole)) != text:
        yield written

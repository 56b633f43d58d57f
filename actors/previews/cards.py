"""Makes a card from a page and its oEmbed answer. No text in them is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from html import escape
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import regex

from ...storage.preview_cards import CardFacts
from ..media.page_facts import PageFacts, as_meant, has_letters
from ..outgoing.messages import ForbiddenTarget
from ..outgoing.targets import LONGEST_URL, written_target
from ..rules.instants import instant_of, printed_instant
from ..rules.languages import language_code
from ..rules.markup import one_line

LONGEST_TITLE = 500
LONGEST_DESCRIPTION = 1000
LONGEST_NAME = 200
LONGEST_HANDLE = 320
LONGEST_FIELD = 8192  # characters of a text of an oEmbed answer that are read
LARGEST_SIDE = 4000  # pixels of a player; a larger frame is no player
SMALLEST_SIDE = 100

# Invisible characters that change the direction of the text around the card.
TURNING = regex.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

LINE_BREAKS = regex.compile(r"[\t\r\n]+")

# The players that statuses may show, by the hosts of the pages that they belong to. Other pages get a link.
PLAYERS: dict[str, tuple[str, ...]] = {
    "youtube.com": ("www.youtube.com", "www.youtube-nocookie.com"),
    "youtu.be": ("www.youtube.com", "www.youtube-nocookie.com"),
    "vimeo.com": ("player.vimeo.com",),
    "dailymotion.com": ("www.dailymotion.com", "geo.dailymotion.com"),
    "dai.ly": ("www.dailymotion.com", "geo.dailymotion.com"),
    "ted.com": ("embed.ted.com",),
    "soundcloud.com": ("w.soundcloud.com",),
    "open.spotify.com": ("open.spotify.com",),
    "bandcamp.com": ("bandcamp.com",),
}
# Enough for a player. A frame with these rights can't navigate the page around it.
SANDBOX = "allow-scripts allow-same-origin allow-popups allow-presentation allow-forms"


@dataclass(frozen=True, slots=True)
class OEmbed:
    """The fields of an oEmbed answer. Each may be missing, or have any type."""

    fields: Mapping[str, object]

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        return value[:LONGEST_FIELD] if isinstance(value, str) and has_letters(value[:LONGEST_FIELD]) else ""

    def number(self, name: str) -> int:
        return number_of(self.fields.get(name))


NO_OEMBED = OEmbed({})


@dataclass(frozen=True, slots=True)
class Draft:
    """A card without its image, and the address of the image."""

    facts: CardFacts
    image_url: str


@dataclass(frozen=True, slots=True)
class Player:
    """The address and the size of a player in a frame."""

    url: str
    width: int
    height: int

    @property
    def html(self) -> str:
        return (
            f'<iframe src="{escape(self.url)}" width="{self.width}" height="{self.height}" sandbox="{SANDBOX}"'
            ' allowfullscreen="allowfullscreen" referrerpolicy="strict-origin-when-cross-origin"></iframe>'
        )


def draft_of(url: str, page: PageFacts, oembed: OEmbed) -> Draft | None:
    """Return the card of a page. `url` is the address that answered. None if there is nothing to show."""
    base = web_address(url, page.base) or url
    title = shown(as_meant(oembed.text("title"), page.title) or page.title, LONGEST_TITLE)
    photo = web_address(url, oembed.text("url")) if oembed.text("type") == "photo" else ""
    if not title and not photo:
        return None
    player = player_of(url, base, page, oembed)
    host = urlsplit(url).hostname or ""
    facts = CardFacts(
        type="photo" if photo else "video" if player else "link",
        title=title or host,
        description=shown(page.description, LONGEST_DESCRIPTION),
        language=language_code(page.language),
        author_name=shown(as_meant(oembed.text("author_name"), page.author_name) or page.author_name, LONGEST_NAME),
        author_url=web_address(url, oembed.text("author_url")) or web_address(base, page.author_url),
        provider_name=shown(
            as_meant(oembed.text("provider_name"), page.provider_name) or page.provider_name, LONGEST_NAME
        ),
        provider_url=web_address(url, oembed.text("provider_url")),
        html=player.html if player else "",
        embed_url=photo,
        width=player.width if player else 0,
        height=player.height if player else 0,
        image_description=shown(page.image_description, LONGEST_DESCRIPTION),
        published_at=time_of(page.published_at),
        creator=shown(page.creator, LONGEST_HANDLE),
    )
    image = photo or web_address(base, page.image) or web_address(url, oembed.text("thumbnail_url"))
    return Draft(facts, image)


def player_of(url: str, base: str, page: PageFacts, oembed: OEmbed) -> Player | None:
    """Return the player of a page whose provider is known. Only its checked address and its size are used."""
    hosts = players_of(urlsplit(url).hostname or "")
    if not hosts:
        return None
    reader = _FrameReader()
    reader.feed(oembed.text("html"))
    candidates = (
        (
            web_address(url, reader.frame.get("src", "")),
            number_of(reader.frame.get("width")),
            number_of(reader.frame.get("height")),
        ),
        (web_address(base, page.player), number_of(page.width), number_of(page.height)),
    )
    for address, width, height in candidates:
        parts = urlsplit(address)
        if parts.scheme == "https" and parts.netloc in hosts:
            sides = SMALLEST_SIDE <= width <= LARGEST_SIDE and SMALLEST_SIDE <= height <= LARGEST_SIDE
            return Player(address, *((width, height) if sides else (640, 360)))
    return None


class _FrameReader(HTMLParser):
    """Finds the attributes of the first `<iframe>` in a short piece of HTML.

    In Python, as this is the server's own process: the parser of pages is written in C, and confined.
    """

    def __init__(self) -> None:
        super().__init__()
        self.frame: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "iframe" and not self.frame:
            self.frame = {name: (value or "").strip() for name, value in reversed(attrs)}  # the first one counts

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Skip `<![`. In HTML it begins a comment; the library raises for most of what may follow."""
        return self.parse_bogus_comment(i)


def players_of(host: str) -> tuple[str, ...]:
    """Return the hosts whose frames a page at `host` may show."""
    labels = host.split(".")
    return next((found for n in range(len(labels)) if (found := PLAYERS.get(".".join(labels[n:])))), ())


def shown(text: str, most: int) -> str:
    """Return an untrusted text as one line without control characters, of at most `most` characters."""
    line = one_line(TURNING.sub("", " ".join(text.split())))
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def web_address(base: str, written: str) -> str:
    """Return an address that a page names, absolute and in its normal spelling; empty if it is no web address."""
    if not written:
        return ""
    place, mark, query = LINE_BREAKS.sub("", written.strip()).partition("?")
    # As browsers do.
    written = (place.replace("\\", "/") + mark + query.replace("\\", "%5C")).replace(" ", "%20")
    try:
        address = written_target(urljoin(base, written)).url
    except (ValueError, ForbiddenTarget):
        return ""
    return address if len(address) <= LONGEST_URL else ""


def time_of(written: str) -> datetime | None:
    """Return a time that a page names, in UTC if its zone is missing or unknown; None if it is no time."""
    instant = printed_instant(written)
    if instant is None:
        with suppress(ValueError, OverflowError):
            return instant_of(parsedate_to_datetime(written).isoformat())
    return instant


def number_of(value: object) -> int:
    """Return a number of pixels, which may be written as a text; 0 if it is not valid."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:6])
    return value if type(value) is int and 0 < value <= 100_000 else 0

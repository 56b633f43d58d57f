"""The head of a public page, for search engines, link previews and feed readers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from ...actors.shown.statuses import ShownStatus
from .posts import quoted_in


@dataclass(frozen=True, slots=True)
class HeadImage:
    """A picture that other sites show with a link to the page. Some show it at once only if they know its size."""

    url: str
    description: str = ""
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The values of a page's head. URLs are absolute, because other sites read them."""

    title: str
    url: str
    description: str = ""
    kind: str = "website"
    images: tuple[HeadImage, ...] = ()
    large_image: bool = False
    handle: str = ""  # of the author
    published: str = ""
    feed: str = ""
    embed: str = ""
    noindex: bool = False
    document: str = ""  # the URL of the ActivityPub document


def embed_address(base_url: str, url: str) -> str:
    """Return the URL of the oEmbed data of a status."""
    return f"{base_url}/api/oembed?url={quote(url, safe='')}"


def asks_not_to_be_indexed(shown: Iterable[ShownStatus]) -> bool:
    """True if search engines may not index a page with these statuses.

    That is if an author has not opted in, or if a status is not public.
    """
    return any(not post.author.indexable or post.status.visibility != "public" for post in _with_quoted(shown))


def _with_quoted(shown: Iterable[ShownStatus]) -> Iterator[ShownStatus]:
    """Yield the statuses and the statuses that they quote. Boosts are ignored: public timelines have none."""
    for status in shown:
        yield status
        if (quoted := quoted_in(status)) is not None:
            yield from _with_quoted([quoted])

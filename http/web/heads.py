"""The head of a public page, for programs: search engines, sites that show a link to it, feed readers."""

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
    """The facts of a page's head. Addresses are absolute, because other sites read them."""

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
    document: str = ""  # of ActivityPub, about the same


def embed_address(base_url: str, url: str) -> str:
    """Return where the embedding of a status can be asked for."""
    return f"{base_url}/api/oembed?url={quote(url, safe='')}"


def asks_not_to_be_indexed(shown: Iterable[ShownStatus]) -> bool:
    """True if search engines must not keep a page with these statuses: an author has not agreed, or one is unlisted."""
    return any(not one.author.indexable or one.status.visibility != "public" for one in _with_inner(shown))


def _with_inner(shown: Iterable[ShownStatus]) -> Iterator[ShownStatus]:
    """The statuses with those that they quote. Boosts are not among them: the public timelines have none."""
    for one in shown:
        yield one
        if (quoted := quoted_in(one)) is not None:
            yield from _with_inner([quoted])

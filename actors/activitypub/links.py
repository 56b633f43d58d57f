"""Chooses the address of the page or the file of an object.

A `url` is an address, a Link with a media type, or a list of these. Video servers name a page first, then a file for
each resolution, some of these files inside a playlist. Some servers leave their host out of addresses. The functions
resolve these addresses against `base`, the address of the object.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from urllib.parse import urljoin, urlsplit

from ...storage.engine.json_values import JsonObject, is_object
from ..rules.limits import VIDEO_BYTES
from ..rules.markup import escape_attribute
from .vocabulary import host_of, is_uri, list_of, objects_of, origin_of, text_of, types_of

MOST_LINKS = 100  # that are read
LONGEST_MEDIA_TYPE = 128
LARGEST_SIDE = 65_535  # pixels
PAGES = frozenset({"text/html", "application/xhtml+xml"})
FILES = frozenset({"image", "video", "audio"})
TRACKS = "ffprobe_codec_type"  # the name of the properties by which PeerTube says which tracks a file has
SOUND, PICTURES = frozenset({"audio"}), frozenset({"video"})
# The type of a file by the extension in its address, if nothing else says it.
_ENDINGS = {
    "Image": "jpg jpeg jpe jfif png gif webp avif heic heif",
    "Video": "mp4 m4v mov webm ogv",
    "Audio": "mp3 ogg oga opus wav flac aac m4a",
}
# A link in HTML to another place of its site. One that begins with `#` leads to a part of its own page.
RELATIVE_LINK = re.compile(
    # Possessive: a text with many spaces would be searched for each of them.
    r"""(?P<start><a\b[^<>]*?\shref\s*+=\s*+)(?P<mark>["'])\s*+(?P<address>(?!#|[a-z][a-z0-9+.-]*+:)"""
    r"""[^"'<>]{1,1000}+)(?P=mark)""",  # addresses with many `../` take long to resolve
    re.IGNORECASE,
)
MOST_RELATIVE_LINKS = 200  # of one text
ENDINGS = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()}


@dataclass(frozen=True, slots=True)
class TypedAddress:
    """A web address. The media type is in lower case without parameters, `size` in pixels, `length` in bytes.

    `tracks` are the kinds of tracks that the file has. It is empty if that is not known.
    """

    href: str
    media_type: str | None = None
    size: tuple[int, int] | None = None
    length: int | None = None
    tracks: frozenset[str] = frozenset()

    @property
    def is_page(self) -> bool:
        return self.media_type in PAGES

    @property
    def is_file(self) -> bool:
        return is_file_type(self.media_type)

    @property
    def may_be_file(self) -> bool:
        return self.media_type in (None, "application/octet-stream")


def is_file_type(media_type: str | None) -> bool:
    """True for the media type of a picture, a film or sound."""
    return (media_type or "").partition("/")[0].lower() in FILES


def page_of(value: object, base: str) -> str | None:
    """Return the address of a page: the first of HTML, else the first without a type. None if all are files."""
    links = _links_of(value, base)
    typed = (link.href for link in links if link.is_page)
    untyped = (link.href for link in links if link.media_type is None)
    return next(typed, next(untyped, None))


def file_of(value: object, base: str) -> TypedAddress | None:
    """Return the address of a file: the first with a file type that is not too large, else an address that may be a
    file.

    Files with sound alone and files with pictures alone are parts of a playlist, and not the film.
    """
    links = _links_of(value, base)
    files = [link for link in links if link.is_file]
    if {SOUND, PICTURES} <= {link.tracks for link in files}:
        files = [link for link in files if link.tracks not in (SOUND, PICTURES)]
        if not files:
            return None
    if files:
        return next((link for link in files if link.length is None or link.length <= VIDEO_BYTES), files[-1])
    others = [link for link in links if link.may_be_file]
    return next((link for link in others if kind_by_ending(link.href)), next(iter(others), None))


def picture_of(value: object, base: str) -> str | None:
    """Return the address of the first picture in an `icon` or `image`: an address, a Link or an Image."""
    for picture in list_of(value)[:MOST_LINKS]:
        link = file_of(picture["url"] if is_object(picture) and "url" in picture else picture, base)
        if link is not None:
            return link.href
    return None


def kind_by_ending(url: str) -> str | None:
    """Return the type of a file by the extension in its address, such as `Image`; None if it is not known."""
    return ENDINGS.get(urlsplit(url).path.rpartition(".")[2].lower())


def size_of(thing: JsonObject) -> tuple[int, int] | None:
    """Return the width and the height of an object in pixels; None if it does not have both."""
    sides = [side for side in (thing.get("width"), thing.get("height")) if isinstance(side, int)]
    return (sides[0], sides[1]) if len(sides) == 2 and all(0 < side <= LARGEST_SIDE for side in sides) else None


def with_whole_links(text: str, base: str) -> str:
    """Return HTML whose links to other places of its site have whole addresses. `base` is the address of its page."""
    return RELATIVE_LINK.sub(partial(_with_host, base), text, MOST_RELATIVE_LINKS)


def _with_host(base: str, link: re.Match[str]) -> str:
    whole = _whole(html.unescape(link["address"]), base)
    return link[0] if whole is None else f'{link["start"]}"{escape_attribute(whole)}"'


def _whole(address: str, base: str) -> str | None:
    """Return an address with its host; None for an address that can't be parsed."""
    try:
        return urljoin(base, address)
    except ValueError:
        return None


def _links_of(value: object, base: str) -> list[TypedAddress]:
    return list(islice(_read(value, base), MOST_LINKS))


def _read(value: object, base: str) -> Iterator[TypedAddress]:
    """Yield the links of a value, each before its inner links."""
    for element in list_of(value)[:MOST_LINKS]:
        thing: JsonObject = element if is_object(element) else {"href": element}
        href = thing.get("href") or thing.get("url")
        if isinstance(href, str):
            href = href.strip()  # as browsers do
            if href.startswith("/"):
                href = _with_origin(href, base)
        if is_uri(href) and host_of(href) is not None:
            named = text_of(thing.get("mediaType"), LONGEST_MEDIA_TYPE) or ""
            length = thing.get("size")
            yield TypedAddress(
                href,
                named.partition(";")[0].strip().lower() or None,
                size_of(thing),
                length if isinstance(length, int) else None,
                _tracks_of(thing),
            )
        # Only a playlist, which is a Link, has links in `tag`. The tags of a post are people and hashtags.
        for inner in objects_of(thing.get("tag")) if "Link" in types_of(thing) else ():
            yield from _read([inner] if "tag" not in inner else [], base)


def _with_origin(path: str, base: str) -> str | None:
    """Return the address of a path on the server of `base`. A path that begins with two slashes names its host.

    Not by `urljoin`: it resolves each `../`, and caches long texts. A document may have thousands of long paths.
    """
    origin = origin_of(base)
    if origin is None:
        return None
    return origin.partition("//")[0] + path if path.startswith("//") else origin + path


def _tracks_of(thing: JsonObject) -> frozenset[str]:
    properties = objects_of(thing.get("attachment"))[:MOST_LINKS]
    return frozenset(str(given.get("value")) for given in properties if given.get("name") == TRACKS)

"""RSS 2.0: a list of statuses for feed readers.

A feed has no texts and media behind content warnings, because feed readers would show them at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from html import escape
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from ... import __version__
from ...actors.shown.statuses import ShownStatus
from ...storage.media import Media
from ..entities.media import media_fields
from ..views.titles import name_of, title_of
from .posts import path_of

ATOM = "http://www.w3.org/2005/Atom"
CREATOR = "http://purl.org/dc/elements/1.1/"
MEDIA = "http://search.yahoo.com/mrss/"
MEDIUMS = {"image": "image", "gifv": "video", "video": "video", "audio": "audio"}
# Characters that XML 1.0 can't represent.
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

for prefix, namespace in (("atom", ATOM), ("dc", CREATOR), ("media", MEDIA)):
    ElementTree.register_namespace(prefix, namespace)


@dataclass(frozen=True, slots=True)
class FeedChannel:
    """The description of a feed. URLs are absolute."""

    title: str
    url: str  # of the page with the same statuses
    feed: str  # of the feed itself
    description: str
    image: str


def feed_xml(channel: FeedChannel, shown: Sequence[ShownStatus], base_url: str) -> bytes:
    """Return a feed of statuses as XML."""
    root = Element("rss", version="2.0")
    inner = SubElement(root, "channel")
    _add(inner, "title", channel.title)
    _add(inner, "link", channel.url)
    _add(inner, "description", channel.description)
    SubElement(inner, f"{{{ATOM}}}link", rel="self", type="application/rss+xml", href=_written(channel.feed))
    if (newest := newest_change(shown)) is not None:
        _add(inner, "lastBuildDate", http_date(newest))
    _add(inner, "generator", f"Troupe {__version__}")
    image = SubElement(inner, "image")
    for name, text in (("url", channel.image), ("title", channel.title), ("link", channel.url)):
        _add(image, name, text)
    for status in shown:
        _add_item(inner, status, base_url)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def newest_change(shown: Sequence[ShownStatus]) -> datetime | None:
    """Return the time of the newest status or edit; None without statuses."""
    return max((post.status.edited_at or post.status.created_at for post in shown), default=None)


def http_date(value: datetime) -> str:
    """Return a time in the format of RSS and HTTP, in GMT."""
    return format_datetime(value.astimezone(UTC).replace(microsecond=0), usegmt=True)


def _add_item(channel: Element, shown: ShownStatus, base_url: str) -> None:
    status = shown.status
    item = SubElement(channel, "item")
    url = f"{base_url}{path_of(shown)}" if shown.author.local else path_of(shown)
    _add(item, "title", title_of(shown))
    _add(item, "link", url)
    _add(item, "guid", url).set("isPermaLink", "true")
    _add(item, f"{{{CREATOR}}}creator", name_of(shown.author))
    _add(item, "pubDate", http_date(status.created_at))
    _add(item, "description", _html(shown))
    for tag in status.tags:
        _add(item, "category", tag.name)
    if not status.spoiler_text and not status.sensitive and shown.author.sensitized_at is None:
        for medium in status.media:
            _add_media(item, medium, base_url)


def _html(shown: ShownStatus) -> str:
    status = shown.status
    if status.spoiler_text:
        return f"<p>Content warning: {escape(status.spoiler_text)}</p>"
    options = (
        "" if status.poll is None else "".join(f"<li>{escape(option.title)}</li>" for option in status.poll.options)
    )
    return f"{status.content}<ul>{options}</ul>" if options else status.content


def _add_media(item: Element, media: Media, base_url: str) -> None:
    if media.file is None:
        return
    content = SubElement(item, f"{{{MEDIA}}}content", url=str(media_fields(media, base_url)["url"]))
    for name, value in (("type", media.file_type), ("fileSize", media.file_size), ("medium", MEDIUMS.get(media.type))):
        if value is not None:
            content.set(name, str(value))
    if media.description:
        _add(content, f"{{{MEDIA}}}description", media.description).set("type", "plain")


def _add(parent: Element, name: str, text: str) -> Element:
    child = SubElement(parent, name)
    child.text = _written(text)
    return child


def _written(text: str) -> str:
    return UNWRITABLE.sub("", text)

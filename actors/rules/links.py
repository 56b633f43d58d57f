"""The link of a status whose page is previewed."""

from __future__ import annotations

import html
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol
from urllib.parse import urlsplit

import regex

from ...storage.accounts import Account
from ..outgoing.messages import ForbiddenTarget
from ..outgoing.targets import LONGEST_URL, RequestTarget, written_target
from .markup import ATTRIBUTE, TAG, plain
from .scan import EntityFinder, FoundLink

MOST_LINKS = 10  # that are looked at


def writes_for(account: Account, url: str) -> bool:
    """True if an account says that it writes for the domain of a page: anybody's page can name it as its author."""
    if account.suspended_at is not None or account.deleted_at is not None:
        return False
    host = urlsplit(url).hostname or ""
    return any(host == domain or host.endswith(f".{domain}") for domain in account.attribution_domains)


class HasLinks(Protocol):
    """The attributes of a status, stored or to be stored, that decide which card it shows."""

    @property
    def content(self) -> str: ...
    @property
    def media_ids(self) -> Sequence[int]: ...
    @property
    def quote_state(self) -> str | None: ...
    @property
    def reblog_of_id(self) -> int | None: ...


def link_of(status: HasLinks, base_url: str) -> RequestTarget | None:
    """Return the first link of a status to a page of another server, in a normal form. None if it shows no card.

    Mentions and hashtags are no links, whether their server marks them or not. A status with media or a quote shows
    these.
    """
    if status.media_ids or status.quote_state is not None or status.reblog_of_id is not None:
        return None
    if "<a " not in status.content:  # which most have not
        return None
    own = urlsplit(base_url).netloc
    finder, links = EntityFinder(), 0
    for tag in TAG.finditer(status.content):
        if tag["name"] != "a" or tag["close"]:
            continue
        attributes = {found["name"]: html.unescape(found["value"]) for found in ATTRIBUTE.finditer(tag["attributes"])}
        if "mention" in attributes.get("class", "").split() or _is_name(status.content, tag, finder):
            continue
        with suppress(ForbiddenTarget):
            target = written_target(attributes.get("href", ""))
            if target.authority != own and len(target.url) <= LONGEST_URL:
                return target
        links += 1
        if links == MOST_LINKS:
            return None
    return None


def _is_name(content: str, tag: regex.Match[str], finder: EntityFinder) -> bool:
    """True if the text of a link is a handle or a hashtag, with its sign in the link or right before it."""
    text = plain(content[tag.end() : content.find("</a>", tag.end())])
    before = content[max(0, tag.start() - 1) : tag.start()]
    written = before + text if before in ("@", "#") else text
    found = next(finder.find(written), None)
    return found is not None and not isinstance(found, FoundLink) and (found.start, found.end) == (0, len(written))

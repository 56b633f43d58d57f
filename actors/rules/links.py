"""The link of a status whose page is previewed."""

from __future__ import annotations

import html
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol
from urllib.parse import urlsplit

from ...storage.accounts import Account
from ..outgoing.errors import ForbiddenTarget
from ..outgoing.targets import LONGEST_URL, RequestTarget, written_target
from .markup import ATTRIBUTE, TAG

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
    """Return the first link of a status to a page of another server, in one spelling. None if it shows no card.

    Mentions and hashtags are no links, and a status with media or a quote shows these.
    """
    if status.media_ids or status.quote_state is not None or status.reblog_of_id is not None:
        return None
    if "<a " not in status.content:  # which most have not
        return None
    own = urlsplit(base_url).netloc
    links = 0
    for tag in TAG.finditer(status.content):
        if tag["name"] != "a" or tag["close"]:
            continue
        attributes = {found["name"]: html.unescape(found["value"]) for found in ATTRIBUTE.finditer(tag["attributes"])}
        if "mention" in attributes.get("class", "").split():
            continue
        with suppress(ForbiddenTarget):
            target = written_target(attributes.get("href", ""))
            if target.authority != own and len(target.url) <= LONGEST_URL:
                return target
        links += 1
        if links == MOST_LINKS:
            return None
    return None

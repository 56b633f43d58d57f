"""PreviewCard and Trends::Link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from ...actors.activitypub.uris import web_address
from ...actors.rules.links import writes_for
from ...storage.accounts import Account
from ...storage.preview_cards import CardFacts, PreviewCard
from ...storage.trends import UsedLink
from .account import account_json
from .media import file_address
from .rendered import Renderings
from .tag import day_fields
from .times import maybe_instant


@dataclass(frozen=True, slots=True)
class CardAuthor:
    """An account that has written the page of a card. `json` is its entity."""

    name: str
    url: str
    json: orjson.Fragment


def card_fields(card: PreviewCard, base_url: str, author: CardAuthor | None = None) -> dict[str, object]:
    """Return a card. `author` is the account that has written its page."""
    facts = card.facts
    return {
        "url": web_address(card.url),
        "title": facts.title,
        "description": facts.description,
        "language": facts.language,
        "type": facts.type,
        "authors": _authors(facts, author),
        "author_name": facts.author_name,
        "author_url": web_address(facts.author_url),
        "provider_name": facts.provider_name,
        "provider_url": web_address(facts.provider_url),
        "html": facts.html,
        "width": facts.width,
        "height": facts.height,
        "image": file_address(facts.image_file, base_url),
        "image_description": facts.image_description,
        "embed_url": web_address(facts.embed_url),
        "blurhash": facts.blurhash,
        "published_at": maybe_instant(facts.published_at),
    }


def link_fields(
    link: UsedLink, days: Sequence[datetime], base_url: str, author: CardAuthor | None
) -> dict[str, object]:
    """Return a trending link. `days` are the beginnings of the days of its numbers, oldest first."""
    history = [day_fields(*day) for day in zip(reversed(days), link.uses, link.accounts, strict=True)]
    return card_fields(link.card, base_url, author) | {"history": history}


def author_of(card: PreviewCard, account: Account | None, renderings: Renderings, base_url: str) -> CardAuthor | None:
    """Return the account that a card's page names as its author, if the account lists the page's domain."""
    if account is None or not writes_for(account, card.url):
        return None
    return CardAuthor(
        account.display_name or account.username,
        web_address(account.url or account.uri),
        orjson.Fragment(account_json(account, renderings, base_url)),
    )


def _authors(facts: CardFacts, author: CardAuthor | None) -> list[dict[str, object]]:
    """Return the author of the page, if it is an account or has an address."""
    if author is not None:
        name, url = facts.author_name or author.name, web_address(facts.author_url) or author.url
        return [{"name": name, "url": url, "account": author.json}]
    if not facts.author_url:
        return []
    return [{"name": facts.author_name, "url": web_address(facts.author_url), "account": None}]

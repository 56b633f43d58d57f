"""PreviewCard and Trends::Link."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ...storage.preview_cards import CardFacts, PreviewCard
from ...storage.trends import UsedLink
from .media import file_address
from .tag import day_fields
from .times import maybe_instant


def card_fields(card: PreviewCard, base_url: str) -> dict[str, object]:
    """Return a card. The authors of pages are not matched with accounts."""
    facts = card.facts
    return {
        "url": card.url,
        "title": facts.title,
        "description": facts.description,
        "language": facts.language,
        "type": facts.type,
        "authors": _authors(facts),
        "author_name": facts.author_name,
        "author_url": facts.author_url,
        "provider_name": facts.provider_name,
        "provider_url": facts.provider_url,
        "html": facts.html,
        "width": facts.width,
        "height": facts.height,
        "image": file_address(facts.image_file, base_url),
        "image_description": facts.image_description,
        "embed_url": facts.embed_url,
        "blurhash": facts.blurhash,
        "published_at": maybe_instant(facts.published_at),
    }


def link_fields(link: UsedLink, days: Sequence[datetime], base_url: str) -> dict[str, object]:
    """Return a trending link. `days` are the beginnings of the days of its numbers, oldest first."""
    history = [day_fields(*day) for day in zip(reversed(days), link.uses, link.accounts, strict=True)]
    return card_fields(link.card, base_url) | {"history": history}


def _authors(facts: CardFacts) -> list[dict[str, object]]:
    """Return the author of the page, if it has an address."""
    if not facts.author_url:
        return []
    return [{"name": facts.author_name, "url": facts.author_url, "account": None}]

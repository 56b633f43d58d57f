"""Decisions of staff: which links and statuses may trend. Decisions on hashtags are in `tags`.

A link is allowed by itself or by its publisher, a domain; a status by itself or by its author.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from .engine.database import Connection

Key = TypeVar("Key", int, str)

REVIEW_PUBLISHER = """
    INSERT INTO publisher_reviews (domain, trendable, reviewed_at) VALUES ($1, $2, $3)
    ON CONFLICT (domain) DO UPDATE SET trendable = excluded.trendable, reviewed_at = excluded.reviewed_at
"""

# FOR KEY SHARE: the row can't be deleted between the look and the review that refers to it.
REVIEW = """
    INSERT INTO {reviews} ({key}, trendable, reviewed_at)
    SELECT id, $2::boolean, $3::timestamptz FROM {table} WHERE id = $1 FOR KEY SHARE
    ON CONFLICT ({key}) DO UPDATE SET trendable = excluded.trendable, reviewed_at = excluded.reviewed_at
    RETURNING 1
"""
REVIEW_LINK = REVIEW.format(reviews="link_reviews", key="card_id", table="preview_cards")
REVIEW_AUTHOR = REVIEW.format(reviews="author_reviews", key="account_id", table="accounts")
REVIEW_STATUS = REVIEW.format(reviews="status_reviews", key="status_id", table="statuses")

FIND_PUBLISHERS = "SELECT domain, trendable FROM publisher_reviews WHERE domain = ANY($1::text[])"
FIND_LINKS = "SELECT card_id, trendable FROM link_reviews WHERE card_id = ANY($1::bigint[])"
FIND_AUTHORS = "SELECT account_id, trendable FROM author_reviews WHERE account_id = ANY($1::bigint[])"
FIND_STATUSES = "SELECT status_id, trendable FROM status_reviews WHERE status_id = ANY($1::bigint[])"


async def review_publisher(db: Connection, domain: str, now: datetime, *, trendable: bool) -> None:
    """Store whether links to a domain and its subdomains may trend. The domain is in lower-case ASCII."""
    await db.execute(REVIEW_PUBLISHER, domain, trendable, now)


async def review_link(db: Connection, card_id: int, now: datetime, *, trendable: bool) -> bool:
    """Store whether a link may trend, above any decision on its publisher. False if there is no such card."""
    return await db.fetchval(REVIEW_LINK, card_id, trendable, now) is not None


async def review_author(db: Connection, account_id: int, now: datetime, *, trendable: bool) -> bool:
    """Store whether the statuses of an account may trend. False if there is no such account."""
    return await db.fetchval(REVIEW_AUTHOR, account_id, trendable, now) is not None


async def review_status(db: Connection, status_id: int, now: datetime, *, trendable: bool) -> bool:
    """Store whether a status may trend, above any decision on its author. False if there is no such status."""
    return await db.fetchval(REVIEW_STATUS, status_id, trendable, now) is not None


async def find_publishers(db: Connection, domains: Sequence[str]) -> dict[str, bool]:
    """Return the decisions on these domains. Domains without a decision are left out, as in all these functions."""
    return await _find(db, FIND_PUBLISHERS, domains)


async def find_links(db: Connection, card_ids: Sequence[int]) -> dict[int, bool]:
    """Return the decisions on these cards."""
    return await _find(db, FIND_LINKS, card_ids)


async def find_authors(db: Connection, account_ids: Sequence[int]) -> dict[int, bool]:
    """Return the decisions on these accounts."""
    return await _find(db, FIND_AUTHORS, account_ids)


async def find_statuses(db: Connection, status_ids: Sequence[int]) -> dict[int, bool]:
    """Return the decisions on these statuses."""
    return await _find(db, FIND_STATUSES, status_ids)


async def _find(db: Connection, query: str, keys: Sequence[Key]) -> dict[Key, bool]:
    return {row[0]: row[1] for row in await db.fetch(query, keys)} if keys else {}

"""Filters: the keywords and single statuses that an account does not want to read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .engine.database import Connection, Row
from .engine.sql import Statement, assigned, insert_into, rows_of

FilterAction = Literal["warn", "hide", "blur"]

FILTERS = """
    SELECT
        f.account_id, f.id, f.title, f.contexts, f.action, f.expires_at,
        (
            SELECT jsonb_agg(jsonb_build_array(k.id, k.keyword, k.whole_word) ORDER BY k.id)
            FROM filter_keywords k WHERE k.filter_id = f.id
        ) AS keywords,
        (
            SELECT jsonb_agg(jsonb_build_array(s.id, s.status_id) ORDER BY s.id)
            FROM filter_statuses s WHERE s.filter_id = f.id
        ) AS statuses
    FROM filters f WHERE f.account_id = {owner} ORDER BY f.id
"""
OF_ACCOUNT = FILTERS.format(owner="$1")
OF_ACCOUNTS = FILTERS.format(owner="ANY($1::bigint[])")

INSERT = Statement(
    insert_into(
        "filters", "id, account_id, title, contexts, action, expires_at, created_at, updated_at",
        account_id=":owner", created_at=":now", updated_at=":now",
    )
)  # fmt: skip

CHANGE = Statement(f"""
    UPDATE filters SET {assigned("title, contexts, action, expires_at")}, updated_at = :now
    WHERE id = :id AND account_id = :owner
""")

DELETE = "DELETE FROM filters WHERE account_id = $1 AND id = $2"

KEYWORD_COLUMNS = {"id": "bigint", "keyword": "text", "whole_word": "boolean"}

PUT_KEYWORDS = Statement(f"""
    INSERT INTO filter_keywords (id, filter_id, keyword, whole_word, created_at)
    SELECT k.id, :filter_id, k.keyword, k.whole_word, :now FROM {rows_of(KEYWORD_COLUMNS, "k")}
    ON CONFLICT (id) DO UPDATE SET keyword = excluded.keyword, whole_word = excluded.whole_word
    WHERE filter_keywords.filter_id = excluded.filter_id
""")

DELETE_KEYWORDS = "DELETE FROM filter_keywords WHERE filter_id = $1 AND id = ANY($2::bigint[])"

# A status that was deleted meanwhile is left out. The others can't be deleted until the commit.
INSERT_STATUS = """
    INSERT INTO filter_statuses (id, filter_id, status_id, created_at)
    SELECT $1, $2, s.id, $4 FROM statuses s WHERE s.id = $3 AND s.deleted_at IS NULL FOR KEY SHARE
"""

DELETE_STATUSES = "DELETE FROM filter_statuses WHERE filter_id = $1 AND id = ANY($2::bigint[])"


@dataclass(frozen=True, slots=True)
class FilterKeyword:
    """A word or phrase that statuses are searched for."""

    id: int
    keyword: str
    whole_word: bool


@dataclass(frozen=True, slots=True)
class FilterStatus:
    """A status that a filter names; `id` is that of the entry."""

    id: int
    status_id: int


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter with its keywords and statuses, the oldest first."""

    id: int
    title: str
    contexts: tuple[str, ...]
    action: FilterAction
    expires_at: datetime | None
    keywords: tuple[FilterKeyword, ...] = ()
    statuses: tuple[FilterStatus, ...] = ()


async def of_account(db: Connection, account_id: int) -> tuple[Filter, ...]:
    """All filters of an account, the oldest first."""
    return tuple(_filter(row) for row in await db.fetch(OF_ACCOUNT, account_id))


async def of_accounts(db: Connection, account_ids: Sequence[int]) -> dict[int, tuple[Filter, ...]]:
    """All filters of several accounts, by account, the oldest first."""
    found: dict[int, list[Filter]] = {id: [] for id in account_ids}
    for row in await db.fetch(OF_ACCOUNTS, account_ids):
        found[row["account_id"]].append(_filter(row))
    return {id: tuple(rows) for id, rows in found.items()}


async def insert(db: Connection, owner: int, new: Filter, now: datetime) -> None:
    """Store a filter with its keywords."""
    await db.execute(*INSERT.bind(new, owner=owner, now=now))
    await _put_keywords(db, new.id, new.keywords, now)


async def change(db: Connection, owner: int, before: Filter, after: Filter, now: datetime) -> None:
    """Store the difference between a filter before and after a change."""
    await db.execute(*CHANGE.bind(after, owner=owner, now=now))
    await _put_keywords(db, after.id, [keyword for keyword in after.keywords if keyword not in before.keywords], now)
    if gone := _missing(before.keywords, after.keywords):
        await db.execute(DELETE_KEYWORDS, after.id, gone)
    for entry in after.statuses:
        if entry not in before.statuses:
            await db.execute(INSERT_STATUS, entry.id, after.id, entry.status_id, now)
    if gone := _missing(before.statuses, after.statuses):
        await db.execute(DELETE_STATUSES, after.id, gone)


async def delete(db: Connection, owner: int, id: int) -> None:
    """Delete a filter with its keywords and statuses."""
    await db.execute(DELETE, owner, id)


async def _put_keywords(db: Connection, filter_id: int, keywords: Sequence[FilterKeyword], now: datetime) -> None:
    """Store keywords of a filter, or change existing keywords."""
    if keywords:
        await db.execute(*PUT_KEYWORDS.bind_many(keywords, filter_id=filter_id, now=now))


def _missing(
    before: Sequence[FilterKeyword | FilterStatus], after: Sequence[FilterKeyword | FilterStatus]
) -> list[int]:
    """Return the ids of the keywords or statuses that are in `before` and not in `after`."""
    left = {part.id for part in after}
    return [part.id for part in before if part.id not in left]


def _filter(row: Row) -> Filter:
    _, id, title, contexts, action, expires_at, keywords, statuses = row.values()
    return Filter(
        id,
        title,
        tuple(contexts),
        action,
        expires_at,
        tuple(FilterKeyword(*keyword) for keyword in keywords or ()),
        tuple(FilterStatus(*status) for status in statuses or ()),
    )

"""Quotes: which statuses quote another status, and how quotes end. `statuses.py` stores a quote with its status.

A quote is part of the row of the quoting status. All that end it lock this row first, then count rows: so a quote ends
once, and is counted as long as it is accepted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from . import accounts, notifications
from .engine.database import Connection, Row
from .timeline_entries import ENTRY_COLUMNS, ENTRY_JOINS, TimelineEntry, entry_of
from .upkeep.paging import Page, both_ways

End = Literal["revoked", "deleted"]

# A status that was accepted for quoting can't be deleted, and its policy not be changed, until the transaction ends. A
# row that was changed while this waited is read again: an old policy decides nothing.
LOCK_QUOTED = """
    SELECT account_id, local, visibility, mentioned_ids, quote_policy, quote_manual_policy FROM statuses
    WHERE id = $1 AND deleted_at IS NULL FOR SHARE
"""

PAGE = both_ways(f"""
    WITH page AS (
        SELECT s.id FROM statuses s
        WHERE s.quote_of_id = $1 AND s.id < $2 AND s.id > $3 AND s.quote_state = 'accepted' AND s.deleted_at IS NULL
        ORDER BY s.id {{order}} LIMIT $4
    )
    SELECT {ENTRY_COLUMNS} FROM page JOIN statuses s ON s.id = page.id {ENTRY_JOINS} ORDER BY s.id DESC
""")

# In the order of ids, so that two transactions do not deadlock.
LOCK_OF = """
    SELECT id, account_id, quote_of_id, quote_state FROM statuses
    WHERE quote_of_id = $1 AND quote_state IN ('accepted', 'pending') AND deleted_at IS NULL
    ORDER BY id FOR UPDATE
"""

# In the order of ids, as above.
LOCK_BETWEEN = """
    SELECT q.id, q.account_id, q.quote_of_id, q.quote_state FROM statuses q JOIN statuses s ON s.id = q.quote_of_id
    WHERE q.account_id = ANY($1::bigint[]) AND q.quote_state IN ('accepted', 'pending') AND q.deleted_at IS NULL
    AND s.account_id = ANY($1::bigint[]) AND s.account_id <> q.account_id
    ORDER BY q.id FOR UPDATE OF q
"""

# An answer and a revocation of one quote lock the row, one after the other: each decides by the state that it finds.
LOCK_ONE = """
    SELECT q.id, q.account_id, q.quote_of_id, q.quote_state FROM statuses q
    JOIN statuses s ON s.id = q.quote_of_id AND s.account_id = $3 AND s.deleted_at IS NULL
    WHERE q.id = $1 AND q.quote_of_id = $2 AND q.deleted_at IS NULL
    FOR UPDATE OF q
"""

# Where the author of another server has not answered yet, there is no approval to revoke.
END = """
    WITH ended AS (
        UPDATE statuses SET
            quote_state = CASE WHEN quote_state = 'pending' AND $3 = 'revoked' THEN 'rejected' ELSE $3 END,
            quote_change_id = new.change_id
        FROM unnest($1::bigint[], $2::bigint[]) AS new (id, change_id) WHERE statuses.id = new.id
    ), unnotified AS (
        DELETE FROM notifications WHERE status_id = ANY($1::bigint[]) AND type = 'quoted_update'
    )
    UPDATE status_counts SET quotes = quotes - lost.number
    FROM (SELECT id, count(*) AS number FROM unnest($4::bigint[]) AS id GROUP BY id ORDER BY id) AS lost
    WHERE status_counts.status_id = lost.id
"""

ACCEPT = """
    WITH accepted AS (
        UPDATE statuses SET quote_state = 'accepted', quote_approval_uri = $2, quote_change_id = $3 WHERE id = $1
        RETURNING quote_of_id
    )
    UPDATE status_counts SET quotes = quotes + 1 FROM accepted WHERE status_counts.status_id = accepted.quote_of_id
"""

# Another quote than before, or none. Both quoted statuses are counted.
PUT = """
    WITH before AS (
        SELECT quote_of_id, quote_state FROM statuses WHERE id = $1
    ), changed AS (
        UPDATE statuses SET quote_of_id = $2, quote_state = $3, quote_approval_uri = $4, quote_change_id = $5
        WHERE id = $1
    )
    UPDATE status_counts c SET quotes = c.quotes
        + (c.status_id IS NOT DISTINCT FROM $2 AND $3 IS NOT DISTINCT FROM 'accepted')::int
        - (c.status_id IS NOT DISTINCT FROM before.quote_of_id AND before.quote_state IS NOT DISTINCT FROM 'accepted'
        )::int
    FROM before WHERE c.status_id = ANY(ARRAY[$2, before.quote_of_id])
"""

SET_APPROVAL = "UPDATE statuses SET quote_approval_uri = $2 WHERE id = $1"

# By the document of the quoted author's server that allows it.
FIND_APPROVED = """
    SELECT q.id, q.quote_of_id FROM statuses q JOIN statuses s ON s.id = q.quote_of_id
    WHERE q.quote_approval_uri = $1 AND s.account_id = $2 AND q.deleted_at IS NULL
"""

REBLOGGERS = """
    SELECT reblog_of_id, account_id FROM statuses WHERE reblog_of_id = ANY($1::bigint[]) AND deleted_at IS NULL
    ORDER BY id
"""

# The local accounts that quote a status, each with the quoting status.
QUOTING = """
    SELECT s.id, s.account_id FROM statuses s
    WHERE s.quote_of_id = $1 AND s.quote_state = 'accepted' AND s.deleted_at IS NULL AND s.local
    ORDER BY s.id
"""

WITHDRAW_UPDATES = "DELETE FROM notifications WHERE type = 'quoted_update' AND status_id = ANY($1::bigint[])"


@dataclass(frozen=True, slots=True)
class QuotedStatus:
    """The facts about a status that decide on a quote of it."""

    account_id: int
    local: bool
    visibility: str
    mentioned_ids: tuple[int, ...]
    quote_policy: str
    quote_manual_policy: str


@dataclass(frozen=True, slots=True)
class EndedQuote:
    """A quote that is shown no more: the quoting status, its author, the quoted status, and the id of the change.

    `rebloggers` are the accounts that boosted the quoting status, `notified` the accounts that were notified of a
    mention in it.
    """

    id: int
    account_id: int
    quoted_id: int
    change_id: int
    rebloggers: tuple[int, ...]
    notified: tuple[int, ...]


async def lock_quoted(db: Connection, id: int) -> QuotedStatus | None:
    """Return a status as it is, locked against changes until the transaction ends. None if it is deleted."""
    row = await db.fetchrow(LOCK_QUOTED, id)
    if row is None:
        return None
    account_id, local, visibility, mentioned_ids, policy, manual_policy = row.values()
    return QuotedStatus(account_id, local, visibility, tuple(mentioned_ids), policy, manual_policy)


async def page(db: Connection, status_id: int, page: Page) -> list[TimelineEntry]:
    """Return the statuses that quote a status, newest first."""
    return [entry_of(row) for row in await db.fetch(PAGE[page.oldest_first], status_id, *page.bounds)]


async def quoting(db: Connection, status_id: int) -> list[tuple[int, int]]:
    """Return the statuses of this server that quote a status, as (status id, account id)."""
    return [(row["id"], row["account_id"]) for row in await db.fetch(QUOTING, status_id)]


async def withdraw_updates(db: Connection, quoting_ids: Sequence[int]) -> None:
    """Delete the notifications to the authors of these quotes about earlier edits of the quoted status."""
    await db.execute(WITHDRAW_UPDATES, quoting_ids)


async def end_of(db: Connection, status_id: int, end: End, next_id: Callable[[], int]) -> tuple[EndedQuote, ...]:
    """End all quotes of a status. Call this before locking count rows."""
    return await _end(db, await db.fetch(LOCK_OF, status_id), end, next_id)


async def end_between(db: Connection, a: int, b: int, next_id: Callable[[], int]) -> tuple[EndedQuote, ...]:
    """Revoke the quotes that two accounts made of each other. Locks their count rows."""
    rows = await db.fetch(LOCK_BETWEEN, [a, b])
    if rows:
        await accounts.lock_counts(db, [a, b])
    return await _end(db, rows, "revoked", next_id)


async def revoke(
    db: Connection, id: int, quoted_id: int, quoted_account_id: int, next_id: Callable[[], int]
) -> tuple[EndedQuote, ...] | None:
    """Revoke a quote of a status of this account, or reject a quote that waits for its answer.

    Empty if the quote has ended already, None if it does not exist.
    """
    row = await db.fetchrow(LOCK_ONE, id, quoted_id, quoted_account_id)
    if row is None:
        return None
    return await _end(db, [row] if row["quote_state"] in ("accepted", "pending") else [], "revoked", next_id)


async def accept(
    db: Connection, id: int, quoted_id: int, quoted_account_id: int, approval_uri: str, next_id: Callable[[], int]
) -> EndedQuote | None:
    """Accept a quote that waits for the quoted author's answer, and return the change. None if it does not wait."""
    row = await db.fetchrow(LOCK_ONE, id, quoted_id, quoted_account_id)
    if row is None or row["quote_state"] != "pending":
        return None
    change_id = next_id()
    await db.execute(ACCEPT, id, approval_uri, change_id)
    rebloggers = tuple(boost["account_id"] for boost in await db.fetch(REBLOGGERS, [id]))
    notified = (await notifications.mentioned(db, [id])).get(id, ())
    return EndedQuote(id, row["account_id"], quoted_id, change_id, rebloggers, notified)


async def put(
    db: Connection, id: int, quoted_id: int | None, state: str | None, approval_uri: str | None, change_id: int
) -> None:
    """Set the quoted status of a locked status; None removes it. Lock the status before the change id is drawn."""
    await db.execute(PUT, id, quoted_id, state, approval_uri, change_id)


async def set_approval(db: Connection, id: int, approval_uri: str) -> None:
    """Note the document by which the author on another server allows a quote."""
    await db.execute(SET_APPROVAL, id, approval_uri)


async def find_approved(db: Connection, approval_uri: str, quoted_account_id: int) -> tuple[int, int] | None:
    """Return the quote that a document of the quoted author's server allows, as (id, id of the quoted status)."""
    row = await db.fetchrow(FIND_APPROVED, approval_uri, quoted_account_id)
    return None if row is None else (row["id"], row["quote_of_id"])


async def _end(db: Connection, rows: Sequence[Row], end: End, next_id: Callable[[], int]) -> tuple[EndedQuote, ...]:
    """End the quotes of locked rows. The ids are drawn now, so that of two changes of a status the later is above."""
    if not rows:
        return ()
    ids = [row["id"] for row in rows]
    changes = [next_id() for _ in ids]
    counted = [row["quote_of_id"] for row in rows if row["quote_state"] == "accepted"]
    await db.execute(END, ids, changes, end, counted)
    rebloggers: dict[int, list[int]] = {}
    for row in await db.fetch(REBLOGGERS, ids):
        rebloggers.setdefault(row["reblog_of_id"], []).append(row["account_id"])
    notified = await notifications.mentioned(db, ids)
    return tuple(
        EndedQuote(
            row["id"], row["account_id"], row["quote_of_id"], change, tuple(rebloggers.get(row["id"], ())),
            notified.get(row["id"], ()),
        )
        for row, change in zip(rows, changes, strict=True)
    )  # fmt: skip

"""Notification requests: senders whose mentions or quotes were filtered by an account's policy.

The statement that stores notifications makes the rows (`notifications.INSERT`). A request is open as long as it
has a filtered mention or quote.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from . import notification_policy
from .engine.database import Connection
from .notifications import ALIVE, ASKING
from .upkeep.paging import Page, both_ways, rows_of

COUNTED = 100  # counts end here

FROM_SENDER = f"n.account_id = r.account_id AND n.from_account_id = r.from_account_id AND n.filtered AND {ALIVE}"

SELECT = f"""
    SELECT r.id, r.from_account_id, r.created_at, r.updated_at,
        (SELECT count(*) FROM (SELECT FROM notifications n WHERE {FROM_SENDER} LIMIT {COUNTED}) AS counted) AS count,
        last.type AS last_type, last.status_id AS last_status_id
    FROM notification_requests r
    CROSS JOIN LATERAL (
        SELECT n.type, n.status_id FROM notifications n
        WHERE {FROM_SENDER} AND n.type IN {ASKING} ORDER BY n.id DESC LIMIT 1
    ) AS last
"""

PAGE = both_ways(f"{SELECT} WHERE r.account_id = $1 AND r.id < $2 AND r.id > $3 ORDER BY r.id {{order}} LIMIT $4")

FIND = f"{SELECT} WHERE r.account_id = $1 AND r.id = $2"

PENDING = f"""
    SELECT
        (SELECT count(*) FROM (
            SELECT FROM notification_requests r WHERE r.account_id = $1
            AND EXISTS (SELECT FROM notifications n WHERE {FROM_SENDER} AND n.type IN {ASKING})
            LIMIT {COUNTED}
        ) AS open) AS requests,
        (SELECT count(*) FROM (
            SELECT FROM notifications n WHERE n.account_id = $1 AND n.filtered AND {ALIVE} LIMIT {COUNTED}
        ) AS filtered) AS notifications
"""

CLOSE = "DELETE FROM notification_requests WHERE account_id = $1 AND id = ANY($2::bigint[]) RETURNING from_account_id"

MERGE = """
    UPDATE notifications SET filtered = false WHERE account_id = $1 AND from_account_id = ANY($2::bigint[]) AND filtered
    RETURNING type, status_id
"""

FORGET = "DELETE FROM notifications WHERE account_id = $1 AND from_account_id = ANY($2::bigint[]) AND filtered"


@dataclass(frozen=True, slots=True)
class NotificationRequest:
    """A sender with the number of its filtered notifications, up to `COUNTED`, and the last mention or quote."""

    id: int
    from_account_id: int
    created_at: datetime
    updated_at: datetime
    count: int
    last_type: str
    last_status_id: int | None


@dataclass(frozen=True, slots=True)
class Pending:
    """The numbers of open requests and of filtered notifications, each up to `COUNTED`."""

    requests: int
    notifications: int


async def page(db: Connection, account_id: int, page: Page) -> list[NotificationRequest]:
    """Return the open requests, the latest first."""
    return [NotificationRequest(**row) for row in await rows_of(db, PAGE, page, account_id)]


async def find(db: Connection, account_id: int, id: int) -> NotificationRequest | None:
    row = await db.fetchrow(FIND, account_id, id)
    return NotificationRequest(**row) if row is not None else None


async def pending(db: Connection, account_id: int) -> Pending:
    return Pending(**await db.fetchrow(PENDING, account_id))


async def accept(db: Connection, account_id: int, ids: Sequence[int], merge_id: int) -> tuple[bool, list[int]]:
    """Accept requests: filtered notifications are shown, and later notifications of the sender are accepted.

    Return False if there is none of these requests, and the statuses of the mentions that were filtered.
    """
    senders = await _close(db, account_id, ids)
    if not senders:
        return False, []
    await notification_policy.accept_senders(db, account_id, senders, merge_id)
    merged = await db.fetch(MERGE, account_id, senders)
    return True, [row["status_id"] for row in merged if row["type"] == "mention"]


async def dismiss(db: Connection, account_id: int, ids: Sequence[int]) -> bool:
    """Delete requests with their filtered notifications. False if there is none of these requests."""
    senders = await _close(db, account_id, ids)
    if senders:
        await db.execute(FORGET, account_id, senders)
    return bool(senders)


async def _close(db: Connection, account_id: int, ids: Sequence[int]) -> list[int]:
    """Delete requests, and return their senders. No notification is filtered until the transaction ends."""
    await notification_policy.hold(db, account_id)
    return [row["from_account_id"] for row in await db.fetch(CLOSE, account_id, ids)]

"""Notifications. The statement that inserts them also decides which notifications are not made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from . import notification_policy
from .engine.database import Connection
from .engine.sql import Statement, quoted, rows_of
from .push_subscriptions import PushAddress, wanting
from .upkeep.paging import Page, both_ways

COLUMNS = """
    n.id, n.account_id, n.from_account_id, n.type, n.status_id, n.created_at, n.group_key, n.filtered, n.report_id,
    n.strike_id
"""

GROUPED = ("favourite", "reblog", "follow", "admin.sign_up")
# Filtered notifications of these types make a request.
ASKING = "('mention', 'quote')"
GROUP_HOURS = 12  # hours after the first notification of a group in which others join it

NEW_COLUMNS = {
    "id": "bigint",
    "account_id": "bigint",
    "from_account_id": "bigint",
    "type": "text",
    "status_id": "bigint",
}
OFFICIAL_COLUMNS = NEW_COLUMNS | {"report_id": "bigint", "strike_id": "bigint"}

# No account is notified of its own actions, except of polls. Mentions by staff pass all the filters below, and every
# policy. Filtered notifications are stored and not returned: no account is notified of them. The request of a sender
# has the id of its first filtered notification.
INSERT = Statement(f"""
    WITH unwelcome AS NOT MATERIALIZED (
        SELECT account_id, target_account_id FROM blocks
        UNION ALL
        SELECT account_id, target_account_id FROM mutes
        WHERE hide_notifications AND (expires_at IS NULL OR expires_at > :now::timestamptz)
    ), wanted AS (
        SELECT * FROM {rows_of(NEW_COLUMNS, "wanted")}
    ), recipients AS MATERIALIZED (
        {notification_policy.RECIPIENTS}
    ), decided AS MATERIALIZED (
        SELECT w.id, w.account_id, w.from_account_id, w.type, w.status_id, CASE
            WHEN w.type = ANY('{{{",".join(GROUPED)}}}') THEN coalesce((
                SELECT max(g.group_hour) FROM notifications g
                WHERE g.account_id = w.account_id AND g.type = w.type AND g.status_id IS NOT DISTINCT FROM w.status_id
                AND g.group_hour > :hour::bigint - {GROUP_HOURS}
            ), :hour)
        END AS group_hour, CASE
            WHEN w.type = 'mention' AND staff.account_id IS NOT NULL THEN 'accept'
            ELSE {notification_policy.ACTION}
        END AS action
        FROM wanted w
        JOIN users u ON u.account_id = w.account_id
        JOIN accounts recipient ON recipient.id = w.account_id
        JOIN accounts sender ON sender.id = w.from_account_id
        LEFT JOIN users staff ON staff.account_id = w.from_account_id AND staff.role <> 'user'
        LEFT JOIN statuses s ON s.id = w.status_id
        LEFT JOIN recipients r ON r.account_id = w.account_id
        LEFT JOIN follows f ON f.account_id = w.account_id AND f.target_account_id = w.from_account_id
        LEFT JOIN follows back ON back.account_id = w.from_account_id AND back.target_account_id = w.account_id
        WHERE recipient.suspended_at IS NULL AND recipient.deleted_at IS NULL
        AND (w.status_id IS NULL OR (s.id IS NOT NULL AND s.deleted_at IS NULL))
        AND (w.account_id <> w.from_account_id OR w.type IN ('poll', 'severed_relationships', 'moderation_warning'))
        AND ((w.type = 'mention' AND staff.account_id IS NOT NULL) OR (
            NOT EXISTS (
                SELECT FROM unwelcome WHERE unwelcome.account_id = w.account_id
                AND (unwelcome.target_account_id = w.from_account_id OR (w.type = 'mention' AND (
                    unwelcome.target_account_id = ANY(s.mentioned_ids)
                    OR unwelcome.target_account_id = s.in_reply_to_account_id
                )))
            )
            AND NOT EXISTS (
                SELECT FROM conversation_mutes c
                WHERE c.account_id = w.account_id AND c.conversation_id = s.conversation_id
            )
            AND (f.id IS NOT NULL OR NOT EXISTS (
                SELECT FROM account_domain_blocks d WHERE d.account_id = w.account_id AND d.domain = sender.domain
                OFFSET 0  -- else PostgreSQL makes a hash table of all domain blocks
            ))
        ))
    ), n AS (
        INSERT INTO notifications (id, account_id, from_account_id, type, status_id, filtered, created_at, group_hour)
        SELECT id, account_id, from_account_id, type, status_id, action = 'filter', :now::timestamptz, group_hour
        FROM decided WHERE action <> 'drop'
        ON CONFLICT DO NOTHING
        RETURNING *
    ), requests AS (
        INSERT INTO notification_requests (id, account_id, from_account_id, created_at, updated_at)
        SELECT min(n.id), n.account_id, n.from_account_id, :now, :now FROM n WHERE n.filtered AND n.type IN {ASKING}
        GROUP BY n.account_id, n.from_account_id ORDER BY n.account_id
        ON CONFLICT (account_id, from_account_id) DO UPDATE SET updated_at = excluded.updated_at
    )
    SELECT {COLUMNS}, push.ids AS push_ids, push.services AS push_services
    FROM n CROSS JOIN LATERAL ({wanting("n")}) push WHERE NOT n.filtered ORDER BY n.id
""")


# Of staff's work: reports and strikes. They are about the server, so that blocks, mutes and policies do not matter.
INSERT_OFFICIAL = Statement(f"""
    WITH n AS (
        INSERT INTO notifications ({quoted(OFFICIAL_COLUMNS)}, created_at)
        SELECT new.*, :now::timestamptz FROM {rows_of(OFFICIAL_COLUMNS, "new")}
        ON CONFLICT DO NOTHING
        RETURNING *
    )
    SELECT {COLUMNS}, push.ids AS push_ids, push.services AS push_services
    FROM n CROSS JOIN LATERAL ({wanting("n")}) push ORDER BY n.id
""")


# A deletion may commit while an insertion that has checked the status still runs, so every read leaves out deleted
# statuses. It also leaves out notifications from accounts that are suspended now or were deleted, because the rows of a
# deleted account are erased later, in batches; and notifications for staff if the recipient has lost the role.
def alive(row: str) -> str:
    return f"""
        NOT EXISTS (SELECT FROM statuses s WHERE s.id = {row}.status_id AND s.deleted_at IS NOT NULL)
        AND NOT EXISTS (
            SELECT FROM accounts a WHERE a.id = {row}.from_account_id
            AND (a.suspended_at IS NOT NULL OR a.deleted_at IS NOT NULL)
        )
        AND ({row}.type NOT IN ('admin.report', 'admin.sign_up') OR EXISTS (
            SELECT FROM users u WHERE u.account_id = {row}.account_id AND u.role <> 'user'
        ))
    """


ALIVE = alive("n")

FIND = f"SELECT {COLUMNS} FROM notifications n WHERE n.account_id = $1 AND n.id = $2 AND {ALIVE}"

PAGE = both_ways(f"""
    SELECT {COLUMNS} FROM notifications n
    WHERE n.account_id = $1 AND n.id < $2 AND n.id > $3
    AND ($5::text[] IS NULL OR n.type = ANY($5)) AND n.type <> ALL($6::text[])
    AND ($7::bigint IS NULL OR n.from_account_id = $7) AND ($8 OR NOT n.filtered) AND {ALIVE}
    ORDER BY n.id {{order}} LIMIT $4
""")

# Shown mentions, without mentions that a policy has filtered.
MENTIONED = """
    SELECT status_id, array_agg(account_id ORDER BY account_id) AS account_ids FROM notifications
    WHERE status_id = ANY($1::bigint[]) AND type = 'mention' AND NOT filtered GROUP BY status_id
"""

WITHDRAW_FROM = "DELETE FROM notifications WHERE from_account_id = $1 AND type = $2 AND status_id = $3"

# Each edit makes a new notification, which replaces the notification of the edit before.
WITHDRAW_UPDATES = "DELETE FROM notifications WHERE status_id = $1 AND type = 'update'"

# Followers of `account` who asked for every post, in the languages they chose.
WAITING = """
    SELECT f.account_id FROM follows f JOIN users u ON u.account_id = f.account_id
    WHERE f.target_account_id = {account} AND f.notify
    AND ({language} IS NULL OR f.languages IS NULL OR f.languages = '{{}}' OR {language} = ANY(f.languages))
    ORDER BY f.account_id
"""

UNREAD = f"""
    SELECT count(*) FROM (
        SELECT FROM notifications n
        WHERE n.account_id = $1 AND n.id > coalesce((
            SELECT last_read_id FROM markers WHERE account_id = $1 AND timeline = 'notifications'
        ), 0)
        AND ($3::text[] IS NULL OR n.type = ANY($3)) AND n.type <> ALL($4::text[])
        AND ($5::bigint IS NULL OR n.from_account_id = $5) AND NOT n.filtered AND {ALIVE}
        LIMIT $2
    ) AS unread
"""

DISMISS = "DELETE FROM notifications WHERE account_id = $1 AND id = ANY($2::bigint[]) RETURNING id"

CLEAR = "DELETE FROM notifications WHERE account_id = $1"


@dataclass(frozen=True, slots=True)
class NewNotification:
    """A notification to store."""

    id: int
    account_id: int
    from_account_id: int
    type: str
    status_id: int | None = None
    report_id: int | None = None
    strike_id: int | None = None


@dataclass(frozen=True, slots=True)
class Notification:
    """A stored notification. `push_to` are the devices that want it, and empty unless it was made just now."""

    id: int
    account_id: int
    from_account_id: int
    type: str
    status_id: int | None
    created_at: datetime
    group_key: str
    filtered: bool = False
    report_id: int | None = None
    strike_id: int | None = None
    push_to: tuple[PushAddress, ...] = ()


async def insert_many(db: Connection, new: Sequence[NewNotification], now: datetime) -> list[Notification]:
    """Store notifications, and return those to show to their recipients.

    Not returned are notifications that the rules forbid, that exist already, or that the recipient's policy filters or
    drops.
    """
    if not new:
        return []
    rows = await db.fetch(*INSERT.bind_many(new, now=now, hour=int(now.timestamp() // 3600)))
    return [_made(**row) for row in rows]


async def insert_official(db: Connection, new: Sequence[NewNotification], now: datetime) -> list[Notification]:
    """Store notifications of reports and strikes, also for users who may not sign in now, and return them."""
    if not new:
        return []
    return [_made(**row) for row in await db.fetch(*INSERT_OFFICIAL.bind_many(new, now=now))]


async def find(db: Connection, account_id: int, id: int) -> Notification | None:
    row = await db.fetchrow(FIND, account_id, id)
    return Notification(**row) if row is not None else None


async def page(
    db: Connection,
    account_id: int,
    page: Page,
    *,
    types: Sequence[str] | None = None,
    exclude_types: Sequence[str] = (),
    from_account_id: int | None = None,
    include_filtered: bool = False,
) -> list[Notification]:
    """Return a page, newest first. `types` None means every type."""
    rows = await db.fetch(
        PAGE[page.oldest_first], account_id, *page.bounds, types, exclude_types, from_account_id, include_filtered
    )
    found = [Notification(*row.values()) for row in rows]  # in the order of COLUMNS
    return sorted(found, key=lambda notification: notification.id, reverse=True)


async def unread(
    db: Connection,
    account_id: int,
    *,
    types: Sequence[str] | None = None,
    exclude_types: Sequence[str] = (),
    from_account_id: int | None = None,
    limit: int,
) -> int:
    """Return the number of unread notifications, counted up to `limit`."""
    return await db.fetchval(UNREAD, account_id, limit, types, exclude_types, from_account_id)


async def mentioned(db: Connection, status_ids: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return the accounts that were notified of a mention, by status. Filtered notifications do not count."""
    rows = await db.fetch(MENTIONED, status_ids)
    return {row["status_id"]: tuple(row["account_ids"]) for row in rows}


async def withdraw_from(db: Connection, from_account_id: int, type: str, status_id: int) -> None:
    """Delete the notifications of one type from an account about a status."""
    await db.execute(WITHDRAW_FROM, from_account_id, type, status_id)


async def withdraw_updates(db: Connection, status_id: int) -> None:
    """Delete the notifications of earlier edits of a status: it is edited again."""
    await db.execute(WITHDRAW_UPDATES, status_id)


async def dismiss(db: Connection, account_id: int, ids: Sequence[int]) -> bool:
    """Delete notifications. False if none of them exists."""
    return await db.fetchval(DISMISS, account_id, ids) is not None


async def clear(db: Connection, account_id: int) -> None:
    await db.execute(CLEAR, account_id)


# `Any`: rows have no types, and the columns have the names of the fields.
def _made(push_ids: list[int] | None, push_services: list[str] | None, **fields: Any) -> Notification:
    push_to = tuple(map(PushAddress, push_ids or (), push_services or ()))
    return Notification(**fields, push_to=push_to)

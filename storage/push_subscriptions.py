"""Push subscriptions: where a device gets notifications, and which kinds. Each access token has one at most.

A subscription lives as long as its token may be used: it is deleted with the token, and one whose user may not sign in
gets nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .engine.database import Connection, Row, replaced
from .engine.sql import Statement, insert_into

Policy = Literal["all", "followed", "follower", "none"]

# The types of notifications that a device can ask to be alerted to.
ALERTS = (
    "mention",
    "status",
    "reblog",
    "follow",
    "follow_request",
    "favourite",
    "poll",
    "update",
    "quote",
    "quoted_update",
    "admin.sign_up",
    "admin.report",
)
MOST_DEVICES = 32  # of an account that get a message for one notification: the devices that subscribed last

COLUMNS = "id, account_id, access_token, endpoint, service, p256dh, auth, standard, alerts, policy"

NEW_COLUMNS = (
    "token_id, account_id, access_token, endpoint, service, p256dh, auth, standard, alerts, policy, created_at"
)

# The token stays locked, so that it is not revoked before the subscription is there, and that two requests of one
# token follow each other. A new subscription takes the place of the one before and has an id of its own: what was
# promised to the old one is not sent to the new one.
LOCK = "SELECT id FROM access_tokens WHERE id = $1 AND revoked_at IS NULL FOR NO KEY UPDATE"

DELETE = "DELETE FROM push_subscriptions WHERE token_id = $1"

INSERT = Statement(f"{insert_into('push_subscriptions', NEW_COLUMNS)} RETURNING {COLUMNS}")

FIND = f"SELECT {COLUMNS} FROM push_subscriptions WHERE token_id = $1"

CHANGE = f"UPDATE push_subscriptions SET alerts = $2, policy = $3 WHERE token_id = $1 RETURNING {COLUMNS}"

END = "DELETE FROM push_subscriptions WHERE id = $1"

_MAY_GET_PUSHES = """
    EXISTS (SELECT FROM access_tokens t WHERE t.id = p.token_id AND t.revoked_at IS NULL)
    AND EXISTS (
        SELECT FROM users u JOIN accounts a ON a.id = u.account_id
        WHERE u.account_id = p.account_id AND u.disabled_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
    )
"""

FIND_LIVE = f"SELECT {COLUMNS} FROM push_subscriptions p WHERE p.id = $1 AND {_MAY_GET_PUSHES}"


def wanting(notification: str) -> str:
    """Return a subquery: the subscriptions that want a row of notifications, as arrays `ids` and `services`."""
    return f"""
        SELECT array_agg(p.id ORDER BY p.id) AS ids, array_agg(p.service ORDER BY p.id) AS services
        FROM (
            SELECT p.* FROM push_subscriptions p
            WHERE p.account_id = {notification}.account_id AND {_MAY_GET_PUSHES}
            ORDER BY p.id DESC LIMIT {MOST_DEVICES}
        ) p
        WHERE {notification}.type = ANY(p.alerts) AND NOT {notification}.filtered AND CASE p.policy
            WHEN 'all' THEN true
            WHEN 'none' THEN false
            WHEN 'followed' THEN {notification}.from_account_id = {notification}.account_id OR EXISTS (
                SELECT FROM follows f
                WHERE f.account_id = {notification}.account_id AND f.target_account_id = {notification}.from_account_id
            )
            WHEN 'follower' THEN {notification}.from_account_id = {notification}.account_id OR EXISTS (
                SELECT FROM follows f
                WHERE f.account_id = {notification}.from_account_id AND f.target_account_id = {notification}.account_id
            )
        END
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class PushDevice:
    """A device that gets notifications of the types in `alerts`.

    `p256dh` is an uncompressed point on P-256; `service` is the endpoint's host.
    """

    account_id: int
    access_token: str
    endpoint: str
    service: str
    p256dh: bytes
    auth: bytes
    standard: bool
    alerts: tuple[str, ...]
    policy: Policy


@dataclass(frozen=True, slots=True)
class NewPushSubscription(PushDevice):
    """A subscription when it is first stored."""

    token_id: int


@dataclass(frozen=True, slots=True)
class PushSubscription(PushDevice):
    """A stored subscription."""

    id: int


@dataclass(frozen=True, slots=True)
class PushAddress:
    """A subscription that a notification is to be sent to, and the host of its endpoint."""

    subscription_id: int
    service: str


async def replace(db: Connection, new: NewPushSubscription, now: datetime) -> PushSubscription | None:
    """Store the subscription of a token in the place of an earlier subscription. None if the token was revoked."""
    if await db.fetchval(LOCK, new.token_id) is None:
        return None
    await db.execute(DELETE, new.token_id)
    return _subscription(await db.fetchrow(*INSERT.bind(new, created_at=now)))


async def find(db: Connection, token_id: int) -> PushSubscription | None:
    """Return the subscription of a token."""
    return _subscription(await db.fetchrow(FIND, token_id))


async def change(db: Connection, token_id: int, alerts: Sequence[str], policy: Policy) -> PushSubscription | None:
    """Change what a token's subscription wants. None if it has no subscription."""
    return _subscription(await db.fetchrow(CHANGE, token_id, list(alerts), policy))


async def delete(db: Connection, token_id: int) -> None:
    """Delete the subscription of a token, if it has any."""
    await db.execute(DELETE, token_id)


async def find_live(db: Connection, id: int) -> PushSubscription | None:
    """Return a subscription whose token and user may be used."""
    return _subscription(await db.fetchrow(FIND_LIVE, id))


async def end(db: Connection, id: int) -> None:
    """Delete a subscription that its push service does not know any more."""
    await db.execute(END, id)


def _subscription(row: Row | None) -> PushSubscription | None:
    return PushSubscription(**replaced(row, alerts=tuple(row["alerts"]))) if row is not None else None

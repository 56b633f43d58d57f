"""Notification policies: from which senders an account accepts, filters or drops notifications.

A policy is part of the user's row. The statement that stores a notification locks that row with FOR SHARE, and so
reads its newest version: a change of the policy applies to every notification that commits after it. The accepted
senders are in the row for the same reason. A subquery would see another table as it was before the wait for the lock.
"""

from dataclasses import dataclass, fields
from typing import Literal

from .engine.database import Connection

Action = Literal["accept", "filter", "drop"]

# All other types are always accepted.
FILTERABLE = ("mention", "reblog", "follow", "follow_request", "favourite", "quote")

NEW_FOLLOWER = "interval '3 days'"
NEW_ACCOUNT = "interval '30 days'"

# The senders that each cause is about. In SQL over these rows: `w` the notification, `sender` its sender, `s` its
# status, `f` the recipient's follow of the sender, `back` the sender's follow of the recipient. Followed senders are
# spared, except by `not_followers`. A private mention is an answer if the recipient has privately mentioned the sender
# in the same thread.
# Silenced accounts always have to ask before they follow, so their being silenced does not filter the question.
CAUSES = {
    "not_following": "f.id IS NULL",
    "not_followers": f"(back.id IS NULL OR back.created_at > :now::timestamptz - {NEW_FOLLOWER})",
    "new_accounts": f"f.id IS NULL AND sender.created_at > :now::timestamptz - {NEW_ACCOUNT}",
    "private_mentions": """
        f.id IS NULL AND w.type = 'mention' AND s.visibility = 'direct' AND NOT EXISTS (
            SELECT FROM statuses own
            WHERE own.conversation_id = s.conversation_id AND own.account_id = w.account_id AND own.id < s.id
            AND own.visibility = 'direct' AND own.deleted_at IS NULL AND w.from_account_id = ANY(own.mentioned_ids)
        )
    """,
    "limited_accounts": "f.id IS NULL AND sender.silenced_at IS NOT NULL AND w.type <> 'follow_request'",
    "bots": "f.id IS NULL AND sender.bot",
}

TYPES = f"'{{{','.join(FILTERABLE)}}}'"
COLUMNS = ", ".join(f"policy_{cause}" for cause in CAUSES)

ACTIONS = ", ".join(
    f"CASE WHEN r.policy_{cause} <> 'accept' AND {concerns} THEN r.policy_{cause} END"
    for cause, concerns in CAUSES.items()
)

# What the policy in `r` says to the notification. The strictest action of all causes wins.
ACTION = f"""
    CASE
        WHEN w.type <> ALL({TYPES}) OR w.from_account_id = ANY(r.accepted_sender_ids) THEN 'accept'
        ELSE (
            SELECT CASE
                WHEN 'drop' = ANY(strict.actions) THEN 'drop'
                WHEN 'filter' = ANY(strict.actions) THEN 'filter'
                ELSE 'accept'
            END
            FROM (SELECT ARRAY[{ACTIONS}] OFFSET 0) AS strict (actions)
        )
    END
"""

# In the order of ids, so that two concurrent writers can't deadlock. Only accounts whose policy counts.
RECIPIENTS = f"""
    SELECT u.account_id, u.accepted_sender_ids, {COLUMNS} FROM users u
    WHERE u.account_id = ANY(ARRAY(SELECT w.account_id FROM wanted w WHERE w.type = ANY({TYPES})))
    ORDER BY u.account_id FOR SHARE OF u
"""

FIND = f"SELECT {COLUMNS} FROM users WHERE account_id = $1"

CHANGED = ", ".join(f"policy_{cause} = coalesce(${at}, policy_{cause})" for at, cause in enumerate(CAUSES, 2))
CHANGE = f"UPDATE users SET {CHANGED} WHERE account_id = $1"

# Waits until all notifications that were decided by an earlier version of the row are committed.
HOLD = "SELECT FROM users WHERE account_id = $1 FOR NO KEY UPDATE"

ACCEPT = """
    UPDATE users SET notifications_merged_id = $3, accepted_sender_ids = accepted_sender_ids || ARRAY(
        SELECT id FROM unnest($2::bigint[]) AS id WHERE id <> ALL(accepted_sender_ids)
    )
    WHERE account_id = $1
"""

LATEST_MERGE = "SELECT notifications_merged_id FROM users WHERE account_id = $1"


@dataclass(frozen=True, slots=True)
class NotificationPolicy:
    """The action for each cause.

    Today's Mastodon filters private mentions too, unless the user says otherwise. Here they are accepted: a filtered
    one is in no conversation, and a private mention must be in its recipient's conversations at once, also from an
    account that the recipient does not follow (row S015 in tests/checklist/rows.txt).
    """

    not_following: Action = "accept"
    not_followers: Action = "accept"
    new_accounts: Action = "accept"
    private_mentions: Action = "accept"
    limited_accounts: Action = "filter"
    bots: Action = "accept"


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """New actions of a policy. None leaves a cause as it is."""

    not_following: Action | None = None
    not_followers: Action | None = None
    new_accounts: Action | None = None
    private_mentions: Action | None = None
    limited_accounts: Action | None = None
    bots: Action | None = None


async def find(db: Connection, account_id: int) -> NotificationPolicy:
    row = await db.fetchrow(FIND, account_id)
    return NotificationPolicy(*row.values())


async def change(db: Connection, account_id: int, wanted: PolicyChange) -> None:
    """Change a policy for all notifications that commit from now on."""
    await db.execute(CHANGE, account_id, *(getattr(wanted, field.name) for field in fields(wanted)))


async def hold(db: Connection, account_id: int) -> None:
    """Lock a policy until the transaction ends: no notification of these types is stored meanwhile."""
    await db.execute(HOLD, account_id)


async def accept_senders(db: Connection, account_id: int, sender_ids: list[int], merge_id: int) -> None:
    """Accept all notifications from these senders, before the policy. `merge_id` names the merge of filtered ones."""
    await db.execute(ACCEPT, account_id, sender_ids, merge_id)


async def latest_merge(db: Connection, account_id: int) -> int:
    """Return the id of the latest merge of filtered notifications; 0 if there was none."""
    return await db.fetchval(LATEST_MERGE, account_id)

"""Activities on their way to other servers, and the inboxes that they go to."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..engine.database import Connection, replaced

INSERT = """
    INSERT INTO activities (id, account_id, body, deliveries, subject, created_at) VALUES ($1, $2, $3, $4, $5, $6)
"""

# A part of the statement that stores a status: the activity about it, if any.
INSERT_WITH_STATUS = """
    INSERT INTO activities (id, account_id, body, deliveries, subject, created_at)
    SELECT :activity_id, :account_id, :activity, :deliveries, :uri, :now
    FROM made WHERE :activity_id::bigint IS NOT NULL
"""

# A text that changes with the set of an account's followers on other servers. It takes 0.5 ms for 5,000 followers,
# twice for a post, which takes 75 ms with the deliveries to their 300 servers.
FOLLOWERS_VERSION = """
    (
        SELECT count(*) || ' ' || coalesce(sum(f.id), 0) FROM follows f
        WHERE f.target_account_id = {account} AND f.from_domain IS NOT NULL
    )
"""

# The first activity of a subject brings it to other servers: a Create or an Announce.
OF_SUBJECT = """
    SELECT id, body::jsonb->>'type' IN ('Create', 'Announce') AS begins FROM activities
    WHERE account_id = $1 AND subject = $2
"""
OF_SUBJECTS = "SELECT id FROM activities WHERE account_id = $1 AND subject IS NOT NULL"

# Deliveries that were not tried. Deliveries that a relay is claiming at this moment are left to it.
UNTRIED = """
    SELECT id, partition_key AS partition, (payload->>'activity_id')::bigint AS activity_id FROM outbox
    WHERE partition_key = ANY($1::text[]) AND queue = $2 AND NOT tried
    AND (payload->>'activity_id')::bigint = ANY($3::bigint[])
    FOR UPDATE SKIP LOCKED
"""
WITHDRAW = "DELETE FROM outbox WHERE id = ANY($1::bigint[])"

FIND = "SELECT account_id, body, private_key FROM activities WHERE id = $1"

KEEP_KEY = "UPDATE activities SET private_key = $2 WHERE account_id = $1 AND private_key IS NULL"

# Two statements: a row whose count would fall to 0 is deleted instead.
FINISH_LAST = "DELETE FROM activities WHERE id = $1 AND deliveries <= $2"
FINISH = "UPDATE activities SET deliveries = deliveries - $2 WHERE id = $1 AND deliveries > $2 RETURNING id"

# Deliveries that are done or have failed for good. The rows of their activities are locked before they are counted
# down: another relay may count at the same time, and the last relay deletes the row.
DELETE_DELIVERIES = """
    WITH gone AS (
        DELETE FROM outbox WHERE id = ANY($1::bigint[]) AND (claimed_by IS NULL OR claimed_by = $2)
        RETURNING (payload->>'activity_id')::bigint AS activity_id
    ), done AS (
        SELECT activity_id, count(*)::int AS deliveries FROM gone GROUP BY activity_id
    ), held AS MATERIALIZED (
        SELECT a.id, a.deliveries - done.deliveries AS left_over
        FROM activities a JOIN done ON done.activity_id = a.id ORDER BY a.id FOR UPDATE OF a
    ), finished AS (
        DELETE FROM activities USING held WHERE activities.id = held.id AND held.left_over <= 0
    )
    UPDATE activities SET deliveries = held.left_over FROM held WHERE activities.id = held.id AND held.left_over > 0
"""

# Deliveries of one account to one inbox keep their order: they share a partition, and while some wait they share the
# group ($1 is the account). Two equalities are written as BETWEEN, as in `outbox.py`.
WITH_PARTITION = """
    SELECT inbox, domains, direct, partition, (
        SELECT group_key FROM outbox
        WHERE partition_key BETWEEN partition AND partition ORDER BY partition_key, id LIMIT 1
    ) AS waiting
    FROM (
        SELECT inbox, array_agg(DISTINCT domain) AS domains, bool_or(direct) AS direct,
            'delivery/' || coalesce($1::bigint, 0) || '/' || md5(inbox) AS partition
        FROM ({reached}) AS reached WHERE inbox IS NOT NULL GROUP BY inbox
    ) AS inboxes
    ORDER BY inbox
"""

# LIMIT keeps PostgreSQL from reading all accounts for a few thousand followers.
OF_ACCOUNTS = WITH_PARTITION.format(
    reached="""
        SELECT found.inbox, found.domain, named.direct
        FROM (
            SELECT id, true AS direct FROM unnest($2::bigint[]) AS named (id)
            UNION ALL SELECT account_id, false FROM follows WHERE target_account_id = $3 AND from_domain IS NOT NULL
            UNION ALL SELECT account_id, true FROM mentions WHERE status_id = $4
            UNION ALL SELECT account_id, true FROM favourites WHERE status_id = $5
            UNION ALL SELECT account_id, true FROM statuses WHERE reblog_of_id = $5
            UNION ALL SELECT account_id, true FROM statuses WHERE in_reply_to_id = $5
            UNION ALL SELECT f.account_id, false FROM statuses boost
                JOIN follows f ON f.target_account_id = boost.account_id AND f.from_domain IS NOT NULL
                WHERE boost.reblog_of_id = $5
        ) AS named
        CROSS JOIN LATERAL (
            SELECT coalesce(a.shared_inbox_url, a.inbox_url) AS inbox, a.domain FROM accounts a
            WHERE a.id = named.id AND a.domain IS NOT NULL AND a.deleted_at IS NULL LIMIT 1
        ) AS found
    """
)

INBOXES_OF_FOLLOWERS = WITH_PARTITION.format(
    reached="""
        SELECT found.inbox, found.domain, false AS direct FROM follows f
        CROSS JOIN LATERAL (
            SELECT coalesce(a.shared_inbox_url, a.inbox_url) AS inbox, a.domain FROM accounts a
            WHERE a.id = f.account_id AND a.domain IS NOT NULL AND a.deleted_at IS NULL LIMIT 1
        ) AS found
        WHERE f.target_account_id = $1 AND f.from_domain IS NOT NULL
    """
)
OF_FOLLOWERS = f"""
    SELECT {FOLLOWERS_VERSION.format(account="$1::bigint")} AS version, inboxes.*
    FROM ({INBOXES_OF_FOLLOWERS}) AS inboxes
"""

# The servers that have a copy of an account's profile and key, as far as its latest posts and favourites show.
LATEST = 200
OF_ACQUAINTANCES = WITH_PARTITION.format(
    reached=f"""
        SELECT found.inbox, found.domain, false AS direct
        FROM (
            SELECT account_id AS id FROM follows WHERE target_account_id = $2 AND from_domain IS NOT NULL
            UNION SELECT target_account_id FROM follows WHERE account_id = $2
            UNION SELECT account_id FROM follow_requests WHERE target_account_id = $2
            UNION SELECT target_account_id FROM follow_requests WHERE account_id = $2
            UNION SELECT m.account_id FROM (
                SELECT id FROM statuses WHERE account_id = $2 AND deleted_at IS NULL ORDER BY id DESC LIMIT {LATEST}
            ) AS latest JOIN mentions m ON m.status_id = latest.id
            UNION SELECT s.account_id FROM (
                SELECT reblog_of_id FROM statuses WHERE account_id = $2 AND deleted_at IS NULL
                ORDER BY id DESC LIMIT {LATEST}
            ) AS boost JOIN statuses s ON s.id = boost.reblog_of_id
            UNION SELECT s.account_id FROM (
                SELECT status_id FROM favourites WHERE account_id = $2 ORDER BY id DESC LIMIT {LATEST}
            ) AS favourite JOIN statuses s ON s.id = favourite.status_id
        ) AS named
        CROSS JOIN LATERAL (
            SELECT coalesce(a.shared_inbox_url, a.inbox_url) AS inbox, a.domain FROM accounts a
            WHERE a.id = named.id AND a.domain IS NOT NULL AND a.deleted_at IS NULL LIMIT 1
        ) AS found
    """
)

# Each step finds the next pair of an inbox and a domain in the index: a shared inbox has any number of accounts.
NEXT_OF_ALL = WITH_PARTITION.format(
    reached="""
        WITH RECURSIVE reached AS (
            (
                SELECT coalesce(shared_inbox_url, inbox_url) AS inbox, domain FROM accounts
                WHERE coalesce(shared_inbox_url, inbox_url) > $2 AND domain IS NOT NULL AND deleted_at IS NULL
                ORDER BY coalesce(shared_inbox_url, inbox_url), domain LIMIT 1
            )
            UNION ALL
            SELECT next.inbox, next.domain FROM reached CROSS JOIN LATERAL (
                SELECT coalesce(a.shared_inbox_url, a.inbox_url) AS inbox, a.domain FROM accounts a
                WHERE (coalesce(a.shared_inbox_url, a.inbox_url), a.domain) > (reached.inbox, reached.domain)
                AND a.domain IS NOT NULL AND a.deleted_at IS NULL
                ORDER BY coalesce(a.shared_inbox_url, a.inbox_url), a.domain LIMIT 1
            ) AS next
        )
        SELECT inbox, domain, false AS direct FROM reached LIMIT $3
    """
)


@dataclass(frozen=True, slots=True)
class NewActivity:
    """An activity when it is first stored: the account that sends it, or None for the server, and its JSON.

    An activity with a `subject`, the URI of a thing, is withdrawn if the thing is deleted before the delivery.
    """

    id: int
    account_id: int | None
    body: str
    deliveries: int
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class StoredActivity:
    """An activity that is being delivered. Without an account, the server itself sends it."""

    account_id: int | None
    body: str
    private_key: str | None  # PEM; None: the key that the account has now


@dataclass(frozen=True, slots=True)
class FoundInbox:
    """An inbox with the domains of its accounts.

    `direct` means that the activity concerns one of these accounts not only as a follower. `waiting` is the group of
    earlier deliveries from the same account that are still to be made.
    """

    inbox: str
    domains: tuple[str, ...]
    direct: bool
    partition: str
    waiting: str | None


@dataclass(frozen=True, slots=True)
class RemoteFollowers:
    """The inboxes of an account's followers on other servers. `version` changes with the set of these followers."""

    inboxes: tuple[FoundInbox, ...] = ()
    version: str = "0 0"


NO_REMOTE_FOLLOWERS = RemoteFollowers()


async def insert(db: Connection, new: NewActivity, now: datetime) -> None:
    """Store an activity. Its deliveries are stored in the same transaction."""
    await db.execute(INSERT, new.id, new.account_id, new.body, new.deliveries, new.subject, now)


async def find(db: Connection, id: int) -> StoredActivity | None:
    """Return an activity, unless all its deliveries are done."""
    row = await db.fetchrow(FIND, id)
    return StoredActivity(**row) if row is not None else None


async def keep_key(db: Connection, account_id: int, private_key: str) -> None:
    """Have an account's activities that are on their way signed with the key that it had when it made them."""
    await db.execute(KEEP_KEY, account_id, private_key)


async def finish(db: Connection, id: int, deliveries: int) -> None:
    """Count deliveries that will not be made. The last delivery deletes the activity."""
    if await db.fetchval(FINISH, id, deliveries) is None:
        await db.execute(FINISH_LAST, id, deliveries)


async def delete_deliveries(db: Connection, ids: Sequence[int], relay: int) -> None:
    """Delete deliveries that are done or have failed for good, and activities without further deliveries."""
    await db.execute(DELETE_DELIVERIES, list(ids), relay)


async def withdraw(db: Connection, queue: str, account_id: int, subject: str, partitions: Sequence[str]) -> set[str]:
    """Delete the deliveries about a subject to inboxes that have got nothing of it, and return their partitions.

    An inbox has got nothing if its first activity about the subject waits and was never tried. Later activities in its
    partition wait too.
    """
    begins = {row["id"]: row["begins"] for row in await db.fetch(OF_SUBJECT, account_id, subject)}
    untried = await _untried(db, queue, partitions, begins) if any(begins.values()) else []
    unknown = {delivery.partition for delivery in untried if begins[delivery.activity_id]}
    await _withdraw(db, [delivery for delivery in untried if delivery.partition in unknown])
    return unknown


async def withdraw_all(db: Connection, queue: str, account_id: int, partitions: Sequence[str]) -> None:
    """Delete the deliveries about all subjects of an account that were never tried."""
    activities = [row["id"] for row in await db.fetch(OF_SUBJECTS, account_id)]
    await _withdraw(db, await _untried(db, queue, partitions, activities) if activities else [])


@dataclass(frozen=True, slots=True)
class _UntriedDelivery:
    """A delivery that was not tried: a row of the outbox."""

    id: int
    partition: str
    activity_id: int


async def _untried(
    db: Connection, queue: str, partitions: Sequence[str], activity_ids: Collection[int]
) -> list[_UntriedDelivery]:
    rows = await db.fetch(UNTRIED, list(partitions), queue, list(activity_ids))
    return [_UntriedDelivery(**row) for row in rows]


async def _withdraw(db: Connection, waiting: Sequence[_UntriedDelivery]) -> None:
    if waiting:
        await db.execute(WITHDRAW, [delivery.id for delivery in waiting])
    for activity_id, deliveries in sorted(Counter(delivery.activity_id for delivery in waiting).items()):
        await finish(db, activity_id, deliveries)


async def inboxes(
    db: Connection,
    sender_id: int | None,
    account_ids: Sequence[int],
    followers_of: int | None = None,
    mentioned_in: int | None = None,
    interested_in: int | None = None,
) -> list[FoundInbox]:
    """Return the inboxes of accounts on other servers, each once, and the shared inbox where a server has one.

    The accounts are the named accounts, the followers of an account, the accounts that a status mentions, the accounts
    that answered, boosted or favourited a status, and the followers of the accounts that boosted it.
    """
    rows = await db.fetch(OF_ACCOUNTS, sender_id, list(account_ids), followers_of, mentioned_in, interested_in)
    return [FoundInbox(**replaced(row, domains=tuple(row["domains"]))) for row in rows]


async def find_remote_followers(db: Connection, account_id: int) -> RemoteFollowers:
    """Return the inboxes of an account's followers on other servers, each once."""
    rows = await db.fetch(OF_FOLLOWERS, account_id)
    found = [
        FoundInbox(row["inbox"], tuple(row["domains"]), row["direct"], row["partition"], row["waiting"])
        for row in rows
    ]  # fmt: skip
    return RemoteFollowers(tuple(found), rows[0]["version"]) if rows else NO_REMOTE_FOLLOWERS


async def inboxes_of_acquaintances(db: Connection, account_id: int) -> list[FoundInbox]:
    """Return the inboxes of servers that keep a copy of a local account.

    These are the servers of its followers, of the accounts that it follows or has asked to follow, of the accounts
    mentioned in its latest posts, and of the posts that it has boosted or favourited lately.
    """
    rows = await db.fetch(OF_ACQUAINTANCES, account_id, account_id)
    return [FoundInbox(**replaced(row, domains=tuple(row["domains"]))) for row in rows]


async def next_inboxes(db: Connection, sender_id: int, after: str, limit: int) -> list[FoundInbox]:
    """Return the first inboxes of all accounts on other servers that sort after `after`; empty after the last.

    At most `limit` pairs of an inbox and a domain are read. The last inbox is left out if it may have more domains.
    """
    rows = await db.fetch(NEXT_OF_ALL, sender_id, after, limit)
    found = [FoundInbox(**replaced(row, domains=tuple(row["domains"]))) for row in rows]
    cut = len(found) > 1 and sum(len(inbox.domains) for inbox in found) == limit
    return found[:-1] if cut else found

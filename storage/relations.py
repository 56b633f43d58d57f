"""The relations of an account to others, read as a whole. The single tables are in follows, blocks and mutes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection, Row, replaced

# With a prefix in the hash, so that a pair of accounts does not wait for other advisory locks.
PAIR_KEY = """
    hashtextextended('pair/' || least($1::bigint, {other}::bigint) || '/' || greatest($1::bigint, {other}), 0)
"""
LOCK_PAIR = f"SELECT pg_advisory_xact_lock({PAIR_KEY.format(other='$2')})"
# In one order for every caller.
LOCK_PAIRS = f"""
    SELECT pg_advisory_xact_lock(key) FROM (
        SELECT DISTINCT {PAIR_KEY.format(other="other")} AS key FROM unnest($2::bigint[]) AS other ORDER BY key
    ) AS keys
"""

FOLLOWING_COLUMNS = "target_account_id AS id, id AS since, show_reblogs, notify, languages"
FOLLOWING = f"SELECT {FOLLOWING_COLUMNS} FROM follows WHERE account_id = $1"
FOLLOWING_OF_MANY = f"""
    SELECT account_id AS viewer, {FOLLOWING_COLUMNS} FROM follows WHERE account_id = ANY($1::bigint[])
"""

# The small sets, in one row: a statement for each would take longer to send than to run.
SETS_OF = """
    SELECT
        ARRAY(SELECT target_account_id FROM follow_requests WHERE account_id = {viewer}) AS requested,
        ARRAY(SELECT target_account_id FROM blocks WHERE account_id = {viewer}) AS blocking,
        ARRAY(SELECT account_id FROM blocks WHERE target_account_id = {viewer}) AS blocked_by,
        ARRAY(SELECT domain FROM account_domain_blocks WHERE account_id = {viewer}) AS domain_blocks,
        ARRAY(
            SELECT t.name FROM followed_tags f JOIN tags t ON t.id = f.tag_id
            WHERE f.account_id = {viewer} ORDER BY f.id
        ) AS followed_tags,
        ARRAY(SELECT id FROM followed_tags WHERE account_id = {viewer} ORDER BY id) AS tags_since,
        muting.ids AS muting, muting.hide_notifications, muting.expires_at
    FROM (
        SELECT
            array_agg(target_account_id) AS ids, array_agg(hide_notifications) AS hide_notifications,
            array_agg(expires_at) AS expires_at
        FROM mutes WHERE account_id = {viewer}
    ) AS muting
"""
SETS = SETS_OF.format(viewer="$1")
SETS_OF_MANY = f"""
    SELECT viewer.id AS viewer, sets.*
    FROM unnest($1::bigint[]) AS viewer (id), LATERAL ({SETS_OF.format(viewer="viewer.id")}) AS sets
"""

# How the first of each pair stands to the second.
PAIR_RELATIONS = """
    SELECT
        pair.a, pair.b, f.id AS since, f.show_reblogs, f.notify, f.languages,
        EXISTS (SELECT FROM follow_requests WHERE account_id = pair.a AND target_account_id = pair.b) AS requested,
        EXISTS (SELECT FROM blocks WHERE account_id = pair.a AND target_account_id = pair.b) AS blocking,
        EXISTS (SELECT FROM blocks WHERE account_id = pair.b AND target_account_id = pair.a) AS blocked_by,
        m.id IS NOT NULL AS muted, m.hide_notifications, m.expires_at
    FROM unnest($1::bigint[], $2::bigint[]) AS pair (a, b)
    LEFT JOIN follows f ON f.account_id = pair.a AND f.target_account_id = pair.b
    LEFT JOIN mutes m ON m.account_id = pair.a AND m.target_account_id = pair.b
"""

STAMP = "SELECT nextval('relation_stamp')"

RELATIONSHIPS = """
    SELECT
        a.id, f.id IS NOT NULL AS following,
        coalesce(f.show_reblogs, r.show_reblogs, false) AS showing_reblogs,
        coalesce(f.notify, r.notify, false) AS notifying, coalesce(f.languages, r.languages) AS languages,
        EXISTS (SELECT FROM follows b WHERE b.account_id = a.id AND b.target_account_id = $1) AS followed_by,
        r.id IS NOT NULL AS requested,
        EXISTS (SELECT FROM follow_requests b WHERE b.account_id = a.id AND b.target_account_id = $1) AS requested_by,
        EXISTS (SELECT FROM blocks b WHERE b.account_id = $1 AND b.target_account_id = a.id) AS blocking,
        m.id IS NOT NULL AS muting, coalesce(m.hide_notifications, false) AS muting_notifications,
        m.expires_at AS muting_expires_at,
        EXISTS (SELECT FROM account_domain_blocks d WHERE d.account_id = $1 AND d.domain = a.domain) AS domain_blocking,
        EXISTS (SELECT FROM endorsements e WHERE e.account_id = $1 AND e.target_account_id = a.id) AS endorsed,
        coalesce(n.comment, '') AS note
    FROM accounts a
    LEFT JOIN follows f ON f.account_id = $1 AND f.target_account_id = a.id
    LEFT JOIN follow_requests r ON r.account_id = $1 AND r.target_account_id = a.id
    LEFT JOIN mutes m ON m.account_id = $1 AND m.target_account_id = a.id
        AND (m.expires_at IS NULL OR m.expires_at > $3)
    LEFT JOIN account_notes n ON n.account_id = $1 AND n.target_account_id = a.id
    WHERE a.id = ANY($2::bigint[])
"""

# The accounts that the viewer follows and that follow each of these. Accounts that hide their follows are left out
# here, so that they take no places of the LIMIT. The reader decides if the viewer may see a network.
FAMILIAR = """
    SELECT target.id, ARRAY(
        SELECT theirs.account_id FROM follows mine
        JOIN follows theirs ON theirs.account_id = mine.target_account_id AND theirs.target_account_id = target.id
        JOIN accounts a ON a.id = mine.target_account_id AND NOT a.hide_collections AND a.suspended_at IS NULL
        WHERE mine.account_id = $1 ORDER BY theirs.id DESC LIMIT $3
    ) AS account_ids
    FROM accounts target WHERE target.id = ANY($2::bigint[]) AND target.suspended_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class Relations:
    """All relations to others that decide what an account sees."""

    # by account id: the follow's id, show reblogs, notify, languages
    following: dict[int, tuple[int, bool, bool, tuple[str, ...] | None]]
    requested: frozenset[int]
    blocking: frozenset[int]
    blocked_by: frozenset[int]
    muting: dict[int, tuple[bool, datetime | None]]  # by account id: hides notifications, expires at
    domain_blocks: frozenset[str]
    followed_tags: dict[str, int]  # by name: the follow's id


@dataclass(frozen=True, slots=True)
class PairRelation:
    """The part of `Relations` about a single other account."""

    following: tuple[int, bool, bool, tuple[str, ...] | None] | None
    requested: bool
    blocking: bool
    blocked_by: bool
    muting: tuple[bool, datetime | None] | None


@dataclass(frozen=True, slots=True)
class Relationship:
    """The relation of one account to another, as the API shows it."""

    id: int
    following: bool
    showing_reblogs: bool
    notifying: bool
    languages: tuple[str, ...] | None
    followed_by: bool
    requested: bool
    requested_by: bool
    blocking: bool
    muting: bool
    muting_notifications: bool
    muting_expires_at: datetime | None
    domain_blocking: bool
    endorsed: bool
    note: str


NO_IDS = frozenset[int]()
NO_DOMAINS = frozenset[str]()


async def lock_pair(db: Connection, a: int, b: int) -> None:
    """Lock the relations of two accounts until the transaction ends, the same lock for both."""
    await db.execute(LOCK_PAIR, a, b)


async def lock_pairs(db: Connection, account_id: int, others: Sequence[int]) -> None:
    """Lock the pairs of an account with some hundred others at most: PostgreSQL keeps each lock in memory."""
    await db.execute(LOCK_PAIRS, account_id, others)


def _ids(ids: Sequence[int]) -> frozenset[int]:
    """Return a set of ids. Most are empty, and an empty set takes 216 bytes, so all empty sets are one object."""
    return frozenset(ids) if ids else NO_IDS


def _muting(sets: Row) -> dict[int, tuple[bool, datetime | None]]:
    terms = zip(sets["hide_notifications"], sets["expires_at"], strict=True)
    return dict(zip(sets["muting"], terms, strict=True))


async def relations(db: Connection, account_id: int) -> Relations:
    """Return all relations of an account. Expired mutes are included: the reader has the clock."""
    sets = await db.fetchrow(SETS, account_id)
    return _relations(sets, await db.fetch(FOLLOWING, account_id))


async def relations_of_many(db: Connection, account_ids: Sequence[int]) -> dict[int, Relations]:
    """Return all relations of several accounts, by account: as `relations`, in two queries."""
    following: dict[int, list[Row]] = {id: [] for id in account_ids}
    sets = await db.fetch(SETS_OF_MANY, account_ids)
    for row in await db.fetch(FOLLOWING_OF_MANY, account_ids):
        following[row["viewer"]].append(row)
    return {row["viewer"]: _relations(row, following[row["viewer"]]) for row in sets}


def _relations(sets: Row, following: Sequence[Row]) -> Relations:
    return Relations(
        following={row["id"]: _terms(row) for row in following},
        requested=_ids(sets["requested"]),
        blocking=_ids(sets["blocking"]),
        blocked_by=_ids(sets["blocked_by"]),
        muting=_muting(sets) if sets["muting"] else {},
        domain_blocks=frozenset(sets["domain_blocks"]) if sets["domain_blocks"] else NO_DOMAINS,
        followed_tags=dict(zip(sets["followed_tags"], sets["tags_since"], strict=True)),
    )


async def find_relations(db: Connection, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], PairRelation]:
    """Return the relations of pairs of accounts, from the side of the first account.

    Read after a change, while their locks are held.
    """
    rows = await db.fetch(PAIR_RELATIONS, [a for a, _ in pairs], [b for _, b in pairs])
    return {(row["a"], row["b"]): _pair_relation(row) for row in rows}


async def find_relation(db: Connection, account_id: int, other_id: int) -> PairRelation:
    """Return the relation of two accounts as `account_id` sees it."""
    return (await find_relations(db, [(account_id, other_id)]))[account_id, other_id]


async def stamp(db: Connection) -> int:
    """Return a number that grows with every change of a pair, because it is drawn while the pair is locked."""
    return await db.fetchval(STAMP)


async def relationships(db: Connection, viewer: int, ids: Sequence[int], now: datetime) -> dict[int, Relationship]:
    """Return how `viewer` stands to each of these accounts. Unknown ids are left out."""
    rows = await db.fetch(RELATIONSHIPS, viewer, ids, now)
    return {row["id"]: Relationship(**replaced(row, languages=_languages(row["languages"]))) for row in rows}


async def familiar_followers(db: Connection, viewer: int, ids: Sequence[int], limit: int) -> dict[int, tuple[int, ...]]:
    """Return, for each of these accounts, the followers that `viewer` follows. Unknown ids are left out."""
    rows = await db.fetch(FAMILIAR, viewer, ids, limit)
    return {row["id"]: tuple(row["account_ids"]) for row in rows}


def _pair_relation(row: Row) -> PairRelation:
    return PairRelation(
        following=_terms(row) if row["since"] is not None else None,
        requested=row["requested"],
        blocking=row["blocking"],
        blocked_by=row["blocked_by"],
        muting=(row["hide_notifications"], row["expires_at"]) if row["muted"] else None,
    )


def _terms(row: Row) -> tuple[int, bool, bool, tuple[str, ...] | None]:
    return row["since"], row["show_reblogs"], row["notify"], _languages(row["languages"])


def _languages(chosen: list[str] | None) -> tuple[str, ...] | None:
    return tuple(chosen) if chosen is not None else None

"""Merging two rows of a person on another server: all rows of one account become rows of the other account.

In all statements $1 is the removed account, and $2 the account that stays. A row that the other account has already
is dropped.
"""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

from ..engine.database import Connection
from .account_columns import AccountColumn, account_columns

# In the order of ids, as everywhere.
LOCK = "SELECT id FROM accounts WHERE id = ANY($1::bigint[]) AND deleted_at IS NULL ORDER BY id FOR UPDATE"


@dataclass(frozen=True, slots=True)
class MergedColumn:
    """A column that names an account.

    A row `t` is dropped if a row `kept` of the other account has the same values in one of `keys` and fulfils `unless`.
    `partners` are the columns with the other account of a relation: no account has a relation to itself.
    """

    table: str
    column: str
    keys: tuple[tuple[str, ...], ...] = ()
    unless: str = "true"
    partners: tuple[str, ...] = ()

    @property
    def rows(self) -> str:
        """The condition for the rows `t` that are moved."""
        conditions = [f"t.{self.column} = $1", *(f"t.{partner} IS DISTINCT FROM $2" for partner in self.partners)]
        for key in self.keys:
            same = " AND ".join([*(f"kept.{name} = t.{name}" for name in key), self.unless])
            conditions.append(f"NOT EXISTS (SELECT FROM {self.table} kept WHERE kept.{self.column} = $2 AND {same})")
        return " AND ".join(conditions)


# Every column is moved as its unique constraints allow (`_by_constraints`), but for these. An index with a condition or
# with expressions is no constraint.
EXCEPTIONS = (
    # An account boosts a status once.
    MergedColumn(
        "statuses", "account_id", (("reblog_of_id",),), unless="kept.deleted_at IS NULL AND t.deleted_at IS NULL"
    ),
    # Votes of both in one poll would be two ballots of one person.
    MergedColumn("poll_votes", "account_id", (("poll_id",),)),
    # As the index `notifications_once` has it: reports and warnings are different each time.
    MergedColumn(
        "notifications", "from_account_id", (("account_id",),),
        unless="kept.type = t.type AND kept.status_id IS NOT DISTINCT FROM t.status_id"
        " AND t.report_id IS NULL AND t.strike_id IS NULL",
    ),
    # An account does not move to itself.
    MergedColumn("accounts", "moved_to_id", partners=("id",)),
)  # fmt: skip

# Added up instead: see `ADD_COUNTS`.
COUNTS = "account_counts"

_RENAMED = """
    CASE WHEN $2 = ANY({column}) THEN array_remove({column}, $1::bigint)
    ELSE array_replace({column}, $1::bigint, $2::bigint) END
"""

# Before the rows of `mentions` are moved, by which the statuses are found.
RENAME_IN_STATUSES = f"""
    UPDATE statuses SET mentioned_ids = {_RENAMED.format(column="mentioned_ids")}
    WHERE id IN (SELECT status_id FROM mentions WHERE account_id = $1)
"""

# The marks of an author and of a mentioned account in `status_words.py`, one after the other.
RENAME_IN_WORDS = tuple(
    f"""
    UPDATE status_words SET
        words = ts_delete(words, '{sign}' || to_hex($1::bigint))
            || array_to_tsvector(ARRAY['{sign}' || to_hex($2::bigint)])
    WHERE words @@ ('''{sign}' || to_hex($1::bigint) || '''')::tsquery
    """
    for sign in ("@", "~")
)

RENAME_IN_POLICIES = f"""
    UPDATE users SET accepted_sender_ids = {_RENAMED.format(column="accepted_sender_ids")}
    WHERE $1 = ANY(accepted_sender_ids)
"""

_CONVERSATIONS = """
    SELECT *, row_number() OVER (
        PARTITION BY account_id, conversation_id, participants ORDER BY last_status_id DESC NULLS LAST, id
    ) AS place
    FROM (
        SELECT *, ARRAY(
            SELECT DISTINCT p FROM unnest(array_replace(participant_ids, $1::bigint, $2::bigint)) AS p ORDER BY p
        ) AS participants
        FROM account_conversations WHERE $1 = ANY(participant_ids)
    ) AS named
"""

_SAME_CONVERSATION = """
    kept.account_id = r.account_id AND kept.conversation_id = r.conversation_id
    AND kept.participant_ids = r.participants
"""

JOIN_CONVERSATIONS = f"""
    UPDATE account_conversations kept SET
        last_status_id = greatest(kept.last_status_id, r.last_status_id), unread = kept.unread OR r.unread,
        first_status_id = least(kept.first_status_id, r.first_status_id)
    FROM ({_CONVERSATIONS}) AS r WHERE r.place = 1 AND {_SAME_CONVERSATION}
"""

RENAME_IN_CONVERSATIONS = f"""
    WITH r AS ({_CONVERSATIONS}), dropped AS (
        DELETE FROM account_conversations c USING r WHERE c.id = r.id
        AND (r.place > 1 OR EXISTS (SELECT FROM account_conversations kept WHERE {_SAME_CONVERSATION}))
        RETURNING c.id
    )
    UPDATE account_conversations c SET participant_ids = r.participants
    FROM r WHERE c.id = r.id AND r.id NOT IN (SELECT id FROM dropped)
"""

_END_FOLLOWS = """
    WITH ended AS (DELETE FROM follows f WHERE {condition} RETURNING account_id, target_account_id)
    UPDATE account_counts c SET
        following = greatest(c.following - lost.following, 0), followers = greatest(c.followers - lost.followers, 0)
    FROM (
        SELECT id, sum(following) AS following, sum(followers) AS followers FROM (
            SELECT account_id AS id, 1 AS following, 0 AS followers FROM ended
            UNION ALL SELECT target_account_id, 0, 1 FROM ended
        ) AS one GROUP BY id
    ) AS lost
    WHERE c.account_id = lost.id
"""

DROP_FOLLOWS = _END_FOLLOWS.format(condition="f.account_id = $1 OR f.target_account_id = $1")

_BLOCKED = """
    EXISTS (
        SELECT FROM blocks b WHERE (b.account_id, b.target_account_id) IN (
            ({f}.account_id, {f}.target_account_id), ({f}.target_account_id, {f}.account_id)
        )
    )
"""

# A block of the one account and a follow of the other one can't stand beside each other.
END_BLOCKED_FOLLOWS = _END_FOLLOWS.format(
    condition=f"(f.account_id = $1 OR f.target_account_id = $1) AND {_BLOCKED.format(f='f')}"
)

END_REQUESTS = f"""
    DELETE FROM follow_requests r WHERE (r.account_id = $1 OR r.target_account_id = $1) AND ({_BLOCKED.format(f="r")} OR
    EXISTS (SELECT FROM follows f WHERE f.account_id = r.account_id AND f.target_account_id = r.target_account_id))
"""

DROP_FAVOURITES = """
    WITH gone AS (DELETE FROM favourites WHERE account_id = $1 RETURNING status_id)
    UPDATE status_counts c SET favourites = greatest(c.favourites - 1, 0) FROM gone WHERE c.status_id = gone.status_id
"""

# The boosts themselves go with the account.
DROP_BOOSTS = """
    UPDATE status_counts c SET reblogs = greatest(c.reblogs - 1, 0) FROM statuses s
    WHERE s.account_id = $1 AND s.reblog_of_id = c.status_id AND s.deleted_at IS NULL
"""

DROP_VOTES = """
    WITH gone AS (DELETE FROM poll_votes WHERE account_id = $1 RETURNING poll_id, position), fewer AS (
        UPDATE poll_options o SET votes = greatest(o.votes - 1, 0) FROM gone
        WHERE o.poll_id = gone.poll_id AND o.position = gone.position
    )
    UPDATE polls p SET voters_count = greatest(p.voters_count - 1, 0)
    FROM (SELECT DISTINCT poll_id FROM gone) AS voted WHERE p.id = voted.poll_id
"""

DROPS = (DROP_FOLLOWS, DROP_FAVOURITES, DROP_BOOSTS, DROP_VOTES)

COUNTED = """
    SELECT
        (SELECT count(*) FROM statuses WHERE account_id = $1 AND deleted_at IS NULL AND visibility <> 'direct')
            AS statuses,
        (SELECT count(*) FROM follows WHERE target_account_id = $1) AS followers,
        (SELECT count(*) FROM follows WHERE account_id = $1) AS following
"""

ADD_COUNTS = """
    UPDATE account_counts c SET
        statuses = c.statuses + $3, followers = c.followers + $4, following = c.following + $5,
        last_status_at = greatest(c.last_status_at, gone.last_status_at)
    FROM account_counts gone WHERE c.account_id = $2 AND gone.account_id = $1
"""

NAME_SERVER = """
    UPDATE follows SET from_domain = (SELECT domain FROM accounts WHERE id = $1) WHERE account_id = $1
"""

REMOVE = """
    DELETE FROM accounts WHERE id = $1 RETURNING ARRAY_REMOVE(ARRAY[avatar_file, header_file], NULL) AS files
"""

RELATED = """
    SELECT id FROM accounts WHERE domain IS NULL AND id IN (
        SELECT account_id FROM follows WHERE target_account_id = $1
        UNION SELECT target_account_id FROM follows WHERE account_id = $1
        UNION SELECT account_id FROM follow_requests WHERE target_account_id = $1
        UNION SELECT target_account_id FROM follow_requests WHERE account_id = $1
        UNION SELECT account_id FROM blocks WHERE target_account_id = $1
        UNION SELECT target_account_id FROM blocks WHERE account_id = $1
        UNION SELECT account_id FROM mutes WHERE target_account_id = $1
    ) ORDER BY id
"""


RENAMES = (*RENAME_IN_WORDS, RENAME_IN_STATUSES, RENAME_IN_POLICIES, JOIN_CONVERSATIONS, RENAME_IN_CONVERSATIONS)


@dataclass(frozen=True, slots=True)
class MergedAccount:
    """The outcome for the rows of the removed account, by their tables, and the files that no row names any more."""

    moved: dict[str, int]
    dropped: dict[str, int]
    files: list[str]


async def lock(db: Connection, ids: Sequence[int]) -> bool:
    """Lock accounts until the transaction ends. False if either was deleted."""
    return len(await db.fetch(LOCK, ids)) == len(ids)


async def related(db: Connection, account_id: int) -> list[int]:
    """Return the accounts of this server that have to do with an account."""
    return [row["id"] for row in await db.fetch(RELATED, account_id)]


async def merged_columns(db: Connection) -> Sequence[MergedColumn]:
    """Return how each column that names an account is moved."""
    columns = await account_columns(db)
    naming = {(one.table, one.column) for one in columns}
    exceptions = {(one.table, one.column): one for one in EXCEPTIONS}
    return [
        exceptions.get((one.table, one.column)) or _by_constraints(one, naming)
        for one in columns
        if one.table != COUNTS
    ]


def _by_constraints(column: AccountColumn, naming: Set[tuple[str, str]]) -> MergedColumn:
    """Move the rows that no unique constraint forbids. Two accounts in one constraint are the sides of a relation."""
    partners = {name for key in column.keys for name in key if (column.table, name) in naming}
    return MergedColumn(column.table, column.column, column.keys, partners=tuple(sorted(partners)))


async def merge(db: Connection, gone: int, kept: int) -> MergedAccount:
    """Move all rows of an account to another account, and delete the first. Both must be locked."""
    before = await db.fetchrow(COUNTED, gone)
    for rename in RENAMES:
        await db.execute(rename, gone, kept)
    moved, dropped = Counter[str](), Counter[str]()
    for one in await merged_columns(db):
        moved[one.table] += await _move(db, one, gone, kept)
        dropped[one.table] += await db.fetchval(f"SELECT count(*) FROM {one.table} WHERE {one.column} = $1", gone)
    after = await db.fetchrow(COUNTED, gone)
    gained = [before[name] - after[name] for name in ("statuses", "followers", "following")]
    await db.execute(ADD_COUNTS, gone, kept, *gained)
    for drop in DROPS:
        await db.execute(drop, gone)
    for tidy in (END_BLOCKED_FOLLOWS, END_REQUESTS, NAME_SERVER):
        await db.execute(tidy, kept)
    files = await db.fetchval(REMOVE, gone)
    return MergedAccount(+moved, +dropped, files)


async def _move(db: Connection, move: MergedColumn, gone: int, kept: int) -> int:
    """Move the rows of a column, and return their number."""
    update = f"UPDATE {move.table} t SET {move.column} = $2 WHERE {move.rows} RETURNING 1"
    return await db.fetchval(f"WITH moved AS ({update}) SELECT count(*) FROM moved", gone, kept)

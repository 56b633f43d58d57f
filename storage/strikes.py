"""Strikes: the decisions of staff about an account, of which its user is notified, and the user's appeals."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection, Row, replaced
from .engine.sql import Statement, insert_into
from .upkeep.paging import Page, both_ways, rows_of

INSERT = Statement(
    insert_into("strikes", "id, target_account_id, account_id, action, text, report_id, status_ids, created_at")
)

COLUMNS = """
    s.id, s.target_account_id, s.account_id, s.action, s.text, s.status_ids, s.report_id, s.overruled_at, s.created_at,
    ap.id AS appeal_id, ap.text AS appeal_text, ap.approved_at AS appeal_approved_at,
    ap.rejected_at AS appeal_rejected_at, ap.created_at AS appealed_at
"""

JOINED = f"SELECT {COLUMNS} FROM strikes s LEFT JOIN appeals ap ON ap.strike_id = s.id"

FIND_MANY = f"{JOINED} WHERE s.id = ANY($1::bigint[])"

OF_ACCOUNT = f"{JOINED} WHERE s.target_account_id = $1 ORDER BY s.id DESC LIMIT $2"

# If two moderators decide on one appeal, the second waits, and then finds the decision of the first.
LOCK = f"{JOINED} WHERE s.id = $1 FOR UPDATE OF s"

TEXTS = "SELECT spoiler_text, content FROM statuses WHERE id = ANY($1::bigint[]) ORDER BY id"

OVERRULE = "UPDATE strikes SET overruled_at = $2 WHERE id = $1"

HAS_OTHER = """
    SELECT EXISTS (
        SELECT FROM strikes WHERE target_account_id = $1 AND action = $2 AND id <> $3
        AND overruled_at IS NULL AND created_at >= $4
    )
"""

IS_MARKED = """
    SELECT EXISTS (
        SELECT FROM strikes WHERE target_account_id = $1 AND action = 'mark_statuses_as_sensitive'
        AND $2 = ANY(status_ids) AND overruled_at IS NULL
    )
"""

INSERT_LINK = "INSERT INTO strike_links (token_hash, strike_id, created_at, expires_at) VALUES ($1, $2, $3, $4)"

FIND_LINK = "SELECT strike_id FROM strike_links WHERE token_hash = $1 AND expires_at > $2"

INSERT_APPEAL = """
    INSERT INTO appeals (id, strike_id, account_id, text, created_at) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (strike_id) DO NOTHING RETURNING id
"""

APPEALS = both_ways(f"""
    SELECT {COLUMNS} FROM appeals ap JOIN strikes s ON s.id = ap.strike_id
    WHERE ap.approved_at IS NULL AND ap.rejected_at IS NULL AND ap.id < $1 AND ap.id > $2
    ORDER BY ap.id {{order}} LIMIT $3
""")

FIND_APPEAL = f"SELECT {COLUMNS} FROM appeals ap JOIN strikes s ON s.id = ap.strike_id WHERE ap.id = $1"

DECIDE = {
    True: "UPDATE appeals SET approved_at = $2, decided_by_id = $3 WHERE id = $1",
    False: "UPDATE appeals SET rejected_at = $2, decided_by_id = $3 WHERE id = $1",
}


@dataclass(frozen=True, slots=True)
class NewStrike:
    """A strike when it is first stored. `account_id` is the moderator's; None for the command line."""

    id: int
    target_account_id: int
    account_id: int | None
    action: str
    text: str
    report_id: int | None = None
    status_ids: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class Strike:
    """A strike, with the appeal against it, if any."""

    id: int
    target_account_id: int
    account_id: int | None
    action: str
    text: str
    status_ids: tuple[int, ...] | None
    report_id: int | None
    overruled_at: datetime | None
    created_at: datetime
    appeal_id: int | None = None
    appeal_text: str | None = None
    appeal_approved_at: datetime | None = None
    appeal_rejected_at: datetime | None = None
    appealed_at: datetime | None = None

    @property
    def is_decided(self) -> bool:
        """True if there is an appeal that was approved or rejected."""
        return self.appeal_approved_at is not None or self.appeal_rejected_at is not None


async def insert(db: Connection, new: NewStrike, now: datetime) -> None:
    await db.execute(*INSERT.bind(new, created_at=now))


async def find_many(db: Connection, ids: Sequence[int]) -> dict[int, Strike]:
    return {row["id"]: _strike(row) for row in await db.fetch(FIND_MANY, ids)}


async def find(db: Connection, id: int) -> Strike | None:
    return (await find_many(db, [id])).get(id)


async def of_account(db: Connection, account_id: int, limit: int) -> list[Strike]:
    """Return the newest strikes of an account."""
    return [_strike(row) for row in await db.fetch(OF_ACCOUNT, account_id, limit)]


async def lock(db: Connection, id: int) -> Strike | None:
    row = await db.fetchrow(LOCK, id)
    return None if row is None else _strike(row)


async def texts(db: Connection, status_ids: Sequence[int]) -> list[tuple[str, str]]:
    """Return the warning and the HTML of statuses, also of removed ones."""
    return [(row["spoiler_text"], row["content"]) for row in await db.fetch(TEXTS, status_ids)]


async def overrule(db: Connection, id: int, now: datetime) -> None:
    """Note that a strike counts no more."""
    await db.execute(OVERRULE, id, now)


async def has_other(db: Connection, struck: Strike, since: datetime) -> bool:
    """True if another strike since a time, which counts, has the same action against the account."""
    return await db.fetchval(HAS_OTHER, struck.target_account_id, struck.action, struck.id, since)


async def is_marked(db: Connection, account_id: int, status_id: int) -> bool:
    """True if staff have marked a status of an account as sensitive, and no appeal has changed that."""
    return await db.fetchval(IS_MARKED, account_id, status_id)


# Appeals --------------------------------------------------------------------------------------------------------------


async def insert_link(db: Connection, token_hash: bytes, strike_id: int, now: datetime, expires_at: datetime) -> None:
    """Store a link of a mail, by which a user who can't sign in appeals."""
    await db.execute(INSERT_LINK, token_hash, strike_id, now, expires_at)


async def find_link(db: Connection, token_hash: bytes, now: datetime) -> int | None:
    """Return the strike that a link is about. None if the link is not valid."""
    return await db.fetchval(FIND_LINK, token_hash, now)


async def insert_appeal(db: Connection, id: int, strike: Strike, text: str, now: datetime) -> bool:
    """Store an appeal. False if the strike has an appeal already."""
    return await db.fetchval(INSERT_APPEAL, id, strike.id, strike.target_account_id, text, now) is not None


async def open_appeals(db: Connection, page: Page) -> list[Strike]:
    """Return the strikes with appeals that wait for a decision, by the appeals' ids, newest first."""
    return [_strike(row) for row in await rows_of(db, APPEALS, page)]


async def find_appealed(db: Connection, appeal_id: int) -> Strike | None:
    """Return the strike of an appeal."""
    row = await db.fetchrow(FIND_APPEAL, appeal_id)
    return None if row is None else _strike(row)


async def decide(db: Connection, appeal_id: int, by: int | None, now: datetime, *, approved: bool) -> None:
    await db.execute(DECIDE[approved], appeal_id, now, by)


def _strike(row: Row) -> Strike:
    ids = row["status_ids"]
    return Strike(**replaced(row, status_ids=None if ids is None else tuple(ids)))

"""Polls of statuses, and the votes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from .engine.database import Connection, Row, replaced
from .engine.json_values import JsonObject
from .engine.sql import Statement, insert_into

# One poll as JSON, for a query over statuses `s`. Times are in seconds: JSON has no type for them.
OF_STATUS = """
    SELECT jsonb_build_object(
        'id', p.id, 'account_id', p.account_id, 'multiple', p.multiple, 'hide_totals', p.hide_totals,
        'voters_count', p.voters_count, 'expires_at', extract(epoch FROM p.expires_at),
        'options', (
            SELECT jsonb_agg(jsonb_build_array(o.title, o.votes) ORDER BY o.position)
            FROM poll_options o WHERE o.poll_id = p.id
        )
    ) FROM polls p WHERE p.id = s.poll_id
"""

INSERT = Statement(f"""
    WITH made AS (
        {insert_into("polls", "id, account_id, multiple, hide_totals, expires_at, created_at")}
        RETURNING id
    )
    INSERT INTO poll_options (poll_id, position, title)
    SELECT made.id, asked.number - 1, asked.title
    FROM made, unnest(:options::text[]) WITH ORDINALITY AS asked (title, number)
""")

CHANGE = """
    UPDATE polls SET
        multiple = $2, hide_totals = $3, expires_at = $4,
        closed_at = CASE WHEN $4 > $5::timestamptz THEN NULL ELSE closed_at END
    WHERE id = $1
"""

# A poll with other options is another question: it has no votes.
RESET = "UPDATE polls SET voters_count = 0 WHERE id = $1"

FORGET_OPTIONS = "DELETE FROM poll_options WHERE poll_id = $1"

INSERT_OPTIONS = """
    INSERT INTO poll_options (poll_id, position, title)
    SELECT $1, asked.number - 1, asked.title FROM unnest($2::text[]) WITH ORDINALITY AS asked (title, number)
"""

DELETE = "DELETE FROM polls WHERE id = $1"

STATUS_OF = "SELECT id FROM statuses WHERE poll_id = $1 AND deleted_at IS NULL"

HOLD_STATUS = f"{STATUS_OF} FOR KEY SHARE"

# Votes are stored one after the other, and not together with the end of the poll.
LOCK = """
    SELECT multiple, closed_at IS NOT NULL OR expires_at <= $2 AS ended,
        (SELECT count(*) FROM poll_options o WHERE o.poll_id = p.id) AS options
    FROM polls p WHERE id = $1 FOR UPDATE
"""

VOTES = "SELECT position FROM poll_votes WHERE poll_id = $1 AND account_id = $2 ORDER BY id"

VOTE = """
    WITH made AS (
        INSERT INTO poll_votes (id, poll_id, position, account_id, created_at, uri)
        SELECT vote.id, $1, vote.position, $2, $5, $7 FROM unnest($3::bigint[], $4::smallint[]) AS vote (id, position)
        RETURNING position
    ), counted AS (
        UPDATE poll_options o SET votes = votes + 1 FROM made WHERE o.poll_id = $1 AND o.position = made.position
    )
    UPDATE polls SET voters_count = voters_count + $6::int WHERE id = $1
"""

CLOSE = """
    UPDATE polls SET closed_at = $2 WHERE id = $1 AND closed_at IS NULL AND expires_at <= $2 RETURNING account_id
"""

VOTERS = """
    SELECT DISTINCT v.account_id FROM poll_votes v JOIN users u ON u.account_id = v.account_id WHERE v.poll_id = $1
    ORDER BY v.account_id
"""


@dataclass(frozen=True, slots=True)
class Option:
    """An option to vote for."""

    title: str
    votes: int


@dataclass(frozen=True, slots=True)
class Poll:
    """A poll with its counts, which are equal for every viewer. A viewer's own votes are read separately."""

    id: int
    account_id: int
    multiple: bool
    hide_totals: bool
    voters_count: int
    expires_at: datetime | None
    options: tuple[Option, ...]

    def expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now


@dataclass(frozen=True, slots=True)
class NewPoll:
    """A poll when it is first stored."""

    id: int
    account_id: int
    options: tuple[str, ...]
    multiple: bool
    hide_totals: bool
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class PollState:
    """The state that decides if a vote is accepted, while the poll is locked."""

    multiple: bool
    ended: bool
    options: int


@dataclass(frozen=True, slots=True)
class Closed:
    """A poll that has ended: its author, and its local voters."""

    status_id: int
    account_id: int
    voters: tuple[int, ...]


async def insert(db: Connection, new: NewPoll, now: datetime) -> None:
    """Store a poll. Its status is stored next."""
    await db.execute(*INSERT.bind(new, created_at=now))


async def change(db: Connection, poll: Poll, *, reset: bool, now: datetime) -> None:
    """Store other terms. `reset` deletes every vote, because the options are different."""
    await db.execute(CHANGE, poll.id, poll.multiple, poll.hide_totals, poll.expires_at, now)
    if reset:
        await db.execute(FORGET_OPTIONS, poll.id)
        await db.execute(INSERT_OPTIONS, poll.id, [option.title for option in poll.options])
        await db.execute(RESET, poll.id)


async def delete(db: Connection, id: int) -> None:
    """Remove a poll from its status, with all votes."""
    await db.execute(DELETE, id)


async def status_of(db: Connection, id: int) -> int | None:
    """Return the status of a poll."""
    return await db.fetchval(STATUS_OF, id)


async def hold_status(db: Connection, id: int) -> int | None:
    """Return the status of a poll, which can't be deleted before the transaction ends."""
    return await db.fetchval(HOLD_STATUS, id)


async def lock(db: Connection, id: int, now: datetime) -> PollState | None:
    """Lock the poll against votes and its end until the transaction ends."""
    row = await db.fetchrow(LOCK, id, now)
    return PollState(*row.values()) if row is not None else None


async def votes_of(db: Connection, id: int, account_id: int) -> list[int]:
    """Return the positions of the options that an account has chosen, in the order of voting."""
    return [row["position"] for row in await db.fetch(VOTES, id, account_id)]


async def vote(
    db: Connection, id: int, account_id: int, votes: Collection[tuple[int, int]], now: datetime, *, first: bool,
    uri: str | None = None,
) -> None:  # fmt: skip
    """Store votes as (id, position) and count them. `first` means that the account is one more voter."""
    ids, positions = [vote for vote, _ in votes], [position for _, position in votes]
    await db.execute(VOTE, id, account_id, ids, positions, now, first, uri)


async def close(db: Connection, id: int, now: datetime) -> Closed | None:
    """End a poll whose time is over. None if it has ended before, runs longer, or is gone."""
    status_id = await hold_status(db, id)
    account_id = await db.fetchval(CLOSE, id, now) if status_id is not None else None
    if status_id is None or account_id is None:
        return None
    voters: Sequence[Row] = await db.fetch(VOTERS, id)
    return Closed(status_id, account_id, tuple(row["account_id"] for row in voters))


def poll_of(value: JsonObject) -> Poll:
    """Return the Poll of the JSON that OF_STATUS makes."""
    expires_at = value["expires_at"]
    return Poll(
        **replaced(
            value,
            expires_at=datetime.fromtimestamp(expires_at, UTC) if expires_at is not None else None,
            options=tuple(Option(*option) for option in value["options"] or ()),
        )
    )

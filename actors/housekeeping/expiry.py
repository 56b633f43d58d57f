"""Deletes expired rows every hour, in batches of 500, each in a transaction. `EXPIRING` is the table of them.

The handbook has this table (`database.md`), with the files that `media/cleaning.py` deletes.

In a cluster the leader deletes, and every node stores the visits and the used tokens that it has noted. Two leaders at
once delete no row twice: each statement locks the rows that it deletes. A token that another node has seen for the
first time within the last hour counts as never used.

Unconfirmed sign-ups reserve names and addresses, and visitors can make them without limit, as well as applications,
codes and tokens of applications.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

import trio

from ...storage import visits
from ...storage.engine.database import Database, StorageError
from ...storage.upkeep import expiry
from ...storage.upkeep.expiry import BatchDeletion
from ...storage.visits import Visit
from ..broadcast.publications import LOG_KEPT
from ..cluster.others import Others
from ..facts.access import RevokedToken
from ..facts.accounts import ChangedAccount
from ..facts.fact import Fact, Facts
from ..kernel import Clock, Record, first_id_at
from ..mail.sender import LINK_LASTS
from ..memory.suggestions import INTERACTIONS_COUNT
from .sweeps import counted, sweep_until

EVERY = 3600.0  # seconds
BATCH = 500  # rows that a transaction deletes
# Batches of a kind in a sweep. The rest waits for the next hour.
MOST_BATCHES = 1000


def _time(time: datetime) -> object:
    return time


def _day(time: datetime) -> object:
    return time.date()


@dataclass(frozen=True, slots=True)
class ExpiringRows:
    """A kind of rows, the time for which they are kept, and the reason for this time.

    `kept` is counted from the time that the statement compares: for example the time of the last use, or the end that
    the row itself names. A statement with several bounds has as many times.
    """

    rows: str  # in the log, and in the handbook
    deletion: BatchDeletion
    kept: tuple[timedelta, ...]
    why: str
    bound: Callable[[datetime], object] = _time  # how the statement is given a time: as such, as a day, or as an id
    # That a row is gone, made of what the deletion returns: `Any`, because rows are identified by values of many types.
    fact: Callable[[Any], Fact] | None = None

    def bounds(self, now: datetime) -> list[object]:
        """Return the bounds of the statement: rows of this age, or older, are deleted."""
        return [self.bound(now - kept) for kept in self.kept]


def _days(*numbers: int) -> tuple[timedelta, ...]:
    return tuple(timedelta(days=number) for number in numbers)


AT_ITS_END = _days(0)  # the row says when that is

DELETED_STATUSES = ExpiringRows(
    "deleted posts", expiry.STATUSES, _days(30),
    "Staff can read them, for as long as a suspension can be undone. Posts that an open report names stay.",
)  # fmt: skip

# Applications come last, because the rows that are deleted before are uses of them.
EXPIRING = (
    ExpiringRows(
        "addresses of users", expiry.VISITS, _days(90), "Staff see from which addresses users came.", bound=_day
    ),
    ExpiringRows(
        "codes of apps", expiry.GRANTS, _days(1),
        "A code is remembered after its end, because a second use of it revokes its token.",
    ),
    ExpiringRows("sessions", expiry.SESSIONS, AT_ITS_END, "Sessions of browsers end by themselves."),
    ExpiringRows("links of mails", expiry.CONFIRMATIONS, AT_ITS_END, "They are not valid any more."),
    ExpiringRows("links to set a password", expiry.RESETS, AT_ITS_END, "They are not valid any more."),
    ExpiringRows("unfinished sign-ins", expiry.CHALLENGES, AT_ITS_END, "No code is taken any more."),
    ExpiringRows("links to strikes", expiry.STRIKE_LINKS, AT_ITS_END, "They are not valid any more."),
    ExpiringRows(
        "changes that streams were told of", expiry.STREAM_LOG, (LOG_KEPT,),
        "Clients that connect again get the events that they missed.", bound=first_id_at,
    ),
    ExpiringRows(
        "finished imports", expiry.IMPORTS, _days(30), "The page of imports shows the result of each."
    ),
    ExpiringRows("blocks of networks", expiry.NETWORK_BLOCKS, AT_ITS_END, "Staff chose when they end."),
    ExpiringRows(
        "counts of refused addresses", expiry.EMAIL_ATTEMPTS, _days(8),
        "Staff see the attempts of the last seven days.", bound=_day,
    ),
    ExpiringRows(
        "digests of activities", expiry.RECEIVED_ACTIVITIES, _days(3),
        "For two days servers send unanswered activities again, with a new signature. A signature is good for an hour.",
    ),
    ExpiringRows(
        "keys of other servers", expiry.ACTOR_KEYS, _days(30),
        "They are fetched again when they are needed. Keys of deleted accounts are needed for some days.",
    ),
    ExpiringRows("undone activities", expiry.TOMBSTONES, AT_ITS_END, "The undone activities do not come any more."),
    ExpiringRows(
        "dead letters", expiry.DEAD_LETTERS, _days(30),
        "They have all fields of their messages, also texts that people wrote.", bound=first_id_at,
    ),
    ExpiringRows(
        "ended suggestions", expiry.ENDED_SUGGESTIONS, (INTERACTIONS_COUNT,),
        "Older interactions suggest nothing.", bound=first_id_at,
    ),
    ExpiringRows(
        "revoked tokens", expiry.REVOKED_TOKENS, _days(30),
        "Until then clients get the error that their token was revoked, later that it is not valid.", fact=RevokedToken,
    ),
    ExpiringRows(
        "tokens of apps", expiry.APPLICATION_TOKENS, _days(30, 2),
        "Apps make them without users: used tokens after their last use, and tokens that were never used.",
        fact=RevokedToken,
    ),
    ExpiringRows(
        "unconfirmed sign-ups", expiry.SIGN_UPS, (LINK_LASTS, *_days(7, 0)),
        "The link of the mail ends. Requesting mails again and again reserves a name or an address of another person"
        " for no longer than seven days.", fact=ChangedAccount,
    ),
    DELETED_STATUSES,
    ExpiringRows(
        "servers that are unknown here", expiry.HOSTS, _days(30),
        "How a server without accounts here did, and how it reads signatures.",
    ),
    ExpiringRows("unused apps", expiry.APPLICATIONS, _days(7), "They can be registered again."),
)  # fmt: skip


class TokenUse(Protocol):
    """`used` are the ids of applications' own tokens that this process has seen since the set was last emptied."""

    used: set[int]


class NotedVisits(Protocol):
    """The visits of users since they were last taken."""

    def take(self) -> list[Visit]: ...


class Expiry:
    """The child that deletes expired rows, one for each process of the server."""

    def __init__(
        self, database: Database, clock: Clock, record: Record, facts: Facts, tokens: TokenUse, visits: NotedVisits,
        others: Others,
    ) -> None:  # fmt: skip
        self._database = database
        self._clock = clock
        self._record = record
        self._facts = facts
        self._tokens = tokens
        self._visits = visits
        self._others = others
        self.deleted = 0

    def inspect(self) -> dict[str, object]:
        """Return the numbers for an operator."""
        return {"deleted": self.deleted}

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Sweep at start and every hour, until `stopping`. Then visits since the last sweep are stored."""
        task_status.started()
        await sweep_until(stopping, self.sweep, EVERY, EVERY)
        with suppress(StorageError):
            await self._store_visits()

    async def sweep(self) -> None:
        """Store the notes of this node. The leader then deletes everything whose time is over."""
        now = self._clock.now()
        with counted(self._report) as counts:
            await self._note_use()
            await self._store_visits()
            for expiring in EXPIRING if self._others.is_leader else ():
                await self._delete(expiring, now, counts)

    def _report(self, removed: str) -> None:
        self._record("expiry.swept", decision=removed)

    async def _delete(self, expiring: ExpiringRows, now: datetime, counts: Counter[str]) -> None:
        """Delete rows of a kind, batch after batch, each in a transaction of its own."""
        bounds = expiring.bounds(now)
        for _ in range(MOST_BATCHES):
            with self._facts.publishing():
                gone = await self._database.transact(expiring.deletion.run, *bounds, BATCH)
                counts[expiring.rows] += len(gone)
                self.deleted += len(gone)
                if expiring.fact is not None:
                    await self._facts.apply([expiring.fact(row) for row in gone])
            if len(gone) < BATCH:
                break

    async def _note_use(self) -> None:
        """Store when tokens were used, as this process remembers it: used tokens are kept."""
        used = set(self._tokens.used)
        if used:
            await self._database.transact(expiry.note_use, used, self._clock.now())
            self._tokens.used -= used

    async def _store_visits(self) -> None:
        noted = self._visits.take()
        for start in range(0, len(noted), BATCH):
            await self._database.transact(visits.insert_many, noted[start : start + BATCH])

"""Deletes expired rows every hour, in small batches.

Unconfirmed sign-ups reserve names and addresses, and visitors can make them without limit, as well as applications,
codes and tokens of applications.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Protocol

import trio

from ..storage import expiry, stream_log, visits
from ..storage.engine.database import Database, Fenced, StorageError
from ..storage.engine.faults import machine_fault
from ..storage.visits import Visit
from .facts import ChangedAccount, Fact, Facts, RevokedToken
from .kernel import Clock, Record, first_id_at
from .mail.sender import LINK_LASTS
from .suggestions import INTERACTIONS_COUNT
from .sweeps import counted
from .tellings import LOG_KEPT

EVERY = 3600.0  # seconds
BATCH = 500  # rows that one transaction deletes
# Batches of one kind in one sweep. The rest waits for the next hour.
MOST_BATCHES = 1000
# A code that is used a second time revokes its token. It is remembered for a day after it has expired for that.
GRANTS_KEPT = timedelta(days=1)
# For this time a client is told that its token was revoked, afterwards that it is not valid.
REVOKED_KEPT = timedelta(days=30)
# Dead letters have all fields of their messages, also texts that people wrote.
DEAD_LETTERS_KEPT = timedelta(days=30)
# For this time the page of imports shows what became of each.
IMPORTS_KEPT = timedelta(days=30)
# Staff see the attempts of the last seven days.
ATTEMPTS_KEPT = timedelta(days=8)
# For this time staff see from which addresses users came.
VISITS_KEPT = timedelta(days=90)
# A signature is good for an hour. Servers send again what was not answered, signed anew, for about two days.
RECEIVED_KEPT = timedelta(days=3)
# Keys of other servers are fetched again when they are needed. Those of deleted accounts are needed for some days.
KEYS_KEPT = timedelta(days=30)
APPLICATION_TOKENS_UNUSED = timedelta(days=30)
APPLICATION_TOKENS_NEVER_USED = timedelta(days=2)
APPLICATIONS_UNUSED = timedelta(days=7)
# For this time staff can read a deleted status: as long as a suspension can be undone.
DELETED_STATUSES_KEPT = timedelta(days=30)
# For this time it is remembered how a server without accounts here did, and how it reads signatures.
HOSTS_KEPT = timedelta(days=30)
# Requesting mails again and again reserves a name or an address of another person for no longer than this.
SIGN_UPS_AT_MOST = timedelta(days=7)


class TokenUse(Protocol):
    """`used` are the ids of applications' own tokens that this process has seen since the set was last emptied."""

    used: set[int]


class NotedVisits(Protocol):
    """The visits of users since they were last taken."""

    def take(self) -> list[Visit]: ...


class Expiry:
    """The child that deletes expired rows, one for each process of the server."""

    def __init__(
        self, database: Database, clock: Clock, record: Record, facts: Facts, tokens: TokenUse, visits: NotedVisits
    ) -> None:
        self._database = database
        self._clock = clock
        self._record = record
        self._facts = facts
        self._tokens = tokens
        self._visits = visits
        self._counts = Counter[str]()
        self.deleted = 0

    def inspect(self) -> dict[str, object]:
        """Return what an operator sees."""
        return {"deleted": self.deleted}

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Sweep at start and every hour, until `stopping`. Then visits since the last sweep are stored."""
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._run)
            await stopping.wait()
            nursery.cancel_scope.cancel()
        with suppress(StorageError):
            await self._store_visits()

    async def _run(self) -> None:
        while True:
            try:
                await self.sweep()
            except Fenced:
                raise
            except Exception as error:
                # A full disk or a lost database is logged elsewhere, and the next sweep makes up for it. An error here
                # would restart the children that were started after this one, the HTTP server too.
                if machine_fault(error) is None:
                    raise
            await trio.sleep(EVERY)

    async def sweep(self) -> None:
        """Delete everything whose time is over. Applications come last: what is deleted before them is their use."""
        with counted(self._report) as self._counts:
            await self._sweep(self._clock.now())

    def _report(self, removed: str) -> None:
        self._record("expiry.swept", decision=removed)

    async def _sweep(self, now: datetime) -> None:
        await self._note_use()
        await self._store_visits()
        await self._all("addresses of users", expiry.delete_visits, (now - VISITS_KEPT).date())
        await self._all("codes of apps", expiry.delete_grants, now - GRANTS_KEPT)
        await self._all("sessions", expiry.delete_sessions, now)
        await self._all("links of mails", expiry.delete_confirmations, now)
        await self._all("links to set a password", expiry.delete_resets, now)
        await self._all("unfinished sign-ins", expiry.delete_challenges, now)
        await self._all("links to strikes", expiry.delete_strike_links, now)
        log_from = first_id_at(now - LOG_KEPT)
        await self._all("changes that streams were told of", stream_log.delete_before, log_from)
        await self._all("finished imports", expiry.delete_imports, now - IMPORTS_KEPT)
        await self._all("blocks of networks", expiry.delete_network_blocks, now)
        await self._all("counts of refused addresses", expiry.delete_email_attempts, (now - ATTEMPTS_KEPT).date())
        await self._all("digests of activities", expiry.delete_received_activities, now - RECEIVED_KEPT)
        await self._all("keys of other servers", expiry.delete_actor_keys, now - KEYS_KEPT)
        await self._all("undone activities", expiry.delete_tombstones, now)
        await self._all("dead letters", expiry.delete_dead_letters, first_id_at(now - DEAD_LETTERS_KEPT))
        await self._all("ended suggestions", expiry.delete_ended_suggestions, first_id_at(now - INTERACTIONS_COUNT))
        await self._all("revoked tokens", expiry.delete_revoked_tokens, now - REVOKED_KEPT, fact=RevokedToken)
        unused = (now - APPLICATION_TOKENS_UNUSED, now - APPLICATION_TOKENS_NEVER_USED)
        await self._all("tokens of apps", expiry.delete_application_tokens, *unused, fact=RevokedToken)
        ages = (now - LINK_LASTS, now - SIGN_UPS_AT_MOST, now)
        await self._all("unconfirmed sign-ups", expiry.delete_sign_ups, *ages, fact=ChangedAccount)
        await self._all("deleted posts", expiry.delete_statuses, now - DELETED_STATUSES_KEPT)
        await self._all("servers that are unknown here", expiry.delete_hosts, now - HOSTS_KEPT)
        await self._all("unused apps", expiry.delete_applications, now - APPLICATIONS_UNUSED)

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

    async def _all(
        self,
        kind: str,
        delete: Callable[..., Any],  # `Any` is what one batch returns
        *arguments: object,
        fact: Callable[[Any], Fact] | None = None,  # made of what `delete` returns
    ) -> None:
        """Delete rows of a kind, batch after batch, each in a transaction of its own. Each row may be a fact."""
        for _ in range(MOST_BATCHES):
            gone = await self._database.transact(delete, *arguments, BATCH)
            self._counts[kind] += len(gone)
            self.deleted += len(gone)
            if fact is not None:
                await self._facts.apply([fact(one) for one in gone])
            if len(gone) < BATCH:
                break

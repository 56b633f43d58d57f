"""Deletes what has expired, every hour, in small batches.

Sign-ups that nobody confirmed hold the names and addresses of other people, and everybody can make them, as well as
applications, codes and tokens of applications.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol

import trio

from ..storage import expiry
from ..storage.engine.database import Database, Fenced
from ..storage.engine.faults import machine_fault
from .facts import ChangedAccount, Fact, Facts, RevokedToken
from .kernel import Clock, Record
from .mail.sender import LINK_LASTS

EVERY = 3600.0  # seconds
BATCH = 500
# Batches of one kind in one go: the rest waits for the next hour.
MOST_BATCHES = 1000
# A code that comes a second time revokes its token; it is known for a day after it has expired.
GRANTS_KEPT = timedelta(days=1)
# For so long a client is told that its token was revoked, afterwards that it is not valid.
REVOKED_KEPT = timedelta(days=30)
APPLICATION_TOKENS_UNUSED = timedelta(days=30)
APPLICATION_TOKENS_NEVER_USED = timedelta(days=2)
APPLICATIONS_UNUSED = timedelta(days=7)
# Asking for mail after mail keeps somebody else's name or address for no longer than this.
SIGN_UPS_AT_MOST = timedelta(days=7)


class TokenUse(Protocol):
    """`used` are the ids of applications' own tokens that this process has seen since the set was last emptied."""

    used: set[int]


class Expiry:
    """One for each process of the server."""

    def __init__(self, database: Database, clock: Clock, record: Record, facts: Facts, tokens: TokenUse) -> None:
        self._database = database
        self._clock = clock
        self._record = record
        self._facts = facts
        self._tokens = tokens
        self.deleted = 0

    def inspect(self) -> dict[str, object]:
        """What an operator sees."""
        return {"deleted": self.deleted}

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Sweep now and every hour, until `stopping`."""
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._run)
            await stopping.wait()
            nursery.cancel_scope.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self.sweep()
            except Fenced:
                raise
            except Exception as error:
                # A full disk, or a database that is away: others tell of it, and there is a next time. A crash would
                # restart what was started after this child, the HTTP server too.
                if machine_fault(error) is None:
                    raise
            await trio.sleep(EVERY)

    async def sweep(self) -> None:
        """Delete everything whose time is over. Applications come last: what is deleted before them is their use."""
        now = self._clock.now()
        await self._note_use()
        await self._all(expiry.delete_grants, now - GRANTS_KEPT)
        await self._all(expiry.delete_sessions, now)
        await self._all(expiry.delete_confirmations, now)
        await self._all(expiry.delete_revoked_tokens, now - REVOKED_KEPT, fact=RevokedToken)
        unused = (now - APPLICATION_TOKENS_UNUSED, now - APPLICATION_TOKENS_NEVER_USED)
        await self._all(expiry.delete_application_tokens, *unused, fact=RevokedToken)
        ages = (now - LINK_LASTS, now - SIGN_UPS_AT_MOST, now)
        if sign_ups := await self._all(expiry.delete_sign_ups, *ages, fact=ChangedAccount):
            self._record("sign_ups.expired", decision=f"{sign_ups} deleted")
        await self._all(expiry.delete_applications, now - APPLICATIONS_UNUSED)

    async def _note_use(self) -> None:
        """Tokens that are used are kept: what this process remembers of that goes into the rows."""
        used = set(self._tokens.used)
        if used:
            await self._database.transact(expiry.note_use, used, self._clock.now())
            self._tokens.used -= used

    async def _all(
        self, delete: Callable[..., Any], *arguments: object, fact: Callable[[Any], Fact] | None = None
    ) -> int:
        """Delete batch after batch, each in a transaction of its own; how many rows. Each row may be a fact."""
        count = 0
        for _ in range(MOST_BATCHES):
            gone = await self._database.transact(delete, *arguments, BATCH)
            count += len(gone)
            self.deleted += len(gone)
            if fact is not None:
                await self._facts.apply([fact(one) for one in gone])
            if len(gone) < BATCH:
                break
        return count

"""The known state of other servers: a breaker for each, and the kind of signature that it takes.

A server that fails is left alone for a while, so that it costs no time. Its state is a row, so that a restart does not
begin anew with all servers that are gone. The latest states are in memory, which changes after the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from cachetools import LRUCache

from ...storage.engine.database import Connection, Database
from ...storage.federation import hosts
from ...storage.federation.hosts import Host, SignatureScheme
from ..kernel import Clock, Record

FAILURES = 5  # in a row, after which a host is left alone
FIRST_PAUSE = timedelta(seconds=60)
LONGEST_PAUSE = timedelta(hours=1)
KEPT = 4096  # hosts in memory
# A host that works is written again only after this time, so that a delivery costs no further transaction.
NOTED_EVERY = timedelta(hours=1)
QUEUE = "deliveries"
LONGEST_HOST = 240  # characters, so that the names of its groups fit into a row

Chance = Callable[[], float]  # from 0 to 1


def groups_of(host: str) -> tuple[str, str]:
    """Return the groups of deliveries to a host: what people wait for, and posts for followers."""
    return host, f"{host} followers"


class KnownHosts:
    """The states of other servers, one for each process of the server."""

    def __init__(
        self, database: Database, clock: Clock, record: Record, chance: Chance, wake: Callable[[], None]
    ) -> None:
        self._database = database
        self._clock = clock
        self._record = record
        self._chance = chance
        self._wake = wake  # the queue of deliveries
        self._known: LRUCache[str, Host] = LRUCache(KEPT)

    def inspect(self) -> dict[str, object]:
        """Return what an operator sees: how many hosts get nothing now."""
        now = self._clock.now()
        return {
            "left_alone": sum(one.closed_until is not None and one.closed_until > now for one in self._known.values())
        }

    def forget(self) -> None:
        """Read all rows again: another program has changed some."""
        self._known.clear()
        self._wake()

    async def find(self, host: str) -> Host:
        """Return what is known of a host."""
        if (known := self._known.get(host)) is None:
            row = await self._database.read(hosts.find, host)
            # Another task may have learnt more meanwhile.
            known = self._known.get(host) or row or Host(host)
            self._known[host] = known
        return known

    async def closed_until(self, host: str) -> datetime | None:
        """Return the time until which nothing is to be sent to a host.

        When that time has come, one delivery is let through; the next one only if it arrives.
        """
        known, now = await self.find(host), self._clock.now()
        if known.closed_until is None:
            return None
        if now < known.closed_until:
            return known.closed_until
        self._known[host] = replace(known, closed_until=now + _pause(known.failures))
        return None

    async def succeeded(self, host: str, scheme: SignatureScheme) -> None:
        """The host took a delivery that was signed in this way."""
        known, now = await self.find(host), self._clock.now()
        noted = known.delivered_at is not None and now < known.delivered_at + NOTED_EVERY
        if noted and not known.failures and known.signature_scheme == scheme:
            return
        await self._open(replace(known, signature_scheme=scheme, delivered_at=now))

    async def answered(self, host: str) -> None:
        """The host refused a delivery, so it is not away."""
        known = await self.find(host)
        if known.failures:
            await self._open(known)

    async def note_request_from(self, host: str) -> None:
        """The host has sent a request with a valid signature, so it is not away."""
        known, now = await self.find(host), self._clock.now()
        noted = known.heard_at is not None and now < known.heard_at + NOTED_EVERY
        # Hosts that were sent nothing have no row: an attacker can make any number of hosts that send something.
        if known.failures or (known.delivered_at is not None and not noted):
            await self._open(replace(known, heard_at=now))

    async def failed(self, host: str, error: str, until: datetime | None = None) -> None:
        """A delivery failed in a way that others would fail too. The host may have said until when.

        Pauses double, up to a limit.
        """
        known, now = await self.find(host), self._clock.now()
        failures = known.failures + 1
        closed_until = until
        if closed_until is None and failures >= FAILURES:
            closed_until = now + _pause(failures) * (0.9 + 0.2 * self._chance())
        failed = replace(
            known, failures=failures, failing_since=known.failing_since or now, error=error, closed_until=closed_until
        )
        await self._store(failed)
        if closed_until is not None:
            decision = f"nothing is sent there for {round((closed_until - now).total_seconds())} s"
            self._record("host.left_alone", host=host, error=error, decision=decision)

    async def _open(self, known: Host) -> None:
        """Store that a host works. What waits for it is due at once."""
        failed, now = known.failures, self._clock.now()
        await self._database.transact(
            _store_working, replace(known, failures=0, failing_since=None, closed_until=None, error=None), now,
            hurried=bool(failed),
        )  # fmt: skip
        self._known[known.host] = replace(known, failures=0, failing_since=None, closed_until=None, error=None)
        if failed:
            self._record("host.back", host=known.host, decision="what waits for it is sent")
            self._wake()

    async def _store(self, known: Host) -> None:
        self._known[known.host] = known
        await self._database.transact(hosts.store, known, self._clock.now())


async def _store_working(db: Connection, known: Host, now: datetime, *, hurried: bool) -> None:
    await hosts.store(db, known, now)
    if hurried:
        await hosts.make_due(db, groups_of(known.host), QUEUE, now)


def _pause(failures: int) -> timedelta:
    return min(FIRST_PAUSE * 2 ** min(failures - FAILURES, 16) if failures > FAILURES else FIRST_PAUSE, LONGEST_PAUSE)

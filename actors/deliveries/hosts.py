"""The states of other servers: a circuit breaker for each, and the signature scheme that it accepts.

A server that fails gets no deliveries for a while, so that it costs no time. Its state is a row, so that a restart does
not try all dead servers again. The latest states are cached; the cache changes after the rows.
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

FAILURES = 5  # in a row, after which deliveries to a host are paused
FIRST_PAUSE = timedelta(seconds=60)
LONGEST_PAUSE = timedelta(hours=1)
CACHED = 4096  # hosts in memory
# The row of a working host is updated only after this time, so that a delivery costs no further transaction.
NOTED_EVERY = timedelta(hours=1)
QUEUE = "deliveries"
LONGEST_HOST = 240  # characters, so that the names of its groups fit into a row

Chance = Callable[[], float]  # from 0 to 1


def groups_of(host: str) -> tuple[str, str]:
    """Return the two groups of deliveries to a host: urgent deliveries, and posts for followers."""
    return host, f"{host} followers"


class KnownHosts:
    """The cached states of other servers. Each process of the server has an instance."""

    def __init__(
        self, database: Database, clock: Clock, record: Record, chance: Chance, wake: Callable[[], None]
    ) -> None:
        self._database = database
        self._clock = clock
        self._record = record
        self._chance = chance
        self._wake = wake  # the queue of deliveries
        self._known: LRUCache[str, Host] = LRUCache(CACHED)

    def inspect(self) -> dict[str, object]:
        """Return the state for operators: the number of hosts whose deliveries are paused."""
        now = self._clock.now()
        return {
            "left_alone": sum(
                host.closed_until is not None and host.closed_until > now for host in self._known.values()
            )
        }

    def forget(self) -> None:
        """Drop all states from the cache: another program has changed rows."""
        self._known.clear()
        self._wake()

    async def find(self, host: str) -> Host:
        """Return the state of a host."""
        if (known := self._known.get(host)) is None:
            row = await self._database.read(hosts.find, host)
            # Another task may have stored a newer state meanwhile.
            known = self._known.get(host) or row or Host(host)
            self._known[host] = known
        return known

    async def closed_until(self, host: str) -> datetime | None:
        """Return the time until which deliveries to a host are paused; None if they are not.

        After this time a single delivery may pass. If it arrives, the pause ends.
        """
        known, now = await self.find(host), self._clock.now()
        if known.closed_until is None:
            return None
        if now < known.closed_until:
            return known.closed_until
        self._known[host] = replace(known, closed_until=now + _pause(known.failures))
        return None

    async def succeeded(self, host: str, scheme: SignatureScheme) -> None:
        """Note that the host accepted a delivery with this signature scheme."""
        known, now = await self.find(host), self._clock.now()
        noted = known.delivered_at is not None and now < known.delivered_at + NOTED_EVERY
        if noted and not known.failures and known.signature_scheme == scheme:
            return
        await self._open(replace(known, signature_scheme=scheme, delivered_at=now))

    async def answered(self, host: str) -> None:
        """Note that the host refused a delivery, so that it is reachable."""
        known = await self.find(host)
        if known.failures:
            await self._open(known)

    async def note_request_from(self, host: str) -> None:
        """Note that the host has sent a request with a valid signature, so that it is reachable."""
        known, now = await self.find(host), self._clock.now()
        noted = known.heard_at is not None and now < known.heard_at + NOTED_EVERY
        # Hosts without deliveries have no row: an attacker can make any number of hosts that send requests.
        if known.failures or (known.delivered_at is not None and not noted):
            await self._open(replace(known, heard_at=now))

    async def failed(self, host: str, error: str, until: datetime | None = None) -> None:
        """Note a failure that other deliveries to the host would meet too. `until` is the time that the host named.

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
            decision = f"no delivery for {round((closed_until - now).total_seconds())} s"
            self._record("host.left_alone", host=host, error=error, decision=decision)

    async def _open(self, known: Host) -> None:
        """Store that a host works. Its waiting deliveries are due at once."""
        failed, now = known.failures, self._clock.now()
        await self._database.transact(
            _store_working, replace(known, failures=0, failing_since=None, closed_until=None, error=None), now,
            hurried=bool(failed),
        )  # fmt: skip
        self._known[known.host] = replace(known, failures=0, failing_since=None, closed_until=None, error=None)
        if failed:
            self._record("host.back", host=known.host, decision="its waiting deliveries are sent")
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

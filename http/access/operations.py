"""The running server as staff and operators see it: tree, log, live pages, how requests reach it, and readiness.

Supervision, which this room can't import, hands in the tree and the log.

The server is not ready while it starts and while it stops, without its database or with one that can only be read, on a
full disk, and without descriptors for further clients. Any client may ask if it is ready, as often as it likes. So the
result of one check is used for all requests of a moment, and only one task waits for a database that does not answer.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Literal, Protocol, TypeVar

import trio

from ...actors.kernel.clock import Clock
from ...storage.engine.database import Connection, Database
from ...storage.secrets import equal_secrets
from ..answers.errors import TooMany
from ..intake.request import Request
from ..server import limits
from ..server.addresses import Network

T = TypeVar("T")

# Seconds for which an answer of the database is good.
KEPT = 1.0
# Seconds that a request waits for the database.
PATIENCE = 1.0

Obstacle = Literal["starting", "stopping", "database", "read_only", "disk", "descriptors"]

# What each means, for people.
MEANINGS: dict[Obstacle, str] = {
    "starting": "the server starts",
    "stopping": "the server stops",
    "database": "the database does not answer",
    "read_only": "the database can only be read",
    "disk": "a disk is full",
    "descriptors": "there are no file descriptors for further clients",
}

# A part of the supervision tree: its name, its state, what else it says, and the parts under it.
TreePart = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of the supervision log. Its number is the higher the later it was written."""

    number: int
    time: datetime
    level: str
    event: str
    facts: Mapping[str, object]


class ServerOperations(Protocol):
    """The server from the outside."""

    def tree(self) -> TreePart:
        """Return the supervision tree."""
        ...

    def records(self) -> Sequence[LogRecord]:
        """Return the newest records of the log that are held in memory, the oldest first."""
        ...

    def without_texts(self, text: str) -> str:
        """Return the text of an error without data of people."""
        ...


class Unsupervised:
    """A server without supervision: that of a test."""

    def tree(self) -> TreePart:
        return {"name": "troupe", "children": []}

    def records(self) -> Sequence[LogRecord]:
        return ()

    def without_texts(self, text: str) -> str:
        return text


# Live pages of one user. A person has few windows, and each costs queries while it is open.
MOST_OPEN = 8


class LivePages:
    """Counts the open pages for staff that are kept current, for each user."""

    def __init__(self) -> None:
        self._open: Counter[int] = Counter()

    def check(self, account_id: int) -> None:
        """Raise TooMany if the user has as many as one may have."""
        if self._open[account_id] >= MOST_OPEN:
            raise TooMany(text="Too many pages are kept current at once")

    @contextmanager
    def opened(self, account_id: int) -> Generator[None]:
        """Count a page inside of the block."""
        self._open[account_id] += 1
        try:
            yield
        finally:
            self._open[account_id] -= 1
            if not self._open[account_id]:
                del self._open[account_id]


PROBE_HEADER = b"x-troupe-probe"
PROBE_LASTS = timedelta(minutes=1)
MOST_PROBES = 16  # good tokens: one for each `doctor` that runs


class ProxyProbe:
    """The probe of `troupe doctor`: a request through the public address, whose answer says how it arrived here.

    Only a request with a token that the control socket gave out is answered so: others learn nothing of the proxy.
    """

    def __init__(self, clock: Clock, secret: Callable[[], str]) -> None:
        self._clock = clock
        self._secret = secret
        self._tokens: deque[tuple[str, datetime]] = deque(maxlen=MOST_PROBES)  # and until when they are good

    def issue(self) -> str:
        """Return a new token, for a minute."""
        token = self._secret()
        self._tokens.append((token, self._clock.now() + PROBE_LASTS))
        return token

    def seen(self, request: Request, trusted: Sequence[Network]) -> dict[str, object] | None:
        """Return how a request arrived; None if it has no good token."""
        sent = request.header(PROBE_HEADER)
        now = self._clock.now()
        if sent is None or not any(now <= until and equal_secrets(sent, token) for token, until in self._tokens):
            return None
        return {
            "host": request.header(b"host"),
            "forwarded_for": request.forwarded_for,
            "peer": request.peer,
            "client": request.address(trusted),
        }


class Readiness:
    """Looks when a request asks for it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._check = SharedCheck(self._obstacles, kept=KEPT, patience=PATIENCE)
        self.phase: Literal["starting", "serving", "stopping"] = "starting"
        # Called in a thread: true if a disk is full. Without one, no disk is looked at.
        self.is_disk_full: Callable[[], bool] | None = None

    async def obstacles(self) -> tuple[Obstacle, ...]:
        """Return what keeps the server from its work now, or did a moment ago; nothing if it is ready."""
        if self.phase != "serving":
            return (self.phase,)
        found = await self._check.found()
        return ("database",) if found is None else found

    async def run(self) -> None:
        """Look when it is wanted. Runs as long as the server serves."""
        await self._check.run()

    async def _obstacles(self) -> tuple[Obstacle, ...]:
        found: list[Obstacle] = []
        if (trouble := await self._trouble_of_database()) is not None:
            found.append(trouble)
        if self.is_disk_full is not None and await trio.to_thread.run_sync(self.is_disk_full):
            found.append("disk")
        if limits.are_used_up():
            found.append("descriptors")
        return tuple(found)

    async def _trouble_of_database(self) -> Literal["database", "read_only"] | None:
        try:
            read_only = await self._database.read(_is_read_only)
        except Exception:  # any error: the server goes on, and the storage room logs it
            return "database"
        return "read_only" if read_only else None


def explained(obstacles: tuple[Obstacle, ...]) -> str:
    """Return why the server is not ready, for people."""
    return f"Not ready: {'; '.join(MEANINGS[one] for one in obstacles)}"


async def _is_read_only(db: Connection) -> bool:
    """True for a standby, such as a primary after a failover, and for a database that staff have closed to writes."""
    return await db.fetchval("SELECT current_setting('transaction_read_only') = 'on'")


class SharedCheck(Generic[T]):
    """One run of a slow check for all callers that ask at about the same time.

    It calls `check` when a caller asks, and keeps what it returned or raised for `kept` seconds. The check runs in a
    task of its own: callers wait for it no longer than they can, and a check that hangs is not begun again. So a
    database that does not answer holds one task, and not each request.
    """

    def __init__(self, check: Callable[[], Awaitable[T]], *, kept: float, patience: float) -> None:
        self._check = check
        self._kept = kept
        self._patience = patience
        self._wanted = trio.Event()
        self._known = trio.Event()
        self._found: T | None = None
        self._error: Exception | None = None
        self._known_until = 0.0

    async def found(self) -> T | None:
        """Return or raise what a check did now or a moment ago; None if it takes longer than `patience` seconds."""
        if trio.current_time() >= self._known_until:
            self._wanted.set()
            with trio.move_on_after(self._patience) as waiting:
                await self._known.wait()
            if waiting.cancelled_caught:
                return None
        if self._error is not None:
            raise self._error
        return self._found

    async def run(self) -> None:
        """Run the check when it is wanted, for ever."""
        self._known_until = 0.0
        while True:
            await self._wanted.wait()
            self._found, self._error = None, None
            try:
                self._found = await self._check()
            except Exception as error:  # for those who ask: the next check may work
                self._error = error
            self._known_until = trio.current_time() + self._kept
            self._known.set()
            self._wanted, self._known = trio.Event(), trio.Event()

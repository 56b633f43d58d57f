"""The running server as staff and operators see it: tree, log, live pages, the proxy probe, and readiness.

Supervision, which this room can't import, passes in the tree and the log.

The server is not ready while it starts or stops, if the database does not answer or is read-only, if a disk is full, if
there are no descriptors for further clients, or while it may have missed changes of other nodes of its cluster. Any
client may request the readiness, at any rate. So all requests of a second share a check, and only one task waits for a
database that does not answer.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Literal, Protocol, TypeVar

import trio

from ...actors.cluster.others import Others
from ...actors.kernel.clock import Clock
from ...storage.engine.database import Connection, Database
from ...storage.secrets import equal_secrets
from ..answers.errors import TooMany
from ..intake.request import Request
from ..server import limits
from ..server.addresses import Network

T = TypeVar("T")

# Seconds for which the result of a check is used.
KEPT = 1.0
# Seconds that a request waits for a check.
PATIENCE = 1.0

Obstacle = Literal["starting", "stopping", "database", "read_only", "disk", "descriptors", "cluster"]

# The obstacles in words, for people.
MEANINGS: dict[Obstacle, str] = {
    "starting": "the server starts",
    "stopping": "the server stops",
    "database": "the database does not answer",
    "read_only": "the database can only be read",
    "disk": "a disk is full",
    "descriptors": "there are no file descriptors for further clients",
    "cluster": "the server does not hear from all other servers of its cluster",
}

# A part of the supervision tree: its name, its state, other facts, and its children.
TreePart = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of the supervision log. Later records have higher numbers."""

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
        """Return the log records in memory, oldest first."""
        ...

    def without_texts(self, text: str) -> str:
        """Return the text of an error without personal data."""
        ...


class Unsupervised:
    """A server without supervision, for tests."""

    def tree(self) -> TreePart:
        return {"name": "troupe", "children": []}

    def records(self) -> Sequence[LogRecord]:
        return ()

    def without_texts(self, text: str) -> str:
        return text


# Live pages of a user. A person has few windows, and each needs queries while it is open.
MOST_OPEN = 8


class LivePages:
    """Counts the open live pages of each user."""

    def __init__(self) -> None:
        self._open: Counter[int] = Counter()

    def check(self, account_id: int) -> None:
        """Raise TooMany if the user has `MOST_OPEN` live pages."""
        if self._open[account_id] >= MOST_OPEN:
            raise TooMany(text="Too many pages are kept current at once")

    @contextmanager
    def opened(self, account_id: int) -> Generator[None]:
        """Count a page during the block. Raise TooMany if the user has `MOST_OPEN` live pages."""
        self.check(account_id)
        self._open[account_id] += 1
        try:
            yield
        finally:
            self._open[account_id] -= 1
            if not self._open[account_id]:
                del self._open[account_id]


PROBE_HEADER = b"x-troupe-probe"
PROBE_LASTS = timedelta(minutes=1)
MOST_PROBES = 16  # valid tokens: each `doctor` that runs has one


class ProxyProbe:
    """The probe of `troupe doctor`: a request through the public address. Its answer shows how the request arrived.

    The request needs a token from the control socket, because the answer shows how the proxy is configured.
    """

    def __init__(self, clock: Clock, secret: Callable[[], str]) -> None:
        self._clock = clock
        self._secret = secret
        self._tokens: deque[tuple[str, datetime]] = deque(maxlen=MOST_PROBES)  # with their expiry

    def issue(self) -> str:
        """Return a new token, which is valid for a minute."""
        token = self._secret()
        self._tokens.append((token, self._clock.now() + PROBE_LASTS))
        return token

    def seen(self, request: Request, trusted: Sequence[Network]) -> dict[str, object] | None:
        """Return how a request arrived; None if it has no valid token."""
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
    """Checks if the server is ready, when a request asks for it."""

    def __init__(self, database: Database, others: Others) -> None:
        self._database = database
        self._others = others
        self._check = SharedCheck(self._obstacles, kept=KEPT, patience=PATIENCE)
        self.phase: Literal["starting", "serving", "stopping"] = "starting"
        # Called in a thread. Returns True if a disk is full. None: disks are not checked.
        self.is_disk_full: Callable[[], bool] | None = None

    async def obstacles(self) -> tuple[Obstacle, ...]:
        """Return the obstacles of a check, which is at most `KEPT` seconds old; none if the server is ready."""
        if self.phase != "serving":
            return (self.phase,)
        found = await self._check.found()
        if found is None:
            found = ("database",)
        return found if self._others.is_complete else (*found, "cluster")

    async def run(self) -> None:
        """Check on demand. Runs as long as the server serves."""
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
        except Exception:  # any error is the obstacle; the storage room logs it
            return "database"
        return "read_only" if read_only else None


def explained(obstacles: tuple[Obstacle, ...]) -> str:
    """Return the reason why the server is not ready, for people."""
    return f"Not ready: {'; '.join(MEANINGS[obstacle] for obstacle in obstacles)}"


async def _is_read_only(db: Connection) -> bool:
    """True for a standby, such as an old primary after a failover, and for a database that is set to read-only."""
    return await db.fetchval("SELECT current_setting('transaction_read_only') = 'on'")


class SharedCheck(Generic[T]):
    """A slow check whose result concurrent callers share.

    It calls `check` on demand, and caches the result or the exception for `kept` seconds. The check runs in a task of
    its own: callers wait for it at most `patience` seconds, and a check that hangs is not started again. So a database
    that does not answer blocks one task, not all requests.
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
        """Return or raise the result of a check; None if it takes longer than `patience` seconds."""
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
        """Run the check on demand, for ever."""
        self._known_until = 0.0
        while True:
            await self._wanted.wait()
            self._found, self._error = None, None
            try:
                self._found = await self._check()
            except Exception as error:  # raised for the callers; the next check may work
                self._error = error
            self._known_until = trio.current_time() + self._kept
            self._known.set()
            self._wanted, self._known = trio.Event(), trio.Event()

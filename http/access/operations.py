"""The running server as staff and operators see it: its tree, its log, live pages, and how requests reach it.

Supervision, which this room can't import, hands in the tree and the log.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from ...actors.kernel.clock import Clock
from ...storage.secrets import equal_secrets
from ..answers.errors import TooMany
from ..intake.request import Request
from ..server.addresses import Network

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

"""The probe of `troupe doctor`: a request through the public address, whose answer says how it arrived here.

Only a request with the token that the control socket gave out is answered so: others learn nothing of the proxy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from ...actors.kernel.clock import Clock
from ...storage.secrets import equal_secrets
from ..addresses import Network
from ..intake.request import Request

HEADER = b"x-troupe-probe"
LASTS = timedelta(minutes=1)
MOST = 16  # good tokens: one for each `doctor` that runs


class ProxyProbe:
    """The tokens that are good now."""

    def __init__(self, clock: Clock, secret: Callable[[], str]) -> None:
        self._clock = clock
        self._secret = secret
        self._tokens: deque[tuple[str, datetime]] = deque(maxlen=MOST)  # and until when they are good

    def issue(self) -> str:
        """Return a new token, for a minute."""
        token = self._secret()
        self._tokens.append((token, self._clock.now() + LASTS))
        return token

    def seen(self, request: Request, trusted: Sequence[Network]) -> dict[str, object] | None:
        """Return how a request arrived; None if it has no good token."""
        sent = request.header(HEADER)
        now = self._clock.now()
        if sent is None or not any(now <= until and equal_secrets(sent, token) for token, until in self._tokens):
            return None
        return {
            "host": request.header(b"host"),
            "forwarded_for": request.forwarded_for,
            "peer": request.peer,
            "client": request.address(trusted),
        }

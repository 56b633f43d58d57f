"""The probe of `troupe doctor`: a request through the public address, whose answer says how it arrived here.

Only a request with the token that the control socket gave out is answered so: others learn nothing of the proxy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...actors.kernel.clock import Clock
from ...storage.secrets import equal_secrets
from ..addresses import Network
from ..intake.request import Request

HEADER = b"x-troupe-probe"
LASTS = 60  # seconds


class ProxyProbe:
    """The one token that is good now."""

    def __init__(self, clock: Clock, secret: Callable[[], str]) -> None:
        self._clock = clock
        self._secret = secret
        self._token = ""
        self._given_at = clock.now()

    def issue(self) -> str:
        """Return a new token, for a minute. The one before it is good no more."""
        self._token, self._given_at = self._secret(), self._clock.now()
        return self._token

    def seen(self, request: Request, trusted: Sequence[Network]) -> dict[str, object] | None:
        """Return how a request arrived; None if it has no good token."""
        sent = request.header(HEADER)
        age = (self._clock.now() - self._given_at).total_seconds()
        if sent is None or not self._token or age > LASTS or not equal_secrets(sent, self._token):
            return None
        return {
            "host": request.header(b"host"),
            "forwarded_for": request.header(b"x-forwarded-for"),
            "peer": request.peer,
            "client": request.address(trusted),
        }

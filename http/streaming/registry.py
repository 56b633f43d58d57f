"""The streaming connections that are open, for those who have to end them."""

from __future__ import annotations

from collections.abc import Callable

from .session import End, Session


class Streams:
    """Every session of a house."""

    def __init__(self) -> None:
        self._sessions: set[Session] = set()
        self._stopping = False

    def __len__(self) -> int:
        return len(self._sessions)

    def add(self, session: Session) -> None:
        """Keep a session until it is removed. One that comes when the house is closing ends at once."""
        self._sessions.add(session)
        if self._stopping:
            session.end(End.STOPPING)

    def remove(self, session: Session) -> None:
        self._sessions.discard(session)

    def close_token(self, token_id: int) -> None:
        """The token was revoked."""
        self._end(End.REVOKED, lambda session: session.token is not None and session.token.id == token_id)

    def open_all(self) -> None:
        """The house takes streams, for the first time or again."""
        self._stopping = False

    def close_all(self) -> None:
        """The house is closing."""
        self._stopping = True
        self._end(End.STOPPING, lambda session: True)

    def _end(self, why: End, concerns: Callable[[Session], bool]) -> None:
        for session in [session for session in self._sessions if concerns(session)]:
            session.end(why)

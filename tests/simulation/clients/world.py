"""The server that the clients use: one process, or the nodes of a cluster."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import trio

from troupe.actors.kernel import Clock
from troupe.http.access.streams import StreamEnd
from troupe.supervision.testing.lockstep import LockstepDatabase
from troupe.supervision.testing.run import Go, Run
from troupe.supervision.testing.stage import Person
from troupe.supervision.testing.stage.api import SimulatedReply


class ServerStream(Protocol):
    """The server's end of a stream."""

    @property
    def ended(self) -> StreamEnd | None: ...

    async def take(self) -> list[bytes]:
        """Return the next frames; an empty list after the end."""
        ...

    def close(self) -> None: ...


class Api(Protocol):
    """The API of the server. Raises Dropped if the connection breaks."""

    async def send(
        self, method: str, path: str, token: str | None = None, fields: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> SimulatedReply: ...  # fmt: skip

    async def stream(self, name: str, token: str, parameter: str = "", since: str = "") -> ServerStream: ...


class World(Protocol):
    """A server with its database and its people."""

    run: Run
    running: trio.Event
    database: LockstepDatabase

    @property
    def clock(self) -> Clock: ...

    @property
    def api(self) -> Api: ...

    async def people(self, *names: str) -> Sequence[Person]: ...

    def sign_in(self, people: Sequence[Person]) -> None: ...

    def new_id(self) -> int: ...

    async def crash(self) -> None:
        """Kill a process, and start it again."""
        ...

    async def calm(self) -> None: ...

    def together(self) -> AbstractAsyncContextManager[Go]: ...

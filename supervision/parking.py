"""Parked messages on their way into `dead_letters`."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import trio

from ..actors.kernel import Address, Clock, Envelope, Ids
from ..actors.kernel.pool import describe
from ..storage import dead_letters
from ..storage.dead_letters import DeadLetter
from ..storage.engine import Database, StorageError

ROOM = 1_000  # letters that may wait for the database; the log has named every one of them


class Parking:
    """Takes messages that crashed their actor twice, and stores them when the database lets it."""

    def __init__(self, database: Database, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._clock = clock
        self._ids = ids
        self._send, self._receive = trio.open_memory_channel[DeadLetter](ROOM)

    def park(self, address: Address, envelope: Envelope, error: Exception) -> None:
        """Called from inside a turn: never waits, and lets go of a letter rather than of the actor."""
        letter = DeadLetter(
            self._ids.next(), str(address), envelope.kind, outline(envelope.message), describe(error),
            envelope.origin.request_id, envelope.origin.causes, self._clock.now(),
        )  # fmt: skip
        try:
            self._send.send_nowait(letter)
        except trio.WouldBlock:
            return

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._store)
            await stopping.wait()
            nursery.cancel_scope.cancel()

    async def _store(self) -> None:
        async for letter in self._receive:
            await self._store_one(letter)

    async def _store_one(self, letter: DeadLetter) -> None:
        while True:
            try:
                return await self._database.transact(dead_letters.insert, letter)
            except StorageError:
                await trio.sleep(1)


def outline(message: object) -> dict[str, object]:
    """A message's numbers and words, which name the rows it was about; whole records are in the rows themselves."""
    if not is_dataclass(message):
        return {}
    values = {field.name: getattr(message, field.name) for field in fields(message)}
    return {name: value for name, value in values.items() if isinstance(value, int | str | None)}

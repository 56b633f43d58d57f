"""Parked messages on their way into `dead_letters`."""

from __future__ import annotations

from collections import deque
from dataclasses import fields, is_dataclass

import trio

from ..actors.kernel import Address, Clock, Envelope, Ids
from ..actors.kernel.errors import describe
from ..storage import dead_letters
from ..storage.dead_letters import DeadLetter
from ..storage.engine.database import Database, StorageError

RETRY = 1.0  # seconds until the database is tried again
ROOM = 1_000  # letters that may wait for the database; the log has named each of them


class Parking:
    """Takes messages that crashed their actor twice, and stores them when the database is there."""

    def __init__(self, database: Database, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._clock = clock
        self._ids = ids
        self._letters: deque[DeadLetter] = deque()
        self._woken = trio.Event()

    def park(self, address: Address, envelope: Envelope, error: BaseException) -> None:
        """Take a letter. Called inside a turn: never waits. If the queue is full, the letter is dropped."""
        letter = DeadLetter(
            self._ids.next(), str(address), envelope.kind, outline(envelope.message), describe(error),
            envelope.origin.request_id, envelope.origin.causes, self._clock.now(),
        )  # fmt: skip
        if len(self._letters) < ROOM:
            self._letters.append(letter)
            self._woken.set()

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Store letters until `stopping` is set and none is left."""
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._wake_when, stopping)
            while self._letters or not stopping.is_set():
                if self._letters:
                    await self._store(self._letters[0])
                else:
                    self._woken = trio.Event()
                    await self._woken.wait()

    async def _wake_when(self, stopping: trio.Event) -> None:
        await stopping.wait()
        self._woken.set()

    async def _store(self, letter: DeadLetter) -> None:
        try:
            await self._database.transact(dead_letters.insert, letter)
        except StorageError:
            await trio.sleep(RETRY)
        except Exception:
            self._letters.popleft()  # PostgreSQL can't store it, as with a NUL in a text; the log has named it
        else:
            self._letters.popleft()


def outline(message: object) -> dict[str, object]:
    """Return a message's numbers and words, which name its rows. Whole records are left out: they are in the rows."""
    if not is_dataclass(message):
        return {}
    values = {field.name: getattr(message, field.name) for field in fields(message)}
    return {name: value for name, value in values.items() if isinstance(value, int | str | None)}

"""Parked messages on their way into `dead_letters`."""

from __future__ import annotations

from collections import deque
from dataclasses import is_dataclass

import trio

from ...actors.kernel import Address, Clock, Envelope, Ids
from ...actors.kernel.errors import describe
from ...actors.message_shapes import row_of
from ...storage import dead_letters
from ...storage.dead_letters import DeadLetter
from ...storage.engine.database import Database
from ...storage.engine.json_values import JsonObject
from ...storage.engine.statement_errors import is_value_refused

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
            self._ids.next(), str(address), envelope.kind, contents(envelope.message), describe(error),
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
        except Exception as error:
            if is_value_refused(error):  # as a NUL in a text; the log has named the letter
                self._letters.popleft()
            else:  # the database is away, its disk is full, or its user may not write
                await trio.sleep(RETRY)
        else:
            self._letters.popleft()


def contents(message: object) -> JsonObject:
    """Return the fields of a message, of which `message_of` makes it again; without any if it can't be written."""
    if not is_dataclass(message):
        return {}
    try:
        return row_of(message)
    except Exception:  # this runs in the middle of a crash, where a letter without contents is better than an error
        return {}

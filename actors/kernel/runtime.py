"""The registry of all actors, and the two ways to reach one: `tell` and `ask`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import trio

from .actor import Actor
from .address import Address
from .cell import Cell
from .envelope import NOWHERE, Envelope, Origin, Reply
from .errors import AskCycle, TimedOut
from .feed import Subscriber
from .policy import RestartPolicy
from .pool import IDLE, Chooser, Inspect, Observer, Pool, Record, Subscribe, Surroundings

ASK_TIMEOUT = 10.0  # seconds, when the asker names no deadline
HOUSEKEEPING = 0.5  # seconds between two rounds


class Runtime:
    """Pools by kind. `record` writes the supervision log; `chance` is the source of jitter."""

    def __init__(
        self,
        *,
        record: Record,
        chance: Callable[[], float],
        choose: Chooser | None = None,
        observe: Observer | None = None,
    ) -> None:
        self.pools: dict[str, Pool] = {}
        self._record = record
        self._messages = 0
        self._around = Surroundings(record, self._park, chance, choose, observe)
        self.on_park: Callable[[Address, Envelope, Exception], None] | None = None

    def add(
        self,
        kind: str,
        actor: type[Actor],
        make: Callable[[Cell], Actor],
        *,
        policy: RestartPolicy | None = None,
        most_awake: int = 100_000,
        idle: float = IDLE,
    ) -> Pool:
        """Declare a kind of actor. Its pool takes messages once it runs."""
        pool = self.pools[kind] = Pool(
            kind, make, actor.turns, self._around, policy=policy, most_awake=most_awake, idle=idle
        )
        return pool

    def tell(self, address: Address, message: object, *, origin: Origin = NOWHERE) -> None:
        """Send without waiting for anything."""
        pool = self._pool(address, message)
        pool.post(pool.cell(address.key), self._envelope(message, origin))

    def tell_awake(self, address: Address, message: object, *, origin: Origin = NOWHERE) -> None:
        """Send if somebody is there; an actor that sleeps will read the rows when it wakes."""
        pool = self._pool(address, message)
        if (cell := pool.cells.get(address.key)) is not None:
            pool.post(cell, self._envelope(message, origin))

    def resync(self, address: Address) -> None:
        """Have an awake actor read its rows again: what it was told may not be all."""
        pool = self.pools[address.kind]
        if (cell := pool.cells.get(address.key)) is not None:
            pool.resync(cell)

    def tell_cells(self, kind: str, cells: Iterable[Cell], message: object, *, origin: Origin = NOWHERE) -> None:
        """One message into many mailboxes of one pool: the fan-out's inner loop."""
        self.pools[kind].post_to_all(cells, self._envelope(message, origin))

    async def ask(
        self,
        address: Address,
        message: object,
        *,
        origin: Origin = NOWHERE,
        deadline: float | None = None,
        asker: Cell | None = None,
    ) -> Any:
        """Send and wait for the answer until `deadline` (on Trio's clock).

        Raises what the turn refused with, or one of the errors in `errors.py`. Being cancelled ends the wait only.
        """
        pool = self._pool(address, message)
        cell = pool.cell(address.key)
        deadline = trio.current_time() + ASK_TIMEOUT if deadline is None else deadline
        reply = Reply()
        envelope = self._envelope(message, origin, deadline, reply)
        if asker is None and pool.answer_now(cell, envelope):
            return reply.take() if reply.given else await self._answer(envelope, reply)
        if asker is not None:
            self._enter_wait(asker, cell, envelope)
        pool.post(cell, envelope)
        try:
            return await self._answer(envelope, reply)
        finally:
            if asker is not None:
                asker.waits_for = None

    async def subscribe(self, address: Address, subscriber: Subscriber, *, origin: Origin = NOWHERE) -> None:
        """Join the feed at this address; whatever is committed afterwards will be shown."""
        await self._control(address, Subscribe(subscriber), origin)

    def unsubscribe(self, address: Address, subscriber: Subscriber) -> None:
        """Leave the feed at once."""
        cell = self.pools[address.kind].cells.get(address.key)
        if cell is not None:
            cell.feed.unsubscribe(subscriber)

    async def inspect(self, address: Address) -> dict[str, object]:
        """An operator's portrait of one actor, taken between two of its turns."""
        return await self._control(address, Inspect(), NOWHERE)

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep house: log slow turns, release quarantined actors, let idle ones sleep."""
        task_status.started()
        while not stopping.is_set():
            self.keep()
            with trio.move_on_after(HOUSEKEEPING):
                await stopping.wait()

    def keep(self) -> None:
        """One round of it."""
        for pool in list(self.pools.values()):
            pool.keep()

    # -- inside

    async def _control(self, address: Address, message: object, origin: Origin) -> Any:
        pool = self.pools[address.kind]
        reply = Reply()
        envelope = self._envelope(message, origin, trio.current_time() + ASK_TIMEOUT, reply)
        pool.post_control(pool.cell(address.key), envelope)
        return await self._answer(envelope, reply)

    async def _answer(self, envelope: Envelope, reply: Reply) -> Any:
        with trio.move_on_at(envelope.deadline):
            return await reply.wait()
        raise TimedOut(envelope.kind)

    def _enter_wait(self, asker: Cell, asked: Cell, envelope: Envelope) -> None:
        cell: Cell | None = asked
        while cell is not None:
            if cell is asker:
                self._record(
                    "ask.cycle", actor=str(asker.address), message=envelope.kind, message_id=envelope.id,
                    request_id=envelope.origin.request_id, causes=list(envelope.origin.causes), decision="refused",
                )  # fmt: skip
                raise AskCycle(f"{asker.address} asks {asked.address}, which waits for it")
            cell = cell.waits_for
        asker.waits_for = asked

    def _envelope(
        self, message: object, origin: Origin, deadline: float = float("inf"), reply: Reply | None = None
    ) -> Envelope:
        self._messages += 1
        return Envelope(self._messages, message, origin, deadline, reply)

    def _pool(self, address: Address, message: object) -> Pool:
        pool = self.pools[address.kind]
        if not pool.handles(message):
            raise TypeError(f"{address.kind} has no turn for {type(message).__name__}")
        return pool

    def _park(self, address: Address, envelope: Envelope, error: Exception) -> None:
        if self.on_park is not None:
            self.on_park(address, envelope, error)

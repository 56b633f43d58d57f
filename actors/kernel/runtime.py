"""The registry of all actors, and the two ways to reach an actor: `tell` and `ask`.

An ask waits with a deadline, is refused if it closes a cycle, and lets other tasks run now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Protocol

import trio

from .actor import Actor
from .cell import Asker, Cell, CrowdedCells
from .drainer import BUDGET, Subscribe
from .errors import AskCycle, TimedOut
from .feed import Event, Subscriber
from .inspection import Inspection, slices_of
from .interventions import Interventions
from .message import NOWHERE, Address, Control, Envelope, Message, Origin, R, Reply
from .passivation import SharedBound
from .pool import IDLE, ActorPool
from .pool_context import Chooser, Observer, Park, PoolServices, Record, TraceTurn
from .recovery import RestartPolicy
from .request_trail import RequestTrail

HOUSEKEEPING = 0.5  # seconds between two rounds


class Owners(Protocol):
    """Brings commands to the processes that own their actors, if several processes run actors on one database.

    For the own process it calls `Runtime.ask` and `Runtime.tell` again, with the addresses that wait elsewhere.
    """

    def tell(self, address: Address, message: Message[object], origin: Origin) -> None: ...

    async def ask(
        self, address: Address, message: Message[R], origin: Origin, deadline: float, asker: Asker | None
    ) -> R: ...


class Runtime:
    """The registry of all actors: pools by kind.

    `record` writes the supervision log, `chance` is the source of jitter. A process that is not alone sets `owners`.
    """

    def __init__(
        self,
        *,
        record: Record,
        chance: Callable[[], float],
        choose: Chooser | None = None,
        observe: Observer | None = None,
        on_park: Park | None = None,
        unavailable: tuple[type[Exception], ...] = (),
        trace: TraceTurn | None = None,
    ) -> None:
        self.pools: dict[str, ActorPool] = {}
        self.trail = RequestTrail()
        self.inspection = Inspection(self.pools, self.trail)
        self.interventions = Interventions(self.pools)
        self.owners: Owners | None = None
        self._record = record
        self._messages = 0
        self._simulated = choose is not None
        self._services = PoolServices(
            record, on_park or _discard, chance, choose, observe, unavailable, self.trail, trace
        )

    def add(
        self,
        kind: str,
        actor: type[Actor],
        make: Callable[[Cell], Actor],
        *,
        policy: RestartPolicy | None = None,
        most_awake: int = 100_000,
        idle: float = IDLE,
        bound: SharedBound | None = None,
    ) -> ActorPool:
        """Register a kind of actor. Its pool takes messages once it runs. Several pools may have one `bound`."""
        pool = self.pools[kind] = ActorPool(
            kind, make, actor.turns, self._services, policy=policy, most_awake=most_awake, idle=idle, bound=bound
        )
        return pool

    def tell(
        self, address: Address, message: Message[object], *, origin: Origin = NOWHERE, arrived: bool = False
    ) -> None:
        """Send without waiting. A command that has `arrived` is for this process."""
        if self.owners is not None and message.at_owner and not arrived:
            self.owners.tell(address, message, origin)
            return
        pool = self._pool(address, message)
        now = trio.current_time()
        pool.mailbox_writer.post(pool.cell(address.key, now), self._envelope(message, origin, now))

    def tell_awake(self, address: Address, message: Message[object], *, origin: Origin = NOWHERE) -> None:
        """Send to an awake actor. A sleeping actor reads the rows when it wakes."""
        pool = self._pool(address, message)
        if (cell := pool.cells.get(address.key)) is not None:
            pool.mailbox_writer.post(cell, self._envelope(message, origin, trio.current_time()))

    def resync(self, address: Address, *, hold: bool = False) -> None:
        """Have an awake actor read its rows again, because it may have missed messages.

        With `hold`, its subscribers read no events until then: events that it has missed may belong before those.
        """
        pool = self.pools[address.kind]
        if (cell := pool.cells.get(address.key)) is not None:
            if hold and cell.listened is not None:
                cell.listened.hold()
            pool.resync(cell)

    def tell_cells(
        self, kind: str, cells: Iterable[Cell], message: Message[object], *, origin: Origin = NOWHERE
    ) -> None:
        """Send one message to many actors of one pool. This is the inner loop of the fan-out."""
        self.pools[kind].mailbox_writer.post_to_all(cells, self._envelope(message, origin, trio.current_time()))

    def tell_all(self, kind: str, message: Message[object], *, origin: Origin = NOWHERE) -> None:
        """Send to every awake actor of one kind."""
        self.tell_cells(kind, self.awake(kind), message, origin=origin)

    def awake(self, kind: str) -> list[Cell]:
        """Return the cells of one kind. Sleeping actors have none."""
        return list(self.pools[kind].cells.values())

    def awake_in_slices(self, kind: str) -> Iterator[list[Cell]]:
        """Yield the cells of one kind in slices, for a loop with checkpoints. Actors that sleep since are left out."""
        cells = self.pools[kind].cells
        for some in slices_of(cells):
            yield [cell for cell in some if cells.get(cell.address.key) is cell]

    def awake_among(self, addresses: Iterable[Address]) -> list[Cell]:
        """Return the cells of the awake actors at these addresses."""
        found = (self.pools[address.kind].cells.get(address.key) for address in addresses)
        return [cell for cell in found if cell is not None]

    def crowd(self, kind: str) -> CrowdedCells:
        """Return the crowded actors of one kind: senders of many messages should wait for them."""
        return self.pools[kind].crowd

    async def ask(
        self,
        address: Address,
        message: Message[R],
        *,
        origin: Origin = NOWHERE,
        deadline: float | None = None,
        asker: Asker | None = None,
        arrived: tuple[str, ...] | None = None,
    ) -> R:
        """Send and wait for the answer until `deadline` (on Trio's clock).

        Raises the refusal of the turn, or an error of `errors.py`. If the caller is cancelled, only the wait ends. A
        command that has `arrived` is for this process; the actors at these addresses wait for its answer.
        """
        pool = self._pool(address, message)
        if holds_the_loop(simulated=self._simulated):
            await trio.lowlevel.checkpoint()
        now = trio.current_time()
        ends_at = now + ASK_TIMEOUT if deadline is None else deadline
        if self.owners is not None and message.at_owner and arrived is None:
            return await self.owners.ask(address, message, origin, ends_at, asker)
        cell = pool.cell(address.key, now)
        reply: Reply[R] = Reply()
        envelope = self._envelope(message, origin, now, ends_at, reply)
        if arrived:
            self._refuse_cycle(address, envelope, arrived)
        if asker is None and pool.drainer.answer_now(cell, envelope, now):
            return reply.take() if reply.given else await wait_for_answer(cell, envelope, reply)
        if asker is not None:
            envelope.waiting = waiting_for(asker)
            enter_wait(asker, cell, envelope, self._record)
        pool.mailbox_writer.post(cell, envelope)
        try:
            return await wait_for_answer(cell, envelope, reply)
        finally:
            if asker is not None:
                asker.waits_for = None

    async def subscribe(self, address: Address, subscriber: Subscriber, *, origin: Origin = NOWHERE) -> None:
        """Join the feed at this address. Everything that is committed afterwards is shown."""
        await self._control(address, Subscribe(subscriber), origin)

    def unsubscribe(self, address: Address, subscriber: Subscriber) -> None:
        """Leave the feed at once."""
        cell = self.pools[address.kind].cells.get(address.key)
        if cell is not None:
            cell.feed.unsubscribe(subscriber)

    def lag(self, address: Address, subscriber: Subscriber) -> int:
        """Return how many events of the feed at this address a subscriber has not read."""
        cell = self.pools[address.kind].cells.get(address.key)
        return 0 if cell is None or cell.listened is None else cell.listened.lag(subscriber)

    def waiting_events(self) -> list[Event]:
        """Return the events of all feeds that some subscribers have still to read."""
        cells = [cell for pool in self.pools.values() for cell in pool.cells.values()]
        return [event for cell in cells if cell.listened is not None for event in cell.listened.waiting]

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Log slow turns, end quarantines and put idle actors to sleep."""
        self.inspection.started()
        self.interventions.started()
        task_status.started()
        while not stopping.is_set():
            self.keep()
            with trio.move_on_after(HOUSEKEEPING):
                await stopping.wait()

    def keep(self) -> None:
        """Do one round of `run`."""
        for pool in list(self.pools.values()):
            pool.keep()

    # -- inside

    def _refuse_cycle(self, address: Address, envelope: Envelope, waiting: tuple[str, ...]) -> None:
        """Raise `AskCycle` if the actor itself waits for this answer, by way of another process."""
        envelope.waiting = waiting
        if str(address) in waiting:
            record_cycle(self._record, str(address), envelope)
            raise AskCycle(f"{address} is asked, and waits for the answer itself: {', '.join(waiting)}")

    async def _control(self, address: Address, message: Control[R], origin: Origin) -> R:
        pool = self.pools[address.kind]
        reply: Reply[R] = Reply()
        now = trio.current_time()
        envelope = self._envelope(message, origin, now, now + ASK_TIMEOUT, reply)
        cell = pool.cell(address.key, now)
        pool.mailbox_writer.post_control(cell, envelope)
        return await wait_for_answer(cell, envelope, reply)

    def _envelope(
        self,
        message: object,
        origin: Origin,
        now: float,
        deadline: float = float("inf"),
        reply: Reply[object] | None = None,
    ) -> Envelope:
        self._messages += 1
        return Envelope(self._messages, message, origin, deadline, reply, 0, now)

    def _pool(self, address: Address, message: Message[object]) -> ActorPool:
        pool = self.pools[address.kind]
        if not pool.handles(message):
            raise TypeError(f"{address.kind} has no turn for {type(message).__name__}")
        return pool


def _discard(address: Address, envelope: Envelope, error: BaseException) -> None:
    """Drop a message that crashed its actor twice: the default for `on_park`."""


ASK_TIMEOUT = 10.0  # seconds, when the asker gives no deadline
LONGEST_CHAIN = 20  # asks in a row without a checkpoint, in simulation


async def wait_for_answer(cell: Cell, envelope: Envelope, reply: Reply[R]) -> R:
    """Return the answer to a message, or raise the refusal of the turn. Raises `TimedOut` at its deadline."""
    try:
        with trio.move_on_at(envelope.deadline):
            return await reply.wait()
    finally:
        if reply.left:
            cell.mailbox.withdraw(envelope)
    raise TimedOut(envelope.kind)


def enter_wait(asker: Asker, asked: Cell, envelope: Envelope, record: Record) -> None:
    """Note that a turn waits for the actor `asked`. Raises `AskCycle` if `asked` waits for the turn's own actor."""
    cell: Cell | None = asked
    while cell is not None:
        if cell is asker.cell:
            record_cycle(record, str(cell.address), envelope)
            raise AskCycle(f"{cell.address} asks {asked.address}, which waits for it")
        cell = cell.work.waits_for if cell.work is not None else None
    asker.waits_for = asked


def record_cycle(record: Record, actor: str, envelope: Envelope) -> None:
    record(
        "ask.cycle", actor=actor, message=envelope.kind, message_id=envelope.id,
        request_id=envelope.origin.request_id, causes=list(envelope.origin.causes), decision="refused",
    )  # fmt: skip


def waiting_for(asker: Asker) -> tuple[str, ...]:
    """Return the addresses of the actors that wait for the answer to an ask of a turn: the asker, and its askers."""
    envelope = asker.cell.envelope
    return (*(envelope.waiting if envelope is not None else ()), str(asker.cell.address))


def holds_the_loop(*, simulated: bool) -> bool:
    """True if the current task has asked for longer than the budget without letting other tasks run.

    An ask that is answered or refused at once does not yield to other tasks. Trio clears `custom_sleep_data` whenever
    it schedules a task, so this mark is the time of the task's first ask since then. In simulation asks are counted
    instead, because real time would not replay.
    """
    task = trio.lowlevel.current_task()
    mark: object = task.custom_sleep_data
    if mark is None:
        task.custom_sleep_data = float(LONGEST_CHAIN) if simulated else perf_counter() + BUDGET
        return False
    if type(mark) is not float:
        return False
    if simulated:
        task.custom_sleep_data = mark - 1
        return mark <= 1
    return perf_counter() > mark

"""One kind of actor whose messages say themselves what to do, so that each test shows its actors' behaviour whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import (
    NOWHERE,
    Actor,
    ActorPool,
    Address,
    Cell,
    Envelope,
    Event,
    Feed,
    Message,
    Origin,
    Runtime,
    Subscriber,
    turn,
)
from troupe.actors.kernel.feed import Logged
from troupe.actors.kernel.inspection import ActorSnapshot
from troupe.actors.kernel.pool_context import TraceTurn
from troupe.storage.engine.database import Unavailable

Action = Callable[["Player"], Any]


@dataclass(frozen=True, slots=True)
class Said(Event):
    """An event that is a word."""

    word: str


@dataclass(frozen=True, slots=True)
class Do(Message[Any]):
    """A message whose turn is the function it carries: of the player, plain or async."""

    action: Action


@dataclass(frozen=True, slots=True)
class DoLater(Message[None]):
    """The same, and the turn may be put off. Then the function is another one, if there is one."""

    can_wait = True

    action: Action
    if_deferred: Action | None = None

    def deferred(self) -> DoLater:
        return self if self.if_deferred is None else DoLater(self.if_deferred)


class Player(Actor):
    """Remembers what it did in this incarnation."""

    def __init__(self, cell: Cell, runtime: Runtime, script: Script) -> None:
        super().__init__(cell, runtime)
        self.cell = cell
        self.script = script
        self.done: list[object] = []
        script.make(self)

    async def load(self) -> None:
        self.script.loads.append(self.address.key)
        await self.script.load(self)

    def subscribed(self, subscriber: Subscriber) -> None:
        self.script.subscribed(self, subscriber)

    def retired(self) -> None:
        self.script.retirements.append(self.address.key)
        self.script.retired(self)

    def describe(self) -> str:
        return self.script.describe(self)

    def note(self, what: object) -> Action:
        """Return an action that only notes `what`, for a message of another actor."""
        return lambda player: player.done.append(what)

    async def ask_player(self, key: str, action: Action) -> Any:
        return await self.ask(Address("player", key), Do(action))

    def tell_player(self, key: str, action: Action) -> None:
        self.tell(Address("player", key), Do(action))


@turn(Player, Do)
def do(actor: Player, message: Do) -> Any:
    return message.action(actor)


@turn(Player, DoLater)
def do_later(actor: Player, message: DoLater) -> None:
    message.action(actor)


async def nothing(player: Player) -> None:
    pass


def nothing_at_once(player: Player) -> None:
    pass


@dataclass
class Script:
    """What players do besides their messages; a test replaces what it is about."""

    load: Callable[[Player], Awaitable[None]] = nothing
    make: Callable[[Player], object] = lambda player: None
    subscribed: Callable[[Player, Subscriber], object] = lambda player, subscriber: None
    retired: Callable[[Player], object] = lambda player: None
    describe: Callable[[Player], str] = lambda player: f"{len(player.done)} done"
    loads: list[str] = field(default_factory=list[str])
    retirements: list[str] = field(default_factory=list[str])


def words_of(events: Iterable[Event | Logged]) -> list[str]:
    shown = (one.event if isinstance(one, Logged) else one for one in events)
    return [event.word for event in shown if isinstance(event, Said)]


class Listener:
    """A subscriber that reads at once, unless its client is `blocked_since` some time; it can be made to raise."""

    def __init__(self, room: int = 1_000, blocked_since: float | None = None) -> None:
        self.room = room
        self.blocked_since = blocked_since
        self.events: list[Event] = []
        self.cuts = 0
        self.wake_error: Exception | None = None
        self.cut_error: Exception | None = None

    def wake(self, feed: Feed) -> None:
        if self.wake_error is not None:
            raise self.wake_error
        while self.blocked_since is None and (events := feed.read(self, 1)):
            self.events += [logged.event for logged in events]

    def cut(self) -> None:
        self.cuts += 1
        if self.cut_error is not None:
            raise self.cut_error

    @property
    def words(self) -> list[str]:
        return words_of(self.events)


class MakeKernel(Protocol):
    """Makes a running kernel with these options."""

    def __call__(
        self, *, choose: Callable[[Sequence[str]], int] | None = None, trace: TraceTurn | None = None, **options: Any
    ) -> Awaitable[Kernel]: ...


class Kernel:
    """A runtime with one pool of players, what it wrote into the log, and what it parked."""

    def __init__(
        self, *, choose: Callable[[Sequence[str]], int] | None = None, trace: TraceTurn | None = None, **options: Any
    ) -> None:
        self.script = Script()
        self.records: list[tuple[str, dict[str, Any]]] = []
        self.parked: list[tuple[Address, Envelope, BaseException]] = []
        self.stopping = trio.Event()
        self.runtime = Runtime(
            record=self.record, chance=lambda: 0.0, choose=choose, on_park=self.park, unavailable=(Unavailable,),
            trace=trace,
        )  # fmt: skip
        self.pool: ActorPool = self.runtime.add(
            "player", Player, lambda cell: Player(cell, self.runtime, self.script), **options
        )

    @staticmethod
    def pause(seconds: float) -> Action:
        """An action, or a load, that only takes its time."""

        async def pause(player: Player) -> None:
            await trio.sleep(seconds)

        return pause

    def park(self, *parked: Any) -> None:
        self.parked.append(parked)

    def record(self, event: str, /, **facts: object) -> None:
        self.records.append((event, facts))

    def told(self, event: str) -> list[dict[str, Any]]:
        """The facts of every record of this event."""
        return [facts for word, facts in self.records if word == event]

    def cell(self, key: str) -> Cell:
        return self.pool.cells[key]

    def player(self, key: str) -> Player:
        actor = self.cell(key).actor
        assert isinstance(actor, Player)
        return actor

    def tell(self, key: str, action: Action, origin: Origin = NOWHERE) -> None:
        self.runtime.tell(Address("player", key), Do(action), origin=origin)

    def tell_later(
        self, *keys: str, action: Action, if_deferred: Action | None = None, origin: Origin = NOWHERE
    ) -> None:
        """Tell awake players, whose turns may be put off."""
        message = DoLater(action, if_deferred)
        self.runtime.tell_cells("player", [self.cell(key) for key in keys], message, origin=origin)

    async def ask(self, key: str, action: Action, **options: Any) -> Any:
        return await self.runtime.ask(Address("player", key), Do(action), **options)

    async def wake(self, key: str) -> Player:
        """The player, loaded and at rest."""
        await self.ask(key, lambda player: None)
        return self.player(key)

    def snapshot(self, key: str) -> ActorSnapshot:
        """What an operator sees of a player that is in memory."""
        found = self.runtime.inspection.actor(Address("player", key))
        assert found is not None
        return found

    async def subscribe(self, key: str, listener: Listener) -> None:
        await self.runtime.subscribe(Address("player", key), listener)


async def busy(kernel: Kernel, key: str, seconds: float = 1) -> Player:
    """Return a player that is inside a turn that waits."""
    player = await kernel.wake(key)
    kernel.tell(key, kernel.pause(seconds))
    await wait_all_tasks_blocked()
    return player


async def fail_in_clean_up(player: Player) -> None:
    """Wait until cancelled, and raise an error then."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("in the clean-up")

"""Two processes whose actors are owned by one or the other, with a link that a test may hold up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import trio

from troupe.actors.cluster.commands import Commands
from troupe.actors.cluster.peers import Peer
from troupe.actors.cluster.wire import (
    Body,
    NodeDatagram,
    SentAnswer,
    SentCommand,
    SentError,
    Withdrawal,
    decode,
    encode,
)
from troupe.actors.kernel import Actor, Address, Cell, Command, Refused, Runtime, turn
from troupe.actors.kernel.codec import Codec
from troupe.storage.engine.database import Unavailable
from troupe.storage.engine.shards import shard_of

ADA, BOB = Address("account", "103"), Address("account", "104")

Action = Callable[["Worker"], Any]


@dataclass(frozen=True, slots=True)
class Work(Command[str]):
    """A command whose turn is the action with this name."""

    action: str


class Worker(Actor):
    """Notes its commands."""

    def __init__(self, cell: Cell, runtime: Runtime, process: Process) -> None:
        super().__init__(cell, runtime)
        self.process = process

    async def load(self) -> None:
        pass

    async def ask_worker(self, address: Address, action: str) -> str:
        return await self.ask(address, Work(action))


@turn(Worker, Work)
def work(worker: Worker, message: Work) -> Any:
    worker.process.done.append((str(worker.address), message.action))
    return worker.process.world.actions.get(message.action, str)(worker)


class Process:
    """A process with its part of the actors."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.is_complete = True
        self.refreshed = 0
        self.done: list[tuple[str, str]] = []
        self.records: list[tuple[str, dict[str, Any]]] = []
        self.runtime = Runtime(record=self._record, chance=lambda: 0.0, unavailable=(Unavailable,))
        self.pool = self.runtime.add("account", Worker, lambda cell: Worker(cell, self.runtime, self))
        self.peers: dict[str, Peer] = {}
        self.commands = Commands(self.runtime, CODEC, self, self._send, self.peers.get)
        self.runtime.owners = self.commands

    def owner_of(self, shard: int) -> str | None:
        return self.world.owners.get(shard)

    def load_before(self, address: Address, account: int) -> None:
        pass

    async def refresh(self) -> None:
        self.refreshed += 1
        self.world.refreshed(self)

    def receive(self, sender: str, data: bytes) -> None:
        peer, body = self.peers[sender], decode(data).body
        match body:
            case SentCommand():
                self.world.nursery.start_soon(self.commands.take_command, peer, body)
            case SentAnswer():
                self.commands.take_answer(peer, body)
            case SentError():
                self.commands.take_error(peer, body)
            case Withdrawal():
                self.commands.withdraw(peer, body)
            case _:
                raise TypeError(body)

    def _send(self, peer: Peer, body: Body) -> None:
        self.world.send(self.name, peer.name, body)

    def _record(self, event: str, /, **facts: object) -> None:
        self.records.append((event, facts))


@dataclass
class World:
    """Processes `one` and `two`. `one` owns Ada, `two` owns Bob."""

    nursery: trio.Nursery
    owners: dict[int, str] = field(default_factory=lambda: {shard_of(ADA.key): "one", shard_of(BOB.key): "two"})
    actions: dict[str, Action] = field(default_factory=dict[str, Action])
    held: bool = False  # datagrams wait
    waiting: list[tuple[str, str, bytes]] = field(default_factory=list[tuple[str, str, bytes]])
    sent: list[tuple[str, str, bytes]] = field(default_factory=list[tuple[str, str, bytes]])
    refreshed: Callable[[Process], object] = lambda process: None

    def __post_init__(self) -> None:
        self.one, self.two = Process(self, "one"), Process(self, "two")
        self.one.peers["two"] = Peer("two", 2)
        self.two.peers["one"] = Peer("one", 1)

    def send(self, sender: str, to: str, body: Body) -> None:
        datagram = sender, to, encode(NodeDatagram(1, 1, 1, body))
        self.sent.append(datagram)
        if self.held:
            self.waiting.append(datagram)
        else:
            self.bring(*datagram)

    def bring(self, sender: str, to: str, data: bytes) -> None:
        (self.one if to == "one" else self.two).receive(sender, data)

    def release(self) -> None:
        """Bring all datagrams that wait."""
        self.held = False
        for datagram in self.waiting:
            self.bring(*datagram)
        self.waiting.clear()

    def move(self, address: Address, owner: str | None) -> None:
        if owner is None:
            del self.owners[shard_of(address.key)]
        else:
            self.owners[shard_of(address.key)] = owner

    def bodies(self, sender: str) -> list[Body]:
        """Return what a process has sent."""
        return [decode(data).body for from_process, _, data in self.sent if from_process == sender]


@asynccontextmanager
async def two_processes() -> AsyncGenerator[World]:
    async with trio.open_nursery() as nursery:
        world = World(nursery)
        for process in (world.one, world.two):
            await nursery.start(process.pool.run, trio.Event())
        yield world
        nursery.cancel_scope.cancel()


def lasting(seconds: float) -> Action:
    """Return an action that only takes its time."""

    async def last(worker: Worker) -> str:
        await trio.sleep(seconds)
        return "ended"

    return last


REFUSAL = Refused(422, "no", {"text": ["ERR_BLANK"]})


def refuse(worker: Worker) -> Refused:
    return REFUSAL


CODEC = Codec()
CODEC.add_message(Work)

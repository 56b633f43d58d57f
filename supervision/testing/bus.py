"""Datagrams between the nodes of a run, as a bus without promises brings them: late, in any order, twice, or never.

A datagram is addressed to the name of a node. If the node stops and starts again in the meantime, the datagram reaches
the new process, as on a bus whose subjects are names. Datagrams that arrive while no process has the name are dropped.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple

import trio

from .faults import Fault
from .run import Run

TAKE_TIME = 3 / 4  # of the datagrams. The others arrive at once
LONGEST_WAY = 0.05  # seconds of most datagrams
LATEST = 5.0  # seconds of a datagram that is late, or of the second copy of a datagram

OnDatagram = Callable[[str, bytes], None]  # called with the sender and the bytes


class Datagram(NamedTuple):
    """A datagram on its way. The number is its place in the order of all datagrams of the run."""

    at: float
    number: int
    sender: str
    data: bytes


class Receiver:
    """The process that has the name of a node."""

    def __init__(self, on_datagram: OnDatagram, since: float) -> None:
        self.on_datagram = on_datagram
        self.since = since
        self.life = trio.CancelScope()
        self.wake = trio.Event()


class SimulatedBus:
    """The datagrams between the nodes of a run. Sending never waits and never fails.

    The run draws the time of each datagram. The plan of faults decides which are lost, arrive twice, or arrive seconds
    late, so that later ones overtake them.
    """

    def __init__(self, run: Run, nursery: trio.Nursery) -> None:
        #: False if no further datagram is lost, repeated or late. They still overtake each other.
        self.is_faulty = True
        self._run = run
        self._random = random.Random(f"bus/{run.seed}")
        self._nursery = nursery
        self._receivers: dict[str, Receiver] = {}
        self._coming: dict[str, list[Datagram]] = {}  # a heap for each node
        self._sent = 0
        self._cuts: set[tuple[str, str]] = set()
        self._cut_off: set[str] = set()

    def join(self, node: str, on_datagram: OnDatagram) -> None:
        """Call a function with each datagram to `node` from now on, in a task with the name of the node."""
        if node in self._receivers:
            raise ValueError(f"{node} is on the bus already")
        receiver = self._receivers[node] = Receiver(on_datagram, trio.current_time())
        self._nursery.start_soon(self._receive, node, receiver, name=f"{node} bus")

    def leave(self, node: str) -> None:
        """Stop calling the function of a node. If the node is on no bus, do nothing."""
        receiver = self._receivers.pop(node, None)
        if receiver is not None:
            receiver.life.cancel("the node has left the bus")

    def send(self, sender: str, to: str, data: bytes) -> None:
        """Send a datagram. It is lost if the way is cut now; a cut does not stop datagrams that are on their way."""
        way = f"{sender} to {to}"
        if (sender, to) in self._cuts or sender in self._cut_off or to in self._cut_off:
            self._run.note("is cut", way)
            return
        # As many draws for each datagram, so that a fault less leaves the others as they are.
        takes_time, part, late, again = (self._random.random() for _ in range(4))
        delay = LONGEST_WAY * part if takes_time < TAKE_TIME else 0.0
        if self.is_faulty:
            strikes = self._run.faults.strikes
            if strikes(Fault.DATAGRAM_LOST, way):
                return
            if strikes(Fault.DATAGRAM_LATE, way):
                delay = LATEST * late
            if strikes(Fault.DATAGRAM_REPEATED, way):
                self._bring(sender, to, data, LATEST * again)
        self._bring(sender, to, data, delay)

    def cut(self, sender: str, to: str) -> None:
        """Lose all further datagrams of a node to another node. The other direction stays as it is."""
        self._cuts.add((sender, to))
        self._run.note("is cut from now on", f"{sender} to {to}")

    def cut_off(self, node: str) -> None:
        """Lose all further datagrams of a node and to it."""
        self._cut_off.add(node)
        self._run.note("is cut off from now on", node)

    def heal(self) -> None:
        """End all cuts."""
        self._cuts.clear()
        self._cut_off.clear()
        self._run.note("is whole again", "bus")

    def _bring(self, sender: str, to: str, data: bytes, delay: float) -> None:
        self._sent += 1
        heappush(self._coming.setdefault(to, []), Datagram(trio.current_time() + delay, self._sent, sender, data))
        if (receiver := self._receivers.get(to)) is not None:
            receiver.wake.set()

    async def _receive(self, node: str, receiver: Receiver) -> None:
        """Hand out the datagrams to a node, each in a step of its own. A frozen node gets them when it is thawed."""
        coming = self._coming.setdefault(node, [])
        with receiver.life:
            while True:
                await self._wait_for(coming, receiver)
                at, number, sender, data = heappop(coming)
                if at < receiver.since:
                    self._run.note(f"has missed datagram {number} of {sender}")
                    continue
                # Without its length: it depends on sequences of PostgreSQL, which go on from run to run.
                self._run.note(f"receives datagram {number} of {sender}")
                receiver.on_datagram(sender, data)

    async def _wait_for(self, coming: list[Datagram], receiver: Receiver) -> None:
        """Wait until the first datagram has arrived."""
        while not coming or coming[0].at > trio.current_time():
            receiver.wake = trio.Event()
            with trio.move_on_at(coming[0].at if coming else inf):
                await receiver.wake.wait()
        await trio.lowlevel.checkpoint()

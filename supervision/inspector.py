"""The answers of the control socket about actors: for `troupe top` and `troupe actor`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import get_args

import trio

from ..actors.context import ActorContext
from ..actors.housekeeping.dead_letters import replay
from ..actors.kernel import Address, Busy, Crashed, KernelError, Quarantined, Refused, Runtime, TimedOut
from ..actors.kernel.codec import Unreadable
from ..actors.kernel.inspection import ActorFilter, Order, at_once, in_slices
from ..actors.kernel.interventions import NothingToDo
from ..actors.staff.acts import COMMAND_LINE, StaffAct, Target
from ..http.access.streams import Streams
from ..storage import dead_letters
from ..storage.engine.database import Connection, StorageError
from ..storage.engine.json_values import JsonObject
from .control import Answer, Unanswerable
from .log.redaction import redacted

MOST_ACTORS = 1_000  # in one answer
MOST_STREAMS = 1_000
LOGGING_WAITS = 2.0  # seconds
REPLAY_WAITS = 4.0  # seconds, less than the socket does
WHY: Mapping[type[KernelError], str] = defaultdict(
    lambda: "it takes no messages now",
    {
        Crashed: "it crashed again",
        Quarantined: "it is in quarantine, which `troupe actor release` ends",
        TimedOut: "not in time, and perhaps later",
        Busy: "its mailbox is full",
    },
)
ORDERS: tuple[Order, ...] = get_args(Order)


class Inspector:
    """Inspects the actors of a running server, and restarts or releases single actors, for its operator."""

    def __init__(self, runtime: Runtime, context: ActorContext, streams: Streams) -> None:
        self._runtime = runtime
        self._context = context
        self._streams = streams

    def answers(self) -> Mapping[str, Answer]:
        """Return the answers of the event loop, by command."""
        return {
            "top": self.top, "actor": self.actor, "restart": self.restart, "release": self.release,
            "request": self.request, "streams": self.streams, "replay": self.replay, "log_act": self.log_act,
        }  # fmt: skip

    def answers_outside(self) -> Mapping[str, Answer]:
        """Return the answers of the watchdog's thread while a turn keeps the loop busy, by command."""
        return {"top": self.top_outside, "actor": self.actor, "release": self.break_off}

    async def top(self, sort: str = "depth", limit: int = 50, **least: object) -> JsonObject:
        """Return all kinds, and the first actors of an order. `least` has the fields of `ActorFilter`."""
        return (await self._runtime.inspection.overview(*_list(sort, limit, least)))._asdict()

    def top_outside(self, sort: str = "depth", limit: int = 50, **least: object) -> JsonObject:
        """Return the answer to `top`, in another thread."""
        return at_once(self._runtime.inspection.each_kind_and_actor(*_list(sort, limit, least)))._asdict()

    def actor(self, address: str) -> JsonObject:
        """Return the snapshot of an actor."""
        snapshot = self._runtime.inspection.actor(self._address(address))
        if snapshot is None:
            raise Unanswerable(f"{address} sleeps: nothing of it is in memory. It reads its rows when it wakes up.")
        return asdict(replace(snapshot, holds=redacted(snapshot.holds)))

    async def request(self, id: str) -> JsonObject:
        """Return the remembered steps of a request."""
        return {"request_id": id, "steps": await self._runtime.inspection.request(id)}

    async def streams(self, limit: int = 50) -> JsonObject:
        """Return the number of open streams, and the streams that are furthest behind."""
        found = await in_slices(self._streams.snapshots(trio.current_time(), min(limit, MOST_STREAMS)))
        return {"open": len(self._streams), "streams": found}

    async def replay(self, id: int) -> JsonObject:
        """Send a dead letter again. It is handled when this returns, and the letter is still there."""
        letter = await self._context.database.read(dead_letters.find, id)
        if letter is None:
            raise Unanswerable(f"There is no dead letter {id}.")
        try:
            await replay(self._runtime, letter, REPLAY_WAITS)
        except Refused as refused:
            return {"id": str(id), "refused": refused.text}  # handled: the actor said no, and did not crash
        except Unreadable as error:
            raise Unanswerable(f"This version of the server can't read it: {redacted(str(error))}") from None
        except KernelError as error:
            raise Unanswerable(f"{letter.address} has not handled it, so it stays: {WHY[type(error)]}.") from None
        return {"id": str(id), "refused": None}

    def restart(self, address: str) -> JsonObject:
        return self._done(self._runtime.interventions.restart, address)

    def release(self, address: str) -> JsonObject:
        return self._done(self._runtime.interventions.release, address)

    def break_off(self, address: str) -> JsonObject:
        return self._done(self._runtime.interventions.break_off, address)

    async def log_act(self, action: str, address: str) -> JsonObject:
        """Write an act of the operator into the audit log. The database may be stuck, so this waits only a moment.

        The server does it, because a command first reads the highest id from tables that may be locked.
        """
        logged = False
        with trio.move_on_after(LOGGING_WAITS):
            try:
                await self._context.database.transact(self._log_act, action, address)
                logged = True
            except StorageError:
                pass
        return {"logged": logged}

    async def _log_act(self, db: Connection, action: str, address: str) -> None:
        await StaffAct.of(self._context, db, COMMAND_LINE).log(action, Target("actor", None, address))

    def _done(self, act: Callable[[Address], str], address: str) -> JsonObject:
        try:
            return {"address": address, "done": act(self._address(address))}
        except NothingToDo as error:
            raise Unanswerable(str(error)) from None

    def _address(self, text: str) -> Address:
        """Return an address as it is written. Raises Unanswerable for a kind that does not exist."""
        address = Address.parse(text)
        if address.kind not in self._runtime.pools or not address.key:
            raise Unanswerable(
                f"{text} is not an address. Addresses begin with {', '.join(self._runtime.pools)}: home/7."
            )
        return address


def _list(sort: str, limit: int, least: Mapping[str, object]) -> tuple[Order, ActorFilter, int]:
    return _order(sort), _filter(least), min(limit, MOST_ACTORS)


def _order(name: str) -> Order:
    for order in ORDERS:
        if order == name:
            return order
    raise Unanswerable(f"There is no order {name}; there are {', '.join(ORDERS)}.")


def _filter(least: Mapping[str, object]) -> ActorFilter:
    return ActorFilter(**least)  # pyright: ignore[reportArgumentType]  # the command line has checked the types

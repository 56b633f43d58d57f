"""Guards of a cluster that are taken out on purpose: the scenarios must find each of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
import trio

from troupe.actors.cluster.bundles import Acknowledgements
from troupe.actors.cluster.cluster import OtherNodes
from troupe.actors.facts.fact import Facts
from troupe.actors.outbox.relay import LEASE, Relay
from troupe.supervision.testing.lockstep import ENTER, LockstepDatabase

Patch = pytest.MonkeyPatch

BOUND = 0.2  # seconds


# The weaker designs: no node knows whether facts are missing


def writers_do_not_wait(patch: Patch) -> None:
    """Facts are sent, and the writer is answered."""
    acknowledgements_are_not_awaited(patch)
    nodes_always_answer(patch)


def writers_wait_for_a_moment(patch: Patch) -> None:
    """The writer is answered when all nodes have acknowledged, or after 200 ms."""
    waits_are_bounded(patch)
    nodes_always_answer(patch)


def epochs_are_not_compared(patch: Patch) -> None:
    async def transact_in(self: LockstepDatabase, shard: int, work: Any, /, *args: Any, **kwargs: Any) -> Any:
        return await self.transact_checked(work, *args, **kwargs)

    patch.setattr(LockstepDatabase, "transact_in", transact_in)


def epochs_are_compared_before_the_transaction(patch: Patch) -> None:
    async def transact_in(self: LockstepDatabase, shard: int, work: Any, /, *args: Any, **kwargs: Any) -> Any:
        async def compare(db: Any) -> None:
            await db.fetchval(ENTER, *self.entering(shard))

        await self.transact_checked(compare)
        return await self.transact_checked(work, *args, **kwargs)

    patch.setattr(LockstepDatabase, "transact_in", transact_in)


# Single guards


def removed_nodes_may_write(patch: Patch) -> None:
    """A transaction that enters no shard does not look for the row of its node."""
    patch.setattr(LockstepDatabase, "transact", LockstepDatabase.transact_checked)


def claims_end_by_clocks(patch: Patch) -> None:
    """A claim of a living node ends by the clock of another node, as that of a server that is alone."""

    def claims_end(self: Relay[object], now: datetime) -> datetime:
        return now + timedelta(seconds=LEASE)

    patch.setattr(Relay, "_claims_end", claims_end)


def acknowledgements_are_not_awaited(patch: Patch) -> None:
    send = OtherNodes.send

    def send_only(self: OtherNodes, facts: Sequence[object], origin: Any) -> None:
        send(self, facts, origin)

    patch.setattr(OtherNodes, "send", send_only)


def waits_are_bounded(patch: Patch) -> None:
    wait = Acknowledgements._end  # pyright: ignore[reportPrivateUsage]  # it is replaced

    async def wait_for_a_moment(self: Acknowledgements) -> None:
        with trio.move_on_after(BOUND):
            await wait(self)

    patch.setattr(Acknowledgements, "_end", wait_for_a_moment)


def nodes_always_answer(patch: Patch) -> None:
    def is_complete(self: Any) -> bool:
        return self._has_joined

    patch.setattr(OtherNodes, "is_complete", property(is_complete))


def bundles_are_acknowledged_before_they_are_applied(patch: Patch) -> None:
    receive = Facts.receive
    waiting: dict[Facts, list[tuple[Sequence[object], Any]]] = {}

    async def receive_later(self: Facts, facts: Sequence[object], origin: Any) -> None:
        """Apply the facts of the bundle before this one."""
        mine = waiting.setdefault(self, [])
        mine.append((facts, origin))
        if len(mine) > 1:
            await receive(self, *mine.pop(0))

    patch.setattr(Facts, "receive", receive_later)


def lost_facts_are_not_read_again(patch: Patch) -> None:
    async def forget(self: Facts) -> None:
        await trio.lowlevel.checkpoint()

    patch.setattr(Facts, "forget", forget)

"""Guards of a cluster that are taken out on purpose: the scenarios must find each of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Any

import pytest
import trio

from troupe.actors.broadcast.publications import Publications
from troupe.actors.cluster.bundles import Acknowledgements, Bundles
from troupe.actors.cluster.cluster import OtherNodes
from troupe.actors.cluster.commands import Commands
from troupe.actors.facts.fact import Facts
from troupe.actors.outbox.relay import LEASE, Relay
from troupe.http.streaming.session import StreamSession
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


def replaced_nodes_are_not_waited_for(patch: Patch) -> None:
    """A writer does not wait until a process that has lost its row can answer no reader any more."""

    def lose(self: Any, peer: object) -> Any:
        self._count_forgetting(1)
        return self._lose(peer)

    patch.setattr(Bundles, "lose", lose)


def incomplete_owners_execute_commands(patch: Patch) -> None:
    async def ask_own(
        self: Any, address: Any, message: Any, origin: Any, deadline: float, waiting: Any, asker: Any = None
    ) -> Any:
        return await self._runtime.ask(
            address, message, origin=origin, deadline=deadline, asker=asker, arrived=waiting
        )  # fmt: skip

    patch.setattr(Commands, "_ask_own", ask_own)


def streams_are_not_paused(patch: Patch) -> None:
    def has_events(self: Any) -> bool:
        return bool(self._news or self._missed)

    patch.setattr(StreamSession, "_has_events", property(has_events))
    patch.setattr(StreamSession, "is_paused", property(lambda self: False))


# Takeovers


def taken_actors_are_not_loaded_again(patch: Patch) -> None:
    def take_shards(self: OtherNodes, shards: object) -> None:
        pass

    patch.setattr(OtherNodes, "_take_shards", take_shards)


def facts_of_the_former_owner_wait_for_the_relay(patch: Patch) -> None:
    """An account that wakes does not know that its shard was taken."""

    def took(self: OtherNodes, shard: int) -> bool:
        return False

    patch.setattr(OtherNodes, "took", took)


# Publications


def bundles_have_no_publication(patch: Patch) -> None:
    def foreign(self: Publications, node: str, number: int) -> AbstractContextManager[None]:
        return nullcontext()

    patch.setattr(Publications, "foreign", foreign)


def logs_of_ended_nodes_are_waited_for(patch: Patch) -> None:
    def leave(self: Any, node: str, highest: int) -> None:
        self._ids.witness(highest)

    patch.setattr(Publications, "leave", leave)


def publications_of_ended_nodes_stay_open(patch: Patch) -> None:
    def leave(self: Any, node: str, highest: int) -> None:
        self._ids.witness(highest)
        if self._peers.pop(node, None) is not None:
            self._advance(self._floor())

    patch.setattr(Publications, "leave", leave)


def ids_of_ended_nodes_are_not_known(patch: Patch) -> None:
    leave = Publications.leave

    def leave_without(self: Publications, node: str, highest: int) -> None:
        leave(self, node, 0)

    patch.setattr(Publications, "leave", leave_without)

"""The rules of many streams: read again with few queries, while facts arrive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, cast

import trio

from troupe.actors.broadcast.viewers import LOOKS, READ_AT_ONCE, Related, Viewers
from troupe.actors.rules.visibility import Relation
from troupe.storage import relations
from troupe.storage.engine.database import Database
from troupe.storage.relations import Relations

from ..waiting import turns_of_others

BLOCKING = Relation(None, False, True, False, None)


class Rows:
    """The rows of the accounts: each blocks the next."""

    def __init__(self) -> None:
        self.reads: list[tuple[object, Sequence[int]]] = []
        self.meanwhile: Callable[[], None] = lambda: None

    async def read(self, work: object, ids: Sequence[int]) -> dict[int, Any]:
        self.reads.append((work, ids))
        await trio.lowlevel.checkpoint()
        self.meanwhile()
        none = frozenset[int]()
        if work is relations.relations_of_many:
            return {id: Relations({}, none, frozenset({id + 1}), none, {}, frozenset(), {}) for id in ids}
        return dict.fromkeys(ids, ())


class Client:
    """An open connection."""

    def use_rules(self, *, filters_changed: bool) -> None:
        pass


async def test_many_streams_are_read_with_few_queries_and_accounts_without_streams_with_none() -> None:
    rows = Rows()
    viewers = Viewers(cast("Database", rows), count(1).__next__)
    watched = {id: viewers.watch(id, Client()) for id in range(0, 4_000, 4)}
    others = [viewers._rules_of(id) for id in range(1, 4_000, 4)]  # pyright: ignore[reportPrivateUsage]
    async with turns_of_others() as turns:
        await viewers.read_watched_again()
        assert turns.number >= len(rows.reads)
    assert all(rules.perspective.blocking == {id + 1} for id, rules in watched.items())
    assert not any(rules.perspective.blocking for rules in others)
    assert len(rows.reads) == 2 * len(watched) / READ_AT_ONCE


async def test_facts_that_come_during_the_query_count() -> None:
    rows = Rows()
    viewers = Viewers(cast("Database", rows), count(1).__next__)
    client = Client()
    watched = [viewers.watch(id, client) for id in (10, 20)]
    rows.meanwhile = lambda: viewers.relate(20, Related(99, BLOCKING, stamp=1, drawn=1))
    await viewers.read_watched_again()
    assert [rules.perspective.blocking for rules in watched] == [{11}, {21, 99}]


async def test_other_tasks_run_between_the_looks_at_accounts_without_streams() -> None:
    viewers = Viewers(cast("Database", Rows()), count(1).__next__)
    _rules = [viewers._rules_of(id) for id in range(5 * LOOKS)]  # pyright: ignore[reportPrivateUsage]
    rounds = 0
    async with trio.open_nursery() as nursery:

        async def go_on() -> None:
            nonlocal rounds
            while True:
                rounds += 1
                await trio.lowlevel.checkpoint()

        nursery.start_soon(go_on)
        await viewers.read_watched_again()
        nursery.cancel_scope.cancel()
    assert rounds >= 3

"""Two requests whose transactions overlap: what a simulation in lockstep cannot show.

A third transaction keeps both from their COMMIT, by a lock on the table that each writes last, and lets them go when
PostgreSQL says that both wait.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio

from troupe.storage.engine.database import Connection

from ..clients import Person, Reply, Stage
from ..storage.racing import waiting

HOLD = "LOCK TABLE outbox IN SHARE MODE"

Request = Callable[[], Awaitable[Reply]]


@pytest.fixture
def connections() -> int:
    """One for each request, and one for the transaction that keeps them."""
    return 3


async def race(stage: Stage, first: Request, second: Request) -> tuple[Reply, Reply]:
    """The second request begins when the first has done everything but its COMMIT."""
    held, waits = trio.Event(), trio.Event()
    replies: dict[str, Reply] = {}

    async def hold(db: Connection) -> None:
        await db.execute(HOLD)
        held.set()
        for number in (1, 2):
            await waiting(db, number)
            waits.set()

    async def ask(name: str, request: Request) -> None:
        replies[name] = await request()

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stage.http_context.database.transact, hold)
            await held.wait()
            nursery.start_soon(ask, "first", first)
            await waits.wait()
            nursery.start_soon(ask, "second", second)
    return replies["first"], replies["second"]


async def relation(of: Person, to: Person) -> dict[str, object]:
    return (await of.get(f"/api/v1/accounts/relationships?id[]={to.id}")).json[0]


def follow(of: Person, whom: Person) -> Request:
    return lambda: of.post(f"/api/v1/accounts/{whom.id}/follow")


def block(of: Person, whom: Person) -> Request:
    return lambda: of.post(f"/api/v1/accounts/{whom.id}/block")


async def test_a_follow_that_is_not_yet_committed_does_not_outlive_a_block(
    stage: Stage, ada: Person, bob: Person
) -> None:
    followed, blocked = await race(stage, follow(ada, bob), block(bob, ada))
    assert (followed.status, blocked.status) == (200, 200)
    assert await stage.rows("SELECT account_id FROM follows") == []
    assert (await relation(ada, bob))["following"] is False


async def test_a_follow_sees_a_block_that_is_not_yet_committed(stage: Stage, ada: Person, bob: Person) -> None:
    blocked, followed = await race(stage, block(bob, ada), follow(ada, bob))
    assert (blocked.status, followed.status) == (200, 403)
    assert await stage.rows("SELECT account_id FROM follows") == []

"""The server's actors under the simulator, and the people who use them.

    @simulation(seeds=200, faults=3, world=stage)
    async def test_a_follower_sees_everything(sim: Simulation) -> None:
        ada, bob = await sim.people("ada", "bob")
        bob.has_followed(ada)
        stream = await bob.stream()
        await ada.publish("hello")
        await sim.calm()
        assert set(stream.seen) == set(ada.published)

What runs is the product's own tree of actors (`supervision.children.actor_system`) under its own supervisor, over
PostgreSQL in lockstep and the virtual clock. Two claims hold in every scenario without being made: no stream is ever
shown anything twice, out of its author's order or after its deletion; and at the end every effect has run and every
count is right.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime

import trio

from ....actors.broadcast.broadcast import PUBLIC_LOCAL
from ....actors.kernel import IDLE
from ....actors.kernel.cell import AT_REST, CellPhase
from ....actors.timelines.public import PublicPage
from ....storage import accounts, users
from ....storage.accounts import NewAccount
from ....storage.engine.database import Connection
from ....storage.upkeep.paging import Page
from ....storage.users import NewUser
from ..run import Eventually, Go, Predicate, Run
from .patience import insist
from .people import PAGE, Person, sign_in
from .postgres import overlapping_sessions
from .server import DOMAIN, ServerPlace, SimulatedServer
from .stream import FeedStream, Stream

# Virtual seconds after the last effect in which a late crash, or a late retry, shows.
LAST_REST = 3.0

# Virtual seconds in which all faults that a run can have are over.
LONGEST_STORM = 60.0

WRONG_COUNTS = """
    SELECT a.username FROM accounts a JOIN account_counts c ON c.account_id = a.id
    WHERE c.statuses <> (
        SELECT count(*) FROM statuses s
        WHERE s.account_id = a.id AND s.deleted_at IS NULL AND s.visibility <> 'direct'
    )
    OR c.followers <> (SELECT count(*) FROM follows f WHERE f.target_account_id = a.id)
    OR c.following <> (SELECT count(*) FROM follows f WHERE f.account_id = a.id)
"""


@asynccontextmanager
async def stage(
    run: Run,
    *,
    idle: float = IDLE,
    mail: bool = False,
    push: bool = False,
    previews: bool = False,
    deliveries: bool = False,
    loaders: bool = False,
    overlapping: bool = False,
) -> AsyncGenerator[Simulation]:
    """The world of a scenario about the server: every actor, and no accounts yet. Actors sleep after `idle` seconds.

    With `mail` the mail sender runs too, with `push` there is a push service, with `previews` there are pages to link
    to, with `deliveries` there are other servers, with `loaders` the blocks and the custom emoji are read again after a
    read that was lost; other scenarios would only be slower. With `overlapping` each statement is a step, so that
    transactions overlap, wait for each other, and may be cut in their middle.
    """
    place = ServerPlace(DOMAIN, run.open_overlapping(overlapping_sessions)) if overlapping else None
    async with trio.open_nursery() as nursery:
        sim = Simulation(
            run, nursery, idle, mail=mail, push=push, previews=previews, deliveries=deliveries, loaders=loaders,
            place=place,
        )  # fmt: skip
        await sim.start()
        yield sim
        await sim.stop()
        nursery.cancel_scope.cancel()


class Simulation(SimulatedServer):
    """A server with its people, and the claims that hold in every scenario."""

    def __init__(
        self, run: Run, nursery: trio.Nursery, idle: float, *, mail: bool = False, push: bool = False,
        previews: bool = False, deliveries: bool = False, loaders: bool = False, place: ServerPlace | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            run, nursery, idle, mail=mail, push=push, previews=previews, deliveries=deliveries, loaders=loaders,
            place=place,
        )  # fmt: skip
        run.always(self._streams_are_right, "streams show no error")
        run.eventually(self._effects_have_run, "every effect has run")
        run.eventually(self._counts_are_right, "every count is that of the rows")
        run.eventually(self._audience_is_awake, "only awake homes are notified of statuses")

    # People and their pages

    async def account(self, name: str, *, locked: bool = False) -> Person:
        """Return a person with a fresh account."""
        return (await self.people(name, locked=locked))[0]

    async def people(self, *names: str, locked: bool = False) -> Sequence[Person]:
        """Return several persons with fresh accounts, which exist before the scenario begins."""
        people = [Person(self, self.new_id(), name) for name in names]
        self.database.arrange(settle_in, people, self.base_url, self.clock.now(), locked=locked)
        return people

    def sign_in(self, people: Sequence[Person]) -> None:
        """Give people tokens for the API. `token_of` returns them."""
        self.database.arrange(sign_in, people, self.new_id, self.clock.now())

    async def public_page(self) -> list[int]:
        """Return the local timeline as a visitor without an account sees it, newest first."""
        page = PublicPage(Page(PAGE))
        return await self.shown(await insist(self, "anybody", lambda: self.runtime.ask(PUBLIC_LOCAL, page)))

    async def public_stream(self) -> Stream:
        return await self.open_stream(FeedStream(self, "anybody's stream", PUBLIC_LOCAL, self.public_page))

    async def crash(self) -> None:
        """Kill the server and start it again. If it does not run, do nothing."""
        if self.running.is_set():
            await self.kill()
            await self.start()

    # Time

    async def calm(self) -> None:
        """Wait until all started work is done: effects run, crashes recovered from, streams open."""
        await Eventually(self._all_is_published, "everything is published", within=LONGEST_STORM).wait_until_true()
        await trio.sleep(LAST_REST)
        await Eventually(self._all_actors_rest, "every actor is at rest", within=LONGEST_STORM).wait_until_true()
        await self.run.quiet()

    # The claims of a scenario

    def together(self) -> AbstractAsyncContextManager[Go]:
        return self.run.together()

    def always(self, predicate: Predicate, name: str | None = None) -> None:
        self.run.always(predicate, name)

    def eventually(self, predicate: Predicate, name: str | None = None) -> None:
        self.run.eventually(predicate, name)

    def sometimes(self, happened: bool, name: str) -> None:
        self.run.sometimes(happened, name)

    # The claims of every scenario

    def _streams_are_right(self) -> None:
        for stream in self._streams:
            stream.check()

    def _effects_have_run(self) -> bool:
        """Check that no effect is overdue. An effect for later (a status, the end of a mute) may wait for its time."""
        # Without the time, so that the answer is remembered while time passes.
        first = self.database.rows("SELECT min(due_at) AS due_at FROM outbox")[0]["due_at"]
        return first is None or first > self.clock.now()

    def _all_is_published(self) -> bool:
        return self._effects_have_run() and all(stream.open for stream in self._streams)

    def _all_actors_rest(self) -> bool:
        """True if no actor waits for its database, or for its restart. Quarantines last too long to wait for."""
        cells = [cell for kind in self.runtime.pools for cell in self.runtime.awake(kind)]
        return self._all_is_published() and all(
            cell.phase in AT_REST or cell.phase is CellPhase.QUARANTINED for cell in cells
        )

    def _counts_are_right(self) -> bool:
        return not self.database.rows(WRONG_COUNTS)

    def _audience_is_awake(self) -> bool:
        awake = set(self.runtime.awake("home"))
        context = self.actors.actor_context
        return awake.issuperset([*context.audience.all_cells, *context.tagged.all_cells])


async def settle_in(
    db: Connection, people: Sequence[Person], base_url: str, now: datetime, *, locked: bool
) -> None:  # fmt: skip
    await accounts.create_local_many(db, [_account(person, base_url, locked) for person in people], now)
    await users.create_many(db, [_user(person, now) for person in people], now)


def _account(person: Person, base_url: str, locked: bool) -> NewAccount:
    uri, url = f"{base_url}/users/{person.name}", f"{base_url}/@{person.name}"
    return NewAccount(person.id, person.name, None, uri, url, display_name=person.name.capitalize(), locked=locked)


def _user(person: Person, now: datetime) -> NewUser:
    return NewUser(person.id, f"{person.name}@troupe.test", None, confirmed_at=now, approved_at=now)

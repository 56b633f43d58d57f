"""Two servers in a run, each with its own process and database, and the network between them.

    @simulation(seeds=20, faults=2, world=two_servers)
    async def test_a_post_reaches_a_follower_on_the_other_server(sim: TwoServers) -> None:
        ada, bob = await sim.north.account("ada"), await sim.south.account("bob")
        sim.has_followed(bob, ada)
        await ada.publish()
        await sim.calm()
        assert len(await bob.home()) == 1

The claims of all scenarios with one server hold for each server, and no request may fail inside a server.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import datetime

import trio

from ....actors.federation.errors import DocumentUnavailable
from ....actors.kernel import IDLE
from ....storage import follows
from ....storage.engine.database import Connection, StorageError
from ....storage.follows import FollowTerms
from ..lockstep import Lockstep
from ..run import Eventually, Go, Run
from .network import Network
from .people import Person
from .postgres import sandbox, second_sandbox
from .server import ServerPlace
from .simulation import Simulation

INTRODUCE = """
    INSERT INTO accounts
        (id, username, domain, uri, url, inbox_url, shared_inbox_url, followers_url, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $4, $4 || '/inbox', 'https://' || $3 || '/inbox', $4 || '/followers', $5, $5)
"""

# The queues of effects that are between two servers.
BETWEEN = "SELECT FROM outbox WHERE queue IN ('deliveries', 'inbox') LIMIT 1"

TALLY_DELAY = 5.0  # seconds until votes are sent to the other server

# Virtual seconds in which everything arrives: servers that fail are left alone for longer and longer.
LONGEST_DELIVERY = 600.0


@asynccontextmanager
async def two_servers(run: Run, *, idle: float = IDLE) -> AsyncGenerator[TwoServers]:
    """The world of a scenario about two servers: every actor of both, and no accounts yet."""
    async with trio.open_nursery() as nursery:
        sim = TwoServers(run, nursery, idle)
        for server in sim.servers:
            await server.start()
        yield sim
        for server in sim.servers:
            await server.stop()
        nursery.cancel_scope.cancel()


class TwoServers:
    """`north` is north.test, and `south` is south.test."""

    def __init__(self, run: Run, nursery: trio.Nursery, idle: float) -> None:
        self.run = run
        self.network = Network(run, nursery)

        def server(name: str, postgres: Callable[[], Lockstep], node: int) -> Simulation:
            label = f"{name} "
            place = ServerPlace(
                f"{name}.test", run.open_database(postgres, label), label, node, TALLY_DELAY, self.network
            )
            made = Simulation(run, nursery, idle, mail=True, place=place)
            self.network.servers[place.domain] = made
            return made

        self.north = server("north", sandbox, 0)
        self.south = server("south", second_sandbox, 1)
        self.servers = (self.north, self.south)
        self._known: dict[Person, Person] = {}
        run.always(self._no_request_failed, "no request fails inside a server")

    def together(self) -> AbstractAsyncContextManager[Go]:
        return self.run.together()

    def sometimes(self, happened: bool, name: str) -> None:
        self.run.sometimes(happened, name)

    # People and how they know each other

    def other(self, person: Person) -> Simulation:
        """Return the server that a person is not on."""
        return self.south if person.server is self.north else self.north

    def known(self, person: Person) -> Person:
        """Return a person as the other server knows them. The account there is stored before the scenario begins."""
        if person not in self._known:
            there = self.other(person)
            self._known[person] = Person(there, there.new_id(), person.name)
            terms = (self._known[person].id, person.name, person.server.place.domain, there.clock.now())
            there.database.arrange(_introduce, *terms)
        return self._known[person]

    def has_followed(self, follower: Person, followed: Person) -> None:
        """Store a follow between the servers, on both, before the scenario begins."""
        uri = f"https://{follower.server.place.domain}/users/{follower.name}#follows/{followed.name}"
        pairs = ((follower, self.known(followed)), (self.known(follower), followed))
        for source, target in pairs:
            terms = FollowTerms(source.server.new_id(), source.id, target.id, uri=uri)
            source.server.database.arrange(follows.insert_follow, terms, source.server.clock.now())

    async def find(self, person: Person) -> Person:
        """Return a person as the other server finds them by their handle, as a search does it."""
        resolver = self.other(person).federation.resolver
        while True:
            with suppress(DocumentUnavailable, StorageError):
                account = await resolver.account_by_handle(person.name, person.server.place.domain)
                if account is not None:
                    return Person(self.other(person), account.id, person.name)
            await trio.sleep(1)

    # Time

    async def calm(self) -> None:
        """Wait until nothing is on its way between the servers, and both are calm."""
        while True:
            await Eventually(self._all_has_arrived, "everything has arrived", within=LONGEST_DELIVERY).wait_until_true()
            for server in self.servers:
                await server.calm()
            if self._all_has_arrived():
                return

    def _all_has_arrived(self) -> bool:
        return not self.network.repeats and not any(server.database.rows(BETWEEN) for server in self.servers)

    def _no_request_failed(self) -> bool:
        return not (self.north.failed_requests or self.south.failed_requests)


async def _introduce(db: Connection, id: int, name: str, domain: str, now: datetime) -> None:
    await db.execute(INTRODUCE, id, name, domain, f"https://{domain}/users/{name}", now)
    await db.execute("INSERT INTO account_counts (account_id) VALUES ($1)", id)

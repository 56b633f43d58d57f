"""Accounts on other servers, as rows that were there before the scenario began."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from troupe.storage import follows, statuses
from troupe.storage.engine.database import Connection
from troupe.storage.follows import FollowTerms
from troupe.storage.statuses import NewStatus
from troupe.supervision.testing.run import Eventually
from troupe.supervision.testing.stage import Person, Simulation
from troupe.supervision.testing.stage.people import Served

INSERT = """
    INSERT INTO accounts
        (id, username, domain, uri, url, inbox_url, shared_inbox_url, followers_url, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $4, $4 || '/inbox', $5, $4 || '/followers', $6, $6)
"""


class Foreigner(Person):
    """A person on another server. Its account has an actor here, and no user."""

    def __init__(self, sim: Served, name: str, domain: str, *, shared: bool = True) -> None:
        super().__init__(sim, sim.new_id(), name)
        self.domain = domain
        self.uri = f"https://{domain}/users/{name}"
        self.inbox = f"https://{domain}/inbox" if shared else f"{self.uri}/inbox"
        sim.database.arrange(_insert, self, shared, sim.run.clock.now())

    def follows(self, sim: Served, other: Person) -> None:
        """Store a follow before the scenario begins."""
        terms = FollowTerms(sim.new_id(), self.id, other.id, uri=f"{self.uri}#follows/{other.id}")
        sim.database.arrange(follows.insert_follow, terms, sim.run.clock.now())

    def has_published(self, sim: Served, text: str, **more: Any) -> int:
        """Store a public status before the scenario begins. Return its id."""
        id = sim.new_id()
        uri = f"{self.uri}/statuses/{id}"
        new = NewStatus(id, self.id, uri, uri, "public", text=text, content=text, local=False, **more)
        sim.database.arrange(statuses.insert, new, sim.run.clock.now())
        return id


async def _insert(db: Connection, person: Foreigner, shared: bool, now: datetime) -> None:
    await db.execute(
        INSERT, person.id, person.name, person.domain, person.uri, person.inbox if shared else None, now
    )  # fmt: skip
    await db.execute("INSERT INTO account_counts (account_id) VALUES ($1)", person.id)


async def all_delivered(sim: Simulation) -> None:
    """Wait until no activity is to be delivered any more."""

    def nothing_waits() -> bool:
        return not sim.database.rows("SELECT FROM outbox WHERE queue = 'deliveries'")

    await Eventually(nothing_waits, "every activity is delivered", within=7200).wait_until_true()
    await sim.calm()
    assert not sim.database.rows("SELECT FROM activities"), "bodies are kept no longer than their deliveries"

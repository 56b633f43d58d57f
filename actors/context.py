"""What actors share besides messages: the database, the caches over it, the clock, fresh ids, and where effects go."""

from __future__ import annotations

from dataclasses import dataclass

from ..storage.engine.database import Database
from .audience import Audience
from .broadcast import Broadcast
from .facts import Facts
from .kernel import Clock, Ids
from .outbox import Outbox
from .statuses import AccountCache, StatusCache


@dataclass(frozen=True, slots=True)
class ActorContext:
    """One for each process. `base_url` and `local_domain` are how this server names itself.

    `audience` knows the awake homes by authors, `listed` the awake lists by authors, `owned` the awake lists by owners.
    """

    database: Database
    clock: Clock
    ids: Ids
    accounts: AccountCache
    statuses: StatusCache
    audience: Audience
    listed: Audience
    owned: Audience
    broadcast: Broadcast
    facts: Facts
    outbox: Outbox
    base_url: str
    local_domain: str

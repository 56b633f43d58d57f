"""The server-wide blocks in memory: there are few, and each request asks for some of them.

The turn that changes a block publishes a fact, on which all servers read all blocks again before it answers. Each act
on blocks also sends a notice when it is committed: by another program, or in a commit whose connection was lost and
which ends after the turn has read.
"""

from __future__ import annotations

from collections.abc import Callable

from ...storage import server_blocks
from ...storage.blocked_domains import AllowedDomain, BlockedDomain
from ...storage.blocked_networks import BlockedNetwork
from ...storage.engine.database import Connection, Database
from ..rules.domains import DomainRules
from ..rules.networks import NetworkRules
from .row_loader import RowLoader

NOTICE = "blocks"


class ServerBlocks(RowLoader):
    """The blocks as the rows have them, and the child that reads them."""

    def __init__(self, database: Database, *, limited: bool = False) -> None:
        """With `limited`, all domains are suspended that are not allowed."""
        super().__init__()
        self._database = database
        self.limited = limited
        self._observers: list[Callable[[], None]] = []
        self.domains = DomainRules(allowed=() if limited else None)
        self.networks = NetworkRules()

    def observe(self, read: Callable[[], None]) -> None:
        """Have a function called whenever the blocks were read."""
        self._observers.append(read)

    async def _read(self) -> None:
        self.domains, self.networks = await self._database.read(_rules, self.limited)
        for observe in self._observers:
            observe()


async def domain_rules(db: Connection, *, limited: bool) -> DomainRules:
    """Return the rules of all blocks of domains. With `limited`, domains are suspended that are not allowed."""
    allowed = [row.domain for row in await server_blocks.find_all(db, AllowedDomain)] if limited else None
    return DomainRules(await server_blocks.find_all(db, BlockedDomain), allowed)


async def _rules(db: Connection, limited: bool) -> tuple[DomainRules, NetworkRules]:
    networks = NetworkRules(await server_blocks.find_all(db, BlockedNetwork))
    return await domain_rules(db, limited=limited), networks

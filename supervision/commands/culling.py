"""Removing accounts that are gone: their servers are asked, in batches, and only a 410 removes one.

The command asks by itself, with the client that the server uses, so that its rehearsal tells what would be done. The
accounts are deleted as single ones are: the running server erases what is left of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

import trio

from ...actors.activitypub.keys import SigningKeys
from ...actors.activitypub.names import LocalNames
from ...actors.activitypub.signatures import SignatureScheme, sign
from ...actors.commands.accounts import delete
from ...actors.daily_quotas import DailyQuotas
from ...actors.federation.errors import DocumentGone, DocumentUnavailable, FetchFailed
from ...actors.federation.fetching import DocumentFetcher
from ...actors.kernel.clock import SystemClock
from ...actors.kernel.ids import Ids
from ...actors.outgoing.client import OutgoingClient
from ...actors.server_blocks import ServerBlocks
from ...actors.staff import act_at_command_line
from ...storage import account_upkeep
from ...storage.account_upkeep import ForeignAccount
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ...storage.engine.pool import open_pool
from ..configuration import Settings
from ..domain import base_url
from .blocking_domains import checked_domain
from .moderating import announce_change
from .rows import Transact

AT_ONCE = 100  # accounts that are asked for between two transactions
HOSTS_AT_ONCE = 20


@dataclass(slots=True)
class Culled:
    """The outcome: the number of accounts asked for, and those that are gone. `silent` hosts do not answer just now."""

    asked: int = 0
    gone: list[str] = field(default_factory=list[str])
    silent: set[str] = field(default_factory=set[str])
    last_id: int = 0

    def as_json(self) -> JsonObject:
        return {**asdict(self), "silent": sorted(self.silent), "last_id": str(self.last_id)}


async def find(
    db: Connection, after: int, domain: str | None, with_relations: bool, limit: int, ids: Ids, now: datetime
) -> Sequence[ForeignAccount]:
    """Return the accounts to ask for."""
    checked = None if domain is None else checked_domain(domain)
    return await account_upkeep.to_cull(db, after, checked, with_relations, limit)


def cull(
    run: Transact,
    dsn: str,
    settings: Settings,
    found: Sequence[ForeignAccount],
    culled: Culled,
    progress: Callable[[int], None],
    *,
    dry_run: bool,
) -> None:
    """Ask for accounts and remove those that are gone, batch by batch. `progress` is told the size of each batch."""
    for start in range(0, len(found), AT_ONCE):
        batch = found[start : start + AT_ONCE]
        gone = trio.run(_ask, dsn, settings, batch, culled)
        if gone and not dry_run:
            run(_remove, gone)
        culled.gone += [one.acct for one in gone]
        culled.last_id = batch[-1].id
        progress(len(batch))


async def _remove(db: Connection, gone: Sequence[ForeignAccount], ids: Ids, now: datetime) -> None:
    """Delete accounts. One that was deleted meanwhile is refused, which is as good."""
    act = act_at_command_line(ids, now)
    for one in gone:
        await delete(db, act, one.id)
    await announce_change(db)


async def _ask(dsn: str, settings: Settings, batch: Sequence[ForeignAccount], culled: Culled) -> list[ForeignAccount]:
    """Return those of a batch whose servers say that they are gone. Hosts are asked side by side."""
    by_host: defaultdict[str, list[ForeignAccount]] = defaultdict(list)
    for one in batch:
        by_host[one.domain].append(one)
    gone: list[ForeignAccount] = []
    limit = trio.CapacityLimiter(HOSTS_AT_ONCE)
    async with open_pool(dsn, size=2, application_name="troupe/command") as pool:
        blocks = ServerBlocks(pool, limited=settings.limited_federation)
        await blocks.reload()
        client = OutgoingClient(settings.user_agent, test_hosts=settings.test_hosts)
        names, clock = LocalNames(base_url(settings)), SystemClock()
        keys = SigningKeys(pool, names)

        async def signed(url: str, scheme: SignatureScheme) -> dict[str, str]:
            return sign(await keys.of_server(), "GET", url, None, clock.now(), scheme)

        fetcher = DocumentFetcher(client, pool, clock, names, signed, lambda: blocks.domains, DailyQuotas())
        async with trio.open_nursery() as nursery:
            for accounts in by_host.values():
                nursery.start_soon(_ask_host, fetcher, accounts, culled, gone, limit)
    return gone


async def _ask_host(
    fetcher: DocumentFetcher,
    accounts: Sequence[ForeignAccount],
    culled: Culled,
    gone: list[ForeignAccount],
    limit: trio.CapacityLimiter,
) -> None:
    """Ask one host for its accounts, one after the other, until it does not answer."""
    async with limit:
        for one in accounts:
            if one.domain in culled.silent:
                return
            culled.asked += 1
            try:
                await fetcher.fetch(one.uri)
            except DocumentGone:
                gone.append(one)
            except DocumentUnavailable:
                culled.silent.add(one.domain)
            except FetchFailed:
                continue  # not there, or unusable: that proves nothing

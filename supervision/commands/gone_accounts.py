"""`troupe accounts cull`: accounts that are gone for good are removed.

Their servers are asked, in batches, and only a 410 removes an account. The command asks by itself, with the client that
the server uses, so that its rehearsal is exact. The accounts are deleted like single accounts: the running
server erases their data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from ..settings.domain import base_url
from .chosen_server import ChosenServer
from .names import checked_domain, notify_servers
from .options import ask_first, dry_run_option, json_option, print_json, setting_options, yes_option

if TYPE_CHECKING:
    import trio

    from ...actors.activitypub.signatures import SignatureScheme
    from ...actors.configuration import Settings
    from ...actors.federation.fetching import DocumentFetcher
    from ...storage.engine.database import Connection
    from ...storage.upkeep.account_upkeep import ForeignAccount
    from .progress import Update
    from .rows import Here, Transact

AT_ONCE = 100  # accounts that are asked for between two transactions
HOSTS_AT_ONCE = 20


@dataclass(slots=True)
class Culled:
    """The outcome: the number of checked accounts, and the gone accounts. `silent` hosts did not answer."""

    asked: int = 0
    gone: list[str] = field(default_factory=list[str])
    silent: set[str] = field(default_factory=set[str])
    last_id: int = 0

    def as_json(self) -> JsonObject:
        return {**asdict(self), "silent": sorted(self.silent), "last_id": str(self.last_id)}


@click.command
@click.option("--by-domain", metavar="DOMAIN", help="Only accounts of this server and its subdomains.")
@click.option("--all", "everybody", is_flag=True, help="Also accounts that follow, or are followed, blocked or muted.")
@click.option(
    "--limit", type=click.IntRange(1), default=10_000, show_default=True, help="The most accounts to ask for."
)
@click.option("--after", type=click.IntRange(0), default=0, metavar="ID", help="Go on after the account with this ID.")
@dry_run_option
@yes_option
@json_option
@setting_options("data", "domain")
def cull(
    server: ChosenServer,
    by_domain: str | None,
    everybody: bool,
    limit: int,
    after: int,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete accounts of other servers that are gone for good: their servers are asked, and answer 410.

    Any other answer keeps an account, and so does a server that does not answer, which is not asked again. Accounts
    that follow or block people here, or are followed, blocked or muted here, are asked for with --all alone. With
    --dry-run the servers are asked, and nothing is deleted.
    """
    from .progress import progress
    from .rows import opened_database

    if not dry_run:
        ask_first(lambda: "Delete all accounts whose servers say that they are gone?", yes=yes)
    settings = server.settings
    with server.transactions() as run, opened_database(settings) as dsn:
        found = run(_find, after, by_domain, everybody, limit)
        culled = Culled(last_id=after)

        def going_on() -> str:
            return f"Gone of them: {len(culled.gone)}. Go on with --after {culled.last_id}."

        with progress("Asking for accounts", len(found), going_on, things="accounts") as update:
            _cull(run, dsn, settings, found, culled, update, dry_run=dry_run)
    if as_json:
        print_json({**culled.as_json(), "dry_run": dry_run})
        return
    for acct in culled.gone:
        click.echo(f"{'Would delete' if dry_run else 'Deleted'} @{acct}")
    click.echo(f"Asked for {number_of(culled.asked, 'accounts')}; gone: {len(culled.gone)}.")
    if culled.silent:
        click.echo(f"No answer from {', '.join(sorted(culled.silent))}", err=True)
    if len(found) == limit:
        click.echo(f"There may be more: go on with --after {culled.last_id}", err=True)


async def _find(
    db: Connection, here: Here, after: int, domain: str | None, with_relations: bool, limit: int
) -> Sequence[ForeignAccount]:
    """Return the accounts to ask for."""
    from ...storage.upkeep import account_upkeep

    checked = None if domain is None else checked_domain(domain)
    return await account_upkeep.to_cull(db, after, checked, with_relations, limit)


def _cull(
    run: Transact,
    dsn: str,
    settings: Settings,
    found: Sequence[ForeignAccount],
    culled: Culled,
    progress: Update,
    *,
    dry_run: bool,
) -> None:
    """Ask for accounts and remove gone accounts, batch by batch. `progress` is called with the size of each batch."""
    import trio

    for start in range(0, len(found), AT_ONCE):
        batch = found[start : start + AT_ONCE]
        gone = trio.run(_ask, dsn, settings, batch, culled)
        if gone and not dry_run:
            run(_remove, gone)
        culled.gone += [account.acct for account in gone]
        culled.last_id = batch[-1].id
        progress(len(batch))


async def _remove(db: Connection, here: Here, gone: Sequence[ForeignAccount]) -> None:
    """Delete accounts. An account that was deleted meanwhile is refused, which does no harm."""
    from ...actors.commands.accounts import delete

    for account in gone:
        await delete(here.act, account.id)
    await notify_servers(db)


async def _ask(dsn: str, settings: Settings, batch: Sequence[ForeignAccount], culled: Culled) -> list[ForeignAccount]:
    """Return the accounts of a batch whose servers say that they are gone. Hosts are asked concurrently."""
    import trio

    from ...actors.activitypub.keys import SigningKeys
    from ...actors.activitypub.names import LocalNames
    from ...actors.activitypub.signatures import sign
    from ...actors.federation.fetching import DocumentFetcher
    from ...actors.kernel.clock import SystemClock
    from ...actors.memory.daily_quotas import DailyQuotas
    from ...actors.memory.server_blocks import ServerBlocks
    from ...actors.outgoing.client import OutgoingClient
    from ...storage.engine.pool import open_pool

    by_host: defaultdict[str, list[ForeignAccount]] = defaultdict(list)
    for account in batch:
        by_host[account.domain].append(account)
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
    """Ask a host for its accounts, one after the other, until it does not answer."""
    from ...actors.federation.errors import DocumentGone, DocumentUnavailable, FetchFailed

    async with limit:
        for account in accounts:
            if account.domain in culled.silent:
                return
            culled.asked += 1
            try:
                await fetcher.fetch(account.uri)
            except DocumentGone:
                gone.append(account)
            except DocumentUnavailable:
                culled.silent.add(account.domain)
            except FetchFailed:
                continue  # not there, or unusable: that proves nothing

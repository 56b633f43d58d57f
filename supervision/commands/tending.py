"""`troupe accounts refresh`, `rotate-keys` and `cull`: what accounts need because other servers know them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import click

from ...actors.rules.wording import number_of
from .options import (
    ask_first,
    dry_run_option,
    json_option,
    print_json,
    setting_options,
    settings_from,
    yes_option,
)

# Those for which it was promised are left out.
GOING_ON = "The server does these. Run the same command again for the others."


@click.command
@click.argument("name", required=False)
@click.option("--by-domain", metavar="DOMAIN", help="All accounts of this server and its subdomains.")
@click.option("--all-stale", is_flag=True, help="All accounts of other servers that were fetched over a day ago.")
@dry_run_option
@json_option
@setting_options("data", "domain")
def refresh(
    name: str | None,
    by_domain: str | None,
    all_stale: bool,
    dry_run: bool,
    as_json: bool,
    data: str | None,
    domain: str | None,
    config: Path | None,
) -> None:
    """Fetch the account NAME of another server again, or many.

    The running server does it; if none runs, the next one does as soon as it starts. A server that does not answer is
    asked again for a day.
    """
    from ..domain import base_url
    from .finding import InvalidAccount
    from .progress import progress
    from .rows import transactions
    from .upkeep import find_many, find_one, refresh_all

    if [name is not None, by_domain is not None, all_stale].count(True) != 1:
        raise click.UsageError("Give NAME, --by-domain or --all-stale.")
    settings = settings_from(config, data=data, domain=domain)
    with transactions(settings) as run:
        if name is None:
            found = run(find_many, by_domain)
        else:
            try:
                found = run(find_one, name, urlsplit(base_url(settings)).netloc)
            except InvalidAccount as unfit:
                raise click.ClickException(f"{unfit}.") from None
        if not dry_run:
            with progress("Asking the server to fetch accounts", len(found), GOING_ON, things="accounts") as update:
                refresh_all(run, found, update)
    if as_json:
        print_json({"accounts": [one.acct for one in found], "dry_run": dry_run})
    else:
        click.echo(f"{'Would fetch' if dry_run else 'Fetching'} {number_of(len(found), 'accounts')} again")


@click.command("rotate-keys")
@click.argument("name", required=False)
@click.option("--all", "everybody", is_flag=True, help="The keys of all accounts of this server.")
@dry_run_option
@json_option
@setting_options("data", "domain")
def rotate_keys(
    name: str | None,
    everybody: bool,
    dry_run: bool,
    as_json: bool,
    data: str | None,
    domain: str | None,
    config: Path | None,
) -> None:
    """Give the account NAME, or all, a new key. Other servers learn of it by an Update that the old key has signed.

    The running server does it; if none runs, the next one does as soon as it starts. Accounts that no other server has
    asked for have no key.
    """
    from ..domain import base_url
    from .finding import InvalidAccount
    from .progress import progress
    from .rows import transactions
    from .upkeep import find_keys, rotate_all

    if (name is not None) is everybody:
        raise click.UsageError("Give NAME or --all.")
    settings = settings_from(config, data=data, domain=domain)
    with transactions(settings) as run:
        try:
            found = run(find_keys, name, urlsplit(base_url(settings)).netloc)
        except InvalidAccount as unfit:
            raise click.ClickException(f"{unfit}.") from None
        if not dry_run:
            with progress("Asking the server to replace keys", len(found), GOING_ON, things="accounts") as update:
                rotate_all(run, found, update)
    if as_json:
        print_json({"accounts": [one.username for one in found], "dry_run": dry_run})
    else:
        click.echo(f"{'Would give' if dry_run else 'Giving'} {number_of(len(found), 'accounts')} a new key")


@click.command
@click.option("--by-domain", metavar="DOMAIN", help="Only accounts of this server and its subdomains.")
@click.option("--all", "everybody", is_flag=True, help="Also accounts that follow, or are followed, blocked or muted.")
@click.option(
    "--limit", type=click.IntRange(1), default=10_000, show_default=True, help="The most accounts to ask for."
)
@click.option("--after", type=click.IntRange(0), default=0, metavar="ID", help="Go on after the last one of before.")
@dry_run_option
@yes_option
@json_option
@setting_options("data", "domain")
def cull(
    by_domain: str | None,
    everybody: bool,
    limit: int,
    after: int,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    data: str | None,
    domain: str | None,
    config: Path | None,
) -> None:
    """Delete accounts of other servers that are gone for good: their servers are asked, and answer 410.

    Any other answer keeps an account, and so does a server that does not answer, which is not asked again. Accounts
    that follow or block people here, or are followed, blocked or muted here, are asked for with --all alone. With
    --dry-run the servers are asked, and nothing is deleted.
    """
    from .culling import Culled, find
    from .culling import cull as cull_accounts
    from .progress import progress
    from .rows import opened_database, transactions

    if not dry_run:
        ask_first(lambda: "Delete all accounts whose servers say that they are gone?", yes=yes)
    settings = settings_from(config, data=data, domain=domain)
    with transactions(settings) as run, opened_database(settings) as dsn:
        found = run(find, after, by_domain, everybody, limit)
        culled = Culled(last_id=after)

        def going_on() -> str:
            return f"Gone of them: {len(culled.gone)}. Go on with --after {culled.last_id}."

        with progress("Asking for accounts", len(found), going_on, things="accounts") as update:
            cull_accounts(run, dsn, settings, found, culled, update, dry_run=dry_run)
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

"""`troupe domains`: blocks of other servers, and the allowed servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO, Literal

import click

from ...actors.rules.limits import BLOCK_COMMENT_CHARACTERS
from ...storage import blocked_domains, server_blocks
from ...storage.blocked_domains import AllowedDomain, BlockedDomain
from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .domain_purges import purge
from .names import checked_domain
from .options import dry_run_option, json_option, print_list, setting_options
from .refusals import CommandRefused, WrongValue, require

if TYPE_CHECKING:
    from ...actors.commands.blocked_domains import DomainTerms, ListedBlock
    from ...storage.engine.database import Connection
    from .rows import Here


@click.group
def domains() -> None:
    """Domains of other servers, with their subdomains."""


domains.add_command(purge)


@domains.command("list")
@json_option
@setting_options("data")
def list_(server: ChosenServer, as_json: bool) -> None:
    """List the blocked domains, one a line: domain, severity, private comment."""
    print_list(server.transact(_blocks), _line, as_json=as_json)


async def _blocks(db: Connection, here: Here) -> list[JsonObject]:
    """Return all blocks, in the order of their domains."""
    from ...http.entities.server_block import blocked_domain_fields

    return [blocked_domain_fields(block) for block in await server_blocks.find_all(db, BlockedDomain)]


def _line(block: JsonObject) -> str:
    return f"{block['domain']}\t{block['severity']}\t{block['private_comment'] or ''}"


@domains.command
@click.argument("domain")
@click.option(
    "--severity",
    type=click.Choice(["noop", "silence", "suspend"]),
    help="What happens to its accounts: nothing, no reach beyond their followers, no contact.  [default: silence]",
)
@click.option("--reject-media/--accept-media", default=None, help="Whether files from there are refused.")
@click.option("--reject-reports/--accept-reports", default=None, help="Whether reports from there are refused.")
@click.option("--private-comment", metavar="TEXT", help="Why, for staff.")
@click.option("--public-comment", metavar="TEXT", help="Why, for those who may read the blocks.")
@click.option("--obfuscate/--no-obfuscate", default=None, help="Whether the name is shown with stars in it.")
@setting_options("data")
def block(
    server: ChosenServer,
    domain: str,
    severity: Literal["noop", "silence", "suspend"] | None,
    reject_media: bool | None,
    reject_reports: bool | None,
    private_comment: str | None,
    public_comment: str | None,
    obfuscate: bool | None,
) -> None:
    """Block DOMAIN and its subdomains, or change the block. Values that are not given stay as they are."""
    from ...actors.commands.blocked_domains import DomainTerms

    terms = DomainTerms(severity, reject_media, reject_reports, private_comment, public_comment, obfuscate)
    click.echo(f"Blocked {server.transact(_block, domain, terms)}")


async def _block(db: Connection, here: Here, written: str, wanted: DomainTerms) -> str:
    """Block a domain, or change its block. Return its name."""
    from ...actors.commands.blocked_domains import ChangeDomainBlock, ImposeDomainBlock, change, impose

    domain = checked_domain(written)
    if any(len(text or "") > BLOCK_COMMENT_CHARACTERS for text in (wanted.private_comment, wanted.public_comment)):
        raise WrongValue(f"The comment has more than {BLOCK_COMMENT_CHARACTERS} characters.")
    existing = await _find(db, domain)
    if existing is not None:
        require(await change(here.act, ChangeDomainBlock(here.staff, existing.id, wanted)))
    else:
        imposed = require(await impose(here.act, ImposeDomainBlock(here.staff, domain, wanted)))
        if not imposed.is_new:
            raise CommandRefused(f"{imposed.block.domain} is blocked as strictly already.")
    return domain


@domains.command
@click.argument("domain")
@setting_options("data")
def unblock(server: ChosenServer, domain: str) -> None:
    """End the block of DOMAIN. Accounts that it has silenced or suspended are so no more."""
    click.echo(f"Unblocked {server.transact(_unblock, domain)}")


async def _unblock(db: Connection, here: Here, written: str) -> str:
    """End the block of a domain. Return its name."""
    from ...actors.commands.blocked_domains import LiftDomainBlock, lift

    domain = checked_domain(written)
    existing = await _find(db, domain)
    if existing is None:
        raise CommandRefused(f"{domain} is not blocked.")
    require(await lift(here.act, LiftDomainBlock(here.staff, existing.id)))
    return domain


async def _find(db: Connection, domain: str) -> BlockedDomain | None:

    return next((block for block in await blocked_domains.lock(db) if block.domain == domain), None)


@domains.command
@click.argument("domain")
@setting_options("data")
def allow(server: ChosenServer, domain: str) -> None:
    """Allow DOMAIN and its subdomains, for a server with `limited_federation`. Their accounts come back."""
    click.echo(f"Allowed {server.transact(_allow, domain)}")


async def _allow(db: Connection, here: Here, written: str) -> str:
    """Allow a domain. Return its name."""
    from ...actors.commands.blocked_domains import AllowDomain, allow

    made = require(await allow(here.act, AllowDomain(here.staff, checked_domain(written))))
    return made.domain


@domains.command
@click.argument("domain")
@setting_options("data")
def disallow(server: ChosenServer, domain: str) -> None:
    """Allow DOMAIN no more. With `limited_federation` its accounts are suspended until it is allowed again."""
    click.echo(f"Disallowed {server.transact(_disallow, domain)}")


async def _disallow(db: Connection, here: Here, written: str) -> str:
    """Remove a domain from the allowed domains. Return its name."""
    from ...actors.commands.blocked_domains import DisallowDomain, disallow

    domain = checked_domain(written)
    existing = await server_blocks.find_by_key(db, AllowedDomain, domain)
    if existing is None:
        raise CommandRefused(f"{domain} is not allowed.")
    require(await disallow(here.act, DisallowDomain(here.staff, existing.id)))
    return domain


@domains.command
@json_option
@setting_options("data")
def allowed(server: ChosenServer, as_json: bool) -> None:
    """List the allowed domains, one a line."""
    print_list(server.transact(_allowed), lambda allowed: str(allowed["domain"]), as_json=as_json)


async def _allowed(db: Connection, here: Here) -> list[JsonObject]:
    """Return all allowed domains, in their order."""
    return [
        {"id": str(allowed.id), "domain": allowed.domain, "created_at": allowed.created_at.isoformat()}
        for allowed in await server_blocks.find_all(db, AllowedDomain)
    ]


@domains.command
@setting_options("data")
def export(server: ChosenServer) -> None:
    """Print the blocks as CSV, as Mastodon's pages of staff import them."""
    click.echo(server.transact(_exported), nl=False)


async def _exported(db: Connection, here: Here) -> str:
    """Return all blocks as CSV."""
    from ...actors.blocklists import as_csv

    return as_csv(await server_blocks.find_all(db, BlockedDomain))


@domains.command("import")
@click.argument("file", type=click.File("rb"))
@dry_run_option
@setting_options("data")
def import_(server: ChosenServer, file: BinaryIO, dry_run: bool) -> None:
    """Block the domains of FILE; `-` reads standard input.

    FILE is a CSV file as `export` prints it or as others publish it, a list of domains, one a line, or a JSON file of
    GoToSocial or Akkoma. Lines that begin with `#` are comments. Domains that are blocked already stay as they are. All
    lines are imported, or none.
    """
    _ = server.settings  # a wrong setting is said before the file is read
    done, notes = server.transact(_import, _read(file), dry_run=dry_run)
    for domain in done:
        click.echo(f"{'Would block' if dry_run else 'Blocked'} {domain}")
    for note in notes:
        click.echo(note, err=True)


def _read(file: BinaryIO) -> list[ListedBlock]:
    """Return the blocks of a file. Raises CommandRefused."""
    from ...actors.blocklists import LARGEST_LIST, UnreadableList, decode, read_list

    content = file.read(LARGEST_LIST + 1)
    if len(content) > LARGEST_LIST:
        raise CommandRefused(f"The file is larger than {LARGEST_LIST // 1024**2} MB. No domain was blocked.")
    try:
        return read_list(decode(content))
    except UnreadableList as error:
        raise CommandRefused(str(error)) from None


async def _import(db: Connection, here: Here, lines: Sequence[ListedBlock]) -> tuple[tuple[str, ...], list[str]]:
    """Block the domains of a file. Return the new blocks, and notes on the unchanged blocks."""
    from ...actors.blocklists import own_lines
    from ...actors.commands.blocked_domains import ImposeListedBlocks, impose_listed
    from ...actors.rules.domains import RANKS

    before = {block.domain: block for block in await server_blocks.find_all(db, BlockedDomain)}
    done = require(await impose_listed(here.act, ImposeListedBlocks(here.staff, tuple(lines))))
    notes = [f"{domain} is left out: it is the domain of this server." for domain in own_lines(lines, here.domain)]
    for line in lines:
        kept, wanted = before.get(line.domain), line.terms.severity or "silence"
        if kept is not None and RANKS[wanted] > RANKS[kept.severity]:
            notes.append(f"{line.domain} stays as it is: its severity is {kept.severity}, and {wanted} in the file.")
    return done, notes

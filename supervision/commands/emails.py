"""`troupe emails` and `troupe email-domains`: addresses, in all their spellings, and domains that may not sign up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...actors.rules.mailboxes import canonical_hash, is_mailbox, spelled
from ...storage import blocked_emails, server_blocks
from ...storage.blocked_emails import BlockedEmail, BlockedEmailDomain
from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .options import json_option, print_list, setting_options
from .refusals import CommandRefused, WrongValue, require

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from .rows import Here


@click.group
def emails() -> None:
    """E-mail addresses. Only hashes of them are stored."""


@emails.command
@click.argument("address")
@setting_options("data")
def block(server: ChosenServer, address: str) -> None:
    """Keep ADDRESS from signing up."""
    server.transact(_block, address)
    click.echo(f"Blocked {address}")


async def _block(db: Connection, here: Here, address: str) -> None:
    from ...actors.commands.blocked_emails import BlockEmail, block

    if await _is_blocked(db, here, address):
        raise CommandRefused(f"{address} is blocked already.")
    require(await block(here.act, BlockEmail(here.staff, _hash(address))))


@emails.command
@click.argument("address")
@setting_options("data")
def unblock(server: ChosenServer, address: str) -> None:
    """Let ADDRESS sign up again."""
    server.transact(_unblock, address)
    click.echo(f"Unblocked {address}")


async def _unblock(db: Connection, here: Here, address: str) -> None:
    from ...actors.commands.blocked_emails import UnblockEmail, unblock

    found = await server_blocks.find_by_key(db, BlockedEmail, _hash(address))
    if found is None:
        raise CommandRefused(f"{address} is not blocked.")
    require(await unblock(here.act, UnblockEmail(here.staff, found.id)))


@emails.command
@click.argument("address")
@setting_options("data")
def test(server: ChosenServer, address: str) -> None:
    """Say whether ADDRESS is blocked."""
    click.echo("blocked" if server.transact(_is_blocked, address) else "not blocked")


async def _is_blocked(db: Connection, here: Here, address: str) -> bool:

    return await server_blocks.find_by_key(db, BlockedEmail, _hash(address)) is not None


def _hash(address: str) -> bytes:
    """Return the stored hash of an address. Raises WrongValue."""
    if not is_mailbox(spelled(address)):
        raise WrongValue(f"{address!r} is not an e-mail address.")
    return canonical_hash(address)


@click.group
def email_domains() -> None:
    """Domains of e-mail addresses, and of the mail servers that receive for others."""


@email_domains.command("list")
@json_option
@setting_options("data")
def list_(server: ChosenServer, as_json: bool) -> None:
    """List the blocked domains, one a line."""
    print_list(server.transact(_blocked), _line, as_json=as_json)


async def _blocked(db: Connection, here: Here) -> list[JsonObject]:
    """Return all blocked domains, in their order."""

    return [
        {"id": str(block.id), "domain": block.domain, "allow_with_approval": block.allow_with_approval}
        for block in await server_blocks.find_all(db, BlockedEmailDomain)
    ]


def _line(block: JsonObject) -> str:
    return f"{block['domain']}\t{'approval' if block['allow_with_approval'] else 'refused'}"


@email_domains.command("block")
@click.argument("domain")
@click.option("--with-approval", is_flag=True, help="Let its users sign up, but wait for the approval of staff.")
@setting_options("data")
def block_domain(server: ChosenServer, domain: str, with_approval: bool) -> None:
    """Keep the addresses of DOMAIN from signing up, and of domains whose mail servers are there."""
    click.echo(f"Blocked {server.transact(_block_domain, domain, with_approval)}")


async def _block_domain(db: Connection, here: Here, written: str, with_approval: bool) -> str:
    """Block a domain. Return its name."""
    from ...actors.commands.blocked_emails import BlockEmailDomain, block_domain

    domain = _checked_domain(written)
    if await blocked_emails.find_among(db, [domain]):
        raise CommandRefused(f"{domain} is blocked already.")
    require(await block_domain(here.act, BlockEmailDomain(here.staff, domain, with_approval)))
    return domain


@email_domains.command("unblock")
@click.argument("domain")
@setting_options("data")
def unblock_domain(server: ChosenServer, domain: str) -> None:
    """Let the addresses of DOMAIN sign up again."""
    click.echo(f"Unblocked {server.transact(_unblock_domain, domain)}")


async def _unblock_domain(db: Connection, here: Here, written: str) -> str:
    """End the block of a domain. Return its name."""
    from ...actors.commands.blocked_emails import UnblockEmailDomain, unblock_domain

    domain = _checked_domain(written)
    found = await blocked_emails.find_among(db, [domain])
    if not found:
        raise CommandRefused(f"{domain} is not blocked.")
    require(await unblock_domain(here.act, UnblockEmailDomain(here.staff, found[0].id)))
    return domain


def _checked_domain(written: str) -> str:
    """Return a domain as it is stored. Raises WrongValue."""
    from ...actors.rules.domains import mail_domain

    domain = mail_domain(written)
    if domain is None:
        raise WrongValue(f"{written!r} is not a domain.")
    return domain

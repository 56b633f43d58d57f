"""`troupe emails`: the e-mail addresses that may not sign up, in all their spellings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...actors.rules.mailboxes import canonical_hash, is_mailbox, spelled
from .chosen_server import ChosenServer
from .options import setting_options
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
    from ...storage import server_blocks
    from ...storage.blocked_emails import BlockedEmail

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
    from ...storage import server_blocks
    from ...storage.blocked_emails import BlockedEmail

    return await server_blocks.find_by_key(db, BlockedEmail, _hash(address)) is not None


def _hash(address: str) -> bytes:
    """Return what is stored of an address. Raises WrongValue."""
    if not is_mailbox(spelled(address)):
        raise WrongValue(f"{address!r} is not an e-mail address.")
    return canonical_hash(address)

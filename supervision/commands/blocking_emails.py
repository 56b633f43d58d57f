"""Blocks of e-mail addresses and their domains, directly in the rows, for the commands."""

from __future__ import annotations

from datetime import datetime

from ...actors.commands import blocked_email_domains as domain_acts
from ...actors.commands import blocked_emails as email_acts
from ...actors.kernel.ids import Ids
from ...actors.rules.domains import mail_domain
from ...actors.rules.limits import EMAIL_CHARACTERS
from ...actors.rules.mailboxes import canonical_hash
from ...actors.staff import act_at_command_line
from ...storage import blocked_email_domains, blocked_emails
from ...storage.engine.database import Connection
from .acting import NotDone, WrongValue, allowed


async def listed(db: Connection, ids: Ids, now: datetime) -> list[dict[str, object]]:
    """Return all blocked domains, in their order."""
    return [
        {"id": str(one.id), "domain": one.domain, "allow_with_approval": one.allow_with_approval}
        for one in await blocked_email_domains.find_all(db)
    ]


async def block_domain(db: Connection, written: str, with_approval: bool, ids: Ids, now: datetime) -> str:
    """Block a domain. Return its name."""
    domain = _domain(written)
    if await blocked_email_domains.find_among(db, [domain]):
        raise NotDone(f"{domain} is blocked already.")
    allowed(await domain_acts.block(db, act_at_command_line(ids, now), domain, with_approval))
    return domain


async def unblock_domain(db: Connection, written: str, ids: Ids, now: datetime) -> str:
    """End the block of a domain. Return its name."""
    domain = _domain(written)
    found = await blocked_email_domains.find_among(db, [domain])
    if not found:
        raise NotDone(f"{domain} is not blocked.")
    allowed(await domain_acts.unblock(db, act_at_command_line(ids, now), found[0].id))
    return domain


async def block_email(db: Connection, address: str, ids: Ids, now: datetime) -> None:
    if await is_blocked(db, address, ids, now):
        raise NotDone(f"{address} is blocked already.")
    allowed(await email_acts.block(db, act_at_command_line(ids, now), _hash(address)))


async def unblock_email(db: Connection, address: str, ids: Ids, now: datetime) -> None:
    found = await blocked_emails.find_by_hash(db, _hash(address))
    if found is None:
        raise NotDone(f"{address} is not blocked.")
    allowed(await email_acts.unblock(db, act_at_command_line(ids, now), found.id))


async def is_blocked(db: Connection, address: str, ids: Ids, now: datetime) -> bool:
    return await blocked_emails.find_by_hash(db, _hash(address)) is not None


def _domain(written: str) -> str:
    domain = mail_domain(written)
    if domain is None:
        raise WrongValue(f"{written!r} is not a domain.")
    return domain


def _hash(address: str) -> bytes:
    if "@" not in address or len(address) > EMAIL_CHARACTERS:
        raise WrongValue(f"{address!r} is not an e-mail address.")
    return canonical_hash(address)

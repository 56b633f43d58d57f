"""The rules for e-mail addresses: the blocks of staff, the providers of throw-away addresses, and DNS."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from functools import cache

from ...actors.rules.complaints import Complaint
from ...actors.rules.domains import with_parents
from ...actors.rules.mailboxes import canonical_hash, is_inside
from ...actors.rules.registration import blocked, taken, unreachable
from ...storage import blocked_email_domains, blocked_emails
from ..addresses import network_subject_of, subject_of
from .context import HttpContext


@dataclass(frozen=True, slots=True)
class EmailVerdict:
    """The objections to an address. Without one it can be used, some only with the approval of staff."""

    complaint: Complaint | None = None
    needs_approval: bool = False


async def verdict_on(context: HttpContext, mailbox: str, client: str) -> EmailVerdict:
    """Judge an address, as `mailbox_of` returns it, that a client wants to use."""
    domain = mailbox.rpartition("@")[2]
    if context.blocks.domains.standing_of(domain).suspended:
        return EmailVerdict(blocked())
    if context.settings.disposable_emails == "refused" and is_disposable(domain):
        return EmailVerdict(blocked())
    if await context.database.read(blocked_emails.find_by_hash, canonical_hash(mailbox)) is not None:
        return EmailVerdict(taken("email"))  # not more: the owner of a blocked address learns nothing of the block
    servers = await _servers_of(context, domain, client)
    if servers == ():
        return EmailVerdict(unreachable())
    return await _blocked_by_domain(context, (domain, *(servers or ())), client)


async def _servers_of(context: HttpContext, domain: str, client: str) -> tuple[str, ...] | None:
    """Return the mail servers of a domain. None if they are not known, or are not to be looked up."""
    if not context.settings.check_email_domains or is_inside(context.settings.local_domain):
        return None
    return (await context.mail_servers(domain, network_subject_of(client))).names


async def _blocked_by_domain(context: HttpContext, names: tuple[str, ...], client: str) -> EmailVerdict:
    """Judge the domain of an address and its mail servers by the blocks of e-mail domains. Attempts are counted."""
    wanted = list(dict.fromkeys(one for name in names for one in with_parents(name)))
    found = await context.database.read(blocked_email_domains.find_among, wanted)
    if not found:
        return EmailVerdict()
    today, network = context.clock.now().astimezone(UTC).date(), subject_of(client)[:64]
    ids = [block.id for block in found]
    await context.database.transact(blocked_email_domains.count, ids, today, network)
    if all(block.allow_with_approval for block in found):
        return EmailVerdict(needs_approval=True)
    return EmailVerdict(blocked())


def is_disposable(domain: str) -> bool:
    """True if a provider gives away addresses to throw away."""
    return any(name in _disposable() for name in with_parents(domain))


@cache
def _disposable() -> frozenset[str]:
    from disposable_email_domains import blocklist

    return frozenset(blocklist)

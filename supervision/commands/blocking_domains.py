"""Blocks of domains, directly in the rows, for the commands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import BinaryIO

from ...actors.blocklists import LARGEST_LIST, UnreadableList, as_csv, decode, own_lines, read_list
from ...actors.commands.allowed_domains import allow as allow_domain
from ...actors.commands.allowed_domains import disallow as disallow_domain
from ...actors.commands.blocked_domains import DomainTerms, ListedBlock, change, impose, impose_listed, lift
from ...actors.kernel.ids import Ids
from ...actors.rules.domains import RANKS
from ...actors.rules.identity import pasted_domain
from ...actors.rules.limits import BLOCK_COMMENT_CHARACTERS
from ...actors.staff import act_at_command_line
from ...http.entities.server_block import blocked_domain_fields
from ...storage import allowed_domains, blocked_domains
from ...storage.blocked_domains import BlockedDomain
from ...storage.engine import notices
from ...storage.engine.database import Connection
from .acting import NotDone, WrongValue, allowed


async def listed(db: Connection, ids: Ids, now: datetime) -> list[dict[str, object]]:
    """Return all blocks, in the order of their domains."""
    return [blocked_domain_fields(one) for one in await blocked_domains.find_all(db)]


async def block(db: Connection, written: str, wanted: DomainTerms, here: str, ids: Ids, now: datetime) -> str:
    """Block a domain, or change its block. Return its name. `here` is the domain of this server."""
    domain = checked_domain(written)
    _check_comments(wanted)
    act = act_at_command_line(ids, now)
    existing = await _find(db, domain)
    if existing is not None:
        allowed(await change(db, act, existing.id, wanted, here=here))
    else:
        imposed = allowed(await impose(db, act, domain, wanted, here=here))
        if not imposed.is_new:
            raise NotDone(f"{imposed.block.domain} is blocked as strictly already.")
    await announce(db)
    return domain


async def unblock(db: Connection, written: str, ids: Ids, now: datetime) -> str:
    """End the block of a domain. Return its name."""
    domain = checked_domain(written)
    existing = await _find(db, domain)
    if existing is None:
        raise NotDone(f"{domain} is not blocked.")
    allowed(await lift(db, act_at_command_line(ids, now), existing.id))
    await announce(db)
    return domain


async def listed_allowed(db: Connection, ids: Ids, now: datetime) -> list[dict[str, object]]:
    """Return all allowed domains, in their order."""
    return [
        {"id": str(one.id), "domain": one.domain, "created_at": one.created_at.isoformat()}
        for one in await allowed_domains.find_all(db)
    ]


async def allow(db: Connection, written: str, limited: bool, here: str, ids: Ids, now: datetime) -> str:
    """Allow a domain. Return its name. `limited` says if the server, whose domain is `here`, has limited federation."""
    domain = checked_domain(written)
    made = allowed(await allow_domain(db, act_at_command_line(ids, now), domain, limited=limited, here=here))
    await announce(db)
    return made.domain


async def disallow(db: Connection, written: str, limited: bool, ids: Ids, now: datetime) -> str:
    """Allow a domain no more. Return its name. `limited` says if the server has limited federation."""
    domain = checked_domain(written)
    existing = await allowed_domains.find_by_domain(db, domain)
    if existing is None:
        raise NotDone(f"{domain} is not allowed.")
    allowed(await disallow_domain(db, act_at_command_line(ids, now), existing.id, limited=limited))
    await announce(db)
    return domain


async def exported(db: Connection, ids: Ids, now: datetime) -> str:
    """Return all blocks as CSV."""
    return as_csv(await blocked_domains.find_all(db))


async def imported(
    db: Connection, lines: Sequence[ListedBlock], here: str, ids: Ids, now: datetime
) -> tuple[tuple[str, ...], list[str]]:
    """Block the domains of a file. Return those that were not blocked before, and notes on those that stay as they are.

    `here` is the domain of this server.
    """
    before = {one.domain: one for one in await blocked_domains.find_all(db)}
    done = allowed(await impose_listed(db, act_at_command_line(ids, now), lines, here=here))
    await announce(db)
    notes = [f"{domain} is left out: it is the domain of this server." for domain in own_lines(lines, here)]
    for line in lines:
        kept, wanted = before.get(line.domain), line.terms.severity or "silence"
        if kept is not None and RANKS[wanted] > RANKS[kept.severity]:
            notes.append(f"{line.domain} stays as it is: its severity is {kept.severity}, and {wanted} in the file.")
    return done, notes


def read_file(file: BinaryIO) -> list[ListedBlock]:
    """Return the blocks of a file. Raises NotDone."""
    content = file.read(LARGEST_LIST + 1)
    if len(content) > LARGEST_LIST:
        raise NotDone(f"The file is larger than {LARGEST_LIST // 1024**2} MB. No domain was blocked.")
    try:
        return read_list(decode(content))
    except UnreadableList as error:
        raise NotDone(str(error)) from None


def checked_domain(written: str) -> str:
    """Return a domain as it is stored. Raises WrongValue."""
    domain = pasted_domain(written)
    if domain is None:
        raise WrongValue(f"{written!r} is not a domain.")
    return domain


async def announce(db: Connection) -> None:
    """Have the running server carry out what the act has promised. It hears of changed blocks by the act itself."""
    await notices.announce(db, "outbox")


def _check_comments(terms: DomainTerms) -> None:
    if any(len(text or "") > BLOCK_COMMENT_CHARACTERS for text in (terms.private_comment, terms.public_comment)):
        raise WrongValue(f"The comment has more than {BLOCK_COMMENT_CHARACTERS} characters.")


async def _find(db: Connection, domain: str) -> BlockedDomain | None:
    return next((one for one in await blocked_domains.lock(db) if one.domain == domain), None)

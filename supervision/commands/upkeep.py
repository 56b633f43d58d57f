"""Promises of upkeep that the running server carries out: accounts are fetched again, keys are replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from ...actors.effects.refreshes import refresh_of
from ...actors.effects.registry import Promise
from ...actors.effects.sending import key_rotates
from ...actors.federation.resolver import STALE_AFTER
from ...actors.kernel.ids import Ids
from ...actors.staff import Target, act_at_command_line
from ...storage import account_upkeep
from ...storage.account_upkeep import ForeignAccount, KeyHolder
from ...storage.engine import notices
from ...storage.engine.database import Connection
from .acting import NotDone
from .blocking_domains import checked_domain
from .finding import find_account, find_local
from .rows import Transact

AT_ONCE = 500  # promises of one transaction

Shown = Callable[[int], None]  # is told of each batch how many accounts it had


async def find_one(db: Connection, handle: str, local_domain: str, ids: Ids, now: datetime) -> list[ForeignAccount]:
    """Return the account with a handle, unless it waits to be fetched. Raises NotDone for one of this server."""
    account = await find_account(db, handle, local_domain)
    if account.local:
        raise NotDone(f"@{account.acct} is an account of this server.")
    return await account_upkeep.to_refresh(db, id=account.id)


async def find_many(db: Connection, domain: str | None, ids: Ids, now: datetime) -> list[ForeignAccount]:
    """Return the accounts of a domain and its subdomains; without one, those that were fetched long ago."""
    if domain is not None:
        return await account_upkeep.to_refresh(db, domain=checked_domain(domain))
    return await account_upkeep.to_refresh(db, fetched_before=now - STALE_AFTER)


async def find_keys(db: Connection, handle: str | None, local_domain: str, ids: Ids, now: datetime) -> list[KeyHolder]:
    """Return the account with a handle, or all accounts, whose key can be replaced. Raises NotDone if there is none."""
    account = None if handle is None else await find_local(db, handle, local_domain)
    found = await account_upkeep.with_keys(db, None if account is None else account.id)
    if account is not None and not found:
        raise NotDone(f"@{account.acct} has no key yet, or it is being replaced.")
    return found


def refresh_all(run: Transact, found: Sequence[ForeignAccount], shown: Shown) -> None:
    """Promise to fetch accounts again, in batches."""
    for start in range(0, len(found), AT_ONCE):
        batch = found[start : start + AT_ONCE]
        run(_promise, [refresh_of(one.id, one.domain) for one in batch])
        shown(len(batch))


def rotate_all(run: Transact, found: Sequence[KeyHolder], shown: Shown) -> None:
    """Promise to replace the keys of accounts, in batches, and log it."""
    for start in range(0, len(found), AT_ONCE):
        batch = found[start : start + AT_ONCE]
        run(_rotate, batch)
        shown(len(batch))


async def _rotate(db: Connection, found: Sequence[KeyHolder], ids: Ids, now: datetime) -> None:
    act = act_at_command_line(ids, now)
    for one in found:
        await act.log(db, "rotate_key", Target("account", one.id, one.username))
    await _promise(db, [key_rotates(one.id) for one in found], ids, now)


async def _promise(db: Connection, promises: Sequence[Promise], ids: Ids, now: datetime) -> None:
    await act_at_command_line(ids, now).promise(db, promises)
    await notices.announce(db, "outbox")

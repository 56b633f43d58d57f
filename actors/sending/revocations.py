"""Sending the end of the permission to quote a status (FEP-044f)."""

from __future__ import annotations

from collections.abc import Iterable

from ...storage.engine.database import Connection
from ...storage.quotes import EndedQuote
from ..account import AccountActor
from ..activitypub.documents.activities import delete_of
from ..effects.registry import Promise
from .deliver import deliver_to


async def send_revocations(db: Connection, account: AccountActor, ended: Iterable[EndedQuote]) -> list[Promise]:
    """Promise to delete the permissions by which accounts on other servers quote a status of this account."""
    if account.user is None:
        return []
    context, name, promises = account.context, account.owner.username, list[Promise]()
    for one in ended:
        revoked = context.names.quote_authorization(name, one.id)
        delete = delete_of(context.names.actor(name), revoked)
        promises += await deliver_to(db, context, account.id, delete, one.account_id)
    return promises

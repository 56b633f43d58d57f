"""Answering requests of other servers to quote a status."""

from __future__ import annotations

from ...storage.accounts import Account
from ...storage.engine.database import Connection
from ..activitypub.documents.activities import accept_quote_of, reject_quote_of
from ..context import ActorContext
from ..effects.registry import Promise
from .deliver import deliver_to


async def send_quote_answer(
    db: Connection, context: ActorContext, me: Account, asker: Account, request: dict[str, str], quoting_id: int | None
) -> list[Promise]:
    """Promise to accept a request for the status that quotes, or to reject it for None."""
    if quoting_id is None:
        id = f"{me.uri}#rejects/{context.ids.next()}"
        return await deliver_to(db, context, me.id, reject_quote_of(id, me.uri, request), asker.id)
    id = f"{me.uri}#accepts/{context.ids.next()}"
    authorization = context.names.quote_authorization(me.username, quoting_id)
    return await deliver_to(db, context, me.id, accept_quote_of(id, me.uri, request, authorization), asker.id)

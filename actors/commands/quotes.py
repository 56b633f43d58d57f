"""Quotes, in the turn of the account that is quoted. `statuses.py` publishes them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import quotes
from ...storage.engine.database import Connection
from ...storage.quotes import EndedQuote
from ..account import AccountActor
from ..effects.statuses import counts_changed, quotes_ended
from ..facts import EndedQuotes
from ..kernel import Message, Origin, Refused, turn
from ..sending.revocations import send_revocations
from .interacting import NOT_ALLOWED
from .statuses import NOT_FOUND, find_original, find_visible


@dataclass(frozen=True, slots=True)
class RevokeQuote(Message[None]):
    """Command: show an own status no more in a status that quotes it. A repeat changes nothing."""

    status_id: int
    quoting_id: int


@turn(AccountActor, RevokeQuote)
async def revoke_quote(account: AccountActor, message: RevokeQuote) -> Refused | None:
    quoted = await find_original(account, message.status_id)
    quoting = await find_visible(account, message.quoting_id)
    if quoted is None or quoting is None or quoting.status.quote_of_id != quoted.id:
        return NOT_FOUND
    if quoted.account_id != account.id:
        return NOT_ALLOWED
    revoked = await account.transact(_revoke, account, quoting.id, quoted.id, account.origin)
    if revoked is None:
        return NOT_FOUND
    ended, promised = revoked
    return await account.publish(EndedQuotes(ended), promised=promised)


async def _revoke(
    db: Connection, account: AccountActor, quoting_id: int, quoted_id: int, origin: Origin
) -> tuple[tuple[EndedQuote, ...], list[int]] | None:
    ended = await quotes.revoke(db, quoting_id, quoted_id, account.id, account.context.ids.next)
    if ended is None:
        return None
    promises = [*quotes_ended(ended, account.id), counts_changed(quoted_id, account.id)]
    promises += await send_revocations(db, account, ended)
    return ended, await account.context.outbox.promise(db, promises, origin)

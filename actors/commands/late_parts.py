"""Parts of a status of another server that were not known here when it came: mentioned accounts, the quoted status.

They are fetched after the status is stored. An edit names its own parts: those of an earlier state are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...storage import remote_statuses, statuses, tombstones
from ...storage.engine.database import Connection
from ...storage.remote_statuses import EditState
from ...storage.statuses import Status
from ..account import AccountActor
from ..activitypub.notes import ReceivedQuote
from ..effects.statuses import counts_changed
from ..kernel import Message, Origin, turn
from .edits import Edited, publish_edit, show_again
from .received_quotes import change_quote, received_quote


@dataclass(frozen=True, slots=True)
class JoinParts(Message[None]):
    """Command to an account of another server: give a status of it the parts that are known here by now.

    The parts are those of this state of it. `mentioned` are the URIs of accounts. With `authorized` the author
    of what the status quotes, on another server, has allowed it.
    """

    uri: str
    state: EditState | None
    mentioned: tuple[str, ...] = ()
    quote: ReceivedQuote | None = None
    authorized: bool = False


@turn(AccountActor, JoinParts)
async def join_parts(account: AccountActor, message: JoinParts) -> None:
    joined = await account.transact(_join, account, message, account.origin)
    if joined is not None:
        status_id, edited = joined
        await publish_edit(account, status_id, edited)


async def _join(db: Connection, account: AccountActor, message: JoinParts, origin: Origin) -> tuple[int, Edited] | None:
    await tombstones.lock(db, [message.uri])
    quote = await received_quote(db, account, message.quote, authorized=message.authorized)
    known = await remote_statuses.find(db, message.uri)
    status = None if known is None else await statuses.lock_own(db, known.id, account.id)
    if status is None or await remote_statuses.state(db, message.uri) != message.state:
        return None
    await _mention(db, status, message.mentioned)
    change_id = None
    if message.quote is not None and status.quote_of_id is None:
        change_id = await change_quote(db, account, status, quote)
    edited = await show_again(db, account, status, change_id, origin)
    counted = (status.id,) if change_id is None or quote is None else (status.id, quote.quoted.id)
    promised = await account.context.outbox.promise(db, [counts_changed(id, account.id) for id in counted], origin)
    return status.id, replace(edited, promised=[*edited.promised, *promised], counted=counted)


async def _mention(db: Connection, status: Status, uris: tuple[str, ...]) -> None:
    ids = await remote_statuses.account_ids(db, uris)
    fresh = list(dict.fromkeys(ids[uri] for uri in uris if uri in ids and ids[uri] not in status.mentioned_ids))
    if fresh:
        await remote_statuses.add_mentions(db, status.id, fresh)
        await statuses.store_words(db, [status.id])

"""Parts of a status of another server that were not known here when it came: mentioned accounts, the quoted status,
and the status that it answers by another address than its URI.

They are fetched after the status is stored. An edit names its own parts: those of an earlier state are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import statuses
from ...storage.engine.database import Connection
from ...storage.federation import remote_statuses, tombstones
from ...storage.federation.remote_statuses import EditState
from ...storage.statuses import Status
from ..account import AccountActor, AccountChange
from ..activitypub.notes import ReceivedQuote
from ..kernel import Command, turn
from .edits import show_again
from .received_quotes import change_quote, received_quote


@dataclass(frozen=True, slots=True)
class JoinParts(Command[None]):
    """Command to an account of another server: give a status of it the parts that are known here by now.

    The parts belong to this state of the status. `mentioned` are the URIs of accounts. With `authorized` the author
    of the quoted status, on another server, has allowed the quote.
    """

    uri: str
    state: EditState | None
    mentioned: tuple[str, ...] = ()
    quote: ReceivedQuote | None = None
    authorized: bool = False


@dataclass(frozen=True, slots=True)
class JoinReplies(Command[None]):
    """Command to an account of another server: give its status the replies that wait for a status at an `address`."""

    status_id: int
    address: str


@turn(AccountActor, JoinParts)
async def join_parts(account: AccountActor, message: JoinParts) -> None:
    await account.change(_join, message)


@turn(AccountActor, JoinReplies)
async def join_replies(account: AccountActor, message: JoinReplies) -> None:
    await account.change(_join_replies, message)


async def _join(change: AccountChange, message: JoinParts) -> None:
    db, account = change.db, change.account
    await tombstones.lock(db, [message.uri])
    quote = await received_quote(change, message.quote, authorized=message.authorized)
    known = await remote_statuses.find(db, message.uri)
    status = None if known is None else await statuses.lock_own(db, known.id, account.id)
    if status is None or await remote_statuses.state(db, message.uri) != message.state:
        return
    await _mention(db, status, message.mentioned)
    change_id = None
    if message.quote is not None and status.quote_of_id is None:
        change_id = await change_quote(change, status, quote)
    await show_again(change, status, change_id)
    change.count_again(status.id, None if change_id is None or quote is None else quote.quoted.id)


async def _mention(db: Connection, status: Status, uris: tuple[str, ...]) -> None:
    ids = await remote_statuses.account_ids(db, uris)
    fresh = list(dict.fromkeys(ids[uri] for uri in uris if uri in ids and ids[uri] not in status.mentioned_ids))
    if fresh:
        await remote_statuses.add_mentions(db, status.id, fresh)
        await statuses.store_words(db, [status.id])


async def _join_replies(change: AccountChange, message: JoinReplies) -> None:
    db, account_id = change.db, change.account.id
    await tombstones.lock(db, [message.address])
    status = await statuses.find(db, message.status_id)
    if status is not None and status.account_id == account_id:
        conversation = status.conversation_id
        joined = await remote_statuses.join_replies(db, message.address, status.id, account_id, conversation)
        change.count_again(status.id, *joined)

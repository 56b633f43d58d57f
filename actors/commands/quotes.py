"""Quotes, in the turn of the account that is quoted. `statuses.py` publishes them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import accounts, quotes, statuses
from ...storage.federation import remote_statuses
from ..account import AccountActor, AccountChange
from ..facts.statuses import EditedStatus, EndedQuotes
from ..kernel import Command, Refused, SystemCommand, turn
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..sending.interactions import send_quote_answer, send_revocations
from .statuses import find_original, find_visible


@dataclass(frozen=True, slots=True)
class RevokeQuote(Command[None]):
    """Command: show an own status no more in a status that quotes it. A repeat changes nothing."""

    status_id: int
    quoting_id: int


@dataclass(frozen=True, slots=True)
class ConfirmQuote(Command[None]):
    """Command to an account of another server: it allows that another status quotes its status."""

    status_id: int
    quoting_id: int
    authorization: str


@turn(AccountActor, ConfirmQuote)
async def confirm_quote(account: AccountActor, message: ConfirmQuote) -> None:
    await account.change(_confirm, message)


async def _confirm(change: AccountChange, message: ConfirmQuote) -> None:
    quote = await quotes.accept(
        change.db, message.quoting_id, message.status_id, change.account.id, message.authorization, change.ids.next
    )
    if quote is not None:
        change.publish(EditedStatus(quote.id, quote.change_id, quote.rebloggers, quote.notified))
        change.count_again(quote.quoted_id)


@dataclass(frozen=True, slots=True)
class AnswerQuoteRequest(SystemCommand[None]):
    """To a quoted account: answer the request of another server, by the state that the quote has.

    `quoting_id` is None if the status that would quote is not stored. The quoted status may be deleted.
    """

    request_uri: str
    asker_id: int
    quoted_uri: str
    quoting_uri: str
    quoting_id: int | None


@turn(AccountActor, AnswerQuoteRequest)
async def answer_quote_request(account: AccountActor, message: AnswerQuoteRequest) -> None:
    await account.change(_answer, message)


async def _answer(change: AccountChange, message: AnswerQuoteRequest) -> None:
    db, account = change.db, change.account
    people = await accounts.find_many(db, [account.id, message.asker_id])
    quoted = await remote_statuses.find(db, message.quoted_uri)
    quoting = await statuses.find(db, message.quoting_id) if message.quoting_id is not None else None
    me, asker = people.get(account.id), people.get(message.asker_id)
    if me is None or asker is None:
        return
    shown = None if quoting is None or quoting.quote_state != "accepted" else quoting.quote_of_id
    accepted = quoted is not None and quoted.account_id == account.id and quoted.id == shown
    request = {
        "type": "QuoteRequest", "id": message.request_uri, "actor": asker.uri, "object": message.quoted_uri,
        "instrument": message.quoting_uri,
    }  # fmt: skip
    allowed = message.quoting_id if accepted else None
    change.promise(*await send_quote_answer(db, account.context, me, asker, request, allowed))


@turn(AccountActor, RevokeQuote)
async def revoke_quote(account: AccountActor, message: RevokeQuote) -> Refused | None:
    quoted = await find_original(account, message.status_id)
    quoting = await find_visible(account, message.quoting_id)
    if quoted is None or quoting is None or quoting.status.quote_of_id != quoted.id:
        return NOT_FOUND
    if quoted.account_id != account.id:
        return NOT_ALLOWED
    return await account.change(_revoke, quoting.id, quoted.id)


async def _revoke(change: AccountChange, quoting_id: int, quoted_id: int) -> Refused | None:
    account = change.account
    ended = await quotes.revoke(change.db, quoting_id, quoted_id, account.id, change.ids.next)
    if ended is None:
        return NOT_FOUND
    change.publish(EndedQuotes(ended))
    change.promise(*await send_revocations(change.db, account, ended))
    return None

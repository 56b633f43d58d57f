"""The quotes of statuses of other servers: at their arrival, at edits, and when the quoted status is fetched."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import quotes, statuses
from ...storage.federation import remote_statuses
from ...storage.statuses import Status
from ..account import AccountChange
from ..activitypub.notes import ReceivedQuote
from ..kernel import Refused
from .quoting import admit_quote

# An edit does not restore a quote that the quoted author has ended, nor do several edits.
ENDED = ("revoked", "rejected")


@dataclass(frozen=True, slots=True)
class AdmittedQuote:
    """A quote that may be stored: the quoted status, the state, and the document that allows it, if any."""

    quoted: Status
    state: str
    approval_uri: str | None = None


async def received_quote(
    change: AccountChange, quote: ReceivedQuote | None, *, authorized: bool
) -> AdmittedQuote | None:
    """Return the quote that a status may have. A status that is not known here is not quoted here.

    Older servers know no permission: they quote any public status. Call this before the quoting status is locked.
    """
    db, account_id = change.db, change.account.id
    known = None if quote is None else await remote_statuses.find(db, quote.uri)
    quoted = None if known is None or known.deleted else await statuses.find(db, known.id)
    if quote is None or quoted is None or quoted.reblog_of_id is not None:
        return None
    admitted = await admit_quote(db, account_id, quoted)
    if quoted.local or quoted.account_id == account_id:
        return None if isinstance(admitted, Refused) else AdmittedQuote(quoted, admitted)
    if authorized:
        return AdmittedQuote(quoted, "accepted", quote.authorization)
    shown_before = quote.legacy and quoted.visibility in ("public", "unlisted")
    return AdmittedQuote(quoted, "accepted" if shown_before else "pending")


async def change_quote(change: AccountChange, status: Status, quote: AdmittedQuote | None) -> int | None:
    """Set or remove the quote of a locked status. Return the id of the change.

    None if nothing changes. An accepted quote stays accepted.
    """
    if status.quote_state in ENDED or (quote is None and status.quote_state in (None, "deleted")):
        return None
    is_same = quote is not None and quote.quoted.id == status.quote_of_id
    if is_same and quote is not None and (quote.state == status.quote_state or status.quote_state == "accepted"):
        return None
    db, change_id = change.db, change.ids.next()
    if quote is None:
        await quotes.put(db, status.id, None, None, None, change_id)
    else:
        await quotes.put(db, status.id, quote.quoted.id, quote.state, quote.approval_uri, change_id)
    await statuses.store_words(db, [status.id])  # the search operator `has:quote`
    return change_id

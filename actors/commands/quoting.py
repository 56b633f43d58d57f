"""Permission to quote a status: decided in the transaction that stores the quote, under locks.

A quote is part of the row of the quoting status, with its state. The turn locks the pair of accounts and the quoted
status before it decides. So a changed policy, a block or a deletion comes either before the quote or after it.

A quote ends with its revocation, a block, or a deletion. Each of these locks the quoting row and draws an id there:
streams show the quoting status again, as after an edit. A changed policy does so with its own status. The quoted status
is added when the quoting status is shown, if `rules/visibility.py` lets the viewer see it.
"""

from __future__ import annotations

from ...storage import quotes, relations
from ...storage.engine.database import Connection
from ...storage.statuses import Status
from ..broadcast.viewers import relation_of
from ..kernel import Refused
from ..refusals import NOT_ALLOWED
from ..rules.visibility import Perspective, Quotable, approval_for

NO_QUOTED = Refused(404, "The post you are trying to quote does not appear to exist.")


def refuse_quote(quoted: Quotable, viewer: Perspective) -> Refused | None:
    """Return why an account can't quote a status. A status that may not be quoted looks missing, as in the API."""
    if quoted.account_id in viewer.blocking:
        return NOT_ALLOWED
    return NO_QUOTED if approval_for(quoted, viewer) == "denied" else None


async def admit_quote(db: Connection, account_id: int, quoted: Status) -> str | Refused:
    """Return the state of a new quote: `pending` until the author on another server answers, else `accepted`.

    Authors may quote their own posts without an answer, also on other servers.

    Until the transaction ends the status can't be deleted or get another policy, and the relations between the two
    accounts can't change.
    """
    viewer, author = Perspective(account_id), quoted.account_id
    if author != account_id:
        await relations.lock_pair(db, account_id, author)
        viewer = viewer.after(author, relation_of(await relations.find_relation(db, account_id, author)))
    current = await quotes.lock_quoted(db, quoted.id)
    if current is None:
        return NO_QUOTED
    if (refusal := refuse_quote(current, viewer)) is not None:
        return refusal
    needs_no_answer = current.local or author == account_id
    return "accepted" if needs_no_answer and approval_for(current, viewer) == "automatic" else "pending"

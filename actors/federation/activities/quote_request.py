"""QuoteRequest: may a status of another server quote one of this server (FEP-044f)?"""

from __future__ import annotations

from ....storage import statuses
from ...activitypub.vocabulary import object_of, same_host, uri_of
from ...commands.quotes import AnswerQuoteRequest
from ..notes import store_note
from ..receiving import Activity, InboxContext


async def quote_request(inbox: InboxContext, activity: Activity) -> None:
    """Store the status that quotes, and answer as the quoted author's policy says."""
    instrument, uri = activity.document.get("instrument"), uri_of(activity.document.get("instrument"))
    quoted = await inbox.status(activity.object_uri) if inbox.names.is_local(activity.object_uri or "") else None
    if quoted is None or uri is None or activity.id is None or not same_host(uri, activity.actor.uri):
        return
    document = object_of(instrument) or await inbox.fetcher.fetch(uri)
    id = await store_note(
        inbox.shared, inbox.runtime, document, activity.actor, wanted=True, origin=activity.origin
    )  # fmt: skip
    status = None if id is None else await inbox.shared.database.read(statuses.find, id)
    quoting = None if status is None or status.quote_of_id != quoted.id else status.id
    answer = AnswerQuoteRequest(activity.id, activity.actor.id, quoted.id, uri, quoting)
    await inbox.ask(quoted.account_id, answer, activity.origin)

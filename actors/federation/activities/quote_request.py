"""QuoteRequest: the request to quote a status of this server (FEP-044f)."""

from __future__ import annotations

from dataclasses import replace

from ....storage import statuses
from ...activitypub.names import LocalStatusName
from ...activitypub.notes import ReceivedQuote
from ...activitypub.vocabulary import object_of, same_host, uri_of
from ...commands.quotes import AnswerQuoteRequest
from ...commands.received_statuses import ReceiveEdit
from ..errors import DocumentMissing, UntrustedDocument
from ..inbox_context import Activity, InboxContext
from ..notes import note_of, store_read_note


async def quote_request(inbox: InboxContext, activity: Activity) -> None:
    """Store the quoting status, and answer by the policy of the quoted author.

    A request for a status that does not exist is rejected.
    """
    uri, quoted_uri = uri_of(activity.document.get("instrument")), activity.object_uri
    author = None if quoted_uri is None else await _author_of(inbox, quoted_uri)
    if author is None or quoted_uri is None or uri is None or activity.id is None:
        return
    if not same_host(uri, activity.actor.uri):
        return
    quoting = await _quoting(inbox, activity, uri, quoted_uri)
    await inbox.ask(
        author, AnswerQuoteRequest(activity.id, activity.actor.id, quoted_uri, uri, quoting), activity.origin
    )


async def _author_of(inbox: InboxContext, uri: str) -> int | None:
    """Return the id of the account of this server whose status a URI names, also if the status was deleted."""
    name = inbox.names.read(uri)
    if not isinstance(name, LocalStatusName) or name.author is None:
        return None
    return await inbox.local_account_id(inbox.names.actor(name.author.username))


async def _quoting(inbox: InboxContext, activity: Activity, uri: str, quoted_uri: str) -> int | None:
    """Return the id of the quoting status after it was stored with its quote; None if it is not available, or may not
    quote."""
    quoted = await inbox.status(quoted_uri)
    if quoted is None:
        return None
    known = await inbox.status(uri)
    status = None if known is None else await inbox.shared.database.read(statuses.find, known.id)
    if status is None or status.quote_of_id != quoted.id:
        id = await _store(inbox, activity, uri, quoted_uri)
        status = None if id is None else await inbox.shared.database.read(statuses.find, id)
    return None if status is None or status.quote_of_id != quoted.id else status.id


async def _store(inbox: InboxContext, activity: Activity, uri: str, quoted_uri: str) -> int | None:
    """Store a status with its quote. Some servers leave out the quote until the author has answered.

    The request is from the author of the status, so that its quote is trusted even if the status does not name it.
    """
    try:
        document = object_of(activity.document.get("instrument")) or await inbox.fetcher.fetch(uri)
    except (DocumentMissing, UntrustedDocument):
        return None
    note = await note_of(inbox.shared, document, activity.actor)
    if note is None or note.uri != uri:
        return None
    if note.quote is None:
        note = replace(note, quote=ReceivedQuote(quoted_uri))
    if (known := await inbox.status(uri)) is not None:
        await inbox.ask(activity.actor.id, ReceiveEdit(note), activity.origin)
        return known.id
    id = await store_read_note(inbox.runtime, note, activity.actor, wanted=True, origin=activity.origin)
    await inbox.resolver.find_parts(note)
    return id

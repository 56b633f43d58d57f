"""Permissions to quote statuses of other servers: each is a document on the server of the quoted author."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import accounts, statuses
from ...storage.engine.database import Database
from ...storage.federation.remote_statuses import KnownStatus
from ...storage.statuses import Status
from ..activitypub.notes import ReceivedNote
from ..activitypub.vocabulary import same_host, types_of, uri_of
from .errors import DocumentMissing, UntrustedDocument
from .inbox_context import Activity, Fetches, InboxContext

REQUESTS = "quote_requests"  # in the ids of this server's requests to quote


@dataclass(frozen=True, slots=True)
class PendingQuote:
    """A status of this server that waits for permission to quote another status."""

    quoting: Status
    quoted: Status


async def is_authorized(inbox: InboxContext, note: ReceivedNote) -> bool:
    """True if the author of the quoted post, on another server, has allowed the quote."""
    quote = note.quote
    if quote is None or quote.authorization is None or inbox.names.is_local(quote.uri):
        return False
    quoted = await inbox.status(quote.uri)
    return quoted is not None and await is_allowed(
        inbox.shared.database, inbox.fetcher, quote.authorization, note.uri, quote.uri, quoted
    )


async def is_allowed(
    database: Database, fetcher: Fetches, authorization: str, quoting: str, quoted_uri: str, quoted: KnownStatus
) -> bool:
    """True if the document `authorization`, on the server of the quoted author, allows the quote."""
    author = await database.read(accounts.find, quoted.account_id)
    if author is None or not same_host(authorization, author.uri):
        return False
    try:
        document = await fetcher.fetch(authorization)
    except (DocumentMissing, UntrustedDocument):
        return False
    return (
        "QuoteAuthorization" in types_of(document)
        and uri_of(document) == authorization
        and uri_of(document.get("attributedTo")) == author.uri
        and uri_of(document.get("interactingObject")) == quoting
        and uri_of(document.get("interactionTarget")) == quoted_uri
    )


async def pending_quote(inbox: InboxContext, activity: Activity) -> PendingQuote | None:
    """Return the quote of this server that the quoted author's answer names."""
    embedded = activity.object or {}
    uri = uri_of(embedded.get("instrument")) if "QuoteRequest" in activity.object_types else None
    known = await inbox.status(uri) if uri is not None else await _by_request(inbox, activity.object_uri or "")
    status = None if known is None else await inbox.shared.database.read(statuses.find, known.id)
    if status is None or not status.local or status.quote_of_id is None or status.quote_state != "pending":
        return None
    quoted = await inbox.shared.database.read(statuses.find, status.quote_of_id)
    return PendingQuote(status, quoted) if quoted is not None and quoted.account_id == activity.actor.id else None


async def _by_request(inbox: InboxContext, uri: str) -> KnownStatus | None:
    actor, _, number = uri.partition(f"#{REQUESTS}/")
    username = inbox.names.username_of(actor)
    return await inbox.status(inbox.names.status(username, int(number))) if username and number.isdecimal() else None

"""Permission to quote, as the authors of other servers give it: a document at the author's own server."""

from __future__ import annotations

from ...storage import accounts
from ...storage.remote_statuses import KnownStatus
from ..activitypub.notes import ReceivedNote
from ..activitypub.vocabulary import same_host, types_of, uri_of
from .errors import DocumentMissing, UntrustedDocument
from .receiving import InboxContext


async def is_authorized(inbox: InboxContext, note: ReceivedNote) -> bool:
    """True if the author of what a post quotes, on another server, has allowed it."""
    quote = note.quote
    if quote is None or quote.authorization is None or inbox.names.is_local(quote.uri):
        return False
    quoted = await inbox.status(quote.uri)
    return quoted is not None and await _allows(inbox, quote.authorization, note.uri, quote.uri, quoted)


async def _allows(inbox: InboxContext, authorization: str, quoting: str, quoted_uri: str, quoted: KnownStatus) -> bool:
    author = await inbox.shared.database.read(accounts.find, quoted.account_id)
    if author is None or not same_host(authorization, author.uri):
        return False
    try:
        document = await inbox.fetcher.fetch(authorization)
    except (DocumentMissing, UntrustedDocument):
        return False
    return (
        "QuoteAuthorization" in types_of(document)
        and uri_of(document) == authorization
        and uri_of(document.get("attributedTo")) == author.uri
        and uri_of(document.get("interactingObject")) == quoting
        and uri_of(document.get("interactionTarget")) == quoted_uri
    )

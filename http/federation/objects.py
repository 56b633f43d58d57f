"""The documents of statuses, activities, quote authorizations and emoji. Browsers are redirected to pages."""

from __future__ import annotations

from ...actors.activitypub.documents.activities import announce_of, create_of
from ...actors.activitypub.documents.contexts import TAGS_CONTEXT
from ...actors.activitypub.documents.notes import note_of, quote_authorization_of
from ...actors.activitypub.documents.tags import emoji_of
from ...actors.activitypub.references import references_of
from ...actors.rules.visibility import visible
from ...actors.shown.statuses import ShownStatus, may_see
from ...storage import deletions, statuses
from ...storage.engine.json_values import JsonObject
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..intake.negotiation import asks_for_document
from ..intake.request import Request
from ..router import api
from ..views.accounts import find_local
from ..views.statuses import find_visible
from .actors import AskedFor, asked_for
from .documents import document, open_document, tombstone

OPEN = ("public", "unlisted")


@api.get("/users/<name>/statuses/<id>", page=True, documents="too")
async def show_status(context: HttpContext, request: Request, name: str, id: int) -> Answer:
    """The address of a status, by which other servers know it."""
    if asks_for_document(request):
        return await status_document(context, request, name, id)
    account = await find_local(context, name)
    shown = await find_visible(context, None, id)
    if shown.author.id != account.id:
        raise NotFound
    return redirect(f"/@{account.username}/{id}")


@api.get("/users/<name>/statuses/<id>.json", documents="only")
@api.get("/@<name>/<id>.json", documents="only")
async def show_status_by_path(context: HttpContext, request: Request, name: str, id: int) -> Answer:
    """The document for programs that can't send a header."""
    return await status_document(context, request, name, id)


@api.get("/users/<name>/statuses/<id>/activity", documents="only")
async def show_activity(context: HttpContext, request: Request, name: str, id: int) -> Answer:
    """The activity by which a status was published: a Create, or the Announce of a boost."""
    asked = await asked_for(context, request, name)
    shown = await find_readable(context, asked, id)
    if shown is None:
        return tombstone(context, request, f"{context.federation.names.status(asked.account.username, id)}/activity")
    return document(context, request, await activity_of(context, shown), public=is_open(shown))


@api.get("/users/<name>/quote_authorizations/<id>", documents="only")
async def show_quote_authorization(context: HttpContext, request: Request, name: str, id: int) -> Answer:
    """Show the proof that an account lets another status quote its status. It is 404 after the end of the quote."""
    asked = await asked_for(context, request, name)
    account, shown = asked.account, await context.statuses.show(id)
    quoted = None if shown is None else shown.quoted
    if shown is None or quoted is None or quoted.author.id != account.id:
        raise NotFound
    if not may_see(shown, asked.reader) or not may_see(quoted, asked.reader):
        raise NotFound
    names = context.federation.names
    uri, author = names.quote_authorization(account.username, id), names.actor(account.username)
    authorization = quote_authorization_of(uri, author, shown.status.uri, quoted.status.uri)
    return document(context, request, authorization, public=is_open(shown) and is_open(quoted))


@api.get("/emojis/<id>", documents="only")
def show_emoji(context: HttpContext, id: int) -> Answer:
    """Show a custom emoji of this server. Like all pictures it is public."""
    found = next((emoji for emoji in context.rendered.emojis.all if emoji.id == id), None)
    if found is None:
        raise NotFound
    return open_document({"@context": TAGS_CONTEXT, **emoji_of(found, context.federation.names)})


async def status_document(context: HttpContext, request: Request, name: str, id: int) -> Answer:
    """Answer with the note of a status; 404 for readers who may not see it, 410 if it is deleted."""
    asked = await asked_for(context, request, name)
    shown = await find_readable(context, asked, id)
    if shown is None:
        return tombstone(context, request, context.federation.names.status(asked.account.username, id))
    if shown.boosted is not None:
        return redirect(shown.boosted.status.uri)
    return document(context, request, await note_document(context, shown), public=is_open(shown))


async def find_readable(context: HttpContext, asked: AskedFor, id: int) -> ShownStatus | None:
    """Return a status of an account that the reader may see; None if it was deleted. Raises NotFound."""
    if asked.account.deleted_at is not None:
        return None
    shown = await context.statuses.show(id)
    if shown is None and await _was_readable(context, asked, id):
        return None
    if shown is None or shown.author.id != asked.account.id or not may_see(shown, asked.reader):
        raise NotFound
    return shown


async def note_document(context: HttpContext, shown: ShownStatus) -> JsonObject:
    names = context.federation.names
    references = await references_of(shown, names, context.accounts, context.statuses)
    return note_of(shown, names, references, context.rendered.emojis, context.clock.now())


async def activity_of(context: HttpContext, shown: ShownStatus) -> JsonObject:
    """Return the Create or the Announce of a status."""
    if shown.boosted is None:
        return create_of(await note_document(context, shown))
    names = context.federation.names
    return announce_of(shown, names, await references_of(shown, names, context.accounts, context.statuses))


def is_open(shown: ShownStatus) -> bool:
    """True if everybody may see a status."""
    return shown.status.visibility in OPEN


async def _was_readable(context: HttpContext, asked: AskedFor, id: int) -> bool:
    """True if a status of the account was deleted, and the reader could see it before."""
    if not await context.database.read(deletions.deleted_among, [id]):
        return False
    status = (await context.database.read(statuses.find_stored, [id])).get(id)
    return status is not None and status.account_id == asked.account.id and visible(status, asked.reader)

"""Actor documents, of accounts and of the server itself. Browsers are redirected to the page of the account."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...actors.activitypub.documents.actors import actor_of, server_actor_of
from ...actors.activitypub.documents.collections import collection_of
from ...actors.rules.identity import USERNAME
from ...actors.rules.visibility import Perspective
from ...storage import accounts
from ...storage.accounts import Account
from ...storage.federation import peer_readers
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..intake.negotiation import asks_for_document
from ..intake.request import Request
from ..router import api
from ..views.accounts import find_local
from .documents import document, open_document, tombstone
from .readers import perspective_of_signer, signer_of


@dataclass(frozen=True, slots=True)
class AskedFor:
    """An account of this server, and the perspective of the reader of its documents."""

    account: Account
    reader: Perspective


@api.get("/users/<name>", page=True, documents="too")
async def show_actor(context: HttpContext, request: Request, name: str) -> Answer:
    """The address of an account, by which other servers know it."""
    if asks_for_document(request):
        return await actor_document(context, request, name)
    account = await find_local(context, name)
    return redirect(f"/@{account.username}")


@api.get("/users/<name>.json", documents="only")
@api.get("/@<name>.json", documents="only")
async def show_actor_by_path(context: HttpContext, request: Request, name: str) -> Answer:
    """The actor for programs that can't send a header. Mastodon has these addresses too."""
    return await actor_document(context, request, name)


@api.get("/actor", documents="only")
async def show_server_actor(context: HttpContext) -> Answer:
    """Show the actor of this server. It needs no signature: servers that demand signatures need each other's keys."""
    key = await context.federation.keys.public_key_of(None)
    return open_document(server_actor_of(context.federation.names, key))


@api.get("/actor/outbox", documents="only")
def show_server_outbox(context: HttpContext) -> Answer:
    """The server itself publishes nothing."""
    return open_document(collection_of(f"{context.federation.names.server_actor}/outbox", 0))


async def actor_document(context: HttpContext, request: Request, name: str) -> Answer:
    """Answer with the actor of an account, which may be suspended; 410 if it is deleted.

    A deleted account looks suspended until its deletion was sent to all servers: they need its key to verify that.
    """
    account = (await asked_for(context, request, name)).account
    if account.deleted_at is not None:
        if not await context.database.read(peer_readers.has_unsent_activities, account.id):
            return tombstone(context, request, context.federation.names.actor(account.username))
        account = replace(account, suspended_at=account.deleted_at)
    moved = None if account.moved_to_id is None else await context.accounts.find(account.moved_to_id)
    key = await context.federation.keys.public_key_of(account.id)
    names, emojis = context.federation.names, context.rendered.emojis
    actor = actor_of(account, names, key, emojis, None if moved is None else moved.uri)
    return document(context, request, actor, public=True)


async def asked_for(context: HttpContext, request: Request, name: str) -> AskedFor:
    """Return the account in the path, and the perspective of the reader.

    The signature is checked first: if signatures are demanded, an unsigned request must not find out which accounts
    exist.
    """
    signer = await signer_of(context, request)
    account = await find_actor(context, name)
    return AskedFor(account, await perspective_of_signer(context, request, signer, account))


async def find_actor(context: HttpContext, name: str) -> Account:
    """Return an account of this server, which may be suspended or deleted. Raises NotFound."""
    found = await context.database.read(accounts.find_by_acct, name, None) if USERNAME.fullmatch(name) else None
    if found is None or found.pending:
        raise NotFound
    return found

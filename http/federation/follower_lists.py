"""The followers of an account on the server of the signer, so that both servers can compare their lists (FEP-8fcf)."""

from __future__ import annotations

from ...actors.activitypub.documents.collections import collection_of, collection_page_of
from ...actors.activitypub.vocabulary import origin_of
from ...storage.federation import follower_lists
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import Gone, NotFound
from ..intake.parameters import Input, LowerCursor
from ..intake.request import Request
from ..router import api
from .actors import find_actor
from .documents import document
from .readers import Unsigned, perspective_of_signer, signer_of

PEOPLE = 5000  # on a page, which is far less than the megabyte that servers read


class FollowersPosition(Input):
    """The id of the last follower on the previous page."""

    min_id: LowerCursor = None


@api.get("/users/<name>/followers_synchronization", documents="only")
async def show_followers_of_signer(
    context: HttpContext, request: Request, name: str, position: FollowersPosition
) -> Answer:
    """Show the followers of an account whose URIs have the origin of the actor who has signed the request."""
    signer = await signer_of(context, request)
    account = await find_actor(context, name)
    origin = None if signer is None else origin_of(signer)
    if origin is None:
        raise Unsigned
    await perspective_of_signer(context, request, signer, account)
    if account.deleted_at is not None:
        raise Gone
    if account.suspended_at is not None:
        raise NotFound
    uri = context.federation.names.followers_synchronization(account.username)
    found = await context.database.read(follower_lists.page, account.id, origin, position.min_id or 0, PEOPLE)
    uris = [follower.uri for follower in found]
    if position.min_id is None and len(found) < PEOPLE:
        return document(context, request, collection_of(uri) | {"orderedItems": uris}, public=False)
    more = f"{uri}?min_id={found[-1].id}" if len(found) == PEOPLE else None
    if position.min_id is not None:
        page = collection_page_of(f"{uri}?min_id={position.min_id}", uri, uris, next=more)
        return document(context, request, page, public=False)
    first = collection_page_of(f"{uri}?min_id=0", uri, uris, next=more)
    return document(context, request, collection_of(uri) | {"first": first}, public=False)

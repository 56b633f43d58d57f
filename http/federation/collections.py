"""The collections of accounts and statuses. Hidden collections have only a total."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ...actors.activitypub.documents.collections import (
    collection_of,
    collection_page_of,
    featured_of,
    featured_tags_of,
)
from ...actors.activitypub.documents.tags import hashtag_of
from ...actors.rules.visibility import Perspective, belongs_in_thread, shows_network, shows_profile
from ...actors.shown.statuses import ShownStatus
from ...storage import featured_tags, follows, timeline_entries
from ...storage.accounts import Account
from ...storage.upkeep.paging import Page
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import Gone, NotFound
from ..intake.parameters import Cursor, Flag, Input, LowerCursor
from ..intake.request import Request
from ..router import api
from ..views.profiles import ProfilePart, pinned_of, posts_of
from ..views.statuses import visible_among
from .actors import asked_for
from .documents import document, tombstone
from .objects import activity_of, find_readable, is_open, note_document

POSTS = 20  # on a page
PEOPLE = 80
REPLIES = 40


class CollectionPosition(Input):
    """The parameters of a page of a collection. Without `page` the answer is the collection itself."""

    page: Flag = False
    max_id: Cursor = None
    min_id: LowerCursor = None

    def of(self, limit: int) -> Page:
        return Page(limit, self.max_id, None, self.min_id)

    def address(self, uri: str) -> str:
        """Return the URI of this page of a collection."""
        cursors = [(name, getattr(self, name)) for name in ("max_id", "min_id")]
        return f"{uri}?page=true" + "".join(f"&{name}={value}" for name, value in cursors if value is not None)


@api.get("/users/<name>/outbox", documents="only")
async def show_outbox(context: HttpContext, request: Request, name: str, position: CollectionPosition) -> Answer:
    """The posts of an account: public and unlisted posts and boosts, and more for a follower who signs."""
    account, reader = await _find(context, request, name)
    uri = context.federation.names.outbox(account.username)
    if not position.page:
        collection = collection_of(uri, account.statuses_count, first=f"{uri}?page=true")
        return document(context, request, collection, public=True)
    ids = await posts_of(context, account, reader, ProfilePart(), position.of(POSTS))
    shown = await visible_among(context, ids, reader)
    page = collection_page_of(
        position.address(uri), uri, [await activity_of(context, status) for status in shown],
        next=f"{uri}?page=true&max_id={min(ids)}" if ids else None,
        previous=f"{uri}?page=true&min_id={max(ids)}" if ids else None,
    )  # fmt: skip
    return document(context, request, page, public=all(map(is_open, shown)))


@api.get("/users/<name>/followers", documents="only")
async def show_followers(context: HttpContext, request: Request, name: str, position: CollectionPosition) -> Answer:
    """The accounts that follow an account."""
    account, reader = await _find(context, request, name)
    uri = context.federation.names.followers(account.username)
    total = account.followers_count
    return await _network(context, request, account, reader, position, uri, total, follows.followers_page)


@api.get("/users/<name>/following", documents="only")
async def show_following(context: HttpContext, request: Request, name: str, position: CollectionPosition) -> Answer:
    """The accounts that an account follows."""
    account, reader = await _find(context, request, name)
    uri = context.federation.names.following(account.username)
    total = account.following_count
    return await _network(context, request, account, reader, position, uri, total, follows.following_page)


@api.get("/users/<name>/collections/featured", documents="only")
async def show_featured(context: HttpContext, request: Request, name: str) -> Answer:
    """The pinned posts of an account, as whole documents."""
    account, reader = await _find(context, request, name)
    shown = await visible_among(context, await pinned_of(context, account, reader), reader)
    notes = [await note_document(context, status) for status in shown]
    uri = context.federation.names.featured(account.username)
    return document(context, request, featured_of(uri, notes), public=all(map(is_open, shown)))


@api.get("/users/<name>/collections/tags", documents="only")
async def show_featured_tags(context: HttpContext, request: Request, name: str) -> Answer:
    """The hashtags that an account features."""
    account, reader = await _find(context, request, name)
    names, found = context.federation.names, list[featured_tags.FeaturedTag]()
    if shows_profile(account.id, reader):
        found = await context.database.read(featured_tags.of_account, account.id)
    hashtags = [hashtag_of(tag.name, tag.display_name, names) for tag in found]
    return document(context, request, featured_tags_of(names.featured_tags(account.username), hashtags), public=True)


@api.get("/users/<name>/statuses/<id>/replies", documents="only")
async def show_replies(
    context: HttpContext, request: Request, name: str, id: int, position: CollectionPosition
) -> Answer:
    """The public and unlisted replies to a post, oldest first, including replies of other servers."""
    asked = await asked_for(context, request, name)
    reader, uri = asked.reader, _of_status(context, asked.account, id, "replies")
    shown = await find_readable(context, asked, id)
    if shown is None:
        return tombstone(context, request, uri)
    if not position.page:
        collection = collection_of(uri, shown.status.replies_count, first=f"{uri}?page=true", ordered=False)
        return document(context, request, collection, public=is_open(shown))
    entries = await context.database.read(timeline_entries.replies, id, position.min_id or 0, REPLIES)
    ids = [entry.id for entry in entries if belongs_in_thread(entry, reader)]
    found = await visible_among(context, ids, reader)
    more = f"{uri}?page=true&min_id={entries[-1].id}" if len(entries) == REPLIES else None
    uris = [reply.status.uri for reply in found]
    page = collection_page_of(position.address(uri), uri, uris, next=more, ordered=False)
    return document(context, request, page, public=is_open(shown))


@api.get("/users/<name>/statuses/<id>/likes", documents="only")
async def show_likes(context: HttpContext, request: Request, name: str, id: int) -> Answer:
    """The number of accounts that have favourited a post."""
    return await _count(context, request, name, id, "likes", lambda shown: shown.status.favourites_count)


@api.get("/users/<name>/statuses/<id>/shares", documents="only")
async def show_shares(context: HttpContext, request: Request, name: str, id: int) -> Answer:
    """The number of accounts that have boosted a post."""
    return await _count(context, request, name, id, "shares", lambda shown: shown.status.reblogs_count)


async def _find(context: HttpContext, request: Request, name: str) -> tuple[Account, Perspective]:
    """Return an account that is not suspended or deleted, and the perspective of the reader."""
    asked = await asked_for(context, request, name)
    if asked.account.deleted_at is not None:
        raise Gone
    if asked.account.suspended_at is not None:
        raise NotFound
    return asked.account, asked.reader


async def _network(
    context: HttpContext,
    request: Request,
    account: Account,
    reader: Perspective,
    position: CollectionPosition,
    uri: str,
    total: int,
    page_of: Callable[..., Awaitable[list[tuple[int, int]]]],
) -> Answer:
    """Answer with followers or follows. A hidden network has only a total."""
    if not shows_network(account, reader):
        if position.page:
            raise NotFound
        return document(context, request, collection_of(uri, total), public=True)
    if not position.page:
        return document(context, request, collection_of(uri, total, first=f"{uri}?page=true"), public=True)
    rows = await context.database.read(page_of, account.id, position.of(PEOPLE), without=reader.shunned)
    people = await context.accounts.find_many(id for _, id in rows)
    more = f"{uri}?page=true&max_id={rows[-1][0]}" if len(rows) == PEOPLE else None
    uris = [account.uri for account in people.values() if account.deleted_at is None]
    return document(context, request, collection_page_of(position.address(uri), uri, uris, next=more), public=True)


async def _count(
    context: HttpContext, request: Request, name: str, id: int, collection: str, total: Callable[[ShownStatus], int]
) -> Answer:
    asked = await asked_for(context, request, name)
    uri = _of_status(context, asked.account, id, collection)
    shown = await find_readable(context, asked, id)
    if shown is None:
        return tombstone(context, request, uri)
    return document(context, request, collection_of(uri, total(shown), ordered=False), public=is_open(shown))


def _of_status(context: HttpContext, account: Account, id: int, collection: str) -> str:
    return f"{context.federation.names.status(account.username, id)}/{collection}"

"""Fetches the latest posts of an account that a local user begins to follow, so that profile and home are not empty.

They are read from the first page of its outbox. Posts from before the follow are no news: they get the places of their
own times, without notifications, and streams do not show them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from itertools import islice

from ...storage.accounts import Account
from ...storage.engine.json_values import JsonObject, is_object
from ...storage.federation import remote_statuses
from ..activitypub.notes import ReceivedNote, is_post
from ..activitypub.vocabulary import object_of, same_host, types_of, uri_of
from ..context import ActorContext
from ..kernel import Runtime
from .collections import read_collection
from .errors import FetchFailed
from .fetching import DocumentFetcher
from .notes import note_of, store_read_note

PAGES = 2  # that are fetched: the outbox, and its first page
MOST_ITEMS = 60  # that are read: many may be boosts
POSTS = 20  # that are stored: a page of the home timeline
OPEN = ("public", "unlisted")

FindParts = Callable[[ReceivedNote], Awaitable[None]]


class LatestPosts:
    """Reads outboxes, one account at a time. `find_parts` fetches the mentions and the quoted post of a stored post."""

    def __init__(
        self, context: ActorContext, runtime: Runtime, fetcher: DocumentFetcher, find_parts: FindParts
    ) -> None:
        self._context = context
        self._runtime = runtime
        self._fetcher = fetcher
        self._find_parts = find_parts

    async def read(self, account: Account, accepted_since: datetime) -> None:
        """Fetch and store the latest public posts of an account. A hidden outbox has none.

        The follow was accepted after `accepted_since`. Posts since then are news, because its server may deliver them
        too: either way, an older post comes before a newer post.
        """
        latest = list(islice(_posts_of(await self._first_page(account)), POSTS))
        for named in reversed(latest):  # many servers send whole seconds: within a second, the newest is stored last
            uri = uri_of(named)
            if uri is None or not same_host(uri, account.uri):
                continue
            if await self._context.database.read(remote_statuses.find, uri) is None:
                await self._store(account, uri, object_of(named), accepted_since)

    async def _first_page(self, account: Account) -> list[object]:
        """Return the items of an outbox, or of its first page. Raise FetchFailed if none could be read."""
        if account.outbox_url is None:
            return []
        fetch = self._fetcher.fetch_collection
        read = await read_collection(account.outbox_url, account.uri, fetch, pages=PAGES, most=MOST_ITEMS)
        if read.failure is not None and not read.items:
            raise read.failure
        return read.items

    async def _store(self, account: Account, uri: str, embedded: JsonObject | None, accepted_since: datetime) -> None:
        """Store a post. The outbox is from the account's own server, so that an embedded post is trusted."""
        try:
            document = embedded or await self._fetcher.fetch(uri)
        except FetchFailed:
            return
        note = await note_of(self._context, document, account) if is_post(document) else None
        if note is None or note.uri != uri or note.visibility not in OPEN:
            return
        news = note.created_at > accepted_since
        if await store_read_note(self._runtime, note, account, wanted=True, news=news) is not None:
            await self._find_parts(note)


def _posts_of(items: list[object]) -> Iterator[object]:
    """Yield the posts in Creates, embedded or as URIs, and the posts that are items themselves."""
    for item in items:
        activity = object_of(item)
        if activity is not None and "Create" in types_of(activity):
            named = activity.get("object")
            yield object_of(named) or uri_of(named)
        elif is_object(item) and is_post(item):
            yield item

"""Completes threads: fetches the posts above a post, and the replies to it, from the servers of their authors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ...storage.engine.json_values import JsonObject
from ..activitypub.vocabulary import uri_of
from .budgets import FetchBudget
from .collections import read_collection
from .errors import FetchFailed
from .fetching import DocumentFetcher

DOCUMENTS = 50  # that are fetched for a thread
PARENTS = 20
REPLIES = 30
PAGES = 3

IsKnown = Callable[[str], Awaitable[bool]]
StoreStatus = Callable[[JsonObject], Awaitable[int | None]]
JoinReplies = Callable[[int, str], Awaitable[None]]


class Threads:
    """Fetches the missing posts of threads.

    `is_known` is True for posts that are stored here, or have an address of this server. `store` stores a proven
    document.

    `join` joins to a status the replies that name it by another address than its id.
    """

    def __init__(
        self, fetcher: DocumentFetcher, is_known: IsKnown, store: StoreStatus, join: JoinReplies
    ) -> None:  # fmt: skip
        self._fetcher = fetcher
        self._is_known = is_known
        self._store = store
        self._join = join

    async def complete(self, uri: str) -> None:
        """Fetch the missing posts above and below a post."""
        budget = FetchBudget(DOCUMENTS)
        document = await self._fetch(uri, budget)
        await self._store_ancestors(document, budget)
        await self._store_descendants(document, budget)

    async def find_parents(self, uri: str) -> None:
        """Fetch the posts above a stored post."""
        budget = FetchBudget(PARENTS + 1)
        await self._store_ancestors(await self._fetch(uri, budget), budget)

    async def _fetch(self, uri: str, budget: FetchBudget) -> JsonObject:
        budget.spend()
        return await self._fetcher.fetch(uri)

    async def _store_ancestors(self, document: JsonObject, budget: FetchBudget) -> None:
        """Store the posts above, up to a post that is stored already."""
        for _ in range(PARENTS):
            parent = uri_of(document.get("inReplyTo"))
            if parent is None or await self._is_known(parent):
                return
            try:
                document = await self._fetch(parent, budget)
            except FetchFailed:
                return
            if (id := await self._store(document)) is None:
                return
            if uri_of(document) != parent:  # some servers name the page of the parent
                await self._join(id, parent)

    async def _store_descendants(self, document: JsonObject, budget: FetchBudget) -> None:
        """Store the replies that the post's own server lists, if their parents are stored here."""
        for uri in await self._answers(document, budget):
            if await self._is_known(uri):
                continue
            try:
                answer = await self._fetch(uri, budget)
                parent = uri_of(answer.get("inReplyTo"))
                if parent is not None and await self._is_known(parent):
                    await self._store(answer)
            except FetchFailed:
                continue

    async def _answers(self, document: JsonObject, budget: FetchBudget) -> list[str]:
        """Return the URIs of the first replies. Their pages are fetched only from the post's own host."""

        async def fetch(uri: str) -> JsonObject:
            budget.spend()
            return await self._fetcher.fetch_collection(uri)

        own = uri_of(document) or ""
        read = await read_collection(document.get("replies"), own, fetch, pages=PAGES, most=REPLIES)
        return list(dict.fromkeys(uri for item in read.items if (uri := uri_of(item)) is not None))

"""Fetches the details of accounts from other documents: totals, pinned posts and hashtags, the target of a move."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from ...storage import featured_tags, pins
from ...storage.accounts import Account
from ...storage.engine.database import Connection
from ...storage.engine.json_values import is_object
from ...storage.federation import remote_accounts
from ...storage.federation.remote_accounts import Totals
from ..activitypub.notes import read_hashtags
from ..activitypub.vocabulary import same_host, types_of, uri_of
from ..broadcast.broadcast import account_address
from ..commands.featured_tags import FeatureTag, UnfeatureTag
from ..commands.pins import Pin, Unpin
from ..context import ActorContext
from ..facts.accounts import ChangedAccount
from ..kernel import Refused, Runtime
from ..rules.limits import FEATURED_TAGS, PINS_ELSEWHERE
from .actor_documents import is_known_as
from .collections import read_collection
from .errors import FetchFailed
from .fetching import DocumentFetcher
from .notes import store_note

LARGEST_TOTAL = 10**12
PAGES = 5  # of pinned posts: the collection and its pages

FindAccount = Callable[[str], Awaitable[Account | None]]
FindStatus = Callable[[str], Awaitable[int | None]]


class AccountDetails:
    """Reads the details of accounts, one account at a time.

    `find_target` returns the account that an account has moved to, `find_status` a post.
    """

    def __init__(
        self, context: ActorContext, runtime: Runtime, fetcher: DocumentFetcher, find_target: FindAccount,
        find_status: FindStatus,
    ) -> None:  # fmt: skip
        self._context = context
        self._runtime = runtime
        self._fetcher = fetcher
        self._find_target = find_target
        self._find_status = find_status

    async def read(self, account: Account, target_uri: str | None, tags_url: str | None) -> None:
        """Fetch and store the details of an account.

        `target_uri` is the account that it claims to have moved to, `tags_url` the collection of its featured hashtags.
        """
        target = None if target_uri is None else await self._find_target(target_uri)
        is_proven = target is not None and is_known_as(target.also_known_as, account, account.domain or "")
        totals = await self._totals(account)
        with self._context.facts.publishing():
            await self._context.database.transact(
                _store, account.id, totals, target.id if target is not None and is_proven else None
            )
            await self._context.facts.apply([ChangedAccount(account.id)])
        if account.suspended_at is None:
            await self._read_pins(account)
            if tags_url is not None:
                await self._read_tags(account, tags_url)

    async def _totals(self, account: Account) -> Totals:
        return Totals(
            await self._total(account.outbox_url),
            await self._total(account.followers_url),
            await self._total(account.following_url),
        )

    async def _total(self, url: str | None) -> int | None:
        """Return the number of items of a collection; None if its server does not report it."""
        try:
            total = None if url is None else (await self._fetcher.fetch_collection(url)).get("totalItems")
        except FetchFailed:
            return None
        return total if type(total) is int and 0 <= total <= LARGEST_TOTAL else None

    async def _read_pins(self, account: Account) -> None:
        """Pin the posts that are pinned on the account's server, and no others."""
        if account.featured_url is None:
            return
        url, fetch = account.featured_url, self._fetcher.fetch_collection
        featured = await read_collection(url, url, fetch, pages=PAGES, most=PINS_ELSEWHERE)
        wanted = [id for item in featured.items if (id := await self._pinned(account, item)) is not None]
        known = await self._context.database.read(pins.pinned, account.id)
        # Posts that could not be read may still be pinned there.
        gone = known.difference(wanted) if featured.failure is None else ()
        for message in (*map(Unpin, sorted(gone)), *(Pin(id) for id in wanted if id not in known)):
            with suppress(Refused):  # a post of another author, or to a few people
                await self._runtime.ask(account_address(account.id), message)

    async def _read_tags(self, account: Account, url: str) -> None:
        """Feature the hashtags that the account's server shows on its profile, and no others."""
        fetch = self._fetcher.fetch_collection
        featured = await read_collection(url, account.uri, fetch, pages=1, most=FEATURED_TAGS)
        if featured.failure is not None:
            return
        wanted = {tag.name: tag.display_name for tag in read_hashtags({"tag": featured.items})}
        known = {
            tag.name: tag.tag_id for tag in await self._context.database.read(featured_tags.of_account, account.id)
        }
        # New featured hashtags get their ids in the order of the profile, in which they are shown.
        for message in (
            *(UnfeatureTag(id) for name, id in known.items() if name not in wanted),
            *(FeatureTag(name, display) for name, display in wanted.items() if name not in known),
        ):
            with suppress(Refused):
                await self._runtime.ask(account_address(account.id), message)

    async def _pinned(self, account: Account, item: object) -> int | None:
        """Return a post of a collection. The collection is from the account's own server, so that embedded posts are
        trusted.

        Friendica lists the Creates of the posts.
        """
        if is_object(item) and "Create" in types_of(item):
            item = item.get("object")
        uri = uri_of(item)
        if uri is None or not same_host(uri, account.uri):
            return None
        try:
            if is_object(item):
                return await store_note(self._context, self._runtime, item, account, wanted=True)
            return await self._find_status(uri)
        except FetchFailed:
            return None


async def _store(db: Connection, account_id: int, totals: Totals, moved_to_id: int | None) -> None:
    await remote_accounts.store_reported_totals(db, account_id, totals)
    await remote_accounts.set_moved(db, account_id, moved_to_id)

"""Compares the local followers of remote accounts with the followers that the remote servers know (FEP-8fcf).

A delivery may have a digest of the followers that its author has here. If it differs from the digest of the rows here,
a background job fetches the list from the author's server. A follow that is not on the list ends here. For a follow
that is on the list and not known here, the author's server gets an Undo.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial

import trio
from cachetools import TTLCache

from ...storage.accounts import Account
from ...storage.federation import follower_lists
from ..activitypub.follower_lists import FollowerList, digest_of
from ..activitypub.vocabulary import host_of, same_host, uri_of
from ..commands.follower_lists import DropFollowers, EndUnknownFollow
from ..kernel import Origin
from ..rules.domains import registrable
from .budgets import FetchBudget
from .collections import read_collection
from .errors import DocumentMissing, UntrustedDocument
from .inbox_context import InboxContext

REMEMBERED = 10_000  # accounts, and domains
AGREES_FOR = 60.0  # seconds in which an equal digest is not compared again
NOT_FETCHED_FOR = 300.0  # seconds after which the list of an account may be fetched again
WINDOW = 3600.0  # seconds
LISTS = 60  # that are fetched in a window, of the servers of a registered domain

PAGES = 10  # of a list
MOST_LISTED = 50_000  # addresses in a list
AT_ONCE = 100  # follows that end in a transaction
MOST_UNDONE = 100  # follows that are undone after a list: a hostile list could name every account of this server
# A follow that is younger than the activity may be younger than its digest. Clocks of two processes differ a little.
CLOCKS = timedelta(seconds=5)


class FollowerLists:
    """Compares follower lists. Each process has an instance."""

    def __init__(self, context: InboxContext) -> None:
        self._context = context
        self._agreed: TTLCache[int, str] = TTLCache(REMEMBERED, AGREES_FOR, timer=trio.current_time)
        self._fetched: TTLCache[int, None] = TTLCache(REMEMBERED, NOT_FETCHED_FOR, timer=trio.current_time)
        self._budgets: TTLCache[str, FetchBudget] = TTLCache(REMEMBERED, WINDOW, timer=trio.current_time)

    async def compare(self, account: Account, sent: FollowerList, received_at: datetime, origin: Origin) -> None:
        """Have the list of an account's followers fetched if its digest differs from the digest here, and not too
        often."""
        if sent.collection != account.followers_url or not same_host(sent.url, account.uri):
            return
        if account.id in self._fetched or self._agreed.get(account.id) == sent.digest:
            return
        if await self._context.shared.database.read(follower_lists.digest_here, account.id) == sent.digest:
            self._agreed[account.id] = sent.digest
        elif self._has_budget(account):
            self._fetched[account.id] = None
            job = partial(self._fetch_and_apply, account, sent, received_at - CLOCKS, origin)
            self._context.resolver.do_later("followers", account.uri, job)

    def _has_budget(self, account: Account) -> bool:
        domain = registrable(host_of(account.uri) or "")
        try:
            self._budgets.setdefault(domain, FetchBudget(LISTS)).spend()
        except DocumentMissing:
            return False
        return True

    async def _fetch_and_apply(self, account: Account, sent: FollowerList, before: datetime, origin: Origin) -> None:
        listed = await self._listed(sent.url)
        # If the list has changed since the activity, it is not known which followers are missing.
        if digest_of(listed) == sent.digest:
            await self._drop_unlisted(account, listed, before, origin)
        await self._end_unknown(account, listed, origin)

    async def _listed(self, url: str) -> Collection[str]:
        """Return the followers on a list, with all its pages. Raise UntrustedDocument if it names other accounts."""
        fetch = self._context.fetcher.fetch_collection
        read = await read_collection(url, url, fetch, pages=PAGES, most=MOST_LISTED + 1)
        if read.failure is not None:
            raise read.failure
        uris = [uri_of(item) for item in read.items]
        listed = {uri for uri in uris if uri is not None and self._context.names.is_local(uri)}
        if not listed.issuperset(uris) or len(uris) > MOST_LISTED:
            raise UntrustedDocument("the list has others than followers of this server, or too many")
        return listed

    async def _drop_unlisted(self, account: Account, listed: Collection[str], before: datetime, origin: Origin) -> None:
        context, after = self._context, 0
        while batch := await context.shared.database.read(follower_lists.page_here, account.id, before, after, AT_ONCE):
            after = batch[-1].id
            if gone := tuple(row.id for row in batch if row.uri not in listed):
                await context.ask(account.id, DropFollowers(gone, before), origin)

    async def _end_unknown(self, account: Account, listed: Collection[str], origin: Origin) -> None:
        context = self._context
        for id in await context.shared.database.read(follower_lists.unknown, account.id, sorted(listed), MOST_UNDONE):
            await context.ask(id, EndUnknownFollow(account.id), origin)
